/* Groups as the columns of a form (column/form.h), which whoever comes next reads on the device: the collecting pass puts
 * their fields there instead of a list for the host.
 *
 * Floor: as the collecting pass; a group costs its fields instead of its row. */
#include "method/scan/gpu/scan_compute_run.h"

#include <stddef.h>

#define GROUPS_LEAST 4096u /* that there is always room for */
#define GROUPS_ROOM 1.125

/* ---- sizes ---- */

/* There are no more than possible ones, nor than rows. */
static uint64_t room_for(const struct rql_prepared *p, double groups)
{
	const uint64_t possible = p->scan->layout.group_count < p->gives->rows ? p->scan->layout.group_count : p->gives->rows;
	return rql_form_room(groups < (double)possible ? groups : (double)possible);
}

void rql_scan_groups_size(struct rql_prepared *p)
{
	p->group_room = room_for(p, p->scan->rows_out * GROUPS_ROOM + GROUPS_LEAST);
}

bool rql_scan_groups_grow(struct rql_prepared *p, const struct rql_scan_context *x, uint64_t found)
{
	if (found <= x->room)
		return false;
	const uint64_t room = room_for(p, (double)found * GROUPS_ROOM);
	p->group_room = room > p->group_room ? room : p->group_room;
	return true;
}

uint64_t rql_scan_groups_bytes(const struct rql_prepared *p)
{
	return rql_form_bytes(p->gives, p->group_room) + 2 * RQL_SCAN_STATE_WORDS * sizeof(uint64_t);
}

rql_status rql_scan_groups_make(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err)
{
	const uint64_t head = RQL_SCAN_STATE_WORDS * sizeof(uint64_t), bytes = rql_form_bytes(p->gives, p->group_room);
	struct rql_device *device = p->stage.device;
	x->room = p->group_room;
	RQL_TRY(rql_stage_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "the groups between two steps of a query", &x->values,
	                             err));
	RQL_TRY(rql_stage_buffer_new(device, head, RQL_MEMORY_DEVICE, "the result of a query", &x->result, err));
	return rql_stage_buffer_new(device, head, RQL_MEMORY_READBACK, "the result of a query", &x->seen, err);
}

/* ---- how a group's parts become fields ---- */

static bool needs_fields(const struct rql_scan_part *part, const struct rql_group_output *o)
{
	return part->key.keys || o->number_of_key;
}

/* uint32_t[key_count] in the blob; 0: none is needed. */
static uint64_t put_fields(struct rql_scan_blob *blob, const struct rql_scan_part *part, const struct rql_group_output *o)
{
	if (!needs_fields(part, o))
		return 0;
	const uint64_t at = rql_scan_blob_put(blob, NULL, part->key.key_count * sizeof(uint32_t));
	for (uint64_t key = 0; key < part->key.key_count && !blob->out_of_memory; key++) {
		const uint64_t code = part->key.keys ? part->key.keys[key] : part->key.first_key + key;
		const uint32_t field = code == o->null_key ? 0 : (o->number_of_key ? o->number_of_key[code] : (uint32_t)code) + 1;
		memcpy(blob->bytes + at + key * sizeof(field), &field, sizeof(field));
	}
	return at;
}

static struct rql_scan_group_column key_column(struct rql_scan_plan *plan, const struct rql_group_output *o)
{
	const struct rql_scan_part *part = &plan->scan->parts[o->index];
	const uint64_t first = part->key.first_key;
	const bool null = !needs_fields(part, o) && o->null_key != UINT64_MAX && o->null_key >= first;
	const bool wide = plan->scan->layout.wide;
	return (struct rql_scan_group_column){.kind = wide ? RQL_SCAN_KEY_BITS : RQL_SCAN_KEY_GROUP,
	                                      .less = 0 - (first + 1),
	                                      .stride = wide ? part->key.shift : part->key.stride,
	                                      .key_count = wide ? UINT64_MAX >> (64 - part->key.bits) : part->key.key_count,
	                                      .null_key = null ? o->null_key - first : UINT64_MAX,
	                                      .fields = put_fields(&plan->blob, part, o)};
}

