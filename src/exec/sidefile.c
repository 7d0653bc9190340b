/* The side folder: contents of structures kept between sessions in FILE.db.rayql/, used only when the database file
 * is the one (by size, headers and time of the last change) that they were written beside.
 *
 * DuckDB's file begins with three headers of 4 KiB; every checkpoint writes a new iteration into one of the latter
 * two, so their hash changes whenever rows of this file do. Another file of the same history, such as tonight's run of
 * the script that wrote it, can have the same headers over other rows: the time of its last change tells them apart
 * when it takes the first one's place. A log (FILE.db.wal) that is there when the file is opened means changes behind the
 * headers. The
 * manifest is written after DuckDB has closed the file, and names files that are never rewritten: a process that dies
 * leaves an old manifest with old files, valid exactly as long as the database file is the old one, too. */
#include "exec/exec_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES (12u << 10)
#define MANIFEST "manifest"
#define MANIFEST_HEAD "rayql-manifest 2"
#define MANIFEST_BYTES (16u << 20)
#define STEM 32u /* hexadecimal digits before a file's suffix */
static const char *const suffixes[] = {[RQL_STRUCTURE_CUBE] = ".cube", [RQL_STRUCTURE_COLUMNS] = ".columns"};
#define SUFFIX_COUNT (sizeof suffixes / sizeof *suffixes)

static char *join(const char *folder, const char *file)
{
	char *out = NULL;
	return asprintf(&out, "%s/%s", folder, file) < 0 ? NULL : out;
}

static void hash_bytes(uint64_t hash[2], const unsigned char *data, size_t length)
{
	hash[0] = 0xcbf29ce484222325u;
	hash[1] = 0x9ae16a3b2f90404fu;
	for (size_t i = 0; i < length; i++) {
		hash[0] = (hash[0] ^ data[i]) * 0x100000001b3u;
		hash[1] = (hash[1] ^ data[i]) * 0xff51afd7ed558ccdu;
		hash[1] ^= hash[1] >> 29;
	}
}

/* NULL: *out is the identity of the file, open as fd; else why it has none now. */
static const char *read_identity(const char *path, int fd, struct rql_file_identity *out)
{
	unsigned char *header = malloc(HEADER_BYTES);
	char *wal = NULL;
	struct stat st, named;
	const char *why = NULL;
	if (!header || asprintf(&wal, "%s.wal", path) < 0) {
		wal = NULL;
		why = "there was no memory to look at the database file";
	} else if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		why = "the database file cannot be read";
	} else if (stat(path, &named) != 0 || named.st_dev != st.st_dev || named.st_ino != st.st_ino) {
		why = "the database file has been replaced";
	} else if (access(wal, F_OK) == 0) {
		why = "the database has a write-ahead log: its last user did not close it";
	} else if (pread(fd, header, HEADER_BYTES, 0) != (ssize_t)HEADER_BYTES) {
		why = "the database file is shorter than its headers";
	} else {
		out->size = (uint64_t)st.st_size;
		out->seconds = (int64_t)st.st_mtim.tv_sec;
		out->nanoseconds = (int64_t)st.st_mtim.tv_nsec;
		hash_bytes(out->hash, header, HEADER_BYTES);
	}
	free(header);
	free(wal);
	return why;
}

static bool same_identity(const struct rql_file_identity *a, const struct rql_file_identity *b)
{
	return a->size == b->size && memcmp(a->hash, b->hash, sizeof a->hash) == 0 && a->seconds == b->seconds &&
	       a->nanoseconds == b->nanoseconds;
}

/* ---- the manifest: lines of text, the last one a hash of those before ---- */
static void put_escaped(struct rql_strbuf *out, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c <= ' ' || *c == '%' || *c == 127)
			rql_strbuf_printf(out, "%%%02x", *c);
		else
			rql_strbuf_putc(out, (char)*c);
	}
}

static bool unescape(char *text)
{
	char *to = text;
	for (const char *c = text; *c; c++) {
		if (*c != '%') {
			*to++ = *c;
			continue;
		}
		unsigned value;
		if (!c[1] || !c[2] || sscanf(c + 1, "%2x", &value) != 1)
			return false;
		*to++ = (char)value;
		c += 2;
	}
	*to = 0;
	return true;
}

