/* Writing and reading of side files: sections with checksums behind a table of them. */
#include "column/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTE_ORDER_MARK UINT32_C(0x01020304)
#define ALIGNMENT 64u

struct frame_header {
	char magic[8];
	uint32_t version, byte_order;
	uint64_t file_size;
	uint32_t section_count, reserved;
	uint64_t table_checksum;
	uint64_t header_checksum; /* of the bytes before it */
	uint8_t zero[16];
};
_Static_assert(sizeof(struct frame_header) == 64, "docs/format.md");

enum { SECTION_IDENTITY, SECTION_DESCRIPTION, SECTION_FIRST_ARRAY };

/* ---- checksum ---- */

#define LANE_FACTOR UINT64_C(0xBF58476D1CE4E5B9)

static inline uint64_t stir(uint64_t state, uint64_t word)
{
	state = (state ^ word) * LANE_FACTOR;
	return state ^ state >> 29;
}

/* Four lanes of words, then the rest, then the length. Every step is a bijection of the state, so that data that differ
 * in a single word always differ in the checksum. */
uint64_t rql_frame_checksum(const void *data, uint64_t size)
{
	const uint8_t *at = data;
	uint64_t lane[4] = {1, 2, 3, 4}, word, rest = size;
	for (; rest >= 32; rest -= 32, at += 32) {
		for (uint32_t i = 0; i < 4; i++) {
			memcpy(&word, at + i * 8, 8);
			lane[i] = stir(lane[i], word);
		}
	}
	uint64_t state = size;
	for (; rest;) {
		uint64_t take = rest < 8 ? rest : 8;
		word = 0;
		memcpy(&word, at, take);
		state = stir(state, word);
		at += take;
		rest -= take;
	}
	for (uint32_t i = 0; i < 4; i++)
		state = stir(state, lane[i]);
	return state;
}

/* ---- errors ---- */

rql_status rql_frame_corrupt(struct rql_frame_file *file, const char *what)
{
	return rql_error_set(file->err, RQL_ERROR_CORRUPT, "side file %s is damaged: %s; %s", file->place->path, what,
	                     file->kind->advice);
}

static rql_status io_error(struct rql_frame_file *file, const char *action, const char *path)
{
	if (errno == ENOSPC || errno == EDQUOT)
		return rql_error_set(file->err, RQL_ERROR_IO,
		                     "side file %s cannot be %s: %s; free some space, or %s after the next start", path, action,
		                     strerror(errno), file->kind->advice);
	return rql_error_set(file->err, RQL_ERROR_IO, "side file %s cannot be %s: %s", path, action, strerror(errno));
}

/* ---- the visits ---- */

rql_status rql_frame_visit(struct rql_frame_file *file, void *field, uint32_t size)
{
	if (file->writing) {
		rql_strbuf_put_n(&file->description, field, size);
		return RQL_OK;
	}
	if ((uint64_t)(file->fields_end - file->fields) < size)
		return rql_frame_corrupt(file, "its description ends early");
	memcpy(field, file->fields, size);
	file->fields += size;
	return RQL_OK;
}

rql_status rql_frame_bool(struct rql_frame_file *file, bool *field)
{
	uint8_t byte = *field;
	RQL_TRY(rql_frame_visit(file, &byte, 1));
	if (byte > 1)
		return rql_frame_corrupt(file, "a flag is neither 0 nor 1");
	if (!file->writing) /* a structure that is being written may be in use */
		*field = byte;
	return RQL_OK;
}

/* A count of things that exist at most `limit` times. */
rql_status rql_frame_count(struct rql_frame_file *file, uint32_t *field, uint32_t limit)
{
	RQL_TRY(rql_frame_visit(file, field, sizeof(*field)));
	return *field > limit ? rql_frame_corrupt(file, "a count is impossible") : RQL_OK;
}

static rql_status add_array(struct rql_frame_file *file, const void *data, uint64_t size, void *owned)
{
	if (file->array_count == file->array_capacity) {
		uint32_t capacity = file->array_capacity ? file->array_capacity * 2 : 64;
		struct rql_frame_array *arrays = realloc(file->arrays, capacity * sizeof(*arrays));
		if (!arrays) {
			free(owned);
			return rql_error_memory(file->err, capacity * sizeof(*arrays), "writing a side file");
		}
		file->arrays = arrays;
		file->array_capacity = capacity;
	}
	file->arrays[file->array_count++] = (struct rql_frame_array){.data = data, .size = size, .owned = owned};
	return RQL_OK;
}

