/* The manifest of the side folder: which database file its contents belong to, and which file holds which structure's,
 * each with its stamp (inode, size, time of the inode's last change). Lines of text; the last one is a keyed checksum
 * of those before (side_key.c).
 *
 * Signing the table is enough: nobody but the system sets the time of an inode's last change, so a file that was
 * unpacked, copied or written to by anybody has another stamp than the one that was signed. */
#include "structure/side_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_WORD "rayql-manifest "
#define HEAD HEAD_WORD "3"

bool rql_side_is_contents_file(const char *name, const char *end)
{
	if (strlen(name) <= RQL_SIDE_STEM || strspn(name, "0123456789abcdef") < RQL_SIDE_STEM)
		return false;
	for (const struct rql_structure_kind *const *k = rql_structure_kinds(); *k; k++) {
		size_t length = strlen((*k)->suffix);
		if (strncmp(name + RQL_SIDE_STEM, (*k)->suffix, length) == 0 && strcmp(name + RQL_SIDE_STEM + length, end) == 0)
			return true;
	}
	return false;
}

/* ---- texts ---- */
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

/* ---- stamps ---- */
const struct rql_file_stamp *rql_side_find_stamp(const struct rql_side *side, const char *name)
{
	for (uint32_t i = 0; i < side->stamp_count; i++)
		if (strcmp(side->stamps[i].name, name) == 0)
			return &side->stamps[i].stamp;
	return NULL;
}

bool rql_side_add_stamp(struct rql_side *side, const char *name, const struct rql_file_stamp *stamp)
{
	if (side->stamp_count == side->stamp_capacity) {
		uint32_t capacity = side->stamp_capacity ? side->stamp_capacity * 2 : 8;
		struct rql_side_stamped *stamps = realloc(side->stamps, capacity * sizeof *stamps);
		if (!stamps)
			return false;
		side->stamps = stamps;
		side->stamp_capacity = capacity;
	}
	struct rql_side_stamped *s = &side->stamps[side->stamp_count];
	s->stamp = *stamp;
	if (snprintf(s->name, sizeof s->name, "%s", name) >= (int)sizeof s->name)
		return false;
	side->stamp_count++;
	return true;
}

void rql_side_drop_stamp(struct rql_side *side, const char *name)
{
	for (uint32_t i = 0; i < side->stamp_count; i++)
		if (strcmp(side->stamps[i].name, name) == 0)
			side->stamps[i--] = side->stamps[--side->stamp_count];
}

/* ---- reading ---- */
static bool add_entry(struct rql_side *side, const struct rql_side_entry *of)
{
	if (side->count == side->capacity) {
		uint32_t capacity = side->capacity ? side->capacity * 2 : 8;
		struct rql_side_entry *entries = realloc(side->entries, capacity * sizeof *entries);
		if (!entries)
			return false;
		side->entries = entries;
		side->capacity = capacity;
	}
	struct rql_side_entry e = {.schema = strdup(of->schema), .name = strdup(of->name)};
	if (of->why) {
		e.why = strdup(of->why);
	} else {
		e.file = strdup(of->file);
		e.hash = strdup(of->hash);
	}
	side->entries[side->count++] = e;
	return e.schema && e.name && (e.why || (e.file && e.hash));
}

/* "structure SCHEMA NAME FILE HASH", "missing SCHEMA NAME WHY" or "file NAME INODE SIZE SECONDS.NANOSECONDS" */
static bool read_line(struct rql_side *side, char *line)
{
	char *fields = NULL, *word = strtok_r(line, " ", &fields), *part[4] = {0};
	for (int i = 0; i < 4; i++)
		part[i] = strtok_r(NULL, " ", &fields);
	if (word && part[2] && strcmp(word, "missing") == 0)
		return unescape(part[0]) && unescape(part[1]) && unescape(part[2]) &&
		       add_entry(side, &(struct rql_side_entry){.schema = part[0], .name = part[1], .why = part[2]});
	if (!word || !part[3])
		return false;
	if (strcmp(word, "structure") == 0)
		return rql_side_is_contents_file(part[2], "") && unescape(part[0]) && unescape(part[1]) &&
		       add_entry(side, &(struct rql_side_entry){part[0], part[1], .file = part[2], .hash = part[3]});
	unsigned long long inode, size;
	long long seconds, nanoseconds;
	if (strcmp(word, "file") != 0 || sscanf(part[1], "%llu", &inode) != 1 || sscanf(part[2], "%llu", &size) != 1 ||
	    sscanf(part[3], "%lld.%lld", &seconds, &nanoseconds) != 2)
		return false;
	struct rql_file_stamp stamp = {inode, size, seconds, nanoseconds};
	return rql_side_add_stamp(side, part[0], &stamp);
}

