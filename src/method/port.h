/* What a method leaves for whoever comes next, and what its run took. */
#ifndef RQL_METHOD_PORT_H
#define RQL_METHOD_PORT_H

#include "column/batch.h"
#include "column/form.h"
#include "device/work.h"
#include "method/request.h"
#include "method/rows.h"

/* An aggregate of every group. */
struct rql_agg_values {
	enum rql_measure_kind kind;
	/* COUNT, COUNT_STAR, INTEGER and CODE use integer; REAL uses real. One entry per group. */
	rql_int128 *integer;
	double *real;
	uint64_t *valid; /* bitmap: some non-NULL value was there; NULL: all valid. COUNT is always valid. */
};
/* The rows behind the groups, of a request whose sink is a map to build: in no order. */
struct rql_keyed_list {
	struct rql_keyed_list *next; /* while they are made */
	uint64_t count;
	int64_t *keys[2]; /* [count]; the second NULL: there is one key */
	uint32_t *groups; /* [count]: number of the port's group; NULL: all are of the first */
};
struct rql_keyed_rows {
	uint64_t count; /* rows without a NULL among their keys, in all lists */
	uint64_t nulls; /* rows with one: they are not listed */
	uint64_t list_count;
	struct rql_keyed_list **lists; /* whoever takes them may write into them */
};
/* Which rows of a snapshot pass. On a CPU only blocks that may have such rows are there, each in a form of its own
 * (rows.h), so that few rows are found and read in time that does not grow with the table. On a GPU a bit each, bitmap by
 * block; or, where that is asked for, lists by block with bitmaps for those that have more (rows_kernels.h). What both say
 * of rows beyond the block's may be anything. */
struct rql_rows {
	uint64_t block_count;              /* CPU */
	const uint32_t *blocks;            /* [block_count]: of the snapshot, ascending */
	const struct rql_rows_part *parts; /* [block_count] */
	struct rql_buffer *buffer; /* GPU: uint64_t[blocks of the snapshot][RQL_ROWS_BLOCK_WORDS], in its memory from.. */
	uint64_t offset;           /* ... here on; a multiple of 256 */
	uint64_t lists; /* uint16_t[blocks][RQL_ROWS_LIST_MOST] from here on, a multiple of 256; 0: there are none */
	/* Instead of these, where the reader has asked for it (stage.h, list_rows): in memory that the host reads
	 * uint32_t[list_count], how many rows each list has, which may be more than there is room for, and then
	 * uint32_t[list_count][list_room], rows as block * RQL_STORE_BLOCK + row, in any order, also twice. */
	const uint32_t *listed;
	uint32_t list_count, list_room;
};
/* What finding them took. */
struct rql_selected {
	uint64_t rays, hits; /* rt: launched; primitives met */
	uint64_t tested;     /* rows whose values were read, or that were turned over, at predicates' bounds */
	uint64_t bytes;      /* of vectors, tested rows, and the ROWS */
	uint64_t forms[RQL_ROWS_FORMS]; /* blocks in each form */
};
static inline void rql_selected_add(struct rql_selected *sum, const struct rql_selected *more)
{
	sum->rays += more->rays;
	sum->hits += more->hits;
	sum->tested += more->tested;
	sum->bytes += more->bytes;
	for (unsigned f = 0; f < RQL_ROWS_FORMS; f++)
		sum->forms[f] += more->forms[f];
}
/* Rows of a snapshot that have a value of a column, in its order, on the CPU. They stand in parts, one behind the other in
 * the snapshot: a row that is found is block * RQL_STORE_BLOCK + row of its part. Values are places: reals by
 * rql_real_place, integers without a sign as they are, others with their sign turned over. Held until it is released. */
struct rql_sorted_rows {
	uint64_t rows; /* of the snapshot */
	uint32_t part_count;
	const uint64_t *const *starts; /* [part][block]: the row of the snapshot at which a block begins */
	void *state;                   /* of these two; NULL: nothing is held */
	/* Rows of a part from one place to another: how many, and where they stand, ascending; those of one place by row. */
	uint32_t (*find)(const struct rql_sorted_rows *sorted, uint32_t part, uint64_t least, uint64_t greatest,
	                 const uint32_t **rows);
	void (*release)(struct rql_sorted_rows *sorted);
};
static inline uint64_t rql_sorted_row(const struct rql_sorted_rows *sorted, uint32_t part, uint32_t found)
{
	return sorted->starts[part][found / RQL_STORE_BLOCK] + found % RQL_STORE_BLOCK;
}
/* Rows of a form in a device's memory. Their number lies there, too: uint64_t, also when it is more than there is room
 * for. */
