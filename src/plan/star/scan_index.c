/* What indexes there are on the columns of a structure, for the methods that look up. */
#include "plan/star/scan_index.h"

static bool is_usable(const struct rql_structure *index, const struct rql_structure *s)
{
	return index->reads == RQL_READS_INDEX && index->state != RQL_STATE_INVALID && index->table_count == 1 &&
	       index->column_ids && s->table_count == 1 && index->tables[0] == s->tables[0];
}

bool rql_scan_indexes(const struct rql_planning *p, const struct rql_structure *s, struct rql_request *request)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < p->structure_count; i++)
		most += is_usable(p->structures[i], s) ? p->structures[i]->column_count : 0;
	struct rql_index_of *indexes = RQL_NEW_ARRAY(p->arena, struct rql_index_of, most + 1);
	request->index_count = 0;
	for (uint32_t i = 0; i < p->structure_count && indexes; i++) {
		const struct rql_structure *index = p->structures[i];
		if (!is_usable(index, s))
			continue;
		for (uint32_t k = 0; k < index->column_count; k++)
			if (rql_structure_index_of(index, s, k, &indexes[request->index_count])) {
				indexes[request->index_count].number = request->index_count;
				indexes[request->index_count++].name = index->name;
			}
	}
	request->indexes = indexes;
	return indexes != NULL;
}

const char *rql_scan_index_name(struct rql_arena *arena, const struct rql_method *method, const struct rql_index_of *of)
{
	const bool rays = of->form == RQL_INDEX_RX || of->form == RQL_INDEX_CGRX;
	if (!rays || method->unit != RQL_UNIT_RT || !of->options || !*of->options)
		return rql_arena_strdup(arena, of->name);
	return rql_arena_printf(arena, "%s (%s)", of->name, of->options);
}