/* A name that rql_side_write makes, with `end` behind it. */
static bool is_contents_file(const char *name, const char *end)
{
	if (strlen(name) <= STEM || strspn(name, "0123456789abcdef") < STEM)
		return false;
	for (size_t i = 0; i < SUFFIX_COUNT; i++) {
		size_t length = strlen(suffixes[i]);
		if (strncmp(name + STEM, suffixes[i], length) == 0 && strcmp(name + STEM + length, end) == 0)
			return true;
	}
	return false;
}

static bool add_entry(struct rql_side *side, const char *schema, const char *name, const char *file, const char *hash)
{
	if (side->count == side->capacity) {
		uint32_t capacity = side->capacity ? side->capacity * 2 : 8;
		struct rql_side_entry *entries = realloc(side->entries, capacity * sizeof *entries);
		if (!entries)
			return false;
		side->entries = entries;
		side->capacity = capacity;
	}
	struct rql_side_entry e = {strdup(schema), strdup(name), strdup(file), strdup(hash)};
	side->entries[side->count++] = e;
	return e.schema && e.name && e.file && e.hash;
}

/* NULL: understood. */
static const char *parse_manifest(struct rql_side *side, char *text, struct rql_file_identity *out)
{
	static const char damaged[] = "the manifest of the side folder is damaged";
	char *end = strstr(text, "\nend ");
	uint64_t hash[2];
	unsigned long long a, b, size;
	long long seconds, nanoseconds;
	if (strncmp(text, MANIFEST_HEAD "\n", sizeof MANIFEST_HEAD) != 0)
		return "the manifest of the side folder is of another version of RayQL";
	if (!end || sscanf(end, "\nend %16llx%16llx", &a, &b) != 2)
		return damaged;
	hash_bytes(hash, (unsigned char *)text, (size_t)(end + 1 - text));
	if (hash[0] != a || hash[1] != b)
		return damaged;
	end[1] = 0;
	char *save = NULL, *line = strtok_r(text, "\n", &save);
	line = strtok_r(NULL, "\n", &save);
	if (!line || sscanf(line, "database %llu %16llx%16llx %lld.%lld", &size, &a, &b, &seconds, &nanoseconds) != 5)
		return damaged;
	*out = (struct rql_file_identity){size, {a, b}, seconds, nanoseconds};
	while ((line = strtok_r(NULL, "\n", &save))) {
		char *fields = NULL, *word = strtok_r(line, " ", &fields), *part[4] = {0};
		for (int i = 0; i < 4; i++)
			part[i] = strtok_r(NULL, " ", &fields);
		if (!word || strcmp(word, "structure") != 0 || !part[3] || !is_contents_file(part[2], "") ||
		    !unescape(part[0]) || !unescape(part[1]) || !add_entry(side, part[0], part[1], part[2], part[3]))
			return damaged;
	}
	return NULL;
}

/* NULL: *out is the whole file, malloc'ed; "": there is none; else why it cannot be read. */
static const char *read_text(const char *path, char **out)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? "" : "the manifest of the side folder cannot be read";
	char *text = NULL;
	size_t length = 0, room = 0;
	for (;;) {
		if (room - length < 4096) {
			room = room ? room * 2 : 16384;
			char *grown = room <= MANIFEST_BYTES ? realloc(text, room) : NULL;
			if (!grown) {
				free(text);
				fclose(f);
				return "the manifest of the side folder is too large";
			}
			text = grown;
		}
		size_t n = fread(text + length, 1, room - length - 1, f);
		length += n;
		if (n == 0)
			break;
	}
	fclose(f);
	text[length] = 0;
	*out = text;
	return NULL;
}

static void set_why(struct rql_side *side, const char *why)
{
	side->valid = false;
	free(side->why);
	side->why = NULL;
	if (*why && asprintf(&side->why, "its side file was not used: %s", why) < 0)
		side->why = NULL;
}

static const char *compare(struct rql_side *side, const struct rql_file_identity *wanted)
{
	struct rql_file_identity now;
	const char *why = read_identity(side->database, side->file, &now);
	if (why)
		return why;
	return same_identity(&now, wanted) ? NULL : "the database file has changed since it was written";
}

