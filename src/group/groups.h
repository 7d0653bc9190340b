/* Groups: rows of states (state.h) by number. An array of rows when groups are few or mostly used, a hash table when they
 * are many and mostly not there. A worker has its own; at the end they become one, and an answer.
 *
 * Group numbers are mixed radix over the group keys, or, beyond 2^62 of them, 128 bits with the keys' codes side by side. */
#ifndef RQL_GROUP_GROUPS_H
#define RQL_GROUP_GROUPS_H

#include "group/state.h"
#include "method/port.h"
#include "util/threads.h"

#define RQL_GROUPS_MOST (UINT64_C(1) << 62)        /* numbers of 64 bits, with room */
#define RQL_GROUPS_DENSE_WORDS (UINT64_C(1) << 26) /* of an array of rows: 512 MiB; beyond, groups are hashed */
#define RQL_GROUPS_FIRST_CAPACITY 1024u            /* fewer groups are always an array */
#define RQL_GROUPS_SORTED (UINT64_C(1) << 16)      /* hashed groups up to this many come out in order */
#define RQL_GROUPS_COPIES 4u        /* of few groups' rows, used in turn: additions to one group need not wait */
#define RQL_GROUPS_COPY_WORDS 1024u /* rows of this many words or fewer are kept so often: 32 KiB in all */

/* ---- what a request makes of them ---- */
/* A group key in the groups' numbers. */
struct rql_groups_key {
	uint64_t key_count;
	const uint32_t *keys; /* [key_count]: its codes; NULL: those from first_key on */
	uint64_t first_key;
	uint64_t stride;
	uint32_t shift, bits; /* in numbers of 128 bits, instead of stride */
	bool wide;            /* the answer has 64-bit codes */
};
/* An aggregate. */
struct rql_groups_value {
	enum rql_measure_kind kind;
	uint32_t state; /* the value; RQL_NONE: word 0 */
	uint32_t valid; /* a COUNT: NULL where it is 0; RQL_NONE: never NULL over some row */
	bool counts;    /* 0, not NULL, over nothing */
};
struct rql_groups_layout {
	uint64_t group_count; /* possible groups */
	bool wide;            /* more than RQL_GROUPS_MOST: numbers of 128 bits; always hashed */
	bool hashed;
	bool scalar;   /* no GROUP BY: one group, whatever qualifies */
	bool one_copy; /* also of few groups */
	bool row_zero; /* the template is all zeros */
	uint32_t row_words;
	uint64_t *row_template; /* of a group without rows */
	uint32_t state_count, key_count, value_count;
	struct rql_state *states;
	struct rql_groups_key *keys;
	struct rql_groups_value *values;
	struct rql_wanted_groups wanted; /* as the request's; of zeros where all are */
};
/* What `expected` groups of the possible ones should lie in: an array of rows that are mostly used beats a table of them. */
static inline bool rql_groups_should_hash(const struct rql_groups_layout *layout, double expected)
{
	return layout->group_count > RQL_GROUPS_FIRST_CAPACITY &&
	       (layout->group_count > RQL_GROUPS_DENSE_WORDS / layout->row_words ||
	        (double)layout->group_count > 4 * expected);
}
/* Makes the template. When the states are there. */
rql_status rql_groups_lay(struct rql_groups_layout *layout, struct rql_arena *arena, struct rql_error *err) RQL_MUST_CHECK;