static struct rql_scan_group_column agg_column(const struct rql_scan *scan, const struct rql_group_output *o,
                                               const struct rql_store_column *column)
{
	const struct rql_groups_value *output = &scan->layout.values[o->index];
	const bool integer = column->kind == RQL_STORE_INTEGER;
	return (struct rql_scan_group_column){.kind = rql_scan_key_kind(scan, output),
	                                      .word = rql_scan_key_word(scan, output),
	                                      .valid = rql_scan_key_valid(scan, output),
	                                      .less = integer ? (uint64_t)column->least - 1 : UINT64_MAX};
}

static bool is_wide(const struct rql_scan *scan, const struct rql_groups_value *sum)
{
	return rql_scan_key_kind(scan, sum) == RQL_SCAN_KEY_NONE;
}

static struct rql_scan_group_column average_column(const struct rql_scan *scan, const struct rql_group_output *o)
{
	const struct rql_groups_value *sum = &scan->layout.values[o->index];
	uint64_t power = 1;
	for (uint32_t i = 0; i < o->scale; i++)
		power *= 10;
	return (struct rql_scan_group_column){
		.kind = sum->kind == RQL_MEASURE_REAL ? RQL_SCAN_KEY_REAL_AVERAGE : RQL_SCAN_KEY_AVERAGE,
		.word = rql_scan_key_word(scan, sum),
		.valid = rql_scan_key_valid(scan, sum),
		.stride = rql_scan_key_word(scan, &scan->layout.values[o->count]),
		.key_count = power,
		.null_key = (is_wide(scan, sum) ? RQL_SCAN_AVERAGE_WIDE : 0) |
	                (o->narrow ? RQL_SCAN_AVERAGE_NARROW : 0)};
}

static struct rql_scan_group_column half_column(const struct rql_scan *scan, const struct rql_group_output *o,
                                                const struct rql_store_column *column)
{
	const struct rql_groups_value *sum = &scan->layout.values[o->index];
	const struct rql_groups_value *lower = o->lower ? &scan->layout.values[o->lower - 1] : NULL;
	uint64_t flags = is_wide(scan, sum) ? RQL_SCAN_AVERAGE_WIDE : 0;
	if (lower)
		flags |= RQL_SCAN_HALF_OF_TWO | (is_wide(scan, lower) ? RQL_SCAN_HALF_LOW_WIDE : 0);
	return (struct rql_scan_group_column){.kind = o->half == RQL_HALF_UPPER ? RQL_SCAN_KEY_UPPER : RQL_SCAN_KEY_LOWER,
	                                      .word = rql_scan_key_word(scan, sum),
	                                      .valid = rql_scan_key_valid(scan, sum),
	                                      .less = (uint64_t)column->least - 1,
	                                      .stride = lower ? rql_scan_key_word(scan, lower) : 0,
	                                      .null_key = flags};
}

uint64_t rql_scan_group_columns_put(struct rql_scan_plan *plan)
{
	const struct rql_scan *scan = plan->scan;
	const struct rql_store_snapshot *form = scan->groups_form;
	const uint64_t size = sizeof(struct rql_scan_group_column);
	if (!form)
		return 0;
	const uint64_t at = rql_scan_blob_put(&plan->blob, NULL, form->column_count * size);
	for (uint32_t i = 0; i < form->column_count && !plan->blob.out_of_memory; i++) {
		const struct rql_group_output *o = &scan->group_outputs[i];
		struct rql_scan_group_column c = o->of_key    ? key_column(plan, o)
		                                 : o->average ? average_column(scan, o)
		                                 : o->half    ? half_column(scan, o, &form->columns[i])
		                                              : agg_column(scan, o, &form->columns[i]);
		if (plan->blob.out_of_memory)
			break;
		c.bits = rql_form_bits(&form->columns[i]);
		c.offset = rql_form_offset(form, i);
		memcpy(plan->blob.bytes + at + i * size, &c, size);
		if (c.fields)
			rql_scan_blob_relocate(&plan->blob, at + i * size + offsetof(struct rql_scan_group_column, fields));
	}
	return at;
}