struct rql_columns_port {
	const struct rql_store_snapshot *form; /* column/form.h */
	uint64_t room;                         /* rows; a multiple of RQL_FORM_ROWS */
	struct rql_buffer *values, *count;
	uint64_t count_at; /* bytes into its buffer */
};
/* Where a column's fields begin, in bytes. */
static inline uint64_t rql_columns_field(const struct rql_columns_port *port, uint32_t column)
{
	return port->room * rql_form_offset(port->form, column);
}
/* On a device there are no PAIRS: a join (request.h, rql_pair) writes the columns that are read above while it holds a pair
 * in registers. A list of pairs would be 8 bytes written and read again for each, and a gather at any place for each column.
 * Of sides in the host's memory they are put out by the run itself (stage.h, rql_run_sides).
 * The CPU makes maps with payloads of `keyed` rows (below); a GPU gives them as MAP. They lie on devices by themselves
 * (scan/scan_map.h). */

/* What the raster unit did, of all stages of a run. */
struct rql_drawn {
	uint64_t points;     /* vertices times instances */
	uint64_t passes;     /* of a join: draws that had points */
	uint64_t layers;     /* the highest stack */
	uint64_t partitions; /* that had rows to be drawn */
	uint64_t pauses;     /* stacks that were full, so that another one followed */
	uint64_t flattened;  /* partitions with a dense image */
	uint64_t swapped;    /* partitions built on the side that was to probe */
	uint64_t rounds;     /* of a group-by */
	uint64_t bytes;      /* moved by points and by clearing */
	uint64_t image_bytes;
	/* Of a join's images, the largest ones: the side of a hash image in pixels, layers of a stack (0: a dense image takes all
	 * rows), bytes of a pixel that holds a row, and why. */
	uint32_t image_side, stack_layers, pixel_bytes;
	const char *pixels; /* NULL: nothing was to be chosen */
};
static inline void rql_drawn_add(struct rql_drawn *sum, const struct rql_drawn *more)
{
	if (more->image_side > sum->image_side || !sum->image_side) {
		sum->image_side = more->image_side;
		sum->stack_layers = more->stack_layers;
		sum->pixel_bytes = more->pixel_bytes;
		sum->pixels = more->pixels;
	}
	sum->points += more->points;
	sum->passes += more->passes;
	sum->layers = more->layers > sum->layers ? more->layers : sum->layers;
	sum->partitions += more->partitions;
	sum->pauses += more->pauses;
	sum->flattened += more->flattened;
	sum->swapped += more->swapped;
	sum->rounds += more->rounds;
	sum->bytes += more->bytes;
	sum->image_bytes += more->image_bytes;
}
/* What a join of sides in the host's memory moved. */
struct rql_moved {
	uint64_t partitions, passes;    /* pairs of them that were joined; of partitioning, at most */
	uint64_t in_bytes, out_bytes;   /* over the link */
	uint64_t spilled_bytes;         /* to a temporary file */
	uint64_t device_peak, host_peak; /* bytes: of the device's memory; of partitions in the host's */
	struct rql_left_devices left;    /* of several */
};
struct rql_port {
	enum rql_port_kind kind;
	/* ROWS: on a CPU, in the arena of the run. */
	struct rql_rows rows;
	/* SORTED: the caller releases it. */
	struct rql_sorted_rows sorted;
	/* BATCH: the caller releases it. */
	struct rql_batch *batch;
	/* MAP: column/map/map.h; the caller frees it. Of the rows that came in: how many, how many have no key, and whether one in
	 * the range comes twice. Payload i stands for number map_numbers[i] (request.h); in the arena of the run. */
	struct rql_map *map;
	uint64_t map_rows, map_nulls;
	bool map_twice;
	uint32_t map_number_count; /* 0: there are no payloads */
	uint64_t *map_numbers;
	/* GROUPS; of a batch group_count is its rows. All in the arena of the run. */
	uint64_t group_count; /* groups with at least one row; without group keys exactly 1, also over nothing */
	uint32_t **keys;      /* [group key][group]: key code; NULL of a wide key */
	uint64_t **wide_keys; /* the same of group keys with more than 2^32 codes (of stores only); NULL: there is none */
	struct rql_agg_values *aggs;
	uint32_t sorted_keys; /* the groups ascend by this many leading group keys */
	struct rql_keyed_rows keyed;
	/* Of every kind: what the run read and took. */
	uint64_t cells_read, cells_covered, bytes_read, runs;
	uint64_t bytes_uploaded; /* stores: columns and tables that this run put into the device's memory first */
	uint64_t rays, hits;     /* rt: launched; closest hits and any-hit calls */
	struct rql_drawn drawn;  /* raster */
	struct rql_moved moved;  /* PAIRS, and GROUPS of rows in the host's memory */
	/* Of those, whose error RQL_ERROR_DEVICE is; NULL: the method's own device's. Without that, whose work others took over. */
	struct rql_device *failed;
	struct rql_device *full;   /* of those, after RQL_ERROR_LIMIT: whose memory had no room to begin with; NULL: not for that */
	/* Of the ROWS that came in; of a port of ROWS, its own. GPUs: only when RQL_RUN_TIMED was asked for. */
	struct rql_selected selected;
	/* GPUs: device time of the whole run and of its passes, when RQL_RUN_TIMED was asked for; else 0. In arena. */
	double device_ns;
	uint32_t pass_count;
	struct rql_pass_time *passes;
};

#endif
