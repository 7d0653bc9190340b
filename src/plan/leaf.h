/* Choosing what answers one node of a plan. */
#ifndef RQL_PLAN_LEAF_H
#define RQL_PLAN_LEAF_H

#include "bind/block/block.h"
#include "bind/block/wanted.h"
#include "bind/relation/slots.h"
#include "plan/plan_nodes.h"
#include "plan/price/price_tree.h"

/* The state of one rql_plan_make. */
struct rql_planning {
	const struct rql_plan_context *ctx;
	struct rql_arena *arena;
	struct rql_plan *plan;
	struct rql_plan_nodes *nodes;
	uint64_t stamp;   /* the catalog's before anything was read */
	bool shares_maps; /* with other plans (map_cache.h) */
	bool covered;     /* every base table is read by a leaf */
	bool is_subplan; /* its rows are wanted while another plan is made (subplan.c) */
	bool by_first;   /* ... and only the table of its first column may be the fact table: others cannot give it once */
	/* Its leaf is to give a map: of this table of the block, by this column and maybe a second one (subplan.c). */
	const struct rql_expr *keyed, *keyed_second; /* COLUMNs, or NULL */
	/* The keys by which sides of this plan, and of those that it is a sub-plan of, are reduced (scan_reduction.h). */
	const struct rql_reduction {
		const struct rql_rel *keys;
		const struct rql_reduction *next;
	} *reductions;
	struct rql_structure **structures; /* retained while planning; replaced in place when loaded */
	uint32_t structure_count;
	const struct rql_above *above; /* the aggregate at hand; NULL: its rows are not those of the plan's node */
	const char *beyond;  /* of the block at hand (beyond.h); NULL: nothing */
	const char *scalars; /* who gave the values of scalar subqueries (scalar.c); NULL: there are none */
	const char *why_not; /* the most telling reason so far why the host must answer */
	int why_not_rank;
	bool awaits_devices; /* GPUs are being opened: the plan is made without them (await.h) */
	bool comparing;      /* a leaf of joined rows with leaves below it: no other such leaf is looked for */
	uint32_t dear_relations; /* rows of so many relations are dearer joined on a GPU than the host's are; 0: none were tried */
	double best_ns;      /* the cheapest leaf so far for the node at hand; 0: none */
	uint32_t size_count; /* tables whose rows were counted */
	struct rql_table_size sizes[RQL_BLOCK_MAX_TABLES];
	struct rql_plan_load *to_load;    /* rayql_auto_columns: what would serve a leaf; in arena, or NULL */
	struct rql_structure *to_refresh; /* would serve a leaf that nothing fresh serves; borrowed */
	bool refresh_first;               /* a leaf was found, but would rather be made from what to_refresh holds then */
	struct rql_error *err;
};

/* plan.c: finds leaves for rel. *covered: every base table below it is read by one. When some are not, the leaves that were
 * found may still be lent to the host, which reads the others. */
rql_status rql_planning_cover(struct rql_planning *p, const struct rql_rel *rel, bool *covered) RQL_MUST_CHECK;
/* There are leaves: methods against the host, by price. The plan's kind is METHOD then, or the reason is kept. */
rql_status rql_planning_decide(struct rql_planning *p) RQL_MUST_CHECK;
/* subplan.c: the rows of rel, which a plan needs while it is made, from the structures: planned as a statement would be and
 * run at once, on the CPU. by_first: as in struct rql_planning. *out NULL: the host is to be asked. *how: who gives them, for EXPLAIN. Fails only for memory and
 * interruption. */
rql_status rql_subplan_rows(struct rql_planning *p, struct rql_rel *rel, bool by_first, struct rql_batch **out,
                            const char **how, struct rql_error *err) RQL_MUST_CHECK;
/* The same as keys beside groups, without a row being made: all's first key_count columns are the keys, the others become
 * payloads; a DISTINCT on top does not matter. *found false: its rows must be asked for. The snapshots' columns of the keys lie in *structure, which is
 * retained. on (NULL: the CPU is to make it): the keys in the fact table. Where a GPU makes the map of rel's rows, as that
 * has its keys, sooner, there is `made` instead (subplan_set.c). */
struct rql_scan_keys;
struct rql_subplan_map {
	struct rql_flow_map map;
	struct rql_structure *structure;
	const struct rql_store_column *keys[2];
	struct rql_map *made; /* NULL: there is none; until it is taken, it is freed with this */
	uint64_t made_rows, made_nulls; /* rows, and those without a key */
	bool made_twice;                /* two have one key */
	bool repeats;                   /* two payloads may stand for the same values */
	const char *no_gpu;             /* why none has made it, though there is one; NULL: nothing is to be said */
	struct rql_batch *values; /* of the payloads, in the planning's arena, texts of dictionaries; NULL: there are none */
	struct rql_subplan *priced; /* the plan of the rows, where it was made for its price; NULL: there is none */
};
rql_status rql_subplan_map(struct rql_planning *p, struct rql_rel *all, bool by_first, uint32_t key_count,
                           const struct rql_scan_keys *on, struct rql_subplan_map *out, bool *found,
                           const char **how, struct rql_error *err) RQL_MUST_CHECK;
