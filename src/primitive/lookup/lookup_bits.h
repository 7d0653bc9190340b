/* Which rows a batch of look-ups finds, all of them, as a bitmap: for whoever selects rows of a table by their keys. Points
 * and ranges in a map of any form (lookup.h), where ranges need an ordered or a direct one. What many probes find and what
 * one range finds is the same work: threads take rows, not probes. */
#ifndef RQL_PRIMITIVE_LOOKUP_BITS_H
#define RQL_PRIMITIVE_LOOKUP_BITS_H

#include "device/compile.h"
#include "primitive/lookup/lookup_map.h"

struct rql_lookup_bits {
	/* SORTED, BTREE: with its rows. HASHED: its row i is the list of the i-th of the keys that it was made of, all different;
	 * nothing but `slots` and their sizes is read. DIRECT: of it only the bounds are read. */
	struct rql_lookup_map map;
	/* HASHED, DIRECT: the rows of all keys, and where those of each begin among them: of the i-th key, or of integer low + i.
	 * uint32_t each; lists left out: each has just one row. */
	struct rql_span lists, rows;
	uint64_t row_count;     /* with lists */
	uint64_t count;         /* probes */
	struct rql_span points; /* keys, or where ranges begin */
	struct rql_span ends;   /* last keys of ranges; left out: points. Below its begin: an empty range. HASHED: each is its
	                         * point, or below it */
	uint64_t expected;      /* rows in all, about: says how many threads take them */
	struct rql_span bits;   /* uint32_t each: the row's bit is set; others stay as they are. Recordings that set bits of
	                         * one buffer do not wait for each other */
	uint64_t bit_count;     /* above all rows of the map */
};
rql_status rql_record_lookup_bits(struct rql_commands *c, const struct rql_lookup_bits *lookup,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* The same of many maps in one dispatch, for few probes: the numbers of the rows of each map as a list, in any order. A row
 * that several probes find comes as often. */
#define RQL_LOOKUP_LISTS_PROBES 256u /* of a map, at most */
struct rql_lookup_lists {
	uint32_t map_count;
	const struct rql_lookup_bits *maps; /* [map_count]; bits are not given. Of a map without probes nothing is written */
	const uint32_t *first_rows;         /* [map_count]: added to the rows' numbers */
	uint32_t room;                      /* rows of each list; more are counted only */
	struct rql_span counts, rows;       /* uint32_t [map_count], [map_count][room] */
	struct rql_span table;              /* rql_lookup_lists_bytes; what rql_lookup_lists_write has written */
};
uint64_t rql_lookup_lists_bytes(const struct rql_lookup_lists *lists);
void rql_lookup_lists_write(const struct rql_lookup_lists *lists, void *table);
rql_status rql_record_lookup_lists(struct rql_commands *c, const struct rql_lookup_lists *lists,
                                   struct rql_error *err) RQL_MUST_CHECK;

/* The kernel of such a recording, in a form whose keys have so many bits. */
rql_status rql_see_lookup_bits(const struct rql_device *device, enum rql_lookup_form form, uint32_t key_bits,
                               rql_see_kernel *see, void *state, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_see_lookup_lists(const struct rql_device *device, enum rql_lookup_form form, uint32_t key_bits,
                                rql_see_kernel *see, void *state, struct rql_error *err) RQL_MUST_CHECK;

#endif
