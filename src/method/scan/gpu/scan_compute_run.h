/* A request bound to a store on a GPU, between scan_compute.c, which runs it, scan_compute_answer.c, which makes groups of
 * what the device has left, scan_compute_rows.c, where rows themselves are wanted, and scan_compute_price.c. */
#ifndef RQL_METHOD_SCAN_SCAN_COMPUTE_RUN_H
#define RQL_METHOD_SCAN_SCAN_COMPUTE_RUN_H

#include "method/scan/gpu/scan_compute.h"
#include "method/scan/rows/scan_rows.h"
#include "method/stage.h"

/* A request bound to a store by this method. */
struct rql_prepared {
	struct rql_arena *arena;
	struct rql_scan *scan; /* of a selection: its conditions alone (scan_compute_rows.c) */
	struct rql_scan_rows *rows; /* a selection: what the host does with the rows that pass; NULL: groups */
	const struct rql_store_snapshot *snapshot; /* retained */
	const struct rql_store_snapshot *gives;    /* the form of the rows that are given, retained; NULL: none are */
	struct rql_rows_source under; /* owned; method NULL: none */
	uint32_t own_points;          /* rql_scan_own_points */
	struct rql_columns_source from; /* owned; method NULL: the snapshot is a store's, no form */
	struct rql_stage stage; /* its lock: everything below */
	struct rql_scan_plan plan;
	bool placed;
	struct rql_scan_table table;
	struct rql_buffer *tables;           /* the blob */
	const struct rql_pipeline *pipeline; /* one reference */
	uint64_t capacity;        /* of the next context; hashed: a power of two, grows after an overflow */
	uint64_t group_room;      /* of the next context: groups that are given as columns */
	uint32_t items;           /* of the table, that the next context reads: all, fewer for the sake of a limit */
	/* Of the first rows of an order: the step that will hold what the first key must be, until it is known; RQL_NONE:
	 * it is, or there is none. And how many rows for each wanted one are expected to pass it; 0: there is no such step. */
	uint32_t bound_step;
	double bound_rows;
	uint64_t counted; /* rows that a run over all items has found; 0: not known */
	uint64_t found;   /* groups, the most of any run */
	bool listed;      /* a selection whose rows are those of ROWS, as lists: nothing runs here */
};

/* What a run writes to; at rest between runs. */
struct rql_scan_context {
	struct rql_stage_context base;
	struct rql_buffer *rows, *keys /* hashed */, *state, *result /* READBACK */;
	struct rql_buffer *others; /* DEVICE: found groups that result has no room for; NULL: it has room for all */
	/* DEVICE: ranks of the found groups, all in `others`, where some are chosen (scan_compute_first.c); else NULL. */
	struct rql_buffer *ranks;
	struct rql_buffer *choice; /* DEVICE: the bound of ranks, and what finding it takes */
	struct rql_buffer *table;  /* DEVICE: items, of rows that come in; else NULL */
	struct rql_buffer *values; /* DEVICE: groups as columns, where these are given; else NULL */
	/* READBACK: columns are given, or groups are chosen, and result is DEVICE memory: what the host reads of it. */
	struct rql_buffer *seen;
	struct rql_scan_accumulator accumulator;
	uint64_t capacity; /* rows */
	uint32_t items;
	uint64_t room;     /* groups in result, or where they are chosen in `seen`, or in `values` */
	bool listed;       /* nothing of all that is there */
};

/* scan_compute_answer.c: the groups of a run. x NULL: the zone maps left nothing to run. */
rql_status rql_scan_compute_answer(struct rql_prepared *p, struct rql_scan_context *x, const struct rql_stage_run *run,
                                   struct rql_error *err);
/* Words of a group's number in a list. */
static inline uint64_t rql_scan_key_words(const struct rql_prepared *p)
{
	return p->plan.wide ? 2 : 1;
}
/* Bytes of a group in a list. */
uint64_t rql_scan_entry_bytes(const struct rql_prepared *p);

/* scan_compute_first.c: the first groups of an order, chosen on the device. Can a context of this capacity do so, and does the
 * next one, since there are many? */
bool rql_scan_can_choose(const struct rql_prepared *p, uint64_t capacity);
bool rql_scan_chooses(const struct rql_prepared *p, uint64_t capacity);
/* Memory of a context, whose capacity is set, and its bytes beside the groups' rows. */
rql_status rql_scan_first_make(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err);
uint64_t rql_scan_first_bytes(const struct rql_prepared *p, uint64_t capacity);
/* Behind the collecting pass. */
rql_status rql_scan_first_record(const struct rql_prepared *p, const struct rql_scan_context *x,
                                 struct rql_commands *commands, struct rql_error *err);
/* Shows the kernels that rql_scan_first_record asks for. */
rql_status rql_scan_first_see(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err);
/* As fetch_groups of scan_compute_answer.c. */
rql_status rql_scan_first_fetch(const struct rql_prepared *p, const struct rql_scan_context *x,
                                struct rql_groups *g, uint64_t **memory, struct rql_error *err);

/* How a row of the device holds an aggregate: RQL_SCAN_KEY_*, NONE in two words; in which word; and the one that is 0 where
 * it is NULL, or RQL_SCAN_NO_WORD. */
