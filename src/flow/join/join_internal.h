/* What a run of a join consists of, for join.c and join_range.c. */
#ifndef RQL_FLOW_JOIN_INTERNAL_H
#define RQL_FLOW_JOIN_INTERNAL_H

#include "flow/join/join_keys.h"
#include "flow/join/range_cast.h"
#include "flow/join/range_places.h"

struct pairs {
	uint32_t *probe, *build; /* malloc'ed; build may be NULL: only the rows that look up are wanted */
	uint64_t count, room;
};

/* What a kind of join wants, seen from the side that looks up. */
enum wants {
	WANT_PAIRS, /* each pair */
	WANT_HITS,  /* the rows that look up which find one */
	WANT_MISSES,
	WANT_BUILD_HITS, /* the rows of the table that are found */
	WANT_BUILD_MISSES,
	WANT_MARK,
};

struct joining {
	struct rql_running *r;
	const struct rql_rel *rel;
	struct rql_join_keys keys;
	struct rql_rowset *sides[2]; /* left, right; rebased */
	unsigned build;              /* 0, 1: which of them is in the table */
	enum wants wants;
	bool keep_probe, keep_build; /* rows without a partner appear, too */
	bool single;                 /* a second partner is an error */
	bool plain;                  /* pairs of at most one partner, of which no more is to be noted than that it is there */
	struct rql_keys words;       /* side 0 is the table's */
	struct rql_key_table table;
	bool ranged;                 /* keys.range decides: the table's rows are in the order of its value */
	struct rql_sorted sorted;
	bool by_index;               /* ranged, and an index has the table's rows in order: nothing is in `sorted` */
	struct rql_sorted_rows index;
	struct rql_range_cast cast;  /* of the index's column */
	struct rql_vector point;     /* the value; by_index: of a column's cast, the column */
	struct rql_range_places places;
	struct rql_vector bounds[2]; /* of the rows that look up */
	bool asof;                   /* of the rows in range the nearest */
	bool by_pairs;               /* a method finds the pairs: there is no table */
	bool by_hash;                /* the same, and words are hashes of strings: pairs are candidates */
	struct rql_checked *checked; /* of such pairs; NULL until there are some */
	struct rql_evaluator *rest; /* NULL: no further conditions */
	struct pair_room **rooms;   /* [threads] */
	struct pairs *morsels;
	_Atomic uint64_t pairs, tried;
	_Atomic uint64_t *found; /* bitmap of the table's rows; NULL: nobody asks */
	uint8_t *hit;            /* MARK: of each row that looks up */
};

/* A worker's candidates for a pair, and the rowset in which further conditions see them. */
struct pair_room {
	uint32_t probe[RQL_VECTOR_ROWS], build[RQL_VECTOR_ROWS];
	bool hit[RQL_MORSEL_ROWS];
	uint32_t count;
	uint32_t left; /* pairs to take until rql_running_ask */
	struct rql_rowset set;
	uint32_t **at; /* [columns]: numbers of rows for vectors that stood elsewhere already */
};

/* ---- join.c: r and rel are set; what can be found in the table or the range is known then. Close in any case. ---- */
rql_status rql_join_open(struct joining *j, struct rql_rowset *inputs) RQL_MUST_CHECK;
/* The join's rows, once it is open. */
rql_status rql_join_rows_of(struct joining *j, struct rql_rowset *out) RQL_MUST_CHECK;
void rql_join_close(struct joining *j);

/* ---- join_pairs.c: a method has the pairs (rql_running.pairs) ---- */

/* Can it find them? Not for ranges, and without rows there is nothing to find. */
bool rql_join_by_pairs(const struct joining *j);
/* All pairs, in the first morsel's list. After prepare. */
rql_status rql_join_pairs_run(struct joining *j) RQL_MUST_CHECK;
struct rql_run_sides;
struct rql_found;
/* by_hash: takes those pairs away whose strings differ. Of both sides come rows' numbers alone. */
rql_status rql_join_pairs_check(struct joining *j, struct rql_found *found, struct rql_error *err) RQL_MUST_CHECK;
void rql_join_pairs_close(struct joining *j);
/* The same to whoever asks: columns, hits, put and state of `sides` are set (method/stage.h). */
rql_status rql_join_pairs_find(struct joining *j, struct rql_run_sides *sides) RQL_MUST_CHECK;

