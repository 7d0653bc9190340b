/* The workers' dictionaries become one per dimension and CODE measure (column/text/dict.h). */
#include "method/cube/building/cube_build.h"

rql_status rql_build_dictionaries(struct rql_relation_builder *builder, struct rql_error *err)
{
	uint32_t workers = builder->worker_count, dimensions = builder->spec.dimension_count;
	struct rql_cube *cube = &builder->cube->cube;
	struct rql_dict **dicts = RQL_NEW_ARRAY(builder->arena, struct rql_dict *, workers);
	uint32_t **remaps = RQL_NEW_ARRAY(builder->arena, uint32_t *, workers);
	if (!dicts || !remaps)
		return rql_error_memory(err, workers * sizeof(*dicts), builder->mem.what);
	for (uint32_t i = 0; i < dimensions + builder->spec.measure_count; i++) {
		bool is_measure = i >= dimensions;
		uint32_t m = i - dimensions;
		if (is_measure && builder->kinds[m] != RQL_MEASURE_CODE)
			continue;
		for (uint32_t w = 0; w < workers; w++)
			dicts[w] = is_measure ? &builder->workers[w]->codes[m] : &builder->workers[w]->dims[i];
		const struct rql_dict_merge merge = {.crew = &builder->crew,
		                                     .type = is_measure ? builder->spec.measures[m].type
		                                                        : builder->spec.dimension_types[i],
		                                     .dict_count = workers,
		                                     .dicts = dicts,
		                                     .mem = &builder->cube->mem,
		                                     .arena = cube->arena};
		struct rql_dimension merged;
		RQL_TRY(rql_dict_merge(&merge, remaps, &merged, err));
		for (uint32_t w = 0; w < workers; w++)
			rql_dict_free(dicts[w], &builder->mem);
		/* relation's pointers are const for the planner; the builder allocated what they point to. */
		if (is_measure)
			((struct rql_measure *)(uintptr_t)cube->relation.measures)[m].dictionary = merged;
		else
			((struct rql_dimension *)(uintptr_t)cube->relation.dimensions)[i] = merged;
		for (uint32_t w = 0; w < workers; w++)
			*(is_measure ? &builder->workers[w]->code_remap[m] : &builder->workers[w]->dim_remap[i]) = remaps[w];
	}
	return RQL_OK;
}
