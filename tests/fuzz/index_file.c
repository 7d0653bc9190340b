/* Fuzz target: the reader of indexes' side files (method/runs.h). An input is a file as it is, and then a list of changes
 * (4 bytes where, 1 byte what) to a file that is right, one after another or all at once, with checksums made true: so what
 * lies behind them is reached, whatever the format is. What is accepted must be safe to look up in. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "column/value/value.h"
#include "method/method.h"
#include "method/runs.h"

#define ROWS 700u
#define CHANGE 5u /* bytes of one */

extern const struct rql_method rql_method_sieve_cpu, rql_method_index_cpu;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WIDE ((rql_int128)1 << 90)
static struct {
	struct rql_devices *devices;
	struct rql_device *cpu;
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot; /* two segments of: integers with NULLs, strings, reals, dense integers, wide ones */
	struct rql_index_part parts[14];
	uint32_t part_count;
	uint8_t *image; /* a file of all */
	size_t size;
} world;

static void must(bool so)
{
	if (!so)
		abort();
}

/* ---- the world ---- */
static struct rql_batch *make_rows(const struct rql_type *types, uint32_t first, uint32_t rows)
{
	struct rql_batch *batch = rql_batch_new(5, types, rows);
	must(batch != NULL);
	for (uint32_t r = 0; r < rows; r++) {
		const uint32_t i = first + r, mixed = i * 2654435761u;
		char text[16];
		const int length = snprintf(text, sizeof text, "w%u", mixed % 40);
		((int32_t *)batch->columns[0].data)[r] = (int32_t)(mixed % 5000);
		must(rql_batch_set_string(batch, 1, r, text, (uint32_t)length));
		((double *)batch->columns[2].data)[r] = (double)(mixed % 777) / 3 - 100;
		((int32_t *)batch->columns[3].data)[r] = (int32_t)i;
		((rql_int128 *)batch->columns[4].data)[r] = ((rql_int128)(mixed % 5000) - 2000) * WIDE + i % 2;
		if (i % 11 == 3)
			must(rql_batch_set_null(batch, 0, r) && rql_batch_set_null(batch, 1, r));
	}
	return batch;
}

static void add_part(uint32_t column, enum rql_index_form form, uint32_t vectors, uint32_t components,
                     enum rql_sieve_refine refine)
{
	world.parts[world.part_count++] = (struct rql_index_part){
		world.snapshot, {.column = column, .form = form, .sieve = {vectors, components, refine, 100, 100, false}}};
}

static void write_image(void)
{
	char path[] = "/dev/shm/rayql-fuzz-XXXXXX";
	int fd = mkstemp(path);
	must(fd >= 0);
	close(fd);
	for (uint32_t p = 0; p < world.part_count; p++)
		must((world.parts[p].of.form == RQL_INDEX_SIEVE
		          ? rql_sieve_place(world.snapshot, &world.parts[p].of, world.cpu, NULL, NULL)
		          : rql_index_place(world.snapshot, &world.parts[p].of, world.cpu, NULL, NULL)) == RQL_OK);
	must(rql_runs_write(world.parts, world.part_count, world.cpu, RQL_PLACE(path), NULL, 0, NULL) == RQL_OK);
	FILE *f = fopen(path, "rb");
	must(f != NULL && fseek(f, 0, SEEK_END) == 0);
	world.size = (size_t)ftell(f);
	world.image = malloc(world.size);
	rewind(f);
	must(world.image && fread(world.image, 1, world.size, f) == world.size);
	fclose(f);
	(void)unlink(path);
}

