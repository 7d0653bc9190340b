/* The side folder: contents of structures kept between sessions in FILE.db.rayql/, used only when the database file
 * is the one (by size, headers and time of the last change) that they were written beside.
 *
 * DuckDB's file begins with three headers of 4 KiB; every checkpoint writes a new iteration into one of the latter
 * two, so their hash changes whenever rows of this file do. Another file of the same history, such as tonight's run of
 * the script that wrote it, can have the same headers over other rows: the time of its last change tells them apart
 * when it takes the first one's place. A log (FILE.db.wal) that is there when the file is opened means changes behind
 * the headers. The manifest (side_manifest.c) is written after DuckDB has closed the file, and names files that are
 * never rewritten: a process that dies leaves an old manifest with old files, valid exactly as long as the database
 * file is the old one, too. All of it is worked in through the folder's descriptor (util/files.h). */
#include "structure/side_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/hash.h"

#define HEADER_BYTES (12u << 10)
#define MANIFEST "manifest"
#define MANIFEST_BYTES (16u << 20)

static char *join(const char *folder, const char *file)
{
	char *out = NULL;
	return asprintf(&out, "%s/%s", folder, file) < 0 ? NULL : out;
}

/* A log of any of DuckDB's names means changes behind the headers; so does one of which nothing can be said. */
static bool has_log(const char *path)
{
	static const char *const ends[] = {".wal", ".wal.checkpoint", ".wal.recovery"};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		char *log = NULL;
		struct stat st;
		if (asprintf(&log, "%s%s", path, ends[i]) < 0)
			return true;
		bool absent = lstat(log, &st) != 0 && errno == ENOENT;
		free(log);
		if (!absent)
			return true;
	}
	return false;
}

/* NULL: *out is the identity of the file, open as fd; else why it has none now. */
static const char *read_identity(const char *path, int fd, struct rql_file_identity *out)
{
	unsigned char *header = malloc(HEADER_BYTES);
	struct stat st, named;
	const char *why = NULL;
	if (!header) {
		why = "there was no memory to look at the database file";
	} else if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		why = "the database file cannot be read";
	} else if (stat(path, &named) != 0 || named.st_dev != st.st_dev || named.st_ino != st.st_ino) {
		why = "the database file has been replaced";
	} else if (has_log(path)) {
		why = "the database has a write-ahead log: its last user did not close it";
	} else if (pread(fd, header, HEADER_BYTES, 0) != (ssize_t)HEADER_BYTES) {
		why = "the database file is shorter than its headers";
	} else {
		out->size = (uint64_t)st.st_size;
		out->seconds = (int64_t)st.st_mtim.tv_sec;
		out->nanoseconds = (int64_t)st.st_mtim.tv_nsec;
		rql_hash_wide(header, HEADER_BYTES, out->hash);
	}
	free(header);
	return why;
}

static bool same_identity(const struct rql_file_identity *a, const struct rql_file_identity *b)
{
	return a->size == b->size && memcmp(a->hash, b->hash, sizeof a->hash) == 0 && a->seconds == b->seconds &&
	       a->nanoseconds == b->nanoseconds;
}

/* ---- opening ---- */
static void set_why(struct rql_side *side, const char *why)
{
	free(side->why);
	side->why = NULL;
	if (asprintf(&side->why, "its side file was not used: %s", why) < 0)
		side->why = NULL;
}

static void clear_manifest(struct rql_side *side)
{
	for (uint32_t i = 0; i < side->count; i++) {
		free(side->entries[i].schema);
		free(side->entries[i].name);
		free(side->entries[i].file);
		free(side->entries[i].hash);
		free(side->entries[i].why);
	}
	side->count = side->stamp_count = 0;
}

rql_status rql_side_folder(struct rql_side *side, bool make, struct rql_error *err)
{
	struct stat st;
	if (side->dir >= 0 && fstat(side->dir, &st) == 0 && st.st_nlink > 0)
		return RQL_OK;
	if (side->dir >= 0) /* it was deleted meanwhile */
		close(side->dir);
	side->dir = -1;
	return rql_folder_open(side->folder, make, 0700, &side->dir, err);
}

static const char *compare(struct rql_side *side, const struct rql_file_identity *wanted)
{
	struct rql_file_identity now;
	const char *why = read_identity(side->database, side->file, &now);
	if (why)
		return why;
	return same_identity(&now, wanted) ? NULL : "the database file has changed since it was written";
}

