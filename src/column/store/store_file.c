/* The side file of a store (docs/format.md): what its walk visits; column/frame.h does the rest, and rql_store_check
 * has the last word over what was read. Blocks are written as they are. */
#include "column/frame.h"
#include "column/store/store_internal.h"

#include <stdlib.h>

struct walk {
	const struct rql_store_state *from; /* writing */
	/* reading */
	struct rql_budget *budget;
	struct rql_arena *arena; /* of the spec */
	struct rql_store_schema *schema;
	struct rql_store_dictionary **dictionaries; /* in `mem`, as the others */
	struct rql_store_piece **pieces;
	struct rql_store_map **maps;
	uint32_t piece_count;
	struct rql_store_dependencies *dependencies;
	struct rql_mem mem;
};

static bool type_ok(struct rql_type type)
{
	enum rql_store_kind kind;
	bool coded_only;
	return rql_store_kind_of(type, &kind, &coded_only);
}

static uint64_t fields_left(const struct rql_frame_file *file)
{
	return file->writing ? UINT64_MAX : (uint64_t)(file->fields_end - file->fields);
}

/* ---- columns ---- */

/* Name, type, kind and wanted encoding. */
static rql_status visit_column(struct rql_frame_file *file, struct rql_store_column_spec *column, uint8_t *kind)
{
	uint8_t encoding = (uint8_t)column->encoding;
	enum rql_store_kind natural;
	bool coded_only;
	RQL_TRY(rql_frame_text(file, &column->name));
	RQL_TRY(rql_frame_type(file, &column->type));
	RQL_FRAME_VISIT(file, *kind);
	RQL_FRAME_VISIT(file, encoding);
	(void)rql_store_kind_of(column->type, &natural, &coded_only);
	if (*kind != RQL_STORE_CODED && *kind != natural)
		return rql_frame_corrupt(file, "a column is held in an impossible way");
	if (encoding > RQL_STORE_AUTO)
		return rql_frame_corrupt(file, "an encoding is unknown");
	column->encoding = (enum rql_store_encoding)encoding;
	column->coding = *kind == RQL_STORE_CODED ? RQL_STORE_CODES : RQL_STORE_VALUES;
	return RQL_OK;
}

static rql_status write_schema(struct rql_frame_file *file, const struct rql_store_schema *schema)
{
	uint32_t columns = schema->column_count;
	bool ordered = schema->ordered;
	RQL_TRY(rql_frame_bool(file, &ordered));
	RQL_FRAME_VISIT(file, columns);
	for (uint32_t c = 0; c < columns; c++) {
		const struct rql_store_schema_column *column = &schema->columns[c];
		struct rql_store_column_spec spec = {.name = column->name, .type = column->type, .encoding = column->encoding};
		uint8_t kind = (uint8_t)column->kind;
		RQL_TRY(visit_column(file, &spec, &kind));
	}
	return RQL_OK;
}

static rql_status read_schema(struct rql_frame_file *file, struct walk *walk)
{
	uint32_t columns;
	bool ordered = false;
	RQL_TRY(rql_frame_bool(file, &ordered));
	RQL_FRAME_VISIT(file, columns);
	if (columns > fields_left(file) / 8) /* a column takes more */
		return rql_frame_corrupt(file, "its description ends early");
	struct rql_store_column_spec *specs = RQL_NEW_ARRAY(walk->arena, struct rql_store_column_spec, columns);
	if (!specs)
		return rql_error_memory(file->err, columns * sizeof(*specs), "reading a side file");
	for (uint32_t c = 0; c < columns; c++) {
		uint8_t kind;
		RQL_TRY(visit_column(file, &specs[c], &kind));
	}
	const struct rql_store_spec spec = {
		.name = file->place->path, .column_count = columns, .columns = specs, .budget = walk->budget};
	RQL_TRY(rql_store_schema_new(&spec, &walk->schema, file->err));
	walk->schema->ordered = ordered;
	return RQL_MEM_ZARRAY(&walk->mem, walk->dictionaries, columns, file->err);
}

