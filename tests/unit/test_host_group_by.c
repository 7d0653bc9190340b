/* Group-bys from the host's memory to the host's memory, against a sort: tables, all rows at once and partitions; device
 * memory and host memory that are too small, partitions in a file, one key that is half of the rows, keys that are all
 * distinct, more groups than were expected, two devices, hash images. The device is the one that RAYQL_TEST_DEVICE names,
 * else vulkan:0, with the validation layer watching. */
#include <dirent.h>
#include <unistd.h>

#include "device/fault/fault.h"
#include "primitive/host/host_group_by.h"
#include "primitive_fixture.h"
#include "util/threads.h"

#ifdef __SANITIZE_ADDRESS__
#define FAULTS 1u /* places are twice as far apart each time */
#define FAULTS_OF_TWO 29u /* or the first alone: each costs four seconds */
#else
#define FAULTS 4u
#define FAULTS_OF_TWO 1u
#endif
#define VALUES 2u

struct rows {
	uint64_t count, at;
	uint32_t bits[1 + VALUES]; /* of keys, of values */
	uint64_t *words[1 + VALUES];
	struct rql_buffer *buffer; /* where they lie in place */
	uint32_t times;            /* that they have come from the first one on */
	uint32_t calls, scarce;    /* of next; the one for which the device has no room; 0: none */
};

/* Of the first column: rows, what is not NULL, sum, least and greatest value; of the second the sum, 128 bits. */
struct group {
	uint64_t key, count, sum, present, least, greatest, low, high;
};
struct result {
	struct group *groups;
	uint64_t count, room;
};

static uint64_t cut(uint64_t word, uint32_t bits)
{
	return bits == 64 ? word : word & UINT32_MAX;
}

/* ---- what comes in ---- */

static void write_words(const struct rows *r, uint32_t column, const struct rql_span *to, uint64_t first, uint64_t count)
{
	const uint64_t bytes = r->bits[column] / 8;
	for (uint64_t i = 0; i < count; i++)
		memcpy((uint8_t *)to->buffer->map + to->offset + i * bytes, &r->words[column][first + i], bytes);
}

static uint64_t column_at(const struct rows *r, uint32_t column)
{
	uint64_t at = 0;
	for (uint32_t c = 0; c < column; c++)
		at += (r->count * r->bits[c] / 8 + 255) / 256 * 256;
	return at;
}

static rql_status next_rows(void *state, struct rql_device *on, struct rql_host_piece *piece, struct rql_error *err)
{
	struct rows *r = state;
	const uint64_t left = r->count - r->at, count = left < piece->rows ? left : piece->rows / 4 * 4;
	struct rql_span *spans[] = {&piece->keys, &piece->columns[0], &piece->columns[1]};
	if (++r->calls == r->scarce)
		return rql_error_set(err, RQL_ERROR_LIMIT, "device %s has no room for a test's rows", on->id);
	for (uint32_t c = 0; c <= VALUES; c++) {
		if (r->buffer)
			*spans[c] = (struct rql_span){r->buffer, column_at(r, c) + r->at * r->bits[c] / 8};
		else
			write_words(r, c, spans[c], r->at, count);
	}
	r->at += count;
	piece->rows = count;
	return RQL_OK;
}

static void again(void *state)
{
	struct rows *r = state;
	r->at = 0;
	r->times++;
}

/* ---- what comes out ---- */

static struct group *add_group(struct result *r)
{
	if (r->count == r->room)
		assert_non_null(r->groups = realloc(r->groups, (r->room = 2 * r->room + 64) * sizeof(*r->groups)));
	r->groups[r->count] = (struct group){0};
	return &r->groups[r->count++];
}

static uint64_t word_at(const struct rql_span *span, uint64_t at, uint32_t bits)
{
	uint64_t word = 0;
	memcpy(&word, (const uint8_t *)span->buffer->map + span->offset + at * bits / 8, bits / 8);
	return word;
}

struct sink {
	struct result got;
	uint32_t key_bits;
	struct rql_buffer *room[2][4]; /* of groups that are under way on each device */
	uint32_t rooms[2];
};

