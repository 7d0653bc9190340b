/* The first rows of an order, found on the device: only they are fetched. For materialise_compute.c.
 *
 * The first keys become a word a row; the wanted-th word is selected (primitive.h, rql_record_nth); the rows that are
 * not behind it are listed, with all that tie, and their fields gathered. The host orders these by all keys. Floor, in
 * bytes a row: the keys' fields read, 8 written and read nine times, against all fields of the row over the link. */
#ifndef RQL_MATERIALISE_TOP_H
#define RQL_MATERIALISE_TOP_H

#include "method/materialise/materialise.h"

struct rql_materialise_top {
	struct rql_columns_port in;
	uint32_t list_room;
	struct rql_buffer *words; /* of the device: a word a row, then what the selection needs */
	struct rql_buffer *out;   /* READBACK: how many rows, their numbers, their fields */
};

/* Does it pay? Below some 2^15 rows the passes take longer than the link. */
bool rql_materialise_top_pays(const struct rql_materialise *m, double rows);
/* Rows that the device hands over at most, where it pays. */
uint32_t rql_materialise_top_room(const struct rql_materialise *m);
/* Of a key, for the kernels that make words (materialise_kernels.h). */
uint32_t rql_materialise_key_flags(const struct rql_materialise_key *key);
/* How many keys its word has, from the first one on: until none fits any more, or it has some bits more than the number of
 * the rows, so that few tie. A key whose values are all one has no bits. */
uint32_t rql_materialise_top_keys(const struct rql_materialise *m, uint64_t rows);
/* Of the device's memory, over an input with room for so many rows. */
uint64_t rql_materialise_top_bytes(const struct rql_materialise *m, uint64_t room);
/* Does the form's column `column` go into the result, or its order? */
bool rql_materialise_reads(const struct rql_materialise *m, uint32_t column);

rql_status rql_materialise_top_open(const struct rql_materialise *m, struct rql_device *device,
                                    const struct rql_columns_port *in, struct rql_materialise_top *out,
                                    struct rql_error *err) RQL_MUST_CHECK;
void rql_materialise_top_close(struct rql_materialise_top *top);
rql_status rql_materialise_top_record(const struct rql_materialise *m, const struct rql_materialise_top *top,
                                      struct rql_commands *commands, struct rql_error *err) RQL_MUST_CHECK;
/* The run is done: its rows as they stand in the input, in mem. *found false: more tie than there is room for, and all
 * must be fetched. */
rql_status rql_materialise_top_take(const struct rql_materialise *m, const struct rql_materialise_top *top,
                                    struct rql_mem *mem, struct rql_materialise_rows *out, uint64_t *bytes,
                                    bool *found, struct rql_error *err) RQL_MUST_CHECK;

#endif