static rql_status visit_dictionaries(struct rql_frame_file *file, struct walk *walk)
{
	const struct rql_store_schema *schema = file->writing ? walk->from->schema : walk->schema;
	for (uint32_t c = 0; c < schema->column_count; c++) {
		if (schema->columns[c].kind != RQL_STORE_CODED)
			continue;
		if (file->writing) {
			struct rql_dimension dimension = walk->from->dictionaries[c]->dimension;
			RQL_TRY(rql_frame_dimension(file, &dimension));
			continue;
		}
		RQL_TRY(rql_store_dictionary_new(schema, &walk->dictionaries[c], file->err));
		file->mem = &walk->dictionaries[c]->mem;
		file->arena = walk->dictionaries[c]->arena;
		RQL_TRY(rql_frame_dimension(file, &walk->dictionaries[c]->dimension));
		if (!rql_type_equal(walk->dictionaries[c]->dimension.type, schema->columns[c].type))
			return rql_frame_corrupt(file, "a dictionary has another type than its column");
	}
	return RQL_OK;
}

/* ---- segments ---- */

static rql_status visit_part(struct rql_frame_file *file, const struct rql_store_schema *schema, uint32_t c,
                             uint32_t blocks, struct rql_store_part *part, struct rql_store_map **map)
{
	RQL_FRAME_VISIT(file, part->byte_count);
	RQL_FRAME_ARRAY(file, part->blocks, blocks);
	RQL_FRAME_ARRAY(file, part->bytes, part->byte_count);
	if (schema->columns[c].kind != RQL_STORE_CODED) {
		part->null_code = RQL_STORE_NONE;
		return RQL_OK;
	}
	RQL_FRAME_VISIT(file, part->stored_codes);
	RQL_FRAME_VISIT(file, part->null_code);
	bool mapped = *map != NULL;
	RQL_TRY(rql_frame_bool(file, &mapped));
	if (!mapped)
		return RQL_OK;
	if (file->writing) {
		RQL_FRAME_ARRAY(file, (*map)->map, part->stored_codes);
		return RQL_OK;
	}
	if (file->next_section < file->section_count &&
	    file->sections[file->next_section].size != (uint64_t)part->stored_codes * sizeof(uint32_t))
		return rql_frame_corrupt(file, "an array's size is not what its description says");
	RQL_TRY(rql_store_map_new(schema, 0, map, file->err));
	(*map)->count = part->stored_codes;
	file->mem = &(*map)->mem;
	RQL_FRAME_ARRAY(file, (*map)->map, part->stored_codes);
	return RQL_OK;
}

static rql_status visit_piece(struct rql_frame_file *file, const struct rql_store_schema *schema,
                              struct rql_store_piece *piece, struct rql_store_map **maps)
{
	RQL_FRAME_VISIT(file, piece->rows);
	RQL_TRY(rql_frame_count(file, &piece->blocks, RQL_STORE_SEGMENT));
	RQL_TRY(rql_frame_bool(file, &piece->appended));
	for (uint32_t c = 0; c < schema->column_count; c++) {
		if (!file->writing)
			file->mem = &piece->mem;
		RQL_TRY(visit_part(file, schema, c, piece->blocks, &piece->parts[c], &maps[c]));
	}
	return RQL_OK;
}

static rql_status write_pieces(struct rql_frame_file *file, const struct rql_store_state *state)
{
	uint32_t count = state->snapshot.segment_count, columns = state->snapshot.column_count;
	RQL_FRAME_VISIT(file, count);
	for (uint32_t p = 0; p < count; p++)
		RQL_TRY(visit_piece(file, state->schema, state->pieces[p], state->maps + (uint64_t)p * columns));
	return RQL_OK;
}

