/* Snapshots without segments: the description of rows that lie on a device. */
#include "column/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "column/store/store_internal.h"

uint32_t rql_form_bits(const struct rql_store_column *column)
{
	if (column->kind == RQL_STORE_REAL)
		return 64;
	if (column->kind == RQL_STORE_CODED)
		return column->dimension->count < UINT32_MAX ? 32 : 0;
	if (column->wide || column->least > column->greatest || column->least < INT64_MIN || column->greatest > INT64_MAX)
		return 0;
	rql_uint128 fields = (rql_uint128)(column->greatest - column->least) + 1;
	return fields <= UINT32_MAX ? 32 : fields <= UINT64_MAX ? 64 : 0;
}

bool rql_form_halve(rql_int128 least, rql_int128 greatest, uint32_t low, struct rql_form_column out[2])
{
	for (unsigned h = 0; h < 2; h++) {
		out[h].of.type = rql_type_simple(RQL_TYPE_BIGINT);
		out[h].of.kind = RQL_STORE_INTEGER;
		out[h].of.has_total = false;
		out[h].nullable = true;
	}
	out[0].of.least = least >> RQL_FORM_LOW_BITS;
	out[0].of.greatest = greatest >> RQL_FORM_LOW_BITS;
	out[0].of.low = low + 1;
	out[1].of.name = out[0].of.name;
	out[1].of.least = 0;
	out[1].of.greatest = RQL_FORM_LOW_MASK;
	return rql_form_bits(&out[0].of) != 0;
}

uint32_t rql_form_offset(const struct rql_store_snapshot *form, uint32_t column)
{
	uint32_t bytes = 0;
	for (uint32_t c = 0; c < column; c++)
		bytes += rql_form_bits(&form->columns[c]) / 8;
	return bytes;
}

/* The dictionary with NULL behind all others. Its strings are still the old one's. */
static rql_status with_null(struct rql_store_state *state, const struct rql_dimension *from,
                            const struct rql_dimension **out, struct rql_error *err)
{
	const uint64_t bytes = (uint64_t)rql_type_bytes(from->type) * from->count, words = from->count / 64 + 1;
	struct rql_dimension *copy = NULL;
	uint8_t *data = NULL;
	uint64_t *validity = NULL;
	RQL_TRY(RQL_MEM_ZARRAY(&state->mem, copy, 1, err));
	RQL_TRY(RQL_MEM_ZARRAY(&state->mem, data, bytes + sizeof(struct rql_string), err));
	RQL_TRY(RQL_MEM_ZARRAY(&state->mem, validity, words, err));
	*copy = *from;
	if (bytes)
		memcpy(data, from->values.data, bytes);
	rql_bits_fill(validity, from->count);
	copy->values.data = data;
	copy->values.validity = validity;
	copy->count++;
	copy->has_null = true;
	*out = copy;
	return RQL_OK;
}

static rql_status describe(struct rql_store_state *state, const struct rql_form_spec *spec, struct rql_error *err)
{
	struct rql_store_column *columns = NULL;
	RQL_TRY(RQL_MEM_ZARRAY(&state->mem, columns, spec->column_count + 1ull, err));
	for (uint32_t c = 0; c < spec->column_count; c++) {
		columns[c] = spec->columns[c].of;
		columns[c].nulls = spec->columns[c].nullable ? spec->rows : 0;
		columns[c].bytes = 0;
		if (columns[c].kind == RQL_STORE_REAL && columns[c].real_least == 0 && columns[c].real_greatest == 0) {
			columns[c].real_least = -HUGE_VAL; /* nobody said */
			columns[c].real_greatest = (double)NAN;
		}
		if (spec->columns[c].nullable && columns[c].kind == RQL_STORE_CODED && !columns[c].dimension->has_null)
			RQL_TRY(with_null(state, columns[c].dimension, &columns[c].dimension, err));
		if (!rql_form_bits(&columns[c]))
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "column %s has values of more than 64 bits, or none at all",
			                     columns[c].name ? columns[c].name : "?");
	}
	state->snapshot.columns = columns;
	state->snapshot.column_count = spec->column_count;
	return RQL_OK;
}

rql_status rql_form_new(const struct rql_form_spec *spec, const struct rql_store_snapshot **out, struct rql_error *err)
{
	struct rql_store_state *state = calloc(1, sizeof(*state));
	if (!state)
		return rql_error_memory(err, sizeof(*state), "rows on a device");
	state->references = 1;
	rql_mem_init(&state->mem, NULL, "rows on a device");
	state->snapshot.rows = spec->rows;
	state->snapshot.blocks = spec->rows / RQL_STORE_BLOCK + 1;
	rql_status status = RQL_MEM_ZARRAY(&state->mem, state->sources, spec->source_count + 1ull, err);
	for (uint32_t s = 0; status == RQL_OK && s < spec->source_count; s++)
		state->sources[state->source_count++] = rql_store_snapshot_retain(spec->sources[s]);
	if (status == RQL_OK)
		status = describe(state, spec, err);
	if (status != RQL_OK) {
		rql_store_snapshot_release(&state->snapshot);
		return status;
	}
	*out = &state->snapshot;
	return RQL_OK;
}