static rql_status put_groups(void *state, const struct rql_host_groups *groups, struct rql_error *err)
{
	struct sink *s = state;
	(void)err;
	for (uint64_t i = 0; i < groups->rows; i++) {
		struct group *g = add_group(&s->got);
		g->key = word_at(&groups->keys, i, s->key_bits);
		g->count = word_at(&groups->counts, i, 64);
		g->sum = word_at(&groups->sum[0], i, 64);
		g->least = word_at(&groups->min[0], i, 64);
		g->greatest = word_at(&groups->max[0], i, 64);
		g->low = word_at(&groups->sum[1], 2 * i, 64);
		g->high = word_at(&groups->sum[1], 2 * i + 1, 64);
		g->present = word_at(&groups->sum[2], i, 64);
	}
	return RQL_OK;
}

/* ---- what is right ---- */

static const struct rows *sorted_rows;

static int by_key(const void *x, const void *y)
{
	const uint64_t a = sorted_rows->words[0][*(const uint32_t *)x], b = sorted_rows->words[0][*(const uint32_t *)y];
	return (a > b) - (a < b);
}

static int by_group(const void *x, const void *y)
{
	const uint64_t a = ((const struct group *)x)->key, b = ((const struct group *)y)->key;
	return (a > b) - (a < b);
}

/* fields: 0 is NULL. */
static void add_row(struct group *g, uint64_t first, uint64_t second, uint32_t bits, bool fields)
{
	const uint64_t value = fields ? first : bits == 64 ? first : (uint64_t)(int64_t)(int32_t)first;
	const bool less = fields ? value < g->least || !g->least : (int64_t)value < (int64_t)g->least;
	const bool more = fields ? value > g->greatest : (int64_t)value > (int64_t)g->greatest;
	if (!fields && !g->count)
		g->least = g->greatest = value;
	if (fields ? value && less : less)
		g->least = value;
	if (more)
		g->greatest = value;
	g->count++;
	g->sum += value;
	g->present += value != 0;
	g->high += (uint64_t)((int64_t)second >> 63) + (g->low + second < second);
	g->low += second;
}

static void expect(const struct rows *r, bool fields, struct result *out)
{
	uint32_t *order = array(r->count, sizeof(*order));
	for (uint32_t i = 0; i < r->count; i++)
		order[i] = i;
	sorted_rows = r;
	qsort(order, r->count, sizeof(*order), by_key);
	struct group *g = NULL;
	for (uint64_t i = 0; i < r->count; i++) {
		const uint64_t key = r->words[0][order[i]];
		if (!g || g->key != key) {
			g = add_group(out);
			g->key = key;
		}
		const uint64_t second = r->words[2][order[i]];
		add_row(g, r->words[1][order[i]], r->bits[2] == 64 ? second : (uint64_t)(int64_t)(int32_t)second, r->bits[1], fields);
	}
	free(order);
}

/* ---- cases ---- */

enum keys { SPREAD, HEAVY, DISTINCT };
struct group_case {
	const char *name;
	uint64_t rows, distinct, expected; /* expected: 0: distinct */
	enum keys keys; /* HEAVY: half of the rows have one key */
	uint32_t bits[1 + VALUES];
	uint64_t device_limit, host_limit, piece_rows;
	bool in_place, fields, drawn, room, once, two;
	enum rql_host_way way;
	bool spills, again, tables, restarts;
	bool faulty; /* the status is that of a fault, which may strike */
	bool any;    /* none of these is known, and it may be refused for its limit */
	uint32_t scarce; /* the piece for which its device has no room, behind others that it took */
	rql_status status;
};

static uint64_t value_for(uint64_t drawn_bits)
{
	static const uint64_t extremes[] = {0, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, INT32_MAX, (uint64_t)INT32_MIN};
	return drawn_bits % 8 ? drawn_bits >> 3 : extremes[(drawn_bits >> 3) % 6];
}