static rql_status read_pieces(struct rql_frame_file *file, struct walk *walk)
{
	uint32_t count, columns = walk->schema->column_count;
	RQL_FRAME_VISIT(file, count);
	if (count > fields_left(file) / (13 + 8 * (uint64_t)columns)) /* what a piece takes at least */
		return rql_frame_corrupt(file, "its description ends early");
	RQL_TRY(RQL_MEM_ZARRAY(&walk->mem, walk->pieces, count, file->err));
	RQL_TRY(RQL_MEM_ZARRAY(&walk->mem, walk->maps, (uint64_t)count * columns, file->err));
	for (; walk->piece_count < count;) {
		struct rql_store_piece **piece = &walk->pieces[walk->piece_count];
		RQL_TRY(rql_store_piece_new(walk->schema, piece, file->err));
		walk->piece_count++;
		RQL_TRY(visit_piece(file, walk->schema, *piece, walk->maps + (uint64_t)(walk->piece_count - 1) * columns));
	}
	return RQL_OK;
}

/* ---- dependencies ---- */

static rql_status visit_dependency(struct rql_frame_file *file, const struct walk *walk, struct rql_store_dependency *d)
{
	const struct rql_store_schema *schema = file->writing ? walk->from->schema : walk->schema;
	struct rql_store_dictionary *const *dictionaries = file->writing ? walk->from->dictionaries : walk->dictionaries;
	uint32_t *map = (uint32_t *)(uintptr_t)d->map; /* read only, when writing */
	RQL_TRY(rql_frame_count(file, &d->from, schema->column_count - 1));
	RQL_TRY(rql_frame_count(file, &d->to, schema->column_count - 1));
	if (!dictionaries[d->from] || !dictionaries[d->to])
		return rql_frame_corrupt(file, "a dependency is between columns without codes");
	RQL_FRAME_ARRAY(file, map, dictionaries[d->from]->dimension.count);
	for (uint32_t c = 0; c < dictionaries[d->from]->dimension.count; c++)
		if (map[c] != RQL_STORE_NONE && map[c] >= dictionaries[d->to]->dimension.count)
			return rql_frame_corrupt(file, "a dependency leads to a code that is not there");
	if (!file->writing) /* what is written, others read */
		d->map = map;
	return RQL_OK;
}

static rql_status visit_dependencies(struct rql_frame_file *file, struct walk *walk)
{
	struct rql_store_dependencies *d = file->writing ? walk->from->dependencies : NULL;
	uint32_t count = d ? d->count : 0, columns = file->writing ? walk->from->schema->column_count : walk->schema->column_count;
	uint64_t rows = d ? d->rows : 0;
	bool known = d != NULL;
	RQL_TRY(rql_frame_bool(file, &known));
	if (!known)
		return RQL_OK;
	RQL_FRAME_VISIT(file, rows);
	RQL_FRAME_VISIT(file, count);
	if (count > (uint64_t)columns * columns || count > fields_left(file) / 8)
		return rql_frame_corrupt(file, "its description ends early");
	if (!file->writing) {
		RQL_TRY(rql_store_dependencies_new(walk->schema, count, &walk->dependencies, file->err));
		d = walk->dependencies;
		d->rows = rows;
		d->count = count;
		file->mem = &d->mem;
	}
	for (uint32_t i = 0; i < count; i++)
		RQL_TRY(visit_dependency(file, walk, &d->list[i]));
	return RQL_OK;
}

static rql_status visit_store(struct rql_frame_file *file)
{
	struct walk *walk = file->state;
	if (file->writing)
		RQL_TRY(write_schema(file, walk->from->schema));
	else
		RQL_TRY(read_schema(file, walk));
	RQL_TRY(visit_dictionaries(file, walk));
	RQL_TRY(file->writing ? write_pieces(file, walk->from) : read_pieces(file, walk));
	return visit_dependencies(file, walk);
}