/* *text NULL: there is no manifest. */
static rql_status read_manifest(struct rql_side *side, char **text, uint64_t *length, struct rql_error *err)
{
	char *path = join(side->folder, MANIFEST);
	rql_status status = path ? rql_side_folder(side, false, err) : rql_error_memory(err, 0, "the manifest's name");
	if (status == RQL_OK && side->dir >= 0) {
		const struct rql_file_place place = {.folder = side->dir, .name = MANIFEST, .path = path};
		status = rql_file_get(&place, MANIFEST_BYTES, text, length, err);
	}
	free(path);
	return status;
}

/* Is there a manifest, and is the database file the one that it describes? Else side->why, if there is one. */
static bool check(struct rql_side *side)
{
	struct rql_error failed = {0};
	struct rql_file_identity wanted = {0};
	char *text = NULL;
	uint64_t length = 0;
	const char *why = NULL;
	clear_manifest(side);
	rql_status status = read_manifest(side, &text, &length, &failed);
	if (status == RQL_OK && text && !side->has_key) {
		status = rql_side_key(false, &side->key, &failed);
		side->has_key = status == RQL_OK;
	}
	if (status != RQL_OK)
		why = rql_error_message(&failed);
	else if (text && !length)
		why = "nothing could be written beside the database when it was closed";
	else if (text)
		why = rql_manifest_parse(side, text, length, &wanted);
	if (!why && text)
		why = compare(side, &wanted);
	if (why)
		set_why(side, why);
	side->opened = wanted;
	rql_error_clear(&failed);
	bool good = text && !why;
	free(text);
	return good;
}

rql_status rql_side_open(const char *path, int file, bool read_only, struct rql_side *side, struct rql_error *err)
{
	struct stat st;
	*side = (struct rql_side){.writable = !read_only, .file = file, .dir = -1, .mode = 0600};
	side->database = strdup(path);
	if (!side->database || asprintf(&side->folder, "%s.rayql", path) < 0) {
		side->folder = NULL;
		return rql_error_memory(err, strlen(path), "the side folder's name");
	}
	if (file >= 0 && fstat(file, &st) == 0)
		side->mode = st.st_mode & 0600;
	side->valid = check(side);
	return RQL_OK;
}

void rql_side_recheck(struct rql_side *side, int file)
{
	side->file = file; /* DuckDB may have just made it */
	if (!side->folder || !side->valid)
		return;
	side->valid = check(side);
	if (!side->valid && !side->why)
		set_why(side, "its manifest has gone");
}

const struct rql_side_entry *rql_side_find(const struct rql_side *side, const char *schema, const char *name)
{
	for (uint32_t i = 0; i < side->count; i++)
		if (strcmp(side->entries[i].schema, schema) == 0 && strcmp(side->entries[i].name, name) == 0)
			return &side->entries[i];
	return NULL;
}

/* ---- files ---- */

/* A file belongs to one build of one definition: both are in the identity that the file itself carries. */
static char *file_identity(const char *file, const char *hash)
{
	char *out = NULL;
	return asprintf(&out, "%s %s", file, hash) < 0 ? NULL : out;
}

struct rql_file_place rql_side_place(const struct rql_side *side, const char *name, const char *path)
{
	static const struct rql_file_stamp nobodys = {0}; /* no file has it */
	const struct rql_file_stamp *stamp = rql_side_find_stamp(side, name);
	return (struct rql_file_place){
		.folder = side->dir, .name = name, .path = path, .mode = side->mode, .stamp = stamp ? stamp : &nobodys};
}

bool rql_side_stamp(struct rql_side *side, const char *name)
{
	struct rql_file_stamp stamp;
	rql_side_drop_stamp(side, name);
	return rql_file_stamp(side->dir, name, &stamp) && rql_side_add_stamp(side, name, &stamp);
}

