/* The frame of side files (docs/format.md). One walk over a structure serves writing and reading, so that the two
 * cannot disagree about the layout: it visits small fields, which are gathered in the description section, and arrays,
 * each a section.
 *
 * The reader trusts nothing: a section must lie in the file, an array's size follows from the description and must be
 * its section's, checksums are compared before a byte is used, and the structure's own check has the last word. */
#ifndef RQL_COLUMN_FRAME_H
#define RQL_COLUMN_FRAME_H

#include "column/map/dimension.h"
#include "util/files.h"
#include "util/mem.h"
#include "util/strbuf.h"

struct rql_frame_file;
struct rql_frame_kind {
	const char *magic; /* 8 bytes */
	uint32_t version;
	const char *what;   /* "a cube" */
	const char *advice; /* the end of messages: "the cube is built anew" */
	rql_status (*walk)(struct rql_frame_file *file);
	bool (*type_ok)(struct rql_type type); /* can a column have it? */
};
struct rql_frame_section {
	uint64_t offset, size, checksum;
};

struct rql_frame_array { /* while writing */
	const void *data;
	uint64_t size;
	void *owned; /* freed at the end */
};

struct rql_frame_file {
	/* by the caller */
	const struct rql_frame_kind *kind;
	const struct rql_file_place *place;
	void *state; /* the walk's: what is written or read */
	struct rql_error *err;
	/* reading: what arrays, and types and texts, are allocated from; the walk may change them */
	struct rql_mem *mem;
	struct rql_arena *arena;
	/* private, but for `writing` */
	bool writing;
	int fd;
	uint64_t size;
	struct rql_strbuf description; /* writing */
	struct rql_frame_array *arrays;
	uint32_t array_count, array_capacity;
	struct rql_frame_section *sections; /* reading */
	uint32_t section_count, next_section;
	const uint8_t *fields, *fields_end;
};

/* Written whole to NAME.tmp, synced, renamed. */
rql_status rql_frame_write(struct rql_frame_file *file, const void *identity, uint32_t identity_size) RQL_MUST_CHECK;
/* RQL_ERROR_CORRUPT: what was wrong. What the walk has allocated by then is the caller's to free. */
rql_status rql_frame_read(struct rql_frame_file *file, const void *identity, uint32_t identity_size) RQL_MUST_CHECK;
/* 64 bits over the bytes (docs/format.md): against damage, not against forgery. */
uint64_t rql_frame_checksum(const void *data, uint64_t size);
/* Makes the checksums of an image true again, so that a fuzzer gets behind them. */
void rql_frame_seal(uint8_t *image, uint64_t size);

/* ---- for walks. Reading, they fill what is pointed to; writing, they read it ---- */
rql_status rql_frame_corrupt(struct rql_frame_file *file, const char *what);
rql_status rql_frame_visit(struct rql_frame_file *file, void *field, uint32_t size) RQL_MUST_CHECK;
rql_status rql_frame_bool(struct rql_frame_file *file, bool *field) RQL_MUST_CHECK;
/* A count of things that exist at most `limit` times. */
rql_status rql_frame_count(struct rql_frame_file *file, uint32_t *field, uint32_t limit) RQL_MUST_CHECK;
rql_status rql_frame_text(struct rql_frame_file *file, const char **text) RQL_MUST_CHECK;
rql_status rql_frame_type(struct rql_frame_file *file, struct rql_type *type) RQL_MUST_CHECK;
rql_status rql_frame_dimension(struct rql_frame_file *file, struct rql_dimension *dimension) RQL_MUST_CHECK;
/* The next array: count * size bytes. Reading allocates it from mem; that the file holds so much is known before. An
 * empty array is NULL. */
rql_status rql_frame_array(struct rql_frame_file *file, void **array, uint64_t count, uint64_t size) RQL_MUST_CHECK;

#define RQL_FRAME_VISIT(file, field) RQL_TRY(rql_frame_visit((file), &(field), sizeof(field)))
/* Through a void pointer: struct members of other pointer types must not be written through void **. */
#define RQL_FRAME_ARRAY(file, array, count)                                                                            \
	do {                                                                                                               \
		void *array_ = (array);                                                                                        \
		RQL_TRY(rql_frame_array((file), &array_, (count), sizeof(*(array))));                                          \
		if (!(file)->writing)                                                                                          \
			(array) = array_;                                                                                          \
	} while (0)

/* An array that may not be there. */
#define RQL_FRAME_OPTIONAL(file, array, count)                                                                         \
	do {                                                                                                               \
		bool there_ = (array) != NULL;                                                                                 \
		RQL_TRY(rql_frame_bool((file), &there_));                                                                      \
		if (there_)                                                                                                    \
			RQL_FRAME_ARRAY(file, array, count);                                                                       \
	} while (0)

#endif