static const char *check(struct rql_side *side)
{
	char *path = join(side->folder, MANIFEST), *text = NULL;
	struct rql_file_identity wanted = {0};
	for (uint32_t i = 0; i < side->count; i++) {
		free(side->entries[i].schema);
		free(side->entries[i].name);
		free(side->entries[i].file);
		free(side->entries[i].hash);
	}
	side->count = 0;
	const char *why = path ? read_text(path, &text) : "there was no memory to read its manifest";
	if (!why)
		why = parse_manifest(side, text, &wanted);
	if (!why)
		why = compare(side, &wanted);
	free(text);
	free(path);
	return why;
}

rql_status rql_side_open(const char *path, bool read_only, struct rql_side *side, struct rql_error *err)
{
	*side = (struct rql_side){.writable = !read_only, .file = -1};
	/* Names with a scheme (s3://, md:) are not files of ours to stand beside. */
	if (strstr(path, "://") || strncmp(path, "md:", 3) == 0)
		return RQL_OK;
	side->database = strdup(path);
	if (!side->database || asprintf(&side->folder, "%s.rayql", path) < 0) {
		side->folder = NULL;
		return rql_error_memory(err, strlen(path), "the side folder's name");
	}
	side->file = open(path, O_RDONLY | O_CLOEXEC);
	const char *why = check(side);
	side->valid = why == NULL;
	if (why)
		set_why(side, why);
	return RQL_OK;
}