uint32_t rql_scan_key_kind(const struct rql_scan *scan, const struct rql_groups_value *output);
uint32_t rql_scan_key_word(const struct rql_scan *scan, const struct rql_groups_value *output);
uint32_t rql_scan_key_valid(const struct rql_scan *scan, const struct rql_groups_value *output);

/* scan_compute_groups.c: groups as the columns of a form, for whoever comes next on the device. Room for those that are
 * expected, until more were found. */
void rql_scan_groups_size(struct rql_prepared *p);
bool rql_scan_groups_grow(struct rql_prepared *p, const struct rql_scan_context *x, uint64_t found);
/* Memory of a context, whose capacity is set, and its bytes beside the groups' rows. */
rql_status rql_scan_groups_make(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err);
uint64_t rql_scan_groups_bytes(const struct rql_prepared *p);

/* Found groups go straight into memory that the host reads, up to so many bytes of them: hardly any of many possible
 * groups may exist, and a download is a submission and a wait. */
#define RQL_SCAN_DIRECT_BYTES ((uint64_t)4 << 20)
/* How many groups that is, of the next context; of few groups, which are put out whole, all. */
uint64_t rql_scan_direct_groups(const struct rql_prepared *p);
/* Device memory of the next context. */
uint64_t rql_scan_context_bytes(const struct rql_prepared *p);
/* Bytes of the columns that are read where rows are left, when the share `passed` of them passes everything. */
double rql_scan_late_bytes(const struct rql_prepared *p, double passed);
/* scan_compute_rows.c, selections. Takes the list out of the context; run->own is a struct rql_scan_list: */
rql_status rql_scan_list_take(struct rql_prepared *p, struct rql_scan_context *x, const struct rql_stage_run *run,
                              struct rql_error *err);
/* As rql_method's offer and run: */
enum rql_offer rql_scan_list_offer(const struct rql_request *request, const struct rql_device *device,
                                   const char **reason);
rql_status rql_scan_list_run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *run,
                             struct rql_port *out, struct rql_error *err);
/* No row is wanted, whatever passes: no device is needed. */
bool rql_scan_list_empty(const struct rql_prepared *p);
/* Fills p->rows and p->scan. */
rql_status rql_scan_list_prepare(struct rql_prepared *p, const struct rql_request *request, struct rql_error *err);
/* Before a first run: what the first key of a wanted row must be becomes a step, and a plan without it is forgotten. */
rql_status rql_scan_list_bound(struct rql_prepared *p, struct rql_progress *progress, struct rql_error *err);
/* Chooses how many blocks the next context reads, and the capacity of its list: what is expected, until it is placed. */
void rql_scan_list_size(struct rql_prepared *p);
/* Whether a list lies in memory that the host reads. */
bool rql_scan_list_direct(uint64_t capacity);
/* True: `found` rows passed, which were more than the list has room for, or too few for the limit though there are more
 * blocks; the next context has what it takes. */
bool rql_scan_list_grow(struct rql_prepared *p, const struct rql_scan_context *x, uint64_t found);
/* Asks whoever gives ROWS for lists, where no condition is left to be tested. */
void rql_scan_list_ask(struct rql_prepared *p);
/* True: some list had too little room; the next context has more, or goes another way. */
bool rql_scan_listed_grow(struct rql_prepared *p, const struct rql_scan_context *x);
/* Rows that a run will list, and the share of the blocks left by the zone maps that it will read. */
double rql_scan_list_expected(const struct rql_prepared *p);
double rql_scan_list_part(const struct rql_prepared *p);

/* scan_compute_emit.c: rows as columns for whoever comes next, and rows that came in so. */
/* As rql_method's offer. */
const char *rql_scan_emit_refusal(const struct rql_request *request);
/* Room for the rows that are expected, until more were found. */
void rql_scan_emit_size(struct rql_prepared *p);
bool rql_scan_emit_grow(struct rql_prepared *p, const struct rql_scan_context *x, uint64_t found);
uint64_t rql_scan_emit_bytes(const struct rql_prepared *p);
/* Memory of a context. */
rql_status rql_scan_emit_make(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err);
rql_status rql_scan_items_make(struct rql_prepared *p, const struct rql_columns_port *in, struct rql_scan_context *x,
                               struct rql_error *err);
/* What comes in, as it lies in the context of the stage that gives it. */
void rql_scan_columns_in(const struct rql_prepared *p, const struct rql_stage_context *input, struct rql_columns_port *out);
/* Before the scan: the items of what came in. */
rql_status rql_scan_items_record(const struct rql_prepared *p, const struct rql_scan_context *x,
                                 const struct rql_columns_port *in, struct rql_commands *commands, struct rql_error *err);
rql_status rql_scan_items_see(rql_see_kernel *see, void *state, struct rql_error *err);
/* As the stage's operation. */
void rql_scan_columns_out(const struct rql_stage *stage, const struct rql_stage_context *context,
                          struct rql_columns_port *out);
struct rql_prepared *rql_scan_prepared_of(const struct rql_stage *stage);

/* As rql_method's price. */
void rql_scan_compute_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);

#endif
