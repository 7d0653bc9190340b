/* What the files of the side folder share: side.c (the folder), side_manifest.c (its table of contents), side_key.c
 * (what the table is signed with), side_placed.c (what devices made of contents). */
#ifndef RQL_STRUCTURE_SIDE_INTERNAL_H
#define RQL_STRUCTURE_SIDE_INTERNAL_H

#include "structure/kind.h"

#define RQL_SIDE_STEM 32u /* hexadecimal digits before a file's suffix */

/* NULL: *out is what the manifest says, into side->entries and side->stamps; text is changed. Else why it is not
 * believed. */
const char *rql_manifest_parse(struct rql_side *side, char *text, uint64_t length, struct rql_file_identity *out);
/* False: out of memory. A file without a stamp is left out. */
bool rql_manifest_print(const struct rql_side *side, const struct rql_file_identity *id,
                        const struct rql_side_entry *list, uint32_t count, struct rql_strbuf *out);
/* The contents of s (unpublished, bound) in a file of its own; *file: its name, malloc'ed. read: from s->side_file. */
rql_status rql_side_write(struct rql_structures *all, const struct rql_structure *s, char **file,
                          struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_side_read(struct rql_structures *all, struct rql_structure *s, struct rql_error *err) RQL_MUST_CHECK;
/* What a device made of the contents, beside their file; what does not work is made again instead. No file is written
 * when reading it would take longer than making did. read: false when there was nothing to use. */
void rql_side_write_placed(struct rql_side *side, const struct rql_structure *s, struct rql_device *device);
bool rql_side_read_placed(const struct rql_side *side, const struct rql_structure *s, struct rql_device *device);
/* A name that rql_side_write makes, with `end` behind it. */
bool rql_side_is_contents_file(const char *name, const char *end);
bool rql_side_is_placed_file(const char *name); /* one of rql_side_write_placed */

/* RQL_ERROR_IO: there is none (and, with make, none can be made). */
rql_status rql_side_key(bool make, struct rql_mac_key *out, struct rql_error *err) RQL_MUST_CHECK;

/* Opens the side folder, or makes it. Without make, side->dir is -1 when there is none. */
rql_status rql_side_folder(struct rql_side *side, bool make, struct rql_error *err) RQL_MUST_CHECK;
/* Where a file of the folder is, for writing and for reading: only the very file that was stamped is read. */
struct rql_file_place rql_side_place(const struct rql_side *side, const char *name, const char *path);
/* Notes what `name` is, now that it was written here. False: it is not there, or out of memory. */
bool rql_side_stamp(struct rql_side *side, const char *name);
bool rql_side_add_stamp(struct rql_side *side, const char *name, const struct rql_file_stamp *stamp);
const struct rql_file_stamp *rql_side_find_stamp(const struct rql_side *side, const char *name); /* or NULL */
void rql_side_drop_stamp(struct rql_side *side, const char *name);

#endif