void rql_side_recheck(struct rql_side *side)
{
	if (side->folder && side->file < 0) /* DuckDB has just made it */
		side->file = open(side->database, O_RDONLY | O_CLOEXEC);
	if (!side->folder || !side->valid)
		return;
	const char *why = check(side);
	if (why)
		set_why(side, *why ? why : "its manifest has gone");
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

/* 128 random bits: no name is used twice. */
static rql_status new_name(enum rql_structure_kind kind, char **out, struct rql_error *err)
{
	unsigned char id[STEM / 2];
	if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
		return rql_error_set(err, RQL_ERROR_IO, "no random name for a side file: %s", strerror(errno));
	size_t end = strlen(suffixes[kind]) + 1;
	char *name = malloc(STEM + end);
	if (!name)
		return rql_error_memory(err, STEM + end, "a side file");
	for (size_t i = 0; i < sizeof id; i++)
		snprintf(name + i * 2, 3, "%02x", id[i]);
	memcpy(name + STEM, suffixes[kind], end);
	*out = name;
	return RQL_OK;
}

static rql_status write_contents(const struct rql_structure *s, const char *path, const char *identity,
                                 struct rql_error *err)
{
	uint32_t length = (uint32_t)strlen(identity);
	if (s->kind == RQL_STRUCTURE_COLUMNS)
		return rql_store_file_write(s->snapshot, path, identity, length, err);
	return rql_cube_write(s->cube, path, identity, length, err);
}

rql_status rql_side_write(const struct rql_side *side, const struct rql_structure *s, char **file,
                          struct rql_error *err)
{
	if (mkdir(side->folder, 0777) != 0 && errno != EEXIST)
		return rql_error_set(err, RQL_ERROR_IO, "the folder \"%s\" cannot be made: %s", side->folder, strerror(errno));
	char *name = NULL;
	RQL_TRY(new_name(s->kind, &name, err));
	char *path = join(side->folder, name), *identity = file_identity(name, s->definition_hash);
	rql_status status =
		path && identity ? write_contents(s, path, identity, err) : rql_error_memory(err, 0, "a side file");
	if (status != RQL_OK && path)
		(void)unlink(path);
	free(path);
	free(identity);
	if (status != RQL_OK) {
		free(name);
		return status;
	}
	*file = name;
	return RQL_OK;
}

rql_status rql_side_read(const struct rql_side *side, const char *file, const char *hash, struct rql_budget *budget,
                         struct rql_cube **out, struct rql_error *err)
{
	char *path = join(side->folder, file), *identity = file_identity(file, hash);
	rql_status status = path && identity ? rql_cube_read(path, identity, (uint32_t)strlen(identity), budget, out, err)
	                                     : rql_error_memory(err, 0, "a side file");
	free(path);
	free(identity);
	return status;
}

rql_status rql_side_read_store(const struct rql_side *side, const char *file, const char *hash,
                               struct rql_budget *budget, struct rql_store **out, struct rql_error *err)
{
	char *path = join(side->folder, file), *identity = file_identity(file, hash);
	rql_status status = path && identity
	                        ? rql_store_file_read(path, identity, (uint32_t)strlen(identity), budget, out, err)
	                        : rql_error_memory(err, 0, "a side file");
	free(path);
	free(identity);
	return status;
}

void rql_side_forget(const struct rql_side *side, const char *file)
{
	char *path = side->folder && side->writable ? join(side->folder, file) : NULL;
	if (path)
		(void)unlink(path);
	free(path);
}

/* ---- closing ---- */
static bool write_synced(const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	bool ok = true;
	for (size_t done = 0; done < length && ok;) {
		ssize_t n = write(fd, text + done, length - done);
		ok = n > 0;
		done += ok ? (size_t)n : 0;
	}
	ok = ok && fsync(fd) == 0;
	return close(fd) == 0 && ok;
}

static bool write_manifest(const struct rql_side *side, const struct rql_side_entry *kept, uint32_t count)
{
	struct rql_file_identity id;
	struct rql_strbuf text = {0};
	uint64_t hash[2];
	if (read_identity(side->database, side->file, &id) || !side->sealed || !same_identity(&id, &side->seal))
		return false;
	rql_strbuf_printf(&text, MANIFEST_HEAD "\ndatabase %llu %016llx%016llx %lld.%lld\n", (unsigned long long)id.size,
	                  (unsigned long long)id.hash[0], (unsigned long long)id.hash[1], (long long)id.seconds,
	                  (long long)id.nanoseconds);
	for (uint32_t i = 0; i < count; i++) {
		rql_strbuf_put(&text, "structure ");
		put_escaped(&text, kept[i].schema);
		rql_strbuf_putc(&text, ' ');
		put_escaped(&text, kept[i].name);
		rql_strbuf_printf(&text, " %s %s\n", kept[i].file, kept[i].hash);
	}
	hash_bytes(hash, (const unsigned char *)rql_strbuf_text(&text), text.length);
	rql_strbuf_printf(&text, "end %016llx%016llx\n", (unsigned long long)hash[0], (unsigned long long)hash[1]);
	char *path = join(side->folder, MANIFEST), *temporary = join(side->folder, MANIFEST ".tmp");
	bool ok = path && temporary && !text.failed && write_synced(temporary, text.data, text.length) &&
	          rename(temporary, path) == 0;
	if (!ok && temporary)
		(void)unlink(temporary);
	free(path);
	free(temporary);
	rql_strbuf_free(&text);
	return ok;
}

/* Only names of our own making are touched: the folder might hold something of the user's. */
static void sweep(const struct rql_side *side, const struct rql_side_entry *kept, uint32_t count, bool manifest)
{
	DIR *dir = opendir(side->folder);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		size_t length = strlen(e->d_name);
		bool ours = is_contents_file(e->d_name, "") || is_contents_file(e->d_name, ".tmp") ||
		            strcmp(e->d_name, MANIFEST ".tmp") == 0;
		bool beside = rql_side_is_rt_file(e->d_name); /* kept with its cube's file */
		ours = ours || beside;
		for (uint32_t i = 0; i < count && ours; i++)
			ours = beside ? strncmp(kept[i].file, e->d_name, STEM) != 0 || strcmp(e->d_name + length - 4, ".tmp") == 0
			              : strcmp(kept[i].file, e->d_name) != 0;
		if (ours || (!manifest && strcmp(e->d_name, MANIFEST) == 0))
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	}
	closedir(dir);
	if (!manifest)
		(void)rmdir(side->folder); /* succeeds only when it is empty */
}

void rql_side_seal(struct rql_side *side)
{
	side->sealed = side->folder && read_identity(side->database, side->file, &side->seal) == NULL;
}

void rql_side_close(struct rql_side *side, const struct rql_side_entry *kept, uint32_t count)
{
	if (!side->folder || !side->writable || access(side->folder, F_OK) != 0)
		return;
	bool written = count > 0 && write_manifest(side, kept, count);
	sweep(side, kept, written ? count : 0, written);
}

void rql_side_free(struct rql_side *side)
{
	for (uint32_t i = 0; i < side->count; i++) {
		free(side->entries[i].schema);
		free(side->entries[i].name);
		free(side->entries[i].file);
		free(side->entries[i].hash);
	}
	if (side->database && side->file >= 0)
		close(side->file);
	free(side->entries);
	free(side->folder);
	free(side->database);
	free(side->why);
	*side = (struct rql_side){0};
}