static void make_world(void)
{
	const struct rql_type types[] = {
		{.id = RQL_TYPE_INTEGER}, {.id = RQL_TYPE_VARCHAR}, {.id = RQL_TYPE_DOUBLE}, {.id = RQL_TYPE_INTEGER}, {.id = RQL_TYPE_HUGEINT}};
	const struct rql_store_column_spec columns[] = {{"a", types[0], RQL_STORE_VALUES, RQL_STORE_AUTO},
	                                                {"b", types[1], RQL_STORE_CODES, RQL_STORE_AUTO},
	                                                {"c", types[2], RQL_STORE_VALUES, RQL_STORE_AUTO},
	                                                {"d", types[3], RQL_STORE_VALUES, RQL_STORE_AUTO},
	                                                {"e", types[4], RQL_STORE_VALUES, RQL_STORE_AUTO}};
	const struct rql_store_spec spec = {.name = "a table", .column_count = 5, .columns = columns};
	struct rql_store_builder *builder;
	must(rql_devices_open(1, &world.devices, NULL) == RQL_OK);
	world.cpu = rql_devices_get(world.devices, "cpu");
	struct rql_batch *first = make_rows(types, 0, ROWS), *more = make_rows(types, ROWS, 90);
	must(rql_store_builder_new(&spec, &builder, NULL) == RQL_OK);
	must(rql_store_builder_add(builder, 0, first, NULL, NULL) == RQL_OK);
	must(rql_store_builder_finish(builder, &world.store, NULL) == RQL_OK);
	must(rql_store_append(world.store, more, NULL) == RQL_OK);
	rql_batch_release(first);
	rql_batch_release(more);
	world.snapshot = rql_store_snapshot(world.store);
	add_part(0, RQL_INDEX_SIEVE, 6, 2, RQL_SIEVE_POSITIONS);
	add_part(1, RQL_INDEX_SIEVE, 3, 1, RQL_SIEVE_POSITIONS);
	add_part(2, RQL_INDEX_SIEVE, 5, 1, RQL_SIEVE_VALUES);
	add_part(0, RQL_INDEX_SORTED, 0, 0, RQL_SIEVE_AUTO);
	add_part(0, RQL_INDEX_HASH, 0, 0, RQL_SIEVE_AUTO);
	add_part(0, RQL_INDEX_BTREE, 0, 0, RQL_SIEVE_AUTO);
	add_part(1, RQL_INDEX_BTREE, 0, 0, RQL_SIEVE_AUTO);
	add_part(1, RQL_INDEX_SORTED, 0, 0, RQL_SIEVE_AUTO); /* a key of two columns */
	world.parts[world.part_count - 1].of.more_count = 1;
	world.parts[world.part_count - 1].of.more[0] = 0;
	add_part(1, RQL_INDEX_HASH, 0, 0, RQL_SIEVE_AUTO);
	add_part(3, RQL_INDEX_AUTO, 0, 0, RQL_SIEVE_AUTO);
	add_part(4, RQL_INDEX_AUTO, 0, 0, RQL_SIEVE_AUTO);
	add_part(4, RQL_INDEX_BTREE, 0, 0, RQL_SIEVE_AUTO);
	write_image();
}

/* ---- looking up ---- */
/* Beyond the block's rows a bitmap may have anything (method/rows.h). */
static bool are_rows(const struct rql_rows_part *part, uint32_t rows)
{
	bool good = true;
	for (uint32_t i = 0; i < part->count && part->form == RQL_ROWS_LIST; i++)
		good &= part->list[i] < rows;
	for (uint32_t i = 0; i < part->count && part->form == RQL_ROWS_RANGES; i++)
		good &= part->ranges[i].last < rows;
	return good;
}

/* No row is given that there is not. */
static void check_rows(const struct rql_port *port)
{
	for (uint64_t i = 0; i < port->rows.block_count; i++) {
		must(port->rows.blocks[i] < world.snapshot->blocks);
		const struct rql_store_segment *s = rql_store_locate(world.snapshot, port->rows.blocks[i]);
		const uint32_t rows = s->columns[0].blocks[port->rows.blocks[i] - s->first_block].rows;
		must(are_rows(&port->rows.parts[i], rows));
	}
}