static rql_status read_at(struct rql_frame_file *file, void *to, uint64_t size, uint64_t offset)
{
	uint8_t *at = to;
	while (size) {
		ssize_t got = pread(file->fd, at, size < (UINT64_C(1) << 30) ? size : UINT64_C(1) << 30, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return io_error(file, "read", file->place->path);
		if (got == 0)
			return rql_frame_corrupt(file, "it ends early");
		at += got;
		offset += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return RQL_OK;
}

/* The next array: count * size bytes. Reading allocates it from file->mem; that the file holds so much is known
 * before. An empty array is NULL. */
rql_status rql_frame_array(struct rql_frame_file *file, void **array, uint64_t count, uint64_t size)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return rql_frame_corrupt(file, "an array is impossibly large");
	if (file->writing)
		return add_array(file, *array, bytes, NULL);
	if (file->next_section >= file->section_count)
		return rql_frame_corrupt(file, "an array is missing");
	const struct rql_frame_section *section = &file->sections[file->next_section++];
	if (section->size != bytes)
		return rql_frame_corrupt(file, "an array's size is not what its description says");
	*array = NULL;
	if (!bytes)
		return RQL_OK;
	void *data = rql_mem_alloc(file->mem, bytes, 1, file->err);
	if (!data)
		return rql_mem_failure(file->mem);
	RQL_TRY(read_at(file, data, bytes, section->offset));
	if (rql_frame_checksum(data, bytes) != section->checksum)
		return rql_frame_corrupt(file, "a checksum does not match");
	*array = data;
	return RQL_OK;
}

/* ---- types and dictionaries ---- */

rql_status rql_frame_text(struct rql_frame_file *file, const char **text)
{
	uint32_t length = file->writing ? (uint32_t)strlen(*text) : 0;
	RQL_TRY(rql_frame_visit(file, &length, sizeof length));
	if (file->writing) {
		rql_strbuf_put_n(&file->description, *text, length);
		return RQL_OK;
	}
	if ((uint64_t)(file->fields_end - file->fields) < length)
		return rql_frame_corrupt(file, "its description ends early");
	*text = rql_arena_strndup(file->arena, (const char *)file->fields, length);
	file->fields += length;
	return *text ? RQL_OK : rql_error_memory(file->err, length, "reading a side file");
}

static rql_status visit_enum(struct rql_frame_file *file, struct rql_type *type)
{
	struct rql_type_info *info = NULL;
	uint32_t names = file->writing ? type->info->name_count : 0;
	RQL_FRAME_VISIT(file, names);
	if (file->writing) {
		for (uint32_t i = 0; i < names; i++) {
			const char *name = type->info->names[i];
			RQL_TRY(rql_frame_text(file, &name));
		}
		const char *text = type->info->text;
		return rql_frame_text(file, &text);
	}
	if (names > (uint64_t)(file->fields_end - file->fields) / 4) /* a name takes 4 bytes at least */
		return rql_frame_corrupt(file, "its description ends early");
	info = RQL_NEW(file->arena, struct rql_type_info);
	const char **list = RQL_NEW_ARRAY(file->arena, const char *, names);
	if (!info || !list)
		return rql_error_memory(file->err, names * sizeof(*list), "reading a side file");
	for (uint32_t i = 0; i < names; i++)
		RQL_TRY(rql_frame_text(file, &list[i]));
	info->name_count = names;
	info->names = list;
	RQL_TRY(rql_frame_text(file, &info->text));
	type->info = info;
	return RQL_OK;
}

/* Types are written by name: their numbers may change. */
rql_status rql_frame_type(struct rql_frame_file *file, struct rql_type *type)
{
	const char *name = file->writing ? rql_type_id_name(type->id) : NULL;
	RQL_TRY(rql_frame_text(file, &name));
	RQL_FRAME_VISIT(file, type->width);
	RQL_FRAME_VISIT(file, type->scale);
	if (!file->writing) {
		type->info = NULL;
		type->id = RQL_TYPE_INVALID;
		for (int id = 0; id < RQL_TYPE_COUNT; id++) {
			if (strcmp(rql_type_id_name((rql_type_id)id), name) == 0)
				type->id = (rql_type_id)id;
		}
		if (!file->kind->type_ok(*type))
			return rql_frame_corrupt(file, "a column's type is unknown");
		if (type->id == RQL_TYPE_DECIMAL && (type->width < 1 || type->width > 38 || type->scale > type->width))
			return rql_frame_corrupt(file, "a DECIMAL is impossible");
	}
	return type->id == RQL_TYPE_ENUM ? visit_enum(file, type) : RQL_OK;
}

/* Strings: an array of lengths and one of all their bytes. */
static rql_status write_strings(struct rql_frame_file *file, const struct rql_dimension *dimension)
{
	const struct rql_string *strings = dimension->values.data;
	uint64_t total = 0, bytes = (uint64_t)dimension->count * sizeof(uint32_t);
	uint32_t *lengths = malloc(bytes ? bytes : 1);
	if (!lengths)
		return rql_error_memory(file->err, bytes, "writing a side file");
	for (uint32_t i = 0; i < dimension->count; i++) {
		lengths[i] = strings[i].length;
		total += lengths[i];
	}
	RQL_TRY(add_array(file, lengths, bytes, lengths));
	char *text = malloc(total ? total : 1), *at = text;
	if (!text)
		return rql_error_memory(file->err, total, "writing a side file");
	for (uint32_t i = 0; i < dimension->count; i++) {
		memcpy(at, rql_string_data(&strings[i]), strings[i].length);
		at += strings[i].length;
	}
	RQL_FRAME_VISIT(file, total);
	return add_array(file, text, total, text);
}

static rql_status read_strings(struct rql_frame_file *file, struct rql_dimension *dimension)
{
	struct rql_mem *mem = file->mem;
	uint32_t *lengths = NULL;
	char *text = NULL;
	uint64_t total, sum = 0;
	struct rql_string *strings;
	RQL_FRAME_ARRAY(file, lengths, dimension->count);
	RQL_FRAME_VISIT(file, total);
	RQL_FRAME_ARRAY(file, text, total);
	RQL_TRY(RQL_MEM_ARRAY(mem, strings, dimension->count, file->err));
	for (uint32_t i = 0; i < dimension->count; i++) {
		if (lengths[i] > total - sum)
			return rql_frame_corrupt(file, "a dictionary's strings are longer than their text");
		strings[i] = rql_string_make(text ? text + sum : "", lengths[i]);
		sum += lengths[i];
	}
	if (sum != total)
		return rql_frame_corrupt(file, "a dictionary's strings are shorter than their text");
	rql_mem_free(mem, lengths);
	dimension->values.data = strings;
	return RQL_OK;
}

static rql_status make_validity(struct rql_frame_file *file, struct rql_dimension *dimension)
{
	uint64_t words = (dimension->count + UINT64_C(63)) / 64;
	if (!dimension->has_null)
		return RQL_OK;
	if (!dimension->count)
		return rql_frame_corrupt(file, "a dictionary's NULL is missing");
	RQL_TRY(RQL_MEM_ARRAY(file->mem, dimension->values.validity, words, file->err));
	memset(dimension->values.validity, 0xff, words * 8);
	rql_bit_clear(dimension->values.validity, dimension->count - 1);
	return RQL_OK;
}

rql_status rql_frame_dimension(struct rql_frame_file *file, struct rql_dimension *dimension)
{
	RQL_TRY(rql_frame_type(file, &dimension->type));
	RQL_FRAME_VISIT(file, dimension->count);
	RQL_TRY(rql_frame_bool(file, &dimension->has_null));
	bool strings = dimension->type.id == RQL_TYPE_VARCHAR || dimension->type.id == RQL_TYPE_BLOB;
	if (file->writing && strings)
		return write_strings(file, dimension);
	if (!file->writing) {
		dimension->values.type = dimension->type;
		RQL_TRY(make_validity(file, dimension));
	}
	if (strings)
		return read_strings(file, dimension);
	return rql_frame_array(file, &dimension->values.data, dimension->count, rql_type_bytes(dimension->type));
}

/* ---- writing ---- */

static rql_status write_all(struct rql_frame_file *file, const char *path, const void *data, uint64_t size)
{
	const uint8_t *at = data;
	while (size) {
		ssize_t put = write(file->fd, at, size < (UINT64_C(1) << 30) ? size : UINT64_C(1) << 30);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return io_error(file, "written", path);
		at += put;
		size -= (uint64_t)put;
	}
	return RQL_OK;
}

static uint64_t padding(uint64_t offset)
{
	return (ALIGNMENT - offset % ALIGNMENT) % ALIGNMENT;
}

/* Header, table and sections. */
static rql_status write_sections(struct rql_frame_file *file, const char *path)
{
	static const uint8_t zero[ALIGNMENT];
	uint64_t table_size = file->array_count * sizeof(struct rql_frame_section),
			 offset = sizeof(struct frame_header) + table_size;
	struct rql_frame_section *table = calloc(file->array_count, sizeof(*table));
	if (!table)
		return rql_error_memory(file->err, table_size, "writing a side file");
	for (uint32_t i = 0; i < file->array_count; i++) {
		offset += padding(offset);
		table[i] = (struct rql_frame_section){.offset = offset,
		                                      .size = file->arrays[i].size,
		                                      .checksum = rql_frame_checksum(file->arrays[i].data, file->arrays[i].size)};
		offset += table[i].size;
	}
	struct frame_header header = {.version = file->kind->version,
	                              .byte_order = BYTE_ORDER_MARK,
	                              .file_size = offset,
	                              .section_count = file->array_count,
	                              .table_checksum = rql_frame_checksum(table, table_size)};
	memcpy(header.magic, file->kind->magic, 8);
	header.header_checksum = rql_frame_checksum(&header, offsetof(struct frame_header, header_checksum));
	rql_status status = write_all(file, path, &header, sizeof header);
	if (status == RQL_OK)
		status = write_all(file, path, table, table_size);
	uint64_t at = sizeof header + table_size;
	for (uint32_t i = 0; i < file->array_count && status == RQL_OK; i++) {
		status = write_all(file, path, zero, table[i].offset - at);
		if (status == RQL_OK)
			status = write_all(file, path, file->arrays[i].data, table[i].size);
		at = table[i].offset + table[i].size;
	}
	free(table);
	return status;
}

static rql_status write_file(struct rql_frame_file *file, const char *temporary)
{
	const struct rql_file_place *place = file->place;
	struct rql_file_place beside = *place;
	beside.name = temporary;
	RQL_TRY(rql_file_create(&beside, &file->fd, file->err));
	rql_status status = write_sections(file, place->path);
	if (status == RQL_OK && fsync(file->fd) != 0)
		status = io_error(file, "written", place->path);
	if (close(file->fd) != 0 && status == RQL_OK)
		status = io_error(file, "written", place->path);
	if (status == RQL_OK && renameat(place->folder, temporary, place->folder, place->name) != 0)
		status = io_error(file, "put in place", place->path);
	if (status != RQL_OK)
		(void)unlinkat(place->folder, temporary, 0);
	else if (place->folder >= 0)
		(void)fsync(place->folder); /* the rename itself must survive a crash, where the file system can do that */
	return status;
}

rql_status rql_frame_write(struct rql_frame_file *file, const void *identity, uint32_t identity_size)
{
	struct rql_strbuf temporary = {0};
	file->writing = true;
	file->fd = -1;
	rql_strbuf_printf(&temporary, "%s.tmp", file->place->name);
	rql_status status = add_array(file, identity, identity_size, NULL);
	if (status == RQL_OK)
		status = add_array(file, NULL, 0, NULL); /* the description, known after the walk */
	if (status == RQL_OK)
		status = file->kind->walk(file);
	if (status == RQL_OK && (file->description.failed || temporary.failed))
		status = rql_error_memory(file->err, file->description.length, "writing a side file");
	if (status == RQL_OK) {
		file->arrays[SECTION_DESCRIPTION] =
			(struct rql_frame_array){.data = file->description.data, .size = file->description.length};
		status = write_file(file, rql_strbuf_text(&temporary));
	}
	for (uint32_t i = 0; i < file->array_count; i++)
		free(file->arrays[i].owned);
	free(file->arrays);
	rql_strbuf_free(&file->description);
	rql_strbuf_free(&temporary);
	return status;
}

/* ---- reading ---- */

static rql_status read_header(struct rql_frame_file *file, struct frame_header *header)
{
	if (file->size < sizeof(*header))
		return rql_frame_corrupt(file, "it is shorter than its header");
	RQL_TRY(read_at(file, header, sizeof(*header), 0));
	if (memcmp(header->magic, file->kind->magic, 8) != 0)
		return rql_error_set(file->err, RQL_ERROR_CORRUPT, "side file %s is damaged: it is no side file of %s; %s",
		                     file->place->path, file->kind->what, file->kind->advice);
	if (header->byte_order != BYTE_ORDER_MARK)
		return rql_frame_corrupt(file, "it was written on a machine of another byte order");
	if (header->version != file->kind->version)
		return rql_error_set(file->err, RQL_ERROR_CORRUPT,
		                     "side file %s has version %u, this RayQL reads version %u; %s", file->place->path,
		                     header->version, file->kind->version, file->kind->advice);
	if (header->header_checksum != rql_frame_checksum(header, offsetof(struct frame_header, header_checksum)))
		return rql_frame_corrupt(file, "its header's checksum does not match");
	if (header->file_size != file->size)
		return rql_frame_corrupt(file, "it is shorter or longer than it was");
	if (header->section_count < SECTION_FIRST_ARRAY ||
	    header->section_count > (file->size - sizeof(*header)) / sizeof(struct rql_frame_section))
		return rql_frame_corrupt(file, "an impossible number of sections");
	return RQL_OK;
}

static rql_status read_table(struct rql_frame_file *file, const struct frame_header *header)
{
	uint64_t bytes = header->section_count * sizeof(struct rql_frame_section);
	file->section_count = header->section_count;
	file->sections = malloc(bytes);
	if (!file->sections)
		return rql_error_memory(file->err, bytes, "reading a side file");
	RQL_TRY(read_at(file, file->sections, bytes, sizeof(*header)));
	if (rql_frame_checksum(file->sections, bytes) != header->table_checksum)
		return rql_frame_corrupt(file, "its table's checksum does not match");
	for (uint32_t i = 0; i < file->section_count; i++) {
		const struct rql_frame_section *section = &file->sections[i];
		if (section->offset > file->size || section->size > file->size - section->offset)
			return rql_frame_corrupt(file, "a section is not in the file");
	}
	return RQL_OK;
}

/* A small section into malloc'ed memory. */
static rql_status read_section(struct rql_frame_file *file, uint32_t index, uint8_t **out)
{
	const struct rql_frame_section *section = &file->sections[index];
	uint8_t *data = malloc(section->size ? section->size : 1);
	if (!data)
		return rql_error_memory(file->err, section->size, "reading a side file");
	rql_status status = read_at(file, data, section->size, section->offset);
	if (status == RQL_OK && rql_frame_checksum(data, section->size) != section->checksum)
		status = rql_frame_corrupt(file, "a checksum does not match");
	if (status == RQL_OK)
		*out = data;
	else
		free(data);
	return status;
}

static rql_status read_file(struct rql_frame_file *file, const void *identity, uint32_t identity_size)
{
	struct frame_header header;
	uint8_t *kept = NULL, *description = NULL;
	RQL_TRY(read_header(file, &header));
	RQL_TRY(read_table(file, &header));
	RQL_TRY(read_section(file, SECTION_IDENTITY, &kept));
	bool same = file->sections[SECTION_IDENTITY].size == identity_size &&
	            (!identity_size || memcmp(kept, identity, identity_size) == 0);
	free(kept);
	if (!same)
		return rql_error_set(file->err, RQL_ERROR_CORRUPT,
		                     "side file %s belongs to another definition or state of the data; %s", file->place->path,
		                     file->kind->advice);
	RQL_TRY(read_section(file, SECTION_DESCRIPTION, &description));
	file->fields = description;
	file->fields_end = description + file->sections[SECTION_DESCRIPTION].size;
	file->next_section = SECTION_FIRST_ARRAY;
	rql_status status = file->kind->walk(file);
	if (status == RQL_OK && (file->fields != file->fields_end || file->next_section != file->section_count))
		status = rql_frame_corrupt(file, "there is more in it than its description says");
	free(description);
	return status;
}

rql_status rql_frame_read(struct rql_frame_file *file, const void *identity, uint32_t identity_size)
{
	struct stat info;
	RQL_TRY(rql_file_open(file->place, &file->fd, file->err));
	if (file->fd < 0) {
		errno = ENOENT;
		return io_error(file, "opened", file->place->path);
	}
	rql_status status = fstat(file->fd, &info) == 0 ? RQL_OK : io_error(file, "read", file->place->path);
	if (status == RQL_OK) {
		file->size = (uint64_t)info.st_size;
		status = read_file(file, identity, identity_size);
	}
	free(file->sections);
	close(file->fd);
	return status;
}

void rql_frame_seal(uint8_t *image, uint64_t size)
{
	struct frame_header header;
	if (size < sizeof header)
		return;
	memcpy(&header, image, sizeof header);
	header.file_size = size;
	uint64_t most = (size - sizeof header) / sizeof(struct rql_frame_section);
	uint32_t count = header.section_count < most ? header.section_count : (uint32_t)most;
	for (uint32_t i = 0; i < count; i++) {
		struct rql_frame_section section;
		uint8_t *at = image + sizeof header + i * sizeof section;
		memcpy(&section, at, sizeof section);
		if (section.offset <= size && section.size <= size - section.offset)
			section.checksum = rql_frame_checksum(image + section.offset, section.size);
		memcpy(at, &section, sizeof section);
	}
	header.table_checksum = rql_frame_checksum(image + sizeof header, count * sizeof(struct rql_frame_section));
	header.header_checksum = rql_frame_checksum(&header, offsetof(struct frame_header, header_checksum));
	memcpy(image, &header, sizeof header);
}