static void make_rows(const struct group_case *k, struct rows *r)
{
	*r = (struct rows){.count = k->rows};
	memcpy(r->bits, k->bits, sizeof(r->bits));
	for (uint32_t c = 0; c <= VALUES; c++)
		r->words[c] = array(r->count, 8);
	for (uint64_t i = 0; i < r->count; i++) {
		const uint64_t number = k->keys == HEAVY && i % 2 ? 1 : k->keys == DISTINCT ? i : drawn() % k->distinct;
		r->words[0][i] = cut(number ? number * UINT64_C(0x9e3779b97f4a7c15) : UINT64_MAX, r->bits[0]); /* the table's own mark */
		const uint64_t first = k->fields ? drawn() % 1000 : value_for(drawn());
		r->words[1][i] = cut(first, r->bits[1]);
		r->words[2][i] = cut(value_for(drawn()), r->bits[2]);
	}
	if (!k->in_place)
		return;
	assert_int_equal(rql_buffer_new(device, column_at(r, VALUES + 1) + 16, RQL_MEMORY_READBACK, "a test's rows", &r->buffer,
	                                NULL), RQL_OK);
	for (uint32_t c = 0; c <= VALUES; c++)
		write_words(r, c, &(struct rql_span){r->buffer, column_at(r, c)}, 0, r->count);
}

static void nothing_left(const char *folder)
{
	DIR *open = opendir(folder);
	assert_non_null(open);
	for (const struct dirent *e = readdir(open); e; e = readdir(open))
		assert_true(e->d_name[0] == '.');
	closedir(open);
}

static struct rql_host_group_by described(const struct group_case *k, struct rows *r, struct sink *s)
{
	const enum rql_group_by_kind kind = k->fields ? RQL_GROUP_BY_FIELDS : RQL_GROUP_BY_INTEGERS;
	return (struct rql_host_group_by){
		.unit = k->drawn ? RQL_UNIT_RASTER : RQL_UNIT_COMPUTE,
		.rows = {.shape = {.key_bits = k->bits[0], .column_count = VALUES, .column_bits = {k->bits[1], k->bits[2]}},
	             .rows = r->count, .next = next_rows, .in_place = k->in_place, .state = r},
		.again = k->once ? NULL : again,
		.column_count = 3,
		.columns = {{.kind = kind, .values = 0, .is_signed = !k->fields, .sum = true, .min = true, .max = true},
	                {.values = 1, .is_signed = true, .wide_sum = true, .sum = true},
	                {.kind = RQL_GROUP_BY_PRESENT, .values = 0, .sum = true}},
		.groups = k->expected ? k->expected : k->distinct,
		.device_limit = k->device_limit, .host_limit = k->host_limit, .piece_rows = k->piece_rows,
		.put = put_groups, .state = s};
}

/* Memory of the caller's own. */
static rql_status make_room(void *state, struct rql_device *on, struct rql_host_groups *groups, struct rql_error *err)
{
	struct sink *s = state;
	const uint64_t n = (groups->rows * 16 + 255) / 256 * 256;
	const int which = on != device;
	struct rql_buffer **room = &s->room[which][s->rooms[which]++ % 4];
	rql_buffer_free(*room);
	*room = NULL;
	RQL_TRY(rql_buffer_new(on, 7 * n, RQL_MEMORY_READBACK, "a test's groups", room, err));
	struct rql_span *spans[] = {&groups->keys, &groups->counts, &groups->sum[0], &groups->min[0], &groups->max[0],
	                            &groups->sum[1], &groups->sum[2]};
	for (uint32_t i = 0; i < 7; i++)
		*spans[i] = (struct rql_span){*room, i * n};
	return RQL_OK;
}

static void compare(const struct result *wanted, const struct result *got)
{
	assert_int_equal(got->count, wanted->count);
	if (!got->count)
		return;
	qsort(got->groups, got->count, sizeof(*got->groups), by_group);
	assert_true(memcmp(got->groups, wanted->groups, got->count * sizeof(*got->groups)) == 0);
}

