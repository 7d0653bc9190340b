/* The side folder FILE.db.rayql: contents of structures that outlive a session (docs/format.md). The database says when
 * it is opened and closed; what is in the files is the kinds' affair. */
#ifndef RQL_STRUCTURE_SIDE_H
#define RQL_STRUCTURE_SIDE_H

#include <sys/types.h>
#include "catalog/catalog.h"
#include "util/files.h"
#include "util/mac.h"

/* What tells one state of a database file from another. */
struct rql_file_identity {
	uint64_t size, hash[2];
	int64_t seconds, nanoseconds; /* of the last change */
};
struct rql_side_entry {
	char *schema, *name;
	char *file, *hash; /* NULL: there is none, */
	char *why;         /* because of this; else NULL */
};
struct rql_side_stamped {
	char name[72];
	struct rql_file_stamp stamp;
};
struct rql_side {
	char *folder;   /* FILE.db.rayql, or NULL: no side files for this database */
	char *database; /* the database's file */
	int file;       /* that file, or -1: borrowed from the database's rql_open_file */
	int dir;        /* the folder, open, or -1; meaningless while `folder` is NULL */
	mode_t mode;    /* of new files: the user's part of the database file's own */
	_Atomic bool writable;
	bool valid;  /* the manifest describes the database file as it was opened */
	bool sealed; /* `seal` is the file as DuckDB left it, taken while it still held its lock */
	char *unsealed; /* why it is not, where that was tried */
	struct rql_file_identity seal, opened; /* opened: the manifest's, when it is valid */
	bool has_key;
	struct rql_mac_key key; /* what manifests are signed with */
	char *why;              /* not valid: the reason, when there was a manifest; else NULL */
	uint32_t count, capacity, stamp_count, stamp_capacity;
	struct rql_side_entry *entries;
	struct rql_side_stamped *stamps; /* of files that the manifest names, or that were written since */
};
/* Before DuckDB opens the file (file: a descriptor of it, -1 where there is none yet): reads the manifest and compares
 * it with the file. */
rql_status rql_side_open(const char *path, int file, bool read_only, struct rql_side *side,
                         struct rql_error *err) RQL_MUST_CHECK;
/* After DuckDB has opened it: the file must still be the same (no replayed log). */
void rql_side_recheck(struct rql_side *side, int file);
const struct rql_side_entry *rql_side_find(const struct rql_side *side, const char *schema, const char *name);
/* Deletes a file and what stands beside it. */
void rql_side_forget(struct rql_side *side, const char *file);
/* The same, of contents that others have replaced, but for a file that the next opening may still want: when this
 * process dies now, the manifest of the session before counts, unless the database has changed. file: NULL accepted. */
void rql_side_replaced(struct rql_side *side, const char *file);
/* Before DuckDB closes the database, after a checkpoint that left nothing to write: notes what the file is now, so that
 * nobody's writing between DuckDB's closing and the manifest goes unnoticed. failed: why the checkpoint did, or NULL. */
void rql_side_seal(struct rql_side *side, const char *failed);
/* After DuckDB has closed the database: writes the manifest of `list` and deletes every other file of ours. Where no file
 * can be kept, the manifest says why of each; the list is changed so, too. */
void rql_side_close(struct rql_side *side, struct rql_side_entry *list, uint32_t count);
void rql_side_free(struct rql_side *side);

#endif