/* As rql_subplan_rows, by the plan that was priced, which is given up. */
rql_status rql_subplan_rows_priced(struct rql_planning *p, struct rql_subplan_map *map, struct rql_batch **out,
                                   const char **how) RQL_MUST_CHECK;
/* cpu_ns: what the CPU or the host takes for as much; 0: nobody knows. *found false: they are to do it. Fails only for
 * memory and interruption. */
rql_status rql_subplan_make(struct rql_planning *p, struct rql_rel *rel, uint32_t key_count,
                            const struct rql_scan_keys *on, double cpu_ns, struct rql_subplan_map *out, bool *found,
                            const char **how) RQL_MUST_CHECK;
/* The rows of rel whose keys such a map would get, as a sample says; less than 0: there would be none. Nothing is run. */
rql_status rql_subplan_expect(struct rql_planning *p, struct rql_rel *rel, uint32_t key_count, double *rows,
                              struct rql_error *err) RQL_MUST_CHECK;
/* The rows of rel, from the structures, where at most so many are expected, and are there, and take less than most_ns. *out
 * NULL: it is not so. Fails only for memory and interruption. */
rql_status rql_subplan_few(struct rql_planning *p, struct rql_rel *rel, uint64_t most, double most_ns,
                           struct rql_batch **out, struct rql_error *err) RQL_MUST_CHECK;
/* Might a GPU make a map for this plan? */
bool rql_subplan_may_make(struct rql_planning *p);
void rql_subplan_map_free(struct rql_subplan_map *map);
/* Is there a columns structure of the table that could serve a sub-plan? */
bool rql_subplan_has_columns(const struct rql_planning *p, const struct rql_table_ref *table);
/* ... or of any table that rel reads? */
bool rql_subplan_reads_columns(const struct rql_planning *p, const struct rql_rel *rel);
/* scalar.c: scalar subqueries that depend on no row become constants, where the structures give their one row. *changed: some
 * did, and the plan is to be made normal again. Fails only for memory and interruption. */
rql_status rql_plan_scalars(struct rql_planning *p, struct rql_rel **root, bool *changed) RQL_MUST_CHECK;
/* Tries to serve rel (AGGREGATE or DISTINCT) from the structures: RQL_OK and *found. Fails only for memory and
 * interruption. */
rql_status rql_leaf_choose(struct rql_planning *p, const struct rql_rel *rel, bool *found) RQL_MUST_CHECK;
/* The same for a node whose rows themselves are wanted: projections, an order and a limit over tables, joins and
 * filters. */
rql_status rql_leaf_choose_rows(struct rql_planning *p, const struct rql_rel *rel, bool *found) RQL_MUST_CHECK;
/* What both do once rel is known to be a block: the cheapest of all structures, or none. rows NULL: an aggregate. */
rql_status rql_leaf_choose_block(struct rql_planning *p, const struct rql_rel *rel, const struct rql_block *block,
                                 const struct rql_rows_block *rows, bool *found) RQL_MUST_CHECK;
/* leaf.c: rel has a leaf that joins on a GPU. Leaves below it, and the CPU above them, may be cheaper: those are found, too. */
rql_status rql_leaf_look_below(struct rql_planning *p, const struct rql_rel *rel) RQL_MUST_CHECK;
/* What is made of leaves gives rel's rows. host_ns: as in struct rql_alternative. */
rql_status rql_planning_alternative(struct rql_planning *p, const struct rql_rel *rel, const struct rql_rel *as,
                                    double host_ns) RQL_MUST_CHECK;
void rql_leaf_clear(struct rql_leaf *leaf);
/* NULL: out of memory. */
struct rql_candidate *rql_candidate_add(struct rql_planning *p, const struct rql_structure *s);
/* Prices every method that may serve the request from s on every device that may be used, and leaves the cheapest in
 * leaf; `first` is the structure's first candidate. RQL_ERROR_UNSUPPORTED: none; err says why. */
rql_status rql_price_methods(struct rql_planning *p, const struct rql_structure *s, struct rql_request *request,
                             struct rql_leaf *leaf, struct rql_candidate *first, struct rql_error *err) RQL_MUST_CHECK;
/* scan_leaf.c: is the columns structure, which is bound, of this table? */
bool rql_structure_is_of(const struct rql_structure *s, const struct rql_table_ref *ref);
/* Fills leaf when the columns structure s serves the block. Reasons are kept; only memory and interruption
 * fail. */
rql_status rql_scan_leaf_try(struct rql_planning *p, const struct rql_block *block, struct rql_structure *s,
                             struct rql_leaf *leaf) RQL_MUST_CHECK;
