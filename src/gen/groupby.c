/* Rows of db-benchmark's table for questions about grouping. */
#include "gen/groupby.h"

#include "gen/random.h"

static const struct rql_gen_column columns[] = {
	{"id1", RQL_TYPE_VARCHAR}, {"id2", RQL_TYPE_VARCHAR}, {"id3", RQL_TYPE_VARCHAR},
	{"id4", RQL_TYPE_INTEGER}, {"id5", RQL_TYPE_INTEGER}, {"id6", RQL_TYPE_INTEGER},
	{"v1", RQL_TYPE_INTEGER},  {"v2", RQL_TYPE_INTEGER},  {"v3", RQL_TYPE_DOUBLE},
};
enum { ID1, ID2, ID3, ID4, ID5, ID6, V1, V2, V3 };

rql_status rql_groupby_init(struct rql_groupby *out, uint64_t rows, uint64_t groups, int64_t seed,
                            struct rql_error *err)
{
	if (rows < 1 || rows > 10000000000u || groups < 1 || groups > rows || groups > 1000000)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"rayql_groupby_rows(rows, groups, seed, first, count): rows must be 1 to 10000000000, groups 1 "
			"to rows and at most 1000000");
	*out = (struct rql_groupby){.rows = rows, .groups = groups, .seed = (uint64_t)seed};
	return RQL_OK;
}

const struct rql_gen_column *rql_groupby_columns(uint32_t *count)
{
	*count = sizeof columns / sizeof *columns;
	return columns;
}

/* "id" and the number in at least `digits` digits */
static uint32_t put_id(char *out, uint64_t number, uint32_t digits)
{
	uint64_t limit = 1000;
	uint32_t length = 3;
	for (; length < digits || limit <= number; limit *= 10)
		length++;
	out[0] = 'i';
	out[1] = 'd';
	for (uint32_t i = length; i-- > 0; number /= 10)
		out[2 + i] = (char)('0' + number % 10);
	return length + 2;
}

static void put_ids(struct rql_batch *out, uint32_t column, uint32_t row, uint64_t number, uint32_t digits,
                    rql_gen_put_fn *put)
{
	char text[32];
	rql_gen_put_text(put, out, column, row, text, put_id(text, number, digits));
}

void rql_groupby_fill(const struct rql_groupby *table, uint64_t first, uint32_t count, struct rql_batch *out,
                      rql_gen_put_fn *put)
{
	uint64_t small = table->rows / table->groups;
	int32_t *integers[V3];
	for (unsigned c = ID4; c < V3; c++)
		integers[c] = out->columns[c].data;
	double *v3 = out->columns[V3].data;
	for (uint32_t i = 0; i < count; i++) {
		/* Two hashes a row: one alone does not hold the digits of all the values. */
		uint64_t a = rql_random_at(table->seed, 1, first + i), b = rql_random_at(table->seed, 2, first + i);
		put_ids(out, ID1, i, 1 + rql_random_take(&a, table->groups), 3, put);
		put_ids(out, ID2, i, 1 + rql_random_take(&a, table->groups), 3, put);
		put_ids(out, ID3, i, 1 + rql_random_take(&b, small), 10, put);
		integers[ID4][i] = (int32_t)(1 + rql_random_take(&a, table->groups));
		integers[V1][i] = (int32_t)(1 + rql_random_take(&a, 5));
		integers[V2][i] = (int32_t)(1 + rql_random_take(&a, 15));
		v3[i] = (double)rql_random_take(&b, 1000000) / 10000;
		uint64_t c = rql_random_at(table->seed, 3, first + i);
		integers[ID5][i] = (int32_t)(1 + rql_random_take(&c, table->groups));
		integers[ID6][i] = (int32_t)(1 + rql_random_take(&c, small));
	}
	out->rows = count;
}