/* 128 random bits: no name is used twice. */
static rql_status new_name(const char *suffix, char **out, struct rql_error *err)
{
	unsigned char id[RQL_SIDE_STEM / 2];
	char stem[RQL_SIDE_STEM + 1];
	if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
		return rql_error_set(err, RQL_ERROR_IO, "no random name for a side file: %s", strerror(errno));
	for (size_t i = 0; i < sizeof id; i++)
		snprintf(stem + i * 2, 3, "%02x", id[i]);
	if (asprintf(out, "%s%s", stem, suffix) >= 0)
		return RQL_OK;
	*out = NULL;
	return rql_error_memory(err, sizeof stem, "a side file");
}

/* The folder and the key that its manifest will be signed with: without either a file would be of no use. */
static rql_status prepare(struct rql_side *side, struct rql_error *err)
{
	RQL_TRY(rql_side_folder(side, true, err));
	if (side->has_key)
		return RQL_OK;
	RQL_TRY(rql_side_key(true, &side->key, err));
	side->has_key = true;
	return RQL_OK;
}

rql_status rql_side_write(struct rql_structures *all, const struct rql_structure *s, char **file, struct rql_error *err)
{
	struct rql_side *side = &all->side;
	char *name = NULL;
	RQL_TRY(prepare(side, err));
	RQL_TRY(new_name(s->kind->suffix, &name, err));
	char *path = join(side->folder, name), *identity = file_identity(name, s->definition_hash);
	struct rql_file_place place = rql_side_place(side, name, path);
	rql_status status =
		path && identity ? s->kind->save(all, s, &place, identity, err) : rql_error_memory(err, 0, "a side file");
	if (status == RQL_OK && !rql_side_stamp(side, name)) {
		status = rql_error_set(err, RQL_ERROR_IO, "%s was written, but is not there", path);
		(void)unlinkat(side->dir, name, 0);
	}
	free(path);
	free(identity);
	if (status != RQL_OK) {
		free(name);
		return status;
	}
	*file = name;
	return RQL_OK;
}

rql_status rql_side_read(struct rql_structures *all, struct rql_structure *s, struct rql_error *err)
{
	const struct rql_side *side = &all->side;
	char *path = join(side->folder, s->side_file), *identity = file_identity(s->side_file, s->definition_hash);
	struct rql_file_place place = rql_side_place(side, s->side_file, path);
	rql_status status =
		path && identity ? s->kind->load(all, s, &place, identity, err) : rql_error_memory(err, 0, "a side file");
	free(path);
	free(identity);
	return status;
}

