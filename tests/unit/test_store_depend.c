/* Functional dependencies of column stores: towns that lie in counties, counties in countries, beside columns that hang
 * together with nothing, in tables of one block and of several segments, with NULLs, with one row among millions that
 * does not fit. Every dependency that a snapshot reports is held against all of its rows, one by one, and those that
 * were made must be among them: after a build, after appends that keep, break and outgrow them, in compacted stores and
 * in side files. Seed: RAYQL_TEST_SEED. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "column/store/store_internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 12u
#define SLOW 1
#else
#define ROUNDS 60u
#define SLOW 0
#endif
/* Under TSan the oracle takes nearly all the time and runs in one thread: one build of two segments. */
#ifdef __SANITIZE_THREAD__
#define ALONE 1
#else
#define ALONE 0
#endif

static uint64_t random_state = 88172645463325252;
static char folder[] = "/tmp/rayql-depend-XXXXXX", path[64];
static struct rql_pool *pool;

static uint64_t below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* ---- rows ---- */

enum { TOWN, COUNTY, COUNTRY, MAYOR, NOISE, AMOUNT, COLUMNS };
static const struct {
	const char *name;
	rql_type_id type;
	enum rql_store_coding coding;
} kinds[COLUMNS] = {
	[TOWN] = {"town", RQL_TYPE_VARCHAR, RQL_STORE_CODES},       /* determines COUNTY, COUNTRY and MAYOR */
	[COUNTY] = {"county", RQL_TYPE_INTEGER, RQL_STORE_CODES},   /* determines COUNTRY */
	[COUNTRY] = {"country", RQL_TYPE_VARCHAR, RQL_STORE_CODES}, /* NULL for some counties */
	[MAYOR] = {"mayor", RQL_TYPE_INTEGER, RQL_STORE_CODES},     /* one of each town: determines what TOWN does */
	[NOISE] = {"noise", RQL_TYPE_INTEGER, RQL_STORE_CODES},
	[AMOUNT] = {"amount", RQL_TYPE_INTEGER, RQL_STORE_VALUES}, /* has no codes */
};
#define KNOWN 6u
static const uint32_t known[KNOWN][2] = {{TOWN, COUNTY},  {TOWN, COUNTRY},  {COUNTY, COUNTRY},
                                         {MAYOR, COUNTY}, {MAYOR, COUNTRY}, {TOWN, MAYOR}};

struct land {
	uint32_t towns, per_county, per_country; /* towns of a county, counties of a country */
	bool nulls;                              /* town 0 and county 1 are NULL; country 1 is */
};

static bool is_null(const struct land *land, uint32_t column, uint32_t number)
{
	return land->nulls && ((column == TOWN && number == 0) || (column == COUNTY && number == 1) ||
	                       (column == COUNTRY && number == 1) || (column == NOISE && number == 2));
}

static void put(struct rql_batch *rows, const struct land *land, uint32_t column, uint64_t row, uint32_t number)
{
	char text[32];
	if (is_null(land, column, number)) {
		assert_true(rql_batch_set_null(rows, column, row));
	} else if (kinds[column].type == RQL_TYPE_VARCHAR) {
		/* Neighbours in number are not neighbours in order. */
		int length = snprintf(text, sizeof text, "%c name %u", 'a' + number * 7 % 26, number);
		assert_true(rql_batch_set_string(rows, column, row, text, (uint32_t)length));
	} else {
		((int32_t *)rows->columns[column].data)[row] = column == MAYOR ? (int32_t)(number ^ 85) : (int32_t)number;
	}
}

static void put_town(struct rql_batch *rows, const struct land *land, uint64_t row, uint32_t town)
{
	uint32_t county = town / land->per_county;
	put(rows, land, TOWN, row, town);
	put(rows, land, COUNTY, row, county);
	put(rows, land, COUNTRY, row, county / land->per_country);
	put(rows, land, MAYOR, row, town);
	put(rows, land, NOISE, row, (uint32_t)below(30));
	((int32_t *)rows->columns[AMOUNT].data)[row] = (int32_t)town;
}

