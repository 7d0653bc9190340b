/* What the units of this method share: a join of two sides that lie on the device, and how one unit does it. */
#ifndef RQL_METHOD_JOIN_JOIN_H
#define RQL_METHOD_JOIN_JOIN_H

#include "method/method.h"
#include "primitive/relation/relation.h"

struct rql_join_unit {
	enum rql_unit unit;
	/* Beyond what no unit can do; NULL: nothing. */
	const char *(*refusal)(const struct rql_request *request, const struct rql_device *device);
	double (*pair_bytes)(const struct rql_pair_size *size); /* moved by the join */
	double (*pair_ns)(const struct rql_profile *profile, const struct rql_pair_size *size);
	/* What a context keeps for the join, `temp` among it; *own is closed also after an error. */
	rql_status (*open)(struct rql_device *device, const struct rql_pair *pair, struct rql_join *join, void **own,
	                   struct rql_error *err);
	void (*close)(void *own); /* NULL: nothing */
	rql_status (*record)(struct rql_commands *c, const struct rql_join *join, void *own, struct rql_error *err);
	/* Of the device's memory, beside the output. */
	double (*bytes)(const struct rql_device *device, const struct rql_pair *pair, uint64_t capacity);
	/* A run is done: why its output is not to be used, on no run of the request; NULL: it is. May be left out. */
	const char *(*check)(const void *own);
	void (*tell)(const void *own, struct rql_drawn *drawn); /* may be left out */
	/* What a run is expected to draw; may be left out. */
	void (*expect)(const struct rql_pair *pair, struct rql_drawn *drawn);
};

extern const struct rql_method rql_method_join_compute;
extern const struct rql_method rql_method_join_raster;

/* join_raster.c: adds what was drawn: what each kind of point reads and writes of keys, pixels and lists, and the images
 * cleared. */
struct rql_raster_points;
struct rql_raster_join;
void rql_join_drawn(const struct rql_raster_points *points, uint32_t key_bits, uint64_t pixel_bytes, uint64_t image_bytes,
                    struct rql_drawn *drawn);
/* Adds what so many joins of such sizes are expected to draw, and of so many values of the key each. */
void rql_join_expected(const struct rql_raster_join *sizes, double values, uint64_t joins, struct rql_drawn *drawn);

enum rql_join_kind rql_join_kind_of(const struct rql_pair *pair);

/* The vtable's functions for any unit. */
enum rql_offer rql_join_offer(const struct rql_request *request, const struct rql_device *device,
                              const struct rql_join_unit *unit, const char **reason);
rql_status rql_join_prepare(const struct rql_request *request, struct rql_device *device, const struct rql_join_unit *unit,
                            struct rql_prepared **out, struct rql_error *err);
/* A key's pairs are found one after the other, or by one workgroup. Where few keys have many rows on both sides, all else waits
 * for one: of 16 keys with 2^22 pairs each an H200 took 200 ms on compute, 87 on raster. */
double rql_join_crowded_ns(const struct rql_pair_size *size);
void rql_join_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);
rql_status rql_join_kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err);
void rql_join_free(struct rql_prepared *p);
uint64_t rql_join_bytes(const struct rql_prepared *p);
void rql_join_draws(const struct rql_prepared *p, struct rql_drawn *out);

#endif