/* ---- the front ---- */

static const struct rql_frame_kind store_kind = {.magic = "RayQLcol",
                                                 .version = 2,
                                                 .what = "compressed columns",
                                                 .advice = "the columns are read anew",
                                                 .walk = visit_store,
                                                 .type_ok = type_ok};

rql_status rql_store_file_write(const struct rql_store_snapshot *snapshot, const struct rql_file_place *place,
                                const void *identity, uint32_t identity_size, struct rql_error *err)
{
	struct walk walk = {.from = (const struct rql_store_state *)(const void *)snapshot};
	struct rql_frame_file file = {.kind = &store_kind, .place = place, .state = &walk, .err = err};
	return rql_frame_write(&file, identity, identity_size);
}

static rql_status make_store(struct rql_frame_file *file, struct walk *walk, struct rql_store **out)
{
	struct rql_store_state *state;
	struct rql_error inner = {0};
	for (uint32_t p = 0; p < walk->piece_count; p++)
		rql_store_piece_settle(walk->pieces[p], walk->schema);
	RQL_TRY(rql_store_state_new(walk->schema, walk->piece_count, walk->pieces, walk->dictionaries, walk->maps, &state,
	                            file->err));
	if (walk->dependencies)
		rql_store_state_relate(state, walk->dependencies);
	rql_status status = rql_store_check(&state->snapshot, &inner);
	if (status != RQL_OK)
		status = rql_frame_corrupt(file, rql_error_message(&inner));
	rql_error_clear(&inner);
	if (status == RQL_OK)
		status = rql_store_new(state, out, file->err);
	if (status != RQL_OK)
		rql_store_snapshot_release(&state->snapshot);
	return status;
}

rql_status rql_store_file_read(const struct rql_file_place *place, const void *identity, uint32_t identity_size,
                               struct rql_budget *budget, struct rql_store **out, struct rql_error *err)
{
	struct walk walk = {.budget = budget, .arena = rql_arena_new()};
	struct rql_frame_file file = {
		.kind = &store_kind, .place = place, .state = &walk, .err = err, .mem = &walk.mem, .arena = walk.arena};
	rql_mem_init(&walk.mem, budget, place->path);
	rql_status status = walk.arena ? RQL_OK : rql_error_memory(err, sizeof walk, "reading a side file");
	if (status == RQL_OK)
		status = rql_frame_read(&file, identity, identity_size);
	if (status == RQL_OK)
		status = make_store(&file, &walk, out);
	uint32_t columns = walk.schema ? walk.schema->column_count : 0;
	for (uint32_t c = 0; walk.dictionaries && c < columns; c++)
		rql_store_dictionary_release(walk.dictionaries[c]);
	for (uint32_t p = 0; p < walk.piece_count; p++)
		rql_store_piece_release(walk.pieces[p]);
	for (uint64_t i = 0; walk.maps && i < (uint64_t)walk.piece_count * columns; i++)
		rql_store_map_release(walk.maps[i]);
	rql_store_dependencies_release(walk.dependencies);
	rql_store_schema_release(walk.schema);
	rql_arena_free(walk.arena);
	rql_mem_clear(&walk.mem);
	return status;
}

void rql_store_digest(const struct rql_store_segment *segment, uint32_t column, uint64_t digest[RQL_STORE_DIGEST])
{
	const struct rql_store_view *view = &segment->columns[column];
	digest[0] = (uint64_t)view->kind | (uint64_t)view->type.id << 4 | (uint64_t)segment->blocks << 16 |
	            (uint64_t)view->null_code << 32;
	digest[1] = rql_frame_checksum(view->blocks, (uint64_t)segment->blocks * sizeof(*view->blocks));
	digest[2] = rql_frame_checksum(view->bytes, view->byte_count);
}

void rql_store_file_seal(uint8_t *image, uint64_t size)
{
	rql_frame_seal(image, size);
}