/* The folder's names, to be closed; NULL: there is no folder that may be touched. */
static DIR *list_folder(const struct rql_side *side)
{
	int fd = side->folder && side->dir >= 0 && side->writable
	             ? openat(side->dir, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
	             : -1;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

void rql_side_forget(struct rql_side *side, const char *file)
{
	DIR *dir = strlen(file) > RQL_SIDE_STEM ? list_folder(side) : NULL;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (strcmp(e->d_name, file) != 0 &&
		    !(rql_side_is_placed_file(e->d_name) && strncmp(e->d_name, file, RQL_SIDE_STEM) == 0))
			continue;
		rql_side_drop_stamp(side, e->d_name);
		(void)unlinkat(dirfd(dir), e->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

void rql_side_replaced(struct rql_side *side, const char *file)
{
	struct rql_file_identity now;
	if (!file)
		return;
	for (uint32_t i = 0; side->valid && i < side->count; i++)
		if (side->entries[i].file && strcmp(side->entries[i].file, file) == 0 &&
		    !read_identity(side->database, side->file, &now) &&
		    same_identity(&now, &side->opened))
			return;
	rql_side_forget(side, file);
}

/* ---- closing ---- */
/* Files are named only beside the very database file that was sealed; why there are none can be said beside any. */
static const char *identify(const struct rql_side *side, const struct rql_side_entry *list, uint32_t count,
                            struct rql_file_identity *out)
{
	const char *why = read_identity(side->database, side->file, out);
	bool names_files = false;
	for (uint32_t i = 0; i < count; i++)
		names_files = names_files || list[i].file;
	if (!names_files)
		return NULL;
	if (!side->sealed)
		return side->unsealed ? side->unsealed : "there was no memory to look at the database file";
	return why || same_identity(out, &side->seal) ? why : "the database file changed while it was being closed";
}

static rql_status write_manifest(struct rql_side *side, const struct rql_side_entry *list, uint32_t count,
                                 struct rql_error *err)
{
	struct rql_file_identity id = {0};
	struct rql_strbuf text = {0};
	const char *why = side->has_key ? identify(side, list, count, &id) : "this user has no key to sign its manifest with";
	if (why)
		return rql_error_set(err, RQL_ERROR_IO, "%s", why);
	if (!rql_manifest_print(side, &id, list, count, &text)) {
		rql_strbuf_free(&text);
		return rql_error_memory(err, 0, "the manifest of side files");
	}
	const struct rql_file_place place = {
		.folder = side->dir, .name = MANIFEST, .path = side->folder, .mode = side->mode};
	const struct iovec part = {text.data, text.length};
	rql_status status = rql_file_put(&place, "tmp", &part, 1, err);
	rql_strbuf_free(&text);
	return status;
}

/* A name takes no room on a full disk where a text does not fit: an empty manifest says that there was none. */
static void write_empty_manifest(const struct rql_side *side)
{
	const struct rql_file_place place = {
		.folder = side->dir, .name = MANIFEST, .path = side->folder, .mode = side->mode};
	int fd = -1;
	if (rql_file_create(&place, &fd, NULL) == RQL_OK)
		close(fd);
}

/* Only names of our own making are touched: the folder might hold something of the user's. */
static bool is_ours(const char *name, const struct rql_side_entry *kept, uint32_t count)
{
	size_t length = strlen(name);
	bool beside = rql_side_is_placed_file(name); /* kept with its contents' file */
	bool ours = beside || rql_side_is_contents_file(name, "") || rql_side_is_contents_file(name, ".tmp") ||
	            strcmp(name, MANIFEST ".tmp") == 0;
	for (uint32_t i = 0; i < count && ours; i++)
		ours = !kept[i].file || (beside ? strncmp(kept[i].file, name, RQL_SIDE_STEM) != 0 ||
		                                      strcmp(name + length - 4, ".tmp") == 0
		                                : strcmp(kept[i].file, name) != 0);
	return ours;
}

static void sweep(const struct rql_side *side, const struct rql_side_entry *kept, uint32_t count, bool manifest)
{
	DIR *dir = list_folder(side);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (is_ours(e->d_name, kept, count) || (!manifest && strcmp(e->d_name, MANIFEST) == 0))
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
}

/* Of DuckDB's message what is said before a blank line, as one line: a trace of its functions may come behind. */
static void put_message(struct rql_strbuf *out, const char *message)
{
	const char *blank = strstr(message, "\n\n"), *end = blank ? blank : message + strlen(message);
	for (; message < end; message++)
		rql_strbuf_putc(out, *message == '\n' ? ' ' : *message);
}

void rql_side_seal(struct rql_side *side, const char *failed)
{
	const char *why = failed ? failed : read_identity(side->database, side->file, &side->seal);
	struct rql_strbuf text = {0};
	side->sealed = !why;
	if (!why)
		return;
	rql_strbuf_put(&text, failed ? "CHECKPOINT failed: " : "");
	put_message(&text, why);
	side->unsealed = rql_strbuf_take(&text);
}

/* Their files are not kept. */
static void lose(struct rql_side_entry *list, uint32_t count, char *why)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i].file)
			continue;
		list[i].file = list[i].hash = NULL;
		list[i].why = why;
	}
}

void rql_side_close(struct rql_side *side, struct rql_side_entry *list, uint32_t count)
{
	struct rql_error failed = {0};
	if (!side->folder || !side->writable || rql_side_folder(side, false, NULL) != RQL_OK || side->dir < 0)
		return;
	if (count && write_manifest(side, list, count, &failed) == RQL_OK) {
		sweep(side, list, count, true);
		return;
	}
	char *why = strdup(rql_error_message(&failed));
	lose(list, count, why);
	sweep(side, list, count, false); /* a full disk has room afterwards */
	if (count && write_manifest(side, list, count, NULL) != RQL_OK)
		write_empty_manifest(side);
	(void)rmdir(side->folder); /* succeeds only when it is empty */
	free(why);
	rql_error_clear(&failed);
}

void rql_side_free(struct rql_side *side)
{
	clear_manifest(side);
	if (side->folder && side->dir >= 0)
		close(side->dir);
	free(side->entries);
	free(side->stamps);
	free(side->folder);
	free(side->database);
	free(side->why);
	free(side->unsealed);
	*side = (struct rql_side){0};
}