/* ---- join_range.c ---- */

/* The bounds of n rows that look up, as places. */
struct range_bounds {
	uint64_t places[2][RQL_VECTOR_ROWS];
	uint64_t live[RQL_VECTOR_WORDS]; /* rows that have all bounds */
	bool inclusive; /* what is open has been taken into account */
};
void rql_range_bounds(const struct joining *j, uint64_t at, uint32_t n, struct range_bounds *out);
/* Sorts the table's rows where an index was to have them in order. */
rql_status rql_range_sort(struct joining *j) RQL_MUST_CHECK;

/* The range's values on both sides; before the table is made. */
rql_status rql_range_open(struct joining *j) RQL_MUST_CHECK;
/* The table's rows in order, or no range: where a key has few rows, its conditions are tested of each pair (rest). */
rql_status rql_range_make(struct joining *j) RQL_MUST_CHECK;
/* rows[i]: what the row at + i finds; with keys it is given the rows of its key. */
void rql_range_find(const struct joining *j, uint64_t at, uint32_t n, struct rql_key_rows *rows);
/* All pairs, counted before they are written: for inner and outer joins without further conditions. */
bool rql_range_pairs_known(const struct joining *j);
/* What each row that looks up finds. */
rql_status rql_range_rows(struct joining *j, struct rql_key_rows **rows) RQL_MUST_CHECK;
rql_status rql_range_pairs(struct joining *j, uint64_t *count, uint32_t **probe, uint32_t **build) RQL_MUST_CHECK;

/* ---- join_index.c: joins by ranges over an index ---- */

/* Where an index has the table's rows in the order of the range's value, and few rows look up: by_index. After the bounds. */
rql_status rql_index_range_open(struct joining *j) RQL_MUST_CHECK;
void rql_index_range_close(struct joining *j);
/* The places that the i-th of these rows asks for; false: it finds nothing. */
bool rql_index_range_of(const struct joining *j, const struct range_bounds *b, uint32_t i, uint64_t *least,
                        uint64_t *greatest);
/* Calls for all rows of the table in the range, some at a time. Of an ASOF join: the nearest one. */
typedef rql_status rql_found_fn(void *state, const uint32_t *rows, uint32_t count, struct rql_error *err);
rql_status rql_index_range_find(const struct joining *j, uint64_t least, uint64_t greatest, rql_found_fn *found,
                                void *state, struct rql_error *err) RQL_MUST_CHECK;
/* How many they are: of no ASOF join. */
uint64_t rql_index_range_count(const struct joining *j, uint64_t least, uint64_t greatest);

/* ---- join.c ---- */

rql_status rql_join_add_room(struct joining *j, struct pairs *p, uint64_t more, struct rql_error *err) RQL_MUST_CHECK;
/* By all threads where they are many: new pages cost more than the rows. */
rql_status rql_join_copy(const struct joining *j, uint32_t *to, const uint32_t *from, uint64_t count,
                         struct rql_error *err) RQL_MUST_CHECK;
#define RQL_PAIRS_AT_ONCE (UINT32_C(1) << 20) /* some milliseconds; then it is asked whether the user has interrupted */
rql_status rql_join_two_partners(struct rql_error *err) RQL_MUST_CHECK;
static inline bool rql_join_is_found(const struct joining *j, uint32_t row)
{
	return atomic_load_explicit(&j->found[row >> 6], memory_order_relaxed) >> (row & 63) & 1;
}
static inline void rql_join_mark_found(struct joining *j, uint32_t row)
{
	if (!rql_join_is_found(j, row))
		atomic_fetch_or_explicit(&j->found[row >> 6], UINT64_C(1) << (row & 63), memory_order_relaxed);
}
/* Of a worker, made on first need. */
rql_status rql_join_room_for(struct joining *j, unsigned worker, struct rql_error *err) RQL_MUST_CHECK;
/* Which of the room's candidates, one or more, pass the further conditions: live[RQL_VECTOR_WORDS]. */
rql_status rql_join_test(struct joining *j, struct pair_room *room, unsigned worker, uint64_t *live,
                         struct rql_error *err) RQL_MUST_CHECK;

/* rows[i]: the rows that row at + i of the other side finds in the table, or in the range. Not by an index. */
void rql_join_find(const struct joining *j, uint64_t at, uint32_t n, struct rql_key_rows *rows);

#endif