static void check_report(const struct group_case *k, const struct rql_host_group_report *report, const struct result *got)
{
	assert_int_equal(report->groups, got->count);
	assert_true(!k->device_limit || report->device_peak <= k->device_limit);
	assert_true(!k->host_limit || report->host_peak <= k->host_limit);
	assert_true(!k->drawn || !got->count || report->points.hashed >= report->groups); /* tables of partitions are not drawn */
	if (k->any)
		return;
	assert_int_equal(report->way, k->way);
	assert_int_equal(report->spilled_bytes != 0, k->spills);
	assert_int_equal(report->passes > 1, k->again);
	assert_int_equal(report->tables != 0, k->tables);
	assert_int_equal(report->restarts != 0, k->restarts);
}

static struct rql_device *failed_last; /* as the last report has it */

static void check_case(const struct group_case *k, struct rql_device *second)
{
	struct rql_device *devices_of[] = {device, second};
	struct result wanted = {.count = 0};
	struct sink sink = {.key_bits = k->bits[0]};
	struct rql_host_group_report report;
	struct rql_error err = {0};
	struct rows rows;
	char folder[] = "/tmp/rayql-host-group-XXXXXX";
	assert_non_null(mkdtemp(folder));
	make_rows(k, &rows);
	rows.scarce = k->scarce;
	struct rql_host_group_by by = described(k, &rows, &sink);
	by.devices = devices_of;
	by.device_count = k->two ? 2 : 1;
	by.folder = folder;
	by.room = k->room ? make_room : NULL;
	const rql_status status = rql_host_group_by_run(&by, &report, &err);
	if (!k->faulty)
		print_message("%s: way %d, %llu groups, %llu partitions, %llu passes, %llu pieces, %llu tables, %llu restarts, "
		              "%llu spilled, device %llu %s\n", k->name, (int)report.way, (unsigned long long)report.groups,
		              (unsigned long long)report.partitions, (unsigned long long)report.passes,
		              (unsigned long long)report.pieces, (unsigned long long)report.tables,
		              (unsigned long long)report.restarts, (unsigned long long)report.spilled_bytes,
		              (unsigned long long)report.device_peak, status == RQL_OK ? "" : rql_error_message(&err));
	failed_last = report.failed;
	nothing_left(folder);
	rmdir(folder);
	const bool well = k->faulty && !rql_fault_struck(device);
	if (well && status != RQL_OK)
		print_message("%s: %s\n", k->name, rql_error_message(&err));
	assert_true(status == (well ? RQL_OK : k->status) || (k->any && !k->two && status == RQL_ERROR_LIMIT));
	assert_true(!k->scarce || rows.times == 1);
	if (status == RQL_OK) {
		expect(&rows, k->fields, &wanted);
		check_report(k, &report, &sink.got);
		compare(&wanted, &sink.got);
	}
	for (uint32_t c = 0; c <= VALUES; c++)
		free(rows.words[c]);
	rql_buffer_free(rows.buffer);
	for (uint32_t i = 0; i < 8; i++)
		rql_buffer_free(sink.room[i / 4][i % 4]);
	free(wanted.groups);
	free(sink.got.groups);
	rql_error_clear(&err);
}

#define NARROW .bits = {32, 32, 32}
#define WIDE .bits = {64, 32, 64}
#define SMALL .device_limit = UINT64_C(2200) << 10