/* Towns [first, first + towns). */
static struct rql_batch *batch_of(const struct land *land, uint64_t rows, uint32_t first, uint32_t towns)
{
	struct rql_type types[COLUMNS];
	for (uint32_t c = 0; c < COLUMNS; c++)
		types[c] = rql_type_simple(kinds[c].type);
	struct rql_batch *batch = rql_batch_new(COLUMNS, types, rows);
	assert_non_null(batch);
	for (uint64_t r = 0; r < rows; r++)
		put_town(batch, land, r, first + (uint32_t)(r < towns ? r : below(towns)));
	return batch;
}

static struct rql_store_builder *builder_of(struct rql_budget *budget, struct rql_progress *progress)
{
	struct rql_store_column_spec columns[COLUMNS];
	struct rql_store_builder *builder = NULL;
	for (uint32_t c = 0; c < COLUMNS; c++)
		columns[c] = (struct rql_store_column_spec){.name = kinds[c].name,
		                                            .type = rql_type_simple(kinds[c].type),
		                                            .coding = kinds[c].coding,
		                                            .encoding = RQL_STORE_AUTO};
	const struct rql_store_spec spec = {.name = "land",
	                                    .column_count = COLUMNS,
	                                    .columns = columns,
	                                    .budget = budget,
	                                    .progress = progress,
	                                    .pool = pool};
	assert_int_equal(rql_store_builder_new(&spec, &builder, NULL), RQL_OK);
	return builder;
}

/* The rows come in small batches of three workers, so that blocks are short, too. */
static rql_status try_build(const struct rql_batch *rows, struct rql_budget *budget, struct rql_store **out,
                            struct rql_error *err)
{
	struct rql_store_builder *builder = builder_of(budget, NULL);
	for (uint64_t first = 0; first < rows->rows; first += 1024) {
		struct rql_column columns[COLUMNS];
		struct rql_batch part = {
			.rows = rows->rows - first < 1024 ? rows->rows - first : 1024, .column_count = COLUMNS, .columns = columns};
		for (uint32_t c = 0; c < COLUMNS; c++) {
			columns[c] = rows->columns[c];
			columns[c].data = (uint8_t *)columns[c].data + first * rql_type_bytes(columns[c].type);
			columns[c].validity = columns[c].validity ? columns[c].validity + first / 64 : NULL;
		}
		rql_status status = rql_store_builder_add(builder, (unsigned)below(3), &part, NULL, err);
		if (status != RQL_OK) {
			rql_store_builder_abort(builder);
			return status;
		}
	}
	return rql_store_builder_finish(builder, out, err);
}

static struct rql_store *build(struct rql_batch *rows)
{
	struct rql_store *store = NULL;
	struct rql_error err = {0};
	if (try_build(rows, NULL, &store, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	rql_batch_release(rows);
	return store;
}

static void append(struct rql_store *store, struct rql_batch *rows)
{
	assert_int_equal(rql_store_append(store, rows, NULL), RQL_OK);
	rql_batch_release(rows);
}

/* ---- what a snapshot says, against its rows ---- */

static uint32_t codes_of(const struct rql_store_snapshot *s, uint32_t column)
{
	return s->columns[column].dimension->count;
}

/* The code of `to` for each of `from`, RQL_STORE_NONE where no row has it; false: rows disagree. */
static bool relation(const struct rql_store_snapshot *s, uint32_t from, uint32_t to, uint32_t *map)
{
	uint32_t codes[2][RQL_STORE_BLOCK];
	bool holds = true;
	for (uint32_t c = 0; c < codes_of(s, from); c++)
		map[c] = RQL_STORE_NONE;
	for (uint64_t b = 0; b < s->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(s, b);
		uint32_t block = (uint32_t)(b - segment->first_block), rows = segment->columns[from].blocks[block].rows;
		for (int i = 0; i < 2; i++)
			rql_store_decode_codes(&rql_store_kernels_portable, &segment->columns[i ? to : from], block, 0, rows,
			                       codes[i]);
		for (uint32_t r = 0; r < rows; r++) {
			uint32_t *place = &map[codes[0][r]];
			holds &= *place == RQL_STORE_NONE || *place == codes[1][r];
			*place = codes[1][r];
		}
	}
	return holds;
}

static const struct rql_store_dependency *find(const struct rql_store_snapshot *s, uint32_t from, uint32_t to)
{
	for (uint32_t d = 0; d < s->dependency_count; d++)
		if (s->dependencies[d].from == from && s->dependencies[d].to == to)
			return &s->dependencies[d];
	return NULL;
}

/* What a column takes at least, beside the text of its words. */
static uint64_t least_bytes(const struct rql_store_snapshot *s, uint32_t column)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < s->segment_count; i++)
		bytes += s->segments[i].columns[column].byte_count + s->segments[i].blocks * sizeof(struct rql_store_block);
	if (s->columns[column].dimension)
		bytes += (uint64_t)codes_of(s, column) * rql_type_bytes(s->columns[column].type);
	for (uint32_t d = 0; d < s->dependency_count; d++)
		bytes += s->dependencies[d].from == column ? codes_of(s, column) * sizeof(uint32_t) : 0;
	return bytes;
}

