/* Rows as numbers: dimensions are dealt like cards, and every order draws its lines. */
#include "gen/ssb_row.h"

#include "gen/random.h"

/* ---- randomness ---- */

uint64_t rql_ssb_random(const struct rql_ssb *ssb, enum rql_ssb_stream stream, uint64_t counter)
{
	return rql_random_at(ssb->seed, stream, counter);
}

/* The card that `position` of [0, n) gets when n cards are dealt in a random order: a + b * position modulo n with b
 * coprime to n. That is not every order there is, but every card is equally likely everywhere and is dealt exactly
 * once. */
static uint32_t deal(uint64_t random, uint32_t position, uint32_t n, const uint8_t *coprimes, uint32_t coprime_count)
{
	uint32_t b = coprimes[rql_ssb_take(&random, coprime_count)];
	uint32_t a = rql_ssb_take(&random, n);
	return (a + b * position) % n;
}

static const uint8_t coprime_5[] = {1, 2, 3, 4};
static const uint8_t coprime_10[] = {1, 3, 7, 9};
static const uint8_t coprime_40[] = {1, 3, 7, 9, 11, 13, 17, 19, 21, 23, 27, 29, 31, 33, 37, 39};

#define DEAL_5(random, position) ((uint8_t)deal((random), (position), 5, coprime_5, 4))

/* ---- customers and suppliers ---- */

/* Keys in blocks of 5 have all regions, in blocks of 25 all nations, in blocks of 250 all cities once. */
static struct rql_ssb_party deal_city(const struct rql_ssb *ssb, enum rql_ssb_stream stream, uint32_t key)
{
	uint64_t i = key - 1;
	struct rql_ssb_party party = {.key = key};
	party.region = DEAL_5(rql_ssb_random(ssb, stream, i / 5), (uint32_t)(i % 5));
	party.nation = DEAL_5(rql_ssb_random(ssb, stream + 1, i / 25 * 5 + party.region), (uint32_t)(i / 5 % 5));
	uint64_t nation = party.region * 5u + party.nation;
	party.city = (uint8_t)deal(rql_ssb_random(ssb, stream + 2, i / 250 * 25 + nation), (uint32_t)(i / 25 % 10), 10,
	                           coprime_10, sizeof coprime_10);
	return party;
}

struct rql_ssb_party rql_ssb_customer(const struct rql_ssb *ssb, uint32_t key)
{
	struct rql_ssb_party party = deal_city(ssb, RQL_SSB_STREAM_CUSTOMER_CITY, key);
	uint64_t random = rql_ssb_random(ssb, RQL_SSB_STREAM_CUSTOMER, key);
	party.segment = (uint8_t)rql_ssb_take(&random, 5);
	return party;
}

struct rql_ssb_party rql_ssb_supplier(const struct rql_ssb *ssb, uint32_t key)
{
	return deal_city(ssb, RQL_SSB_STREAM_SUPPLIER_CITY, key);
}

/* ---- parts ---- */

/* Price of one piece in cents. */
static int32_t price_of_part(uint32_t key)
{
	/* TPC-H's rule for P_RETAILPRICE, which SSB's prices are: 900.00 to 2098.99. */
	return (int32_t)(90000 + key / 10 % 20001 + 100 * (key % 1000));
}

struct rql_ssb_part_row rql_ssb_part(const struct rql_ssb *ssb, uint32_t key)
{
	uint64_t i = key - 1;
	struct rql_ssb_part_row part = {.key = key};
	uint8_t m = DEAL_5(rql_ssb_random(ssb, RQL_SSB_STREAM_PART_BRAND, i / 5), (uint32_t)(i % 5));
	uint8_t c = DEAL_5(rql_ssb_random(ssb, RQL_SSB_STREAM_PART_BRAND + 1, i / 25 * 5 + m), (uint32_t)(i / 5 % 5));
	uint32_t b = deal(rql_ssb_random(ssb, RQL_SSB_STREAM_PART_BRAND + 2, i / 1000 * 25 + m * 5u + c),
	                  (uint32_t)(i / 25 % 40), 40, coprime_40, sizeof coprime_40);
	part.manufacturer = (uint8_t)(m + 1);
	part.category = (uint8_t)(c + 1);
	part.brand = (uint8_t)(b + 1);
	uint64_t random = rql_ssb_random(ssb, RQL_SSB_STREAM_PART, key);
	part.color = (uint8_t)rql_ssb_take(&random, 92);
	part.second_color = (uint8_t)rql_ssb_take(&random, 91);
	part.second_color += part.second_color >= part.color; /* the two words of a name differ */
	part.type = (uint8_t)rql_ssb_take(&random, 150);
	part.size = (uint8_t)(1 + rql_ssb_take(&random, 50));
	part.container = (uint8_t)rql_ssb_take(&random, 40);
	return part;
}

