/* The methods that are compiled in: one line each. */
#include "method/method.h"

/* The vtables of the families; their own headers are not for this folder. */
extern const struct rql_method rql_method_cube_cpu;
extern const struct rql_method rql_method_cube_compute;
extern const struct rql_method rql_method_cube_rt;
extern const struct rql_method rql_method_cube_paper;
extern const struct rql_method rql_method_scan_cpu;
extern const struct rql_method rql_method_scan_compute;
extern const struct rql_method rql_method_map_compute;
extern const struct rql_method rql_method_group_compute;
extern const struct rql_method rql_method_group_raster;
extern const struct rql_method rql_method_join_compute;
extern const struct rql_method rql_method_join_raster;
extern const struct rql_method rql_method_nearest_compute;
extern const struct rql_method rql_method_ranges_compute;
extern const struct rql_method rql_method_group_host;
extern const struct rql_method rql_method_join_host;
extern const struct rql_method rql_method_group_host_raster;
extern const struct rql_method rql_method_join_host_raster;
extern const struct rql_method rql_method_append_compute;
extern const struct rql_method rql_method_index_cpu;
extern const struct rql_method rql_method_index_compute;
extern const struct rql_method rql_method_index_rt;
extern const struct rql_method rql_method_index_keys_compute;
extern const struct rql_method rql_method_index_keys_rt;
extern const struct rql_method rql_method_sieve_cpu;
extern const struct rql_method rql_method_sieve_compute;
extern const struct rql_method rql_method_sieve_positions;
extern const struct rql_method rql_method_sieve_blocks;
extern const struct rql_method rql_method_sieve_rt;
extern const struct rql_method rql_method_sieve_raster;
extern const struct rql_method rql_method_materialise_compute;

const struct rql_method *const *rql_methods(void)
{
	static const struct rql_method *const methods[] = {
	    &rql_method_cube_cpu,
	    &rql_method_cube_compute,
	    &rql_method_cube_rt,
	    &rql_method_cube_paper,
	    &rql_method_scan_cpu,
	    &rql_method_scan_compute,
	    &rql_method_group_compute,
	    &rql_method_group_raster,
	    &rql_method_join_compute,
	    &rql_method_join_raster,
	    &rql_method_nearest_compute,
	    &rql_method_ranges_compute,
	    &rql_method_append_compute,
	    &rql_method_index_cpu,
	    &rql_method_index_compute,
	    &rql_method_index_rt,
	    &rql_method_index_keys_compute,
	    &rql_method_index_keys_rt,
	    &rql_method_sieve_cpu,
	    &rql_method_sieve_compute,
	    &rql_method_sieve_positions,
	    &rql_method_sieve_blocks,
	    &rql_method_sieve_rt,
	    &rql_method_sieve_raster,
	    &rql_method_materialise_compute,
	    &rql_method_map_compute,
	    &rql_method_join_host,
	    &rql_method_group_host,
	    &rql_method_join_host_raster,
	    &rql_method_group_host_raster,
	    NULL,
	};
	return methods;
}