/* Everything that is reported holds, is reported once, and is exactly what the rows say. */
static void check(const struct rql_store_snapshot *s)
{
	uint64_t bytes = 0;
	for (uint32_t d = 0; d < s->dependency_count; d++) {
		const struct rql_store_dependency *known_ = &s->dependencies[d];
		assert_true(known_->from < COLUMNS && known_->to < COLUMNS && known_->from != known_->to);
		assert_int_equal(s->columns[known_->from].kind, RQL_STORE_CODED);
		assert_int_equal(s->columns[known_->to].kind, RQL_STORE_CODED);
		assert_ptr_equal(find(s, known_->from, known_->to), known_);
		uint32_t count = codes_of(s, known_->from), *map = malloc(count * sizeof *map + 1);
		if (!relation(s, known_->from, known_->to, map))
			fail_msg("%s does not determine %s", kinds[known_->from].name, kinds[known_->to].name);
		assert_memory_equal(map, known_->map, count * sizeof *map);
		free(map);
	}
	for (uint32_t c = 0; c < COLUMNS; c++) {
		assert_true(s->columns[c].bytes >= least_bytes(s, c));
		bytes += s->columns[c].bytes;
	}
	assert_int_equal(bytes, s->bytes);
	assert_int_equal(rql_store_check(s, NULL), RQL_OK);
}

/* Bits: of known[]. */
static unsigned found(const struct rql_store_snapshot *s)
{
	unsigned bits = 0;
	for (unsigned k = 0; k < KNOWN; k++)
		bits |= (unsigned)(find(s, known[k][0], known[k][1]) != NULL) << k;
	return bits;
}
#define ALL ((1u << KNOWN) - 1)
#define WITHOUT_COUNTY 0x32u /* {TOWN, COUNTRY}, {MAYOR, COUNTRY}, {TOWN, MAYOR} */

/* Checks the store's snapshot; which of known[] it has. */
static unsigned look(struct rql_store *store)
{
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	check(s);
	unsigned bits = found(s);
	rql_store_snapshot_release(s);
	return bits;
}

/* ---- building ---- */

static void built(void **state)
{
	(void)state;
	const struct land plain = {.towns = 200, .per_county = 10, .per_country = 4}, nulls = {200, 10, 4, true};
	for (unsigned i = 0; i < 2; i++) {
		struct rql_store *store = build(batch_of(i ? &nulls : &plain, 30000, 0, 200));
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		check(s);
		assert_int_equal(found(s), ALL);
		assert_null(find(s, COUNTY, TOWN));
		assert_null(find(s, COUNTRY, COUNTY));
		for (uint32_t c = 0; c < COLUMNS; c++) {
			assert_null(find(s, NOISE, c));
			assert_null(find(s, c, NOISE));
			assert_null(find(s, AMOUNT, c));
			assert_null(find(s, c, AMOUNT));
		}
		rql_store_snapshot_release(s);
		rql_store_release(store);
	}
	/* Too few rows for so many towns: what would be found is chance. The counties are enough. */
	struct rql_store *store = build(batch_of(&plain, 1000, 0, 200));
	assert_int_equal(look(store), 1u << 2);
	rql_store_release(store);
	store = build(batch_of(&plain, 0, 0, 200));
	assert_int_equal(look(store), 0);
	rql_store_release(store);
	/* More towns than a map may have codes. */
	const struct land large = {.towns = 5000, .per_county = 10, .per_country = 20};
	store = build(batch_of(&large, 100000, 0, 5000));
	assert_int_equal(look(store), 1u << 2);
	rql_store_release(store);
}

/* Two segments, on several threads; the row that does not fit is nowhere, in the first segment, in the last, or conflicts
 * with a single row of the other. */