static void test_cases(void **state)
{
	(void)state;
	static const struct group_case cases[] = {
		{.name = "a table", .rows = 40001, .distinct = 900, WIDE, .piece_rows = 8192, .way = RQL_HOST_TABLE},
		{.name = "a table of rows in place", .rows = 40000, .distinct = 300, NARROW, .piece_rows = 4096, .in_place = true,
	     .room = true, .way = RQL_HOST_TABLE},
		{.name = "a table of partitions", .rows = 30000, .distinct = 4000, .fields = true, NARROW, .piece_rows = 16384,
	     .way = RQL_HOST_TABLE},
		{.name = "one group", .rows = 30001, .distinct = 1, WIDE, .piece_rows = 8192, .way = RQL_HOST_TABLE},
		{.name = "no rows", .distinct = 90, NARROW, .way = RQL_HOST_TABLE},
		{.name = "whole", .rows = 30001, .distinct = 20000, WIDE, .piece_rows = 4096, .way = RQL_HOST_WHOLE},
		{.name = "whole, all distinct", .rows = 20000, .distinct = 20000, .keys = DISTINCT, NARROW, .in_place = true,
	     .room = true, .piece_rows = 4096, .way = RQL_HOST_WHOLE},
		{.name = "partitions", .rows = 60001, .distinct = 20000, NARROW, SMALL, .way = RQL_HOST_PARTS},
		{.name = "partitions of what lies in place", .rows = 60000, .distinct = 60000, .keys = DISTINCT, WIDE, SMALL,
	     .in_place = true, .room = true, .way = RQL_HOST_PARTS},
		{.name = "a file", .rows = 60000, .distinct = 30000, .fields = true, WIDE, SMALL, .host_limit = 600000,
	     .spills = true, .way = RQL_HOST_PARTS},
		{.name = "a heavy key", .rows = 60000, .distinct = 30000, .keys = HEAVY, WIDE, SMALL, .again = true, .tables = true,
	     .way = RQL_HOST_PARTS},
		{.name = "more groups than expected", .rows = 30000, .distinct = 20000, .expected = 50, NARROW, .piece_rows = 8192,
	     .restarts = true, .way = RQL_HOST_WHOLE},
		{.name = "more groups in partitions", .rows = 60000, .distinct = 60000, .keys = DISTINCT, .expected = 9000, NARROW, SMALL,
	     .again = true, .way = RQL_HOST_PARTS},
		{.name = "more groups than expected, once", .rows = 30000, .distinct = 20000, .expected = 50, NARROW,
	     .once = true, .status = RQL_ERROR_LIMIT},
		{.name = "no room", .rows = 60000, .distinct = 40000, NARROW, .device_limit = 50000, .status = RQL_ERROR_LIMIT},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&cases[i], NULL);
}

static void test_drawn(void **state)
{
	(void)state;
	static const struct group_case cases[] = {
		{.name = "drawn", .rows = 20001, .distinct = 6000, .drawn = true, WIDE, .piece_rows = 4096, .way = RQL_HOST_WHOLE},
		{.name = "drawn by partitions", .rows = 60000, .distinct = 20000, .drawn = true, .keys = HEAVY, NARROW, SMALL,
	     .again = true, .tables = true, .way = RQL_HOST_PARTS},
	};
	if (!device->units[RQL_UNIT_RASTER])
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&cases[i], NULL);
}

/* Any limits and rows: a few, many with RAYQL_TEST_LONG. */
static void test_any(void **state)
{
	(void)state;
	const uint32_t count = getenv("RAYQL_TEST_LONG") ? 150 : 3;
	for (uint32_t i = 0; i < count; i++) {
		struct group_case k = {.name = "any", .any = true, .rows = drawn() % 60000, .bits = {32, 32, 32},
		                       .piece_rows = 1024 << drawn() % 4, .keys = drawn() % 3, .in_place = drawn() % 2,
		                       .fields = drawn() % 2, .room = drawn() % 2};
		if (drawn() % 2)
			k.bits[0] = k.bits[2] = 64;
		k.distinct = 1 + drawn() % (k.rows + 1) / (1 + drawn() % 100);
		k.expected = 1 + k.distinct / (1 + drawn() % 4);
		k.device_limit = drawn() % 3 ? (900 + drawn() % 4000) << 10 : 0;
		k.host_limit = drawn() % 2 ? (400 + drawn() % 400) << 10 : 0;
		check_case(&k, NULL);
	}
}

