/* Contents of structures that a method keeps as a coded relation (request.h): made of rows, kept in files, put on
 * devices ahead. The method's folder gives one table of functions; whoever makes structures knows it only so. Contents
 * that are columns of a table need none: they are a store (column/store/store.h). */
#ifndef RQL_METHOD_CONTENTS_H
#define RQL_METHOD_CONTENTS_H

#include "column/batch.h"
#include "device/device.h"
#include "method/request.h"
#include "util/budget.h"
#include "util/files.h"

/* ---- what to make ---- */
enum rql_rollup { RQL_ROLLUP_AUTO, RQL_ROLLUP_ON, RQL_ROLLUP_OFF };

struct rql_measure_spec {
	struct rql_type type;
	const char *name;
	bool sum, min, max; /* none: COUNT(x) only */
};
struct rql_relation_spec {
	const char *name; /* for messages */
	uint32_t dimension_count;
	const struct rql_type *dimension_types;
	const char *const *dimension_names;
	uint32_t measure_count;
	const struct rql_measure_spec *measures;
	enum rql_rollup rollup; /* AUTO: on when cells <= rows / 2 (counted, not guessed) */
	uint32_t order_count;   /* WITH (order = ...): dimensions, most significant first; the rest follows by rule */
	const uint32_t *order;
	struct rql_budget *budget;
	struct rql_progress *progress;
	const struct rql_device *device; /* its threads do the work after the rows are in */
};
struct rql_relation_builder;

/* ---- the functions ---- */
struct rql_contents {
	/* Unsupported types (nested, INTERVAL as a dimension, ...) are RQL_ERROR_UNSUPPORTED, naming the column. */
	rql_status (*begin)(const struct rql_relation_spec *spec, struct rql_relation_builder **out, struct rql_error *err);
	/* Takes rows: columns are the dimensions, then the measures. Called from several threads at once with different
	 * workers (any value < 1024); never twice at once with the same. */
	rql_status (*add)(struct rql_relation_builder *builder, unsigned worker, const struct rql_batch *rows,
	                  struct rql_error *err);
	/* Frees the builder, also on failure. The result has one reference. */
	rql_status (*finish)(struct rql_relation_builder *builder, const struct rql_relation **out, struct rql_error *err);
	void (*abort)(struct rql_relation_builder *builder);
	/* Reference-counted: a cached plan and a running query keep what they read. */
	void (*retain)(const struct rql_relation *relation);
	void (*release)(const struct rql_relation *relation);
	/* The dimensions in the order of the key, most significant first; false: there is no i-th. */
	bool (*order)(const struct rql_relation *relation, uint32_t i, uint32_t *dimension);

	/* A side file (docs/format.md): written whole to NAME.tmp, synced, renamed. Reading verifies everything before it
	 * is used; identity must be what was given to write. RQL_ERROR_CORRUPT says what was wrong. */
	rql_status (*write)(const struct rql_relation *relation, const struct rql_file_place *place, const void *identity,
	                    uint32_t identity_size, struct rql_error *err);
	rql_status (*read)(const struct rql_file_place *place, const void *identity, uint32_t identity_size,
	                   struct rql_budget *budget, const struct rql_relation **out, struct rql_error *err);

	/* Puts it where a unit of a device needs it: what the first query would do otherwise. device/placement.h knows what
	 * it has there, by the relation as owner. */
	rql_status (*place)(const struct rql_relation *relation, struct rql_device *device, enum rql_unit unit,
	                    struct rql_error *err);
	/* At most so many bytes of the device's memory will be wanted for that. */
	uint64_t (*place_bytes)(const struct rql_relation *relation, const struct rql_device *device, enum rql_unit unit);
	/* The form of it there that took long to make, beside the side file, one per device. write: RQL_ERROR_UNSUPPORTED
	 * when there is none on that device. read places it; RQL_ERROR_STALE (other contents, driver or device) and
	 * RQL_ERROR_CORRUPT: it is made when it is needed. */
	rql_status (*write_placed)(const struct rql_relation *relation, struct rql_device *device,
	                           rql_status (*put)(void *state, const void *data, uint64_t bytes, struct rql_error *err),
	                           void *state, struct rql_error *err);
	rql_status (*read_placed)(const struct rql_relation *relation, struct rql_device *device,
	                          rql_status (*get)(void *state, void *data, uint64_t bytes, struct rql_error *err),
	                          void *state, struct rql_error *err);
	const char *written_kind; /* of the placement that these two are about */
};

extern const struct rql_contents rql_cube_contents;

/* ---- indexes: kept by the segments of a column store, on the CPU ---- */
/* Makes what look-ups by the index need ahead of them, of all segments. A column that cannot have one needs nothing. */
rql_status rql_index_place(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                           struct rql_device *cpu, struct rql_progress *progress, struct rql_error *err) RQL_MUST_CHECK;
/* What is there of it now: bytes, and rows that have a key. */
uint64_t rql_index_bytes(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                         struct rql_device *cpu, uint64_t *rows);
/* Do the places in space that the design of an index of rays has hold all keys of all segments? *bits: what the longest of
 * those that they do not hold take. Where they do not, a segment has others: right answers all the same. */
bool rql_index_rays_fit(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of, uint32_t *bits);
/* The same two of a sieve, which may be made on a GPU, too; bytes are those of the CPU's. RQL_ERROR_LIMIT: it has more
 * vectors than there is room for. */
rql_status rql_sieve_place(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                           struct rql_device *device, struct rql_progress *progress,
                           struct rql_error *err) RQL_MUST_CHECK;
uint64_t rql_sieve_bytes(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                         struct rql_device *cpu, uint64_t *rows);

/* What a placement of a segment is of an index: "vectors", "order", "spaces" or "rays"; NULL: it is not this one's. of
 * NULL: of any index; NULL then: it is the columns' own. */
struct rql_place;
const char *rql_index_part_of(const struct rql_store_segment *segment, const struct rql_index_of *of,
                              const struct rql_place *at);

/* ---- indexes in side files (docs/format.md) ---- */
/* A column of a snapshot that an index is of. */
struct rql_index_part {
	const struct rql_store_snapshot *snapshot;
	struct rql_index_of of;
};
/* What there is of an index on the CPU, as a number: another one when runs of other rows are there, 0 when none is. */
uint64_t rql_runs_mark(const struct rql_index_part *parts, uint32_t count, struct rql_device *cpu);
/* Writes all that is there. */
rql_status rql_runs_write(const struct rql_index_part *parts, uint32_t count, struct rql_device *cpu,
                          const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                          struct rql_error *err) RQL_MUST_CHECK;
/* Gives the parts' segments what the file has of them. On failure those that were read before it stay: each is whole.
 * *taken: how many there are. */
rql_status rql_runs_read(const struct rql_index_part *parts, uint32_t count, struct rql_device *cpu,
                         const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                         uint32_t *taken, struct rql_error *err) RQL_MUST_CHECK;

#endif