static void segments(void **state)
{
	(void)state;
	const uint64_t rows = 1025 * (uint64_t)RQL_STORE_BLOCK;
	const struct land land = {.towns = 60, .per_county = 6, .per_country = 3};
	const struct {
		uint64_t row;
		uint32_t town;
	} odd[] = {{UINT64_MAX, 0}, {77, 30}, {rows - 5, 30}, {rows - 5, 60}};
	struct rql_batch *batch = batch_of(&land, rows, 0, 60);
	for (unsigned i = ALONE ? 3 : 0; i < 4; i += SLOW ? 3 : 1) {
		struct rql_store_builder *builder = builder_of(NULL, NULL);
		struct rql_store *store = NULL;
		if (i == 3)
			put_town(batch, &land, 500, 60);
		if (i) {
			put_town(batch, &land, odd[i].row, odd[i].town);
			put(batch, &land, COUNTY, odd[i].row, 2);
		}
		assert_int_equal(rql_store_builder_add(builder, 0, batch, NULL, NULL), RQL_OK);
		assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		assert_int_equal(s->segment_count, 2);
		if (!ALONE)
			check(s);
		/* County 2 lies in another country than those of towns 30 and 60. */
		assert_int_equal(found(s), i ? WITHOUT_COUNTY : ALL);
		rql_store_snapshot_release(s);
		rql_store_release(store);
		if (i)
			put_town(batch, &land, odd[i].row, odd[i].town);
	}
	rql_batch_release(batch);
}

/* Columns that are nearly always the same hang together with everything in a sample: they must not crowd out others. */
static void crowded(void **state)
{
	(void)state;
	if (ALONE)
		skip(); /* one thread */
	enum { MANY = 40, ROWS = 200000 };
	struct rql_type types[MANY];
	struct rql_store_column_spec columns[MANY];
	for (uint32_t c = 0; c < MANY; c++) {
		types[c] = rql_type_simple(RQL_TYPE_INTEGER);
		columns[c] = (struct rql_store_column_spec){
			.name = "c", .type = types[c], .coding = RQL_STORE_CODES, .encoding = RQL_STORE_AUTO};
	}
	struct rql_batch *rows = rql_batch_new(MANY, types, ROWS);
	for (uint32_t c = 0; c < MANY; c++)
		for (uint64_t r = 0; r < ROWS; r++) /* the last two: a number, and half of it */
			((int32_t *)rows->columns[c].data)[r] = c + 2 < MANY ? (r == 100 + c || r == 5 * c + 1000)
			                                                     : (int32_t)(r * 7919 % 100 / (c + 1 == MANY ? 2 : 1));
	const struct rql_store_spec spec = {.name = "crowd", .column_count = MANY, .columns = columns, .pool = pool};
	struct rql_store_builder *builder = NULL;
	struct rql_store *store = NULL;
	assert_int_equal(rql_store_builder_new(&spec, &builder, NULL), RQL_OK);
	assert_int_equal(rql_store_builder_add(builder, 0, rows, NULL, NULL), RQL_OK);
	assert_int_equal(rql_store_builder_finish(builder, &store, NULL), RQL_OK);
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	assert_non_null(find(s, MANY - 2, MANY - 1));
	rql_store_snapshot_release(s);
	rql_store_release(store);
	rql_batch_release(rows);
}

