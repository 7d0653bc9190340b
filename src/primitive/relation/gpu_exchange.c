/* Records an exchange of columns between the host's memory and the device's. */
#include "primitive/relation/exchange.h"
#include "primitive/relation/relation_internal.h"
#include "shaders/primitive/exchange.comp.h"

/* Of both ways together. 64 workgroups have a MiB under way, some ten times what a link of 50 GB/s and 2 us takes, and
 * leave most of a large device to others. */
#define GROUPS 64u

_Static_assert(RQL_EXCHANGE_TABLE_BYTES == 2 * RQL_EXCHANGE_MOVES * RQL_MOVE_WORDS * 8, "exchange.h has the same");

static const struct rql_kernel kernel = {"primitive.exchange", rql_spv_exchange_comp, sizeof(rql_spv_exchange_comp),
                                         sizeof(struct rql_exchange_args)};

void rql_exchange_add(struct rql_exchange *exchange, unsigned way, const struct rql_move *move)
{
	if (move->rows && exchange->count[way] < RQL_EXCHANGE_MOVES)
		exchange->moves[way][exchange->count[way]] = *move;
	exchange->count[way] += move->rows != 0; /* more than there is room for: the recording says so */
}

static rql_status check(const struct rql_exchange *e, struct rql_error *err)
{
	if (e->count[0] > RQL_EXCHANGE_MOVES || e->count[1] > RQL_EXCHANGE_MOVES || !e->table ||
	    e->table->memory != RQL_MEMORY_UPLOAD || e->table->bytes < RQL_EXCHANGE_TABLE_BYTES)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "an exchange of %u and %u columns cannot be asked for",
		                     e->count[0], e->count[1]);
	for (unsigned way = 0; way < 2; way++)
		for (uint32_t i = 0; i < e->count[way]; i++) {
			const struct rql_move *m = &e->moves[way][i];
			RQL_TRY(rql_span_check(&m->from, m->rows, m->bits / 8, "a column that is moved", err));
			RQL_TRY(rql_span_check(&m->to, m->rows, m->bits / 8, "where a column is moved to", err));
			if ((m->bits != 32 && m->bits != 64 && m->bits != 128) || (rql_span_address(&m->from) | rql_span_address(&m->to)) & 15)
				return rql_error_set(err, RQL_ERROR_INTERNAL, "a column of %u bits is moved from or to an odd address",
				                     m->bits);
			if (m->found.buffer)
				RQL_TRY(rql_span_check(&m->found, 1, 8, "number of rows that are moved", err));
		}
	return RQL_OK;
}

/* The table's words, and the chunks of each way. */
static struct rql_exchange_args fill_table(const struct rql_exchange *e)
{
	struct rql_exchange_args args = {.moves = e->table->address, .count = {e->count[0], e->count[1]}};
	uint64_t *word = e->table->map;
	for (unsigned way = 0; way < 2; way++)
		for (uint32_t i = 0; i < e->count[way]; i++) {
			const struct rql_move *m = &e->moves[way][i];
			*word++ = rql_span_address(&m->from);
			*word++ = rql_span_address(&m->to);
			*word++ = rql_span_address(&m->found);
			*word++ = m->rows;
			*word++ = m->bits / 8;
			args.chunks[way] += rql_div_up(m->rows * m->bits / 8, RQL_EXCHANGE_CHUNK);
		}
	return args;
}

rql_status rql_record_exchange(struct rql_commands *c, const struct rql_exchange *exchange, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	const uint32_t constants[] = {RQL_EXCHANGE_THREADS};
	const struct rql_span table = {exchange->table, 0}, after = {exchange->after, 0};
	struct rql_uses uses = {.count = 0};
	RQL_TRY(check(exchange, err));
	if (!exchange->count[0] && !exchange->count[1])
		return RQL_OK;
	for (unsigned way = 0; way < 2; way++)
		for (uint32_t i = 0; i < exchange->count[way]; i++) {
			rql_uses_add(&uses, &exchange->moves[way][i].from, RQL_READ);
			rql_uses_add(&uses, &exchange->moves[way][i].to, RQL_WRITE);
			rql_uses_add(&uses, &exchange->moves[way][i].found, RQL_READ);
		}
	rql_uses_add(&uses, &table, RQL_READ);
	rql_uses_add(&uses, &after, RQL_READ);
	const struct rql_exchange_args args = fill_table(exchange);
	const uint64_t chunks = args.chunks[0] > args.chunks[1] ? args.chunks[0] : args.chunks[1];
	RQL_TRY(rql_pipeline_get(exchange->table->device, &kernel, constants, 1, &pipeline, err));
	rql_record_dispatch(c, "exchange", pipeline, &args, 2 * chunks < GROUPS ? 2 * chunks : GROUPS, uses.use, uses.count);
	return RQL_OK;
}