/* Is the text signed? Its last line is cut off. */
static const char *check_signature(const struct rql_side *side, char *text, uint64_t length)
{
	static const char unsigned_[] =
		"its manifest was not written by this user on this machine (docs/format.md says what is trusted), or is damaged";
	static const char end[] = "\nend ";
	char have[33];
	uint64_t mac[2];
	if (strncmp(text, HEAD "\n", sizeof HEAD) != 0)
		return strncmp(text, HEAD_WORD, sizeof HEAD_WORD - 1) == 0
		           ? "the manifest of the side folder is of another version of RayQL"
		           : unsigned_;
	char *last = memmem(text, length, end, sizeof end - 1);
	if (!last || strlen(text) != length || strlen(last) != sizeof end - 1 + 33)
		return unsigned_;
	rql_mac(&side->key, text, (size_t)(last + 1 - text), mac);
	snprintf(have, sizeof have, "%016llx%016llx", (unsigned long long)mac[0], (unsigned long long)mac[1]);
	unsigned different = 0; /* in a time that does not depend on where they differ */
	for (size_t i = 0; i < 32; i++)
		different |= (unsigned char)(have[i] ^ last[sizeof end - 1 + i]);
	last[1] = 0;
	return different ? unsigned_ : NULL;
}

const char *rql_manifest_parse(struct rql_side *side, char *text, uint64_t length, struct rql_file_identity *out)
{
	static const char damaged[] = "the manifest of the side folder is damaged";
	unsigned long long a, b, size;
	long long seconds, nanoseconds;
	const char *why = check_signature(side, text, length);
	if (why)
		return why;
	char *save = NULL, *line = strtok_r(text, "\n", &save);
	line = strtok_r(NULL, "\n", &save);
	if (!line || sscanf(line, "database %llu %16llx%16llx %lld.%lld", &size, &a, &b, &seconds, &nanoseconds) != 5)
		return damaged;
	while ((line = strtok_r(NULL, "\n", &save)))
		if (!read_line(side, line))
			return damaged;
	*out = (struct rql_file_identity){size, {a, b}, seconds, nanoseconds};
	return NULL;
}

/* ---- writing ---- */
static void put_file(struct rql_strbuf *out, const struct rql_side_stamped *s)
{
	rql_strbuf_printf(out, "file %s %llu %llu %lld.%09lld\n", s->name, (unsigned long long)s->stamp.inode,
	                  (unsigned long long)s->stamp.size, (long long)s->stamp.seconds, (long long)s->stamp.nanoseconds);
}

static void put_structure(struct rql_strbuf *out, const struct rql_side_entry *e)
{
	rql_strbuf_put(out, e->file ? "structure " : "missing ");
	put_escaped(out, e->schema);
	rql_strbuf_putc(out, ' ');
	put_escaped(out, e->name);
	rql_strbuf_putc(out, ' ');
	if (e->file)
		rql_strbuf_printf(out, "%s %s", e->file, e->hash);
	else
		put_escaped(out, e->why);
	rql_strbuf_putc(out, '\n');
}

bool rql_manifest_print(const struct rql_side *side, const struct rql_file_identity *id,
                        const struct rql_side_entry *list, uint32_t count, struct rql_strbuf *out)
{
	uint64_t mac[2];
	rql_strbuf_printf(out, HEAD "\ndatabase %llu %016llx%016llx %lld.%lld\n", (unsigned long long)id->size,
	                  (unsigned long long)id->hash[0], (unsigned long long)id->hash[1], (long long)id->seconds,
	                  (long long)id->nanoseconds);
	for (uint32_t i = 0; i < count; i++) {
		if (list[i].file ? !rql_side_find_stamp(side, list[i].file) : !list[i].why)
			continue;
		put_structure(out, &list[i]);
		/* Its own file and what stands beside it. */
		for (uint32_t f = 0; list[i].file && f < side->stamp_count; f++)
			if (strncmp(side->stamps[f].name, list[i].file, RQL_SIDE_STEM) == 0)
				put_file(out, &side->stamps[f]);
	}
	rql_mac(&side->key, rql_strbuf_text(out), out->length, mac);
	rql_strbuf_printf(out, "end %016llx%016llx\n", (unsigned long long)mac[0], (unsigned long long)mac[1]);
	return !out->failed;
}
