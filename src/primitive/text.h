/* Conditions over the entries of a dictionary of strings on a GPU (column/text/text_program.h says which): its bytes lie
 * there once, as a placement that gives way, and a pass gives the codes for which a condition is true as bits.
 *
 * Bytes: those of the strings, and 4 and a bit an entry. Floor of a pass: the bytes read once where something is
 * searched, and the bits written. A search compares four bytes at each place, 16 places a thread, all of a tile's
 * threads side by side. What holds it is matched by a thread of its own. */
#ifndef RQL_PRIMITIVE_TEXT_H
#define RQL_PRIMITIVE_TEXT_H

#include "column/map/dimension.h"
#include "column/text/text_program.h"
#include "device/compile.h"
#include "device/placement.h"

struct rql_progress;

/* A dictionary's strings on a device: a placement of its watch. */
struct rql_texts {
	struct rql_placement placement;
	struct rql_buffer *buffer;
	uint32_t count; /* without NULL */
	uint64_t offsets, wide_at; /* places in the buffer */
	uint64_t *wide; /* which have a byte of 0x80 or more */
};

/* What they take there; 0: they cannot be there (nobody would be told when they go; too long in all). */
uint64_t rql_texts_bytes(const struct rql_dimension *d, const struct rql_device *device);
bool rql_texts_are_placed(const struct rql_dimension *d, const struct rql_device *device);
/* Found or made. RQL_ERROR_LIMIT where rql_texts_bytes says 0. d has a watch. */
rql_status rql_texts_place(const struct rql_dimension *d, struct rql_device *device, struct rql_texts **out,
                           struct rql_error *err) RQL_MUST_CHECK;
void rql_texts_release(struct rql_texts *texts); /* NULL accepted */

/* Is the kernel ready (device/compile.h)? */
struct rql_kernel_use rql_texts_kernel(void);
/* Bit i of set: the condition is true for entry i; (count + 63) / 64 words, all written. */
rql_status rql_texts_select(struct rql_texts *texts, const struct rql_text_program *program,
                            struct rql_progress *progress, uint64_t *set, struct rql_error *err) RQL_MUST_CHECK;

#endif