/* Without memory for them there are none, and nothing else is refused for it or leaks; with memory they are back. */
static void budgets(void **state)
{
	(void)state;
	if (ALONE)
		skip(); /* one thread */
	const struct land land = {.towns = 200, .per_county = 10, .per_country = 4};
	struct rql_batch *batch = batch_of(&land, 9000, 0, 200), *few = batch_of(&land, 10, 0, 200);
	struct rql_budget budget = {0};
	struct rql_store *store = NULL;
	struct rql_error err = {0};
	atomic_store(&budget.limit, 100000);
	unsigned refused = 0, none = 0;
	for (uint64_t limit = 100000; try_build(batch, &budget, &store, &err) != RQL_OK; limit += limit / 10) {
		assert_int_equal(atomic_load(&budget.used), 0);
		atomic_store(&budget.limit, limit);
		refused += limit > 100000;
		rql_error_clear(&err);
	}
	(void)look(store);
	for (uint64_t limit = 0;; limit += 400) {
		uint64_t used = atomic_load(&budget.used);
		atomic_store(&budget.limit, used + limit);
		rql_status status = rql_store_append(store, few, &err);
		rql_error_clear(&err);
		const struct rql_store_snapshot *s = rql_store_snapshot(store);
		check(s);
		assert_true(atomic_load(&budget.used) >= s->bytes);
		if (status == RQL_OK && s->dependency_count)
			limit = UINT64_MAX;
		none += status == RQL_OK && !s->dependency_count;
		refused += status != RQL_OK;
		rql_store_snapshot_release(s);
		if (limit == UINT64_MAX)
			break;
		if (status != RQL_OK) {
			assert_int_equal(atomic_load(&budget.used), used);
			continue;
		}
		atomic_store(&budget.limit, 0);
		assert_int_equal(rql_store_append(store, few, NULL), RQL_OK);
		assert_int_equal(look(store), ALL);
	}
	assert_true(refused > 10 && none > 0);
	rql_store_release(store);
	assert_int_equal(atomic_load(&budget.used), 0);
	rql_batch_release(batch);
	rql_batch_release(few);
}

/* ---- appends ---- */

static void appends(void **state)
{
	(void)state;
	const struct land land = {.towns = 400, .per_county = 10, .per_country = 4};
	const struct land nulls = {400, 10, 4, true};
	struct rql_store *store = build(batch_of(&land, 20000, 100, 200));
	assert_int_equal(look(store), ALL);
	append(store, batch_of(&land, 500, 100, 200)); /* nothing new */
	assert_int_equal(look(store), ALL);
	append(store, batch_of(&land, 5000, 0, 400)); /* towns and counties before, between and behind the others */
	assert_int_equal(look(store), ALL);
	append(store, batch_of(&nulls, 500, 200, 200)); /* nothing is NULL there but noise */
	assert_int_equal(look(store), ALL);
	struct rql_batch *batch = batch_of(&land, 300, 0, 400);
	put_town(batch, &nulls, 299, 0); /* a town without a name, of a mayor who has one elsewhere, too */
	put(batch, &land, MAYOR, 299, 399);
	put(batch, &land, COUNTY, 299, 39);
	put(batch, &land, COUNTRY, 299, 9);
	append(store, batch);
	assert_int_equal(look(store), ALL);
	assert_int_equal(rql_store_compact(store, NULL), RQL_OK);
	assert_int_equal(look(store), ALL);
	batch = batch_of(&land, 100, 0, 400);
	put(batch, &land, COUNTY, 99, 0); /* town 99 lies in county 9, and that in another country */
	append(store, batch);
	assert_int_equal(look(store), WITHOUT_COUNTY);
	append(store, batch_of(&land, 3, 0, 400)); /* what has fallen stays fallen */
	assert_int_equal(look(store), WITHOUT_COUNTY);
	assert_int_equal(rql_store_compact(store, NULL), RQL_OK);
	assert_int_equal(look(store), WITHOUT_COUNTY);
	rql_store_release(store);
}

/* More codes than a map may have, after an append. */
static void outgrown_maps(void **state)
{
	(void)state;
	if (ALONE)
		skip(); /* one thread */
	const struct land land = {.towns = 6000, .per_county = 10, .per_country = 20};
	struct rql_store *store = build(batch_of(&land, 66000, 0, 4000));
	assert_int_equal(look(store), ALL);
	append(store, batch_of(&land, 96, 4000, 96));
	assert_int_equal(look(store), ALL);
	append(store, batch_of(&land, 1, 4096, 1));
	assert_int_equal(look(store), 1u << 2);
	append(store, batch_of(&land, 3000, 0, 6000));
	assert_int_equal(look(store), 1u << 2);
	rql_store_release(store);
}

/* An empty store has none; they are looked for as it grows, and what has fallen is found again when it was made whole. */
static void growth(void **state)
{
	(void)state;
	const struct land land = {.towns = 40, .per_county = 5, .per_country = 4, .nulls = true};
	struct rql_store *store = build(batch_of(&land, 0, 0, 40));
	uint64_t rows = 0;
	for (uint32_t n = 1; rows < 20000; n += n / 2 + 1) {
		append(store, batch_of(&land, n, 0, n < 40 ? n : 40));
		rows += n;
		(void)look(store);
	}
	assert_int_equal(look(store), ALL);
	rql_store_release(store);
}