/* ---- a hash table (groups_hash.c) ---- */
#define RQL_GROUPS_PART_BITS 8u
#define RQL_GROUPS_PARTS (1u << RQL_GROUPS_PART_BITS)
/* Groups that a worker has put out of its table, by partitions of their hashes. */
struct rql_groups_part_run {
	struct rql_groups_part_run *next;
	uint64_t begin[RQL_GROUPS_PARTS + 1]; /* entries */
	uint64_t entries[];
};
/* An entry is the group's number, one word or two (the lower first), and its row. */
struct rql_groups_hash {
	const struct rql_groups_layout *layout;
	uint32_t *place;   /* [places]: entry + 1; 0: none */
	uint64_t *entries; /* [room] */
	uint64_t places, used, room;
	uint32_t shift;
	struct rql_groups_part_run *runs;
	struct rql_groups_block *blocks; /* their memory */
};
/* The groups of one partition of all workers; an entry's number lies before its row. */
struct rql_groups_part {
	uint64_t count;
	const uint64_t **rows; /* in the workers' runs */
};
bool rql_groups_hash_init(struct rql_groups_hash *h, const struct rql_groups_layout *layout, uint64_t room);
void rql_groups_hash_free(struct rql_groups_hash *h);
void rql_groups_hash_clear(struct rql_groups_hash *h); /* as after init */
/* As rql_groups_rows. high: of wide layouts. */
bool rql_groups_hash_rows(struct rql_groups_hash *h, const uint64_t *low, const uint64_t *high, uint32_t n,
                          uint64_t **rows);
/* As rql_groups_reserve and, of layouts that are not wide, rql_groups_row. */
bool rql_groups_hash_reserve(struct rql_groups_hash *h, uint64_t more);
uint64_t *rql_groups_hash_row(struct rql_groups_hash *h, uint64_t group);
/* Brings the groups of all together: in *parts [RQL_GROUPS_PARTS], which the caller frees also after an error, or, when
 * that is NULL, in the first. */
rql_status rql_groups_hash_merge(struct rql_groups_hash *const *all, uint32_t count, struct rql_pool *pool,
                                 struct rql_groups_part **parts, struct rql_error *err);
void rql_groups_hash_free_parts(struct rql_groups_part *parts); /* NULL accepted */

/* ---- groups ---- */
/* A large array is made ready run by run, so many rows at once, by the worker that first counts something there: of groups
 * that lie together in the table each worker fills its own share of its array, and no other page of it is asked for. */
#define RQL_GROUPS_RUN_SHIFT 14u
#define RQL_GROUPS_RUN (UINT64_C(1) << RQL_GROUPS_RUN_SHIFT)

struct rql_groups {
	const struct rql_groups_layout *layout;
	uint64_t *rows;    /* [copies * group_count * row_words]; of a list: [capacity * row_words] */
	uint64_t *keys;    /* a list of groups, not an array: number + 1, as GPUs give them; of two words: */
	uint32_t low_bits; /* the number above so many bits + 1, and these bits; 0: of one word */
	uint64_t capacity; /* array: group_count */
	uint64_t **runs;   /* of a large array: each run's rows, NULL: none of its groups exists; after rql_groups_merge
	                    * perhaps in another worker's array. NULL: `rows` has them all */
	uint64_t missing;  /* runs that are not there yet */
	bool zero;         /* what is not there yet is zero */
	bool borrowed;     /* rows are another's memory */
	bool ready;        /* its memory is there */
	uint32_t copies;
	struct rql_groups_hash hash;   /* of hashed layouts, instead of all that */
	struct rql_groups_part *parts; /* what rql_groups_merge has made of it and the others', or NULL */
	struct rql_pool *pool;         /* for shaping an answer; NULL: the caller alone */
};
/* Groups [i, i + RQL_GROUPS_RUN) of an array, i a multiple of that; NULL: none of them exists. */
static inline const uint64_t *rql_groups_run(const struct rql_groups *g, uint64_t i)
{
	return g->runs ? g->runs[i >> RQL_GROUPS_RUN_SHIFT] : g->rows + i * g->layout->row_words;
}
/* arena: has the rows where they are few; it may be NULL. */
bool rql_groups_init(struct rql_groups *g, const struct rql_groups_layout *layout, struct rql_arena *arena);
void rql_groups_free(struct rql_groups *g);
void rql_groups_clear(struct rql_groups *g); /* as after init; keeps the memory */
/* rows[i] = the row of group number groups[i] (and high[i], of wide layouts), in which the row is counted. false: out of
 * memory. */