/* ---- orders and their lines ---- */

/* Seven is prime: every b of 1..6 is coprime to it. */
static const uint8_t coprime_7[] = {1, 2, 3, 4, 5, 6};

static unsigned order_lines(const struct rql_ssb *ssb, uint64_t order)
{
	uint64_t random = rql_ssb_random(ssb, RQL_SSB_STREAM_ORDER_LENGTH, order / 7);
	return 1 + deal(random, (uint32_t)(order % 7), 7, coprime_7, sizeof coprime_7);
}

uint64_t rql_ssb_lines_before(const struct rql_ssb *ssb, uint64_t orders)
{
	uint64_t lines = orders / 7 * RQL_SSB_LINES_PER_BLOCK;
	for (uint64_t order = orders / 7 * 7; order < orders; order++)
		lines += order_lines(ssb, order);
	return lines;
}

uint64_t rql_ssb_order_of_line(const struct rql_ssb *ssb, uint64_t row, uint64_t *first_line)
{
	uint64_t order = row / RQL_SSB_LINES_PER_BLOCK * 7;
	uint64_t line = row / RQL_SSB_LINES_PER_BLOCK * RQL_SSB_LINES_PER_BLOCK;
	for (unsigned lines; line + (lines = order_lines(ssb, order)) <= row; order++)
		line += lines;
	*first_line = line;
	return order;
}

static void make_line(const struct rql_ssb *ssb, uint64_t id, struct rql_ssb_line *line)
{
	uint64_t keys = rql_ssb_random(ssb, RQL_SSB_STREAM_LINE_KEYS, id);
	line->part_key = 1 + rql_ssb_take(&keys, (uint32_t)ssb->parts);
	line->supplier_key = 1 + rql_ssb_take(&keys, (uint32_t)ssb->suppliers);
	uint64_t random = rql_ssb_random(ssb, RQL_SSB_STREAM_LINE, id);
	line->quantity = (uint8_t)(1 + rql_ssb_take(&random, 50));
	line->discount = (uint8_t)rql_ssb_take(&random, 11);
	line->tax = (uint8_t)rql_ssb_take(&random, 9);
	line->mode = (uint8_t)rql_ssb_take(&random, 7);
	line->commit_day = line->order_day + 30 + (int32_t)rql_ssb_take(&random, 61);
	int32_t price = price_of_part(line->part_key);
	line->extended_price = line->quantity * price;
	line->revenue = (int32_t)((int64_t)line->extended_price * (100 - line->discount) / 100);
	line->supply_cost = 6 * price / 10;
}

unsigned rql_ssb_order(const struct rql_ssb *ssb, uint64_t order, struct rql_ssb_line out[RQL_SSB_MAX_LINES])
{
	unsigned lines = order_lines(ssb, order);
	uint64_t random = rql_ssb_random(ssb, RQL_SSB_STREAM_ORDER, order);
	struct rql_ssb_line head = {0};
	head.customer_key = 1 + rql_ssb_take(&random, (uint32_t)ssb->customers);
	head.order_day = RQL_SSB_FIRST_DAY + (int32_t)rql_ssb_take(&random, RQL_SSB_ORDER_DATES);
	head.priority = (uint8_t)rql_ssb_take(&random, 5);
	/* "The first 8 of each 32 keys are populated." */
	head.order_key = (uint32_t)(order / 8 * 32 + order % 8 + 1);
	int64_t total = 0;
	for (unsigned i = 0; i < lines; i++) {
		out[i] = head;
		out[i].number = (uint8_t)(i + 1);
		make_line(ssb, order * RQL_SSB_MAX_LINES + i, &out[i]);
		total += (int64_t)out[i].revenue * (100 + out[i].tax) / 100;
	}
	for (unsigned i = 0; i < lines; i++)
		out[i].order_total = (int32_t)total;
	return lines;
}