/* Appends at random. What was known and still holds stays known. */
static void random_appends(void **state)
{
	(void)state;
	if (ALONE)
		skip(); /* one thread */
	unsigned kept = 0, fell = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct land land = {.towns = 20 + (uint32_t)below(300),
		                    .per_county = 2 + (uint32_t)below(9),
		                    .per_country = 2 + (uint32_t)below(4),
		                    .nulls = below(2)};
		struct rql_store *store = build(batch_of(&land, below(20000), (uint32_t)below(50), land.towns / 2));
		(void)look(store);
		for (unsigned i = 0; i < 8; i++) {
			const struct rql_store_snapshot *before = rql_store_snapshot(store);
			uint32_t first = (uint32_t)below(60);
			struct rql_batch *batch = batch_of(&land, 1 + below(below(4) ? 300 : 9000), first, land.towns - below(5));
			if (below(4) == 0)
				put(batch, &land, (uint32_t)below(AMOUNT), below(batch->rows), (uint32_t)below(land.towns));
			if (below(8) == 0)
				assert_true(rql_batch_set_null(batch, (uint32_t)below(AMOUNT), below(batch->rows)));
			append(store, batch);
			if (below(3) == 0)
				assert_int_equal(rql_store_compact(store, NULL), RQL_OK);
			const struct rql_store_snapshot *after = rql_store_snapshot(store);
			check(after);
			for (uint32_t d = 0; d < before->dependency_count; d++) {
				uint32_t from = before->dependencies[d].from, to = before->dependencies[d].to;
				uint32_t *map = malloc(codes_of(after, from) * sizeof *map + 1);
				/* Looked for again, it may be thought chance: too many codes for the rows. */
				if (relation(after, from, to, map) && codes_of(after, from) * 16ull <= after->rows &&
				    codes_of(after, to) <= codes_of(after, from)) {
					assert_non_null(find(after, from, to));
					kept++;
				} else {
					fell++;
				}
				free(map);
			}
			rql_store_snapshot_release(before);
			rql_store_snapshot_release(after);
		}
		rql_store_release(store);
	}
	assert_true(kept > ROUNDS && fell > ROUNDS);
}

/* ---- side files ---- */

static uint8_t *read_whole(uint64_t *size)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (uint64_t)ftell(file);
	rewind(file);
	uint8_t *bytes = malloc(*size);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

/* Where `size` bytes stand in an image: once. */
static uint8_t *place_of(uint8_t *image, uint64_t size, const void *bytes, uint64_t count)
{
	uint8_t *place = NULL;
	for (uint64_t at = 0; at + count <= size; at++)
		if (!memcmp(image + at, bytes, count)) {
			assert_null(place);
			place = image + at;
		}
	assert_non_null(place);
	return place;
}

/* Reads the whole image with 4 bytes at `at` changed, behind true checksums. */
static void read_changed(const uint8_t *image, uint64_t size, const uint8_t *at, uint32_t value, const char *why)
{
	uint8_t *copy = malloc(size);
	struct rql_store *store = NULL;
	struct rql_budget budget = {0};
	struct rql_error err = {0};
	memcpy(copy, image, size);
	memcpy(copy + (at - image), &value, sizeof value);
	rql_store_file_seal(copy, size);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(copy, 1, size, file), size);
	fclose(file);
	assert_int_equal(rql_store_file_read(RQL_PLACE(path), "", 0, &budget, &store, &err), RQL_ERROR_CORRUPT);
	if (!strstr(rql_error_message(&err), why))
		fail_msg("%s, not %s", rql_error_message(&err), why);
	assert_int_equal(atomic_load(&budget.used), 0);
	rql_error_clear(&err);
	free(copy);
}