bool rql_groups_rows(struct rql_groups *g, const uint64_t *groups, const uint64_t *high, uint32_t n, uint64_t **rows);
/* Of few groups: where their rows begin, in the copies in turn. Nothing is counted. */
void rql_groups_places(const struct rql_groups *g, const uint64_t *groups, uint32_t n, uint32_t *places);
/* One by one: room for `more` further groups, which makes pointers to rows invalid; false: out of memory. */
static inline bool rql_groups_reserve(struct rql_groups *g, uint64_t more)
{
	return !g->layout->hashed || rql_groups_hash_reserve(&g->hash, more);
}
void rql_groups_make_run(struct rql_groups *g, uint64_t run);
/* The group's row, made when it is new. Nothing is counted. */
static inline uint64_t *rql_groups_row(struct rql_groups *g, uint64_t group)
{
	if (g->layout->hashed)
		return rql_groups_hash_row(&g->hash, group);
	if (g->missing && !g->runs[group >> RQL_GROUPS_RUN_SHIFT])
		rql_groups_make_run(g, group >> RQL_GROUPS_RUN_SHIFT);
	return g->rows + group * g->layout->row_words;
}
/* Folds the copies into the first. */
void rql_groups_fold(struct rql_groups *g);
/* Adds the (folded) groups of the others to the first, in parallel. */
rql_status rql_groups_merge(struct rql_groups *const *all, uint32_t count, struct rql_pool *pool, struct rql_error *err);

/* ---- an answer (groups_answer.c) ---- */
/* The groups that exist and are wanted, their keys and values: out->group_count, keys, aggs, sorted_keys. They ascend by
 * all keys in their order, unless they are many and hashed. */
rql_status rql_groups_answer(const struct rql_groups *g, struct rql_arena *arena, struct rql_port *out,
                             struct rql_error *err);
/* Room for an answer's columns of `count` groups, zeroed. nothing: no row went into the one group. */
bool rql_groups_columns(const struct rql_groups_layout *layout, uint64_t count, bool nothing, struct rql_arena *arena,
                        struct rql_port *out);

/* A group that exists: its number, of a wide layout both words; and its row. */
struct rql_groups_found {
	uint64_t low, high;
	const uint64_t *row;
};
/* The code of a group's key, as the request counts them. */
static inline uint64_t rql_groups_code(const struct rql_groups_layout *layout, const struct rql_groups_key *key,
                                       const struct rql_groups_found *f)
{
	rql_uint128 number = (rql_uint128)f->high << 64 | f->low;
	uint64_t code = layout->wide ? (uint64_t)(number >> key->shift) & (UINT64_MAX >> (64 - key->bits))
	                : layout->group_count <= UINT32_MAX /* a division of 64 bits takes three times as long */
	                    ? (uint32_t)f->low / (uint32_t)key->stride % (uint32_t)key->key_count
	                    : f->low / key->stride % key->key_count;
	return key->keys ? key->keys[code] : key->first_key + code;
}
/* The aggregate's value in a row; integers and codes. */
static inline rql_int128 rql_groups_integer(const struct rql_groups_layout *layout, const struct rql_groups_value *value,
                                            const uint64_t *row)
{
	return value->state == RQL_NONE ? (rql_int128)row[0] : rql_state_integer(&layout->states[value->state], row);
}
/* An aggregate that is never NULL has no `valid`. */
static inline bool rql_groups_is_valid(const struct rql_groups_layout *layout, const struct rql_groups_value *value,
                                       const uint64_t *row)
{
	return value->counts || value->valid == RQL_NONE || row[layout->states[value->valid].word] != 0;
}

/* ---- groups that are wanted (groups_wanted.c) ---- */
static inline bool rql_groups_wants_all(const struct rql_groups_layout *layout)
{
	return !layout->wanted.test_count && !layout->wanted.first;
}
/* An unsigned key that orders as the integers do, as far as 64 bits tell them apart. */
static inline uint64_t rql_groups_integer_key(rql_int128 value)
{
	int64_t near = value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return (uint64_t)near ^ UINT64_C(1) << 63;
}
/* Do the values of a group pass HAVING's tests? */
bool rql_groups_is_wanted(const struct rql_groups_layout *layout, const uint64_t *row);
/* Leaves in found[] those that are wanted, in their order, and in *count how many. */
rql_status rql_groups_keep_wanted(const struct rql_groups_layout *layout, struct rql_pool *pool,
                                  struct rql_groups_found *found, uint64_t *count, struct rql_error *err);

#endif