static void ask(const struct rql_method *method, const struct rql_index_of *of, const struct rql_conjunct *c)
{
	const struct rql_request request = {.snapshot = world.snapshot,
	                                    .index_count = 1,
	                                    .indexes = of,
	                                    .wants = RQL_PORT_ROWS,
	                                    .conjunct_count = 1,
	                                    .conjuncts = c};
	struct rql_prepared *prepared = NULL;
	struct rql_port port = {0};
	if (method->offer(&request, world.cpu, NULL) == RQL_OFFER_NO ||
	    method->prepare(&request, world.cpu, &prepared, NULL) != RQL_OK)
		return;
	struct rql_arena *arena = rql_arena_new();
	if (method->run(prepared, world.cpu, &(struct rql_run){.arena = arena}, &port, NULL) == RQL_OK)
		check_rows(&port);
	method->free(prepared);
	rql_arena_free(arena);
}

static void look_up(const struct rql_index_of *of)
{
	static const int32_t bounds[][2] = {{0, 0}, {7, 7}, {3, 900}, {100, 4000}, {-5, 100000}, {4999, 4999}};
	static const uint64_t codes[] = {UINT64_C(0x5500ff0012345678)};
	const struct rql_method *method = of->form == RQL_INDEX_SIEVE ? &rql_method_sieve_cpu : &rql_method_index_cpu;
	const enum rql_store_kind kind = world.snapshot->columns[of->column].kind;
	const rql_int128 unit = world.snapshot->columns[of->column].wide ? WIDE : 1;
	for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
		const struct rql_conjunct c = {.test = kind == RQL_STORE_REAL ? RQL_TEST_IN_REALS : RQL_TEST_IN_RANGE,
		                               .index = of->column,
		                               .or_null = b % 2,
		                               .least = bounds[b][0] * unit,
		                               .greatest = bounds[b][1] * unit,
		                               .real_least = bounds[b][0],
		                               .real_greatest = bounds[b][1]};
		ask(method, of, &c);
	}
	if (kind == RQL_STORE_CODED)
		ask(method, of, &(struct rql_conjunct){.test = RQL_TEST_IN_CODES, .index = of->column, .codes = codes});
	ask(method, of, &(struct rql_conjunct){.test = RQL_TEST_IS_NOT_NULL, .index = of->column});
}

/* ---- reading ---- */
static void drop_runs(void)
{
	(void)rql_placements_evict(world.cpu, UINT64_MAX, UINT64_MAX);
	must(rql_runs_mark(world.parts, world.part_count, world.cpu) == 0);
}

static void read_image(const uint8_t *data, size_t size, bool right)
{
	char path[] = "/dev/shm/rayql-fuzz-XXXXXX"; /* not a link to a descriptor: those are not followed */
	uint32_t taken = 0;
	int fd = mkstemp(path);
	if (fd < 0)
		return;
	drop_runs();
	if (write(fd, data, size) == (ssize_t)size) {
		rql_status status =
			rql_runs_read(world.parts, world.part_count, world.cpu, RQL_PLACE(path), NULL, 0, &taken, NULL);
		must(!right || (status == RQL_OK && taken == 2 * world.part_count));
		for (uint32_t p = 0; p < world.part_count && taken; p++)
			look_up(&world.parts[p].of);
	}
	close(fd);
	(void)unlink(path);
}

static void change(uint8_t *image, const uint8_t *at)
{
	uint32_t where;
	memcpy(&where, at, sizeof where);
	image[where % world.size] = at[4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *image;
	if (!world.store) {
		make_world();
		read_image(world.image, world.size, true);
	}
	read_image(data, size, false);
	image = malloc(world.size);
	must(image != NULL);
	memcpy(image, world.image, world.size);
	const bool alone = size && data[0] & 1;
	for (size_t at = 1; at + CHANGE <= size; at += CHANGE) {
		change(image, data + at);
		if (alone) {
			rql_runs_seal(image, world.size);
			read_image(image, world.size, false);
			memcpy(image, world.image, world.size);
		}
	}
	if (!alone) {
		rql_runs_seal(image, world.size);
		read_image(image, world.size, false);
	}
	free(image);
	return 0;
}