static void files(void **state)
{
	(void)state;
	const struct land land = {.towns = 300, .per_county = 10, .per_country = 4, .nulls = true};
	struct rql_budget budget = {0};
	struct rql_store *store = build(batch_of(&land, 20000, 50, 200)), *back = NULL;
	append(store, batch_of(&land, 5000, 0, 300)); /* segments with maps */
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	assert_int_equal(found(s), ALL);
	assert_int_equal(rql_store_file_write(s, RQL_PLACE(path), "", 0, NULL), RQL_OK);
	assert_int_equal(rql_store_file_read(RQL_PLACE(path), "", 0, &budget, &back, NULL), RQL_OK);
	const struct rql_store_snapshot *t = rql_store_snapshot(back);
	check(t);
	assert_int_equal(t->dependency_count, s->dependency_count);
	for (uint32_t d = 0; d < s->dependency_count; d++)
		assert_non_null(find(t, s->dependencies[d].from, s->dependencies[d].to));
	rql_store_snapshot_release(t);
	/* What was read goes on as what was built. */
	append(back, batch_of(&land, 500, 0, 300));
	assert_int_equal(look(back), ALL);
	struct rql_batch *batch = batch_of(&land, 300, 0, 300);
	put(batch, &land, COUNTY, 299, 29);
	put(batch, &land, TOWN, 299, 10);
	put(batch, &land, MAYOR, 299, 10);
	put(batch, &land, COUNTRY, 299, 0);
	append(back, batch);
	assert_int_equal(look(back), WITHOUT_COUNTY);
	rql_store_release(back);
	assert_int_equal(atomic_load(&budget.used), 0);

	uint64_t size;
	uint8_t *image = read_whole(&size);
	uint32_t list[] = {s->dependency_count, s->dependencies[0].from, s->dependencies[0].to};
	uint8_t *at = place_of(image, size, list, sizeof list);
	read_changed(image, size, at, UINT32_MAX, "description ends early");
	read_changed(image, size, at, COLUMNS * COLUMNS + 1, "description ends early");
	read_changed(image, size, at, s->dependency_count + 1, "");
	read_changed(image, size, at, s->dependency_count - 1, "");
	read_changed(image, size, at + 4, COLUMNS, "a count is impossible");
	read_changed(image, size, at + 4, AMOUNT, "between columns without codes");
	read_changed(image, size, at + 8, AMOUNT, "between columns without codes");
	read_changed(image, size, at + 8, UINT32_MAX, "a count is impossible");
	for (uint32_t d = 0; d < s->dependency_count; d++) {
		const struct rql_store_dependency *of = &s->dependencies[d];
		uint32_t codes = codes_of(s, of->from);
		if (of->from != TOWN || of->to != COUNTRY) /* MAYOR's map is another one, its numbers are out of order */
			continue;
		at = place_of(image, size, of->map, codes * sizeof(uint32_t));
		read_changed(image, size, at, codes_of(s, of->to), "leads to a code that is not there");
		read_changed(image, size, at + 4 * (codes - 1), RQL_STORE_NONE - 1, "leads to a code that is not there");
	}
	free(image);
	rql_store_snapshot_release(s);
	rql_store_release(store);
}

/* Writing a side file changes nothing that others read. */
static void *write_file(void *state)
{
	for (unsigned i = 0; i < 20; i++)
		if (rql_store_file_write(state, RQL_PLACE(path), "", 0, NULL) != RQL_OK)
			return "a file was not written";
	return NULL;
}
static void written_under_readers(void **state)
{
	(void)state;
	const struct land land = {.towns = 100, .per_county = 10, .per_country = 4};
	struct rql_store *store = build(batch_of(&land, 9000, 0, 100));
	const struct rql_store_snapshot *s = rql_store_snapshot(store);
	pthread_t writer;
	void *wrong;
	assert_int_equal(pthread_create(&writer, NULL, write_file, (void *)(uintptr_t)s), 0);
	for (unsigned i = 0; i < 20; i++)
		check(s);
	pthread_join(writer, &wrong);
	assert_null(wrong);
	rql_store_snapshot_release(s);
	rql_store_release(store);
}

static int set_up(void **state)
{
	(void)state;
	if (getenv("RAYQL_TEST_SEED"))
		random_state = strtoull(getenv("RAYQL_TEST_SEED"), NULL, 10) * 2 + 1;
	if (!mkdtemp(folder) || rql_pool_new(3, &pool, NULL) != RQL_OK)
		return -1;
	snprintf(path, sizeof path, "%s/t.columns", folder);
	return 0;
}
static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)rmdir(folder);
	rql_pool_free(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built),   cmocka_unit_test(segments),
		cmocka_unit_test(crowded), cmocka_unit_test(budgets),
		cmocka_unit_test(appends), cmocka_unit_test(outgrown_maps),
		cmocka_unit_test(growth),  cmocka_unit_test(random_appends),
		cmocka_unit_test(files),   cmocka_unit_test(written_under_readers),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