/* Memory that is not there, a submission or a wait that fails, in all ways: the error, and nothing is held. */
static void test_faults(void **state)
{
	(void)state;
	static const enum rql_fault_kind faults[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	struct group_case k = {.name = "faults", .rows = 30000, .distinct = 10000, .keys = HEAVY, WIDE, SMALL, .again = true,
	                       .tables = true, .way = RQL_HOST_PARTS, .faulty = true};
	for (int i = 0; i < 3; i++)
		for (uint64_t nth = 1;; nth += 1 + nth / FAULTS) {
			assert_int_equal(rql_fault_set(device, faults[i], nth, NULL), RQL_OK);
			k.status = i ? RQL_ERROR_DEVICE : RQL_ERROR_LIMIT;
			check_case(&k, NULL);
			const bool struck = rql_fault_struck(device);
			rql_fault_remove(device);
			if (!struck)
				break;
		}
	k.status = RQL_OK;
	k.faulty = false;
	check_case(&k, NULL);
}

/* Whatever one of two devices fails with, at any time, the other one does its work: of partitions that are made again, too. */
static void one_fails(struct rql_device *second)
{
	static const enum rql_fault_kind faults[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	const struct group_case k = {.name = "one fails", .rows = 20000, .distinct = 20000, .keys = DISTINCT, .expected = 4000, NARROW,
	                             SMALL, .any = true, .room = true, .two = true, .faulty = true};
	/* A table's rows come again. */
	const struct group_case table = {.name = "one fails", .rows = 20000, .distinct = 300, WIDE, .piece_rows = 2048, .any = true,
	                                 .two = true, .faulty = true};
	uint32_t failed = 0;
	for (int i = 0; i < 3; i++)
		for (uint64_t nth = 1; nth < (i ? 6 : 30); nth += FAULTS_OF_TWO * (i ? 2 : 1 + nth)) {
			assert_int_equal(rql_fault_set(second, faults[i], nth, NULL), RQL_OK);
			check_case(&table, second);
			assert_true(!rql_fault_struck(second) || !i || failed_last == second);
			rql_fault_remove(second);
		}
	for (int i = 0; i < 3; i++)
		for (uint64_t nth = 1; nth < 30; nth += 1 + FAULTS_OF_TWO * nth) {
			assert_int_equal(rql_fault_set(second, faults[i], nth, NULL), RQL_OK);
			check_case(&k, second);
			assert_true(!rql_fault_struck(second) || !i || failed_last == second);
			failed += failed_last != NULL;
			rql_fault_remove(second);
		}
	print_message("one of two devices failed %u times\n", failed);
	assert_true(failed);
}

/* The driver opened twice is two devices. */
static void test_two_devices(void **state)
{
	(void)state;
	struct rql_devices *others;
	assert_int_equal(rql_devices_open(1, &others, NULL), RQL_OK);
	struct rql_device *second = rql_devices_get(others, device->id);
	assert_non_null(second);
	const struct group_case k = {.name = "two devices", .rows = 60000, .distinct = 20000, NARROW, .two = true,
	                             .way = RQL_HOST_PARTS};
	check_case(&k, second);
	/* A table on each: signed and wide values, fields of which some are NULL, and more groups than were expected. */
	const struct group_case tables[] = {
		{.name = "a table on each", .rows = 40001, .distinct = 900, WIDE, .piece_rows = 4096, .two = true, .way = RQL_HOST_TABLE},
		{.name = "a table on each, of fields", .rows = 40000, .distinct = 300, .fields = true, NARROW, .piece_rows = 4096,
	     .room = true, .two = true, .way = RQL_HOST_TABLE},
		{.name = "a table on each, again", .rows = 60000, .distinct = 3500, .expected = 50, NARROW, .piece_rows = 16384,
	     .two = true, .any = true},
		{.name = "no more room for a table", .rows = 40000, .distinct = 900, WIDE, .piece_rows = 4096, .two = true, .scarce = 8,
	     .way = RQL_HOST_TABLE},
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		check_case(&tables[i], second);
	one_fails(second);
	rql_devices_close(others);
}

int main(void)
{
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	int skipped = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skipped)
		return skipped;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_drawn), cmocka_unit_test(test_any),
	                                   cmocka_unit_test(test_faults), cmocka_unit_test(test_two_devices)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