/* The same for a selection of rows. */
rql_status rql_scan_leaf_try_rows(struct rql_planning *p, const struct rql_rows_block *rows, struct rql_structure *s,
                                  struct rql_leaf *leaf) RQL_MUST_CHECK;
/* join_leaf.c: the block as joins of columns on a GPU, whatever their keys are, under groups and aggregates or (rows) as
 * rows. Takes the place of the cheapest leaf so far, if there is one, where it is cheaper. Reasons are kept; only memory and
 * interruption fail. */
rql_status rql_join_leaf_try(struct rql_planning *p, const struct rql_block *block, const struct rql_rows_block *rows,
                             struct rql_leaf *best) RQL_MUST_CHECK;
/* leaf.c: rel as one leaf over what takes a table's place below it. rows NULL: groups and aggregates. */
rql_status rql_leaf_choose_over(struct rql_planning *p, const struct rql_rel *rel, const struct rql_block *block,
                                const struct rql_rows_block *rows, bool *found) RQL_MUST_CHECK;
/* wide_leaf.c: the same where an aggregate of sums beyond 64 bits was in the way. */
rql_status rql_leaf_choose_wide(struct rql_planning *p, const struct rql_rel *rel, const struct rql_block *block,
                                bool *found) RQL_MUST_CHECK;
/* leaf.c: the first rows of an order over a union below. */
rql_status rql_leaf_choose_rows_over(struct rql_planning *p, const struct rql_rel *rel, bool *found) RQL_MUST_CHECK;
/* scan_distinct_leaf.c: an aggregate with several COUNT(DISTINCT) as several leaves: *found, and rel is what puts them
 * together. */
rql_status rql_leaf_choose_distincts(struct rql_planning *p, const struct rql_rel *rel, bool *found) RQL_MUST_CHECK;
bool rql_block_counts_several(const struct rql_block *block);
/* An aggregate that counts one argument DISTINCT as one over groups by it, too. NULL: it cannot be said so, or out of
 * memory. */
struct rql_rel *rql_distinct_levels(struct rql_arena *arena, const struct rql_rel *rel);
/* The leaf counts DISTINCT values, whose groups the host would put together: takes one that groups twice on a GPU in its
 * place where that is cheaper, or the session names the unit. */
rql_status rql_leaf_distinct_over_groups(struct rql_planning *p, const struct rql_rel *rel,
                                         struct rql_leaf *leaf) RQL_MUST_CHECK;
/* What RayQL takes until a leaf's rows are there. */
double rql_leaf_price(const struct rql_leaf *leaf);
/* The rows of a table: of fresh columns, else counted by the host, once for each version of the table. */
rql_status rql_scan_table_rows(struct rql_planning *p, const struct rql_table_ref *table, uint64_t *out,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Nothing served the block: with rayql_auto_columns, notes which columns in memory would (to_load). */
rql_status rql_scan_leaf_wish(struct rql_planning *p, const struct rql_block *block) RQL_MUST_CHECK;
/* NULL: it may be used now. Else why not; *refresh: rebuilding would help and is wanted. */
const char *rql_leaf_unusable(struct rql_planning *p, const struct rql_structure *s, bool *refresh);
/* A failure that is only a reason is swallowed (kept under the rank); memory and interruption are not. structure may be
 * NULL. */
rql_status rql_planning_swallow(struct rql_planning *p, rql_status status, struct rql_error *why, int rank,
                                const char *structure) RQL_MUST_CHECK;
/* Ranks of reasons. The higher, the nearer a structure came, and the more useful the reason. */
enum {
	RQL_REASON_UNRELATED = 0,
	RQL_REASON_NO_STRUCTURE = 1,
	RQL_REASON_NO_BLOCK = 2,
	RQL_REASON_OTHER_TABLES = 3,
	RQL_REASON_NO_MATCH = 4,
	RQL_REASON_NO_METHOD = 5,
	RQL_REASON_BEYOND = 6, /* no structure would do: the query itself is the cause (beyond.h) */
	RQL_REASON_UNIT = 7, /* the unit that rayql_unit asks for does not do it */
	RQL_REASON_NO_ROOM = 8, /* that unit would, but for the limit of its device's memory */
	RQL_REASON_NOT_FRESH = 8
};
/* Of what beyond.h says. Rows below others may be read in another way, say as a dimension of a scan: then it only tells
 * more than that there is no structure. */
int rql_rank_beyond(const struct rql_rows_block *rows);
/* Why nothing serves a node that RayQL does not know. */
void rql_planning_opaque(struct rql_planning *p, const struct rql_rel *rel);
/* Keeps reason when it outranks what is kept: 0 general .. 9 specific. */
void rql_planning_reason(struct rql_planning *p, int rank, const char *fmt, ...) RQL_PRINTF(3, 4);

#endif
