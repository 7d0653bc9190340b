/* Joins from the host's memory to the host's memory, against plain loops: device memory and host memory that are too
 * small, partitions in a file, second passes, one key that is most of a side, results larger than a piece's, two devices,
 * hash images.
 * The device is the one that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching. */
#include <dirent.h>
#include <unistd.h>

#include "device/fault/fault.h"
#include "primitive/host/host_join.h"
#include "primitive_fixture.h"
#include "util/threads.h"

#ifdef __SANITIZE_ADDRESS__
#define FAULTS 1u /* places are twice as far apart each time */
#else
#define FAULTS 4u
#endif

/* ---- what comes in and goes out ---- */

struct side {
	uint64_t rows, at;
	uint32_t key_bits, value_bits;
	uint64_t *keys; /* values are row numbers, of 64-bit ones with a mark above */
	struct rql_buffer *buffer; /* where they lie in place; NULL: they are written where it is asked */
};
#define MARK (UINT64_C(7) << 40)

struct result {
	uint64_t *pairs; /* build row + 1 << 32 | probe row + 1: 0 is none */
	uint64_t count, room;
	enum rql_join_kind kind;
	uint32_t value_bits[2];
	const struct side *build; /* for rows with too many matches */
	uint64_t heavy;           /* such rows */
	uint64_t taken;           /* of the device's memory, as it counts what requests have */
};

static void write_word(const struct rql_span *to, uint64_t at, uint32_t bits, uint64_t word)
{
	uint8_t *memory = (uint8_t *)to->buffer->map + to->offset + at * bits / 8;
	memcpy(memory, &word, bits / 8);
}

static uint64_t read_word(const struct rql_span *from, uint64_t at, uint32_t bits)
{
	uint64_t word = 0;
	memcpy(&word, (const uint8_t *)from->buffer->map + from->offset + at * bits / 8, bits / 8);
	return word;
}

static uint64_t value_of(uint64_t row, uint32_t bits)
{
	return bits == 64 ? (row + 1) | MARK : row + 1;
}

static void write_rows(const struct side *s, const struct rql_host_piece *piece, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		write_word(&piece->keys, i, s->key_bits, s->keys[first + i]);
		write_word(&piece->columns[0], i, s->value_bits, value_of(first + i, s->value_bits));
	}
}

static struct side readers[2]; /* of a build side, for two devices */
static bool in_turn;           /* devices that share a probe side: the first one gets little before the second one asks */
static uint32_t asked;         /* in_turn: for probe rows, a bit each, of `device` and of the other one */
static uint32_t joined;        /* whose results were put, likewise */

static uint32_t bit_of(const struct rql_device *on)
{
	return on == device ? 1 : 2;
}

static uint64_t rows_in_turn(const struct side *s, const struct rql_device *on, uint64_t rows)
{
	if (!in_turn || s == &readers[0] || s == &readers[1])
		return rows;
	asked |= bit_of(on);
	if (asked == 3)
		return rows;
	usleep(1000);
	return rows < 4 ? rows : 4;
}

static rql_status next_rows(void *state, struct rql_device *on, struct rql_host_piece *piece, struct rql_error *err)
{
	struct side *s = state;
	const uint64_t left = s->rows - s->at, most = rows_in_turn(s, on, piece->rows);
	const uint64_t count = left < most ? left : most / 4 * 4;
	(void)err;
	if (s->buffer) {
		const uint64_t values = (s->rows * s->key_bits / 8 + 255) / 256 * 256;
		piece->keys = (struct rql_span){s->buffer, s->at * s->key_bits / 8};
		piece->columns[0] = (struct rql_span){s->buffer, values + s->at * s->value_bits / 8};
	} else {
		write_rows(s, piece, s->at, count);
	}
	s->at += count;
	piece->rows = count;
	return RQL_OK;
}

static void *open_reader(void *state, uint32_t index)
{
	readers[index] = *(const struct side *)state;
	return &readers[index];
}

static uint64_t pair_word(const struct rql_span *from, uint64_t at, uint32_t bits)
{
	const uint64_t word = read_word(from, at, bits);
	assert_true(bits == 32 || word == 0 || (word & MARK) == MARK);
	return word & UINT32_MAX;
}

static rql_status put_rows(void *state, const struct rql_host_piece *piece, struct rql_error *err)
{
	struct result *r = state;
	const bool pairs = r->kind != RQL_JOIN_SEMI && r->kind != RQL_JOIN_ANTI;
	(void)err;
	r->taken = atomic_load(&device->request_bytes);
	joined |= piece->rows ? bit_of(piece->columns[pairs].buffer->device) : 0;
	for (uint64_t i = 0; i < piece->rows; i++) {
		if (r->count == r->room)
			assert_non_null(r->pairs = realloc(r->pairs, (r->room = 2 * r->room + 64) * 8));
		const uint64_t build = pairs ? pair_word(&piece->columns[0], i, r->value_bits[0]) : 0;
		r->pairs[r->count++] = build << 32 | pair_word(&piece->columns[pairs], i, r->value_bits[1]);
	}
	return RQL_OK;
}

static void add_pair(struct result *r, uint64_t build, uint64_t probe)
{
	if (r->count == r->room)
		assert_non_null(r->pairs = realloc(r->pairs, (r->room = 2 * r->room + 64) * 8));
	r->pairs[r->count++] = build << 32 | probe;
}

/* A row with more matches than there is room for: they are found here. */
static rql_status put_heavy(void *state, const struct rql_host_piece *row, struct rql_error *err)
{
	struct result *r = state;
	const struct side *build = r->build;
	const uint64_t key = read_word(&row->keys, 0, build->key_bits), probe = pair_word(&row->columns[0], 0, r->value_bits[1]);
	(void)err;
	r->heavy++;
	for (uint64_t i = 0; i < build->rows; i++)
		if (build->keys[i] == key)
			add_pair(r, i + 1, probe);
	return RQL_OK;
}

/* ---- what is right ---- */

static int ascending(const void *x, const void *y)
{
	const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return (a > b) - (a < b);
}

struct keyed {
	uint64_t key, row;
};

/* null: the key that matches nothing. */
static void expect(const struct side *build, const struct side *probe, uint64_t null, struct result *r)
{
	struct keyed *sorted = array(build->rows, sizeof(*sorted));
	bool *met = array(build->rows, 1);
	for (uint64_t i = 0; i < build->rows; i++)
		sorted[i] = (struct keyed){build->keys[i], i};
	qsort(sorted, build->rows, sizeof(*sorted), ascending);
	for (uint64_t p = 0; p < probe->rows; p++) {
		uint64_t low = 0, high = build->rows, matches = 0;
		while (low < high) {
			const uint64_t middle = (low + high) / 2;
			if (sorted[middle].key < probe->keys[p])
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < build->rows && sorted[low].key == probe->keys[p] && probe->keys[p] != null; low++, matches++) {
			met[sorted[low].row] = true;
			if (r->kind != RQL_JOIN_SEMI && r->kind != RQL_JOIN_ANTI)
				add_pair(r, sorted[low].row + 1, p + 1);
		}
		const bool alone = !matches && (r->kind == RQL_JOIN_LEFT || r->kind == RQL_JOIN_FULL || r->kind == RQL_JOIN_ANTI);
		if (alone || (matches && r->kind == RQL_JOIN_SEMI))
			add_pair(r, 0, p + 1);
	}
	for (uint64_t b = 0; b < build->rows && r->kind == RQL_JOIN_FULL; b++)
		if (!met[b])
			add_pair(r, b + 1, 0);
	free(sorted);
	free(met);
}

/* ---- cases ---- */

enum keys { SPREAD, HEAVY, FEW, SKEWED };
struct join_case {
	const char *name;
	enum rql_join_kind kind;
	uint64_t build, probe, distinct;
	enum keys keys; /* SKEWED: low ones come oftener; HEAVY: half of the rows of the build side have one key; FEW: and those of both but a quarter */
	uint32_t key_bits, value_bits[2];
	uint64_t device_limit, host_limit, piece_rows;
	bool in_place, spills, partitions, again, blocks, repeats, two, heavy, drawn;
	bool shared; /* two devices have the build side each */
	bool no_folder;
	bool once_each; /* SEMI: a row that has come for one block may come for another, and is taken once */
	bool faulty; /* the status is that of a fault, which may strike */
	bool ordered, plain; /* build sides are in order, or none is */
	bool any; /* none of these is known, and the join may be refused for its limit */
	rql_status status;
	struct rql_device *full; /* whose memory had no room to begin with */
};

static struct rql_device *failed_last; /* as the last report has it */
static uint32_t full_seen; /* reports that name one */

static struct rql_buffer *place_rows(struct side *s)
{
	const uint64_t values = (s->rows * s->key_bits / 8 + 255) / 256 * 256;
	struct rql_buffer *buffer;
	assert_int_equal(rql_buffer_new(device, values + s->rows * s->value_bits / 8 + 16, RQL_MEMORY_READBACK,
	                                "a test's rows", &buffer, NULL), RQL_OK);
	const struct rql_host_piece piece = {.keys = {buffer, 0}, .columns = {{buffer, values}}};
	write_rows(s, &piece, 0, s->rows);
	return buffer;
}

static void make_side(const struct join_case *k, bool probe, struct side *s)
{
	*s = (struct side){.rows = probe ? k->probe : k->build, .key_bits = k->key_bits, .value_bits = k->value_bits[probe]};
	s->keys = array(s->rows, 8);
	for (uint64_t i = 0; i < s->rows; i++) {
		const bool same = k->keys == FEW || (k->keys == HEAVY && !probe && i % 2);
		uint64_t number = same && i % 4 ? 1 : drawn() % k->distinct; /* 0 is NULL */
		if (k->keys == SKEWED)
			number = number * (drawn() % k->distinct) / k->distinct * (drawn() % k->distinct) / k->distinct;
		const uint64_t key = number * UINT64_C(0x9e3779b97f4a7c15);
		s->keys[i] = k->key_bits == 64 ? key : key & UINT32_MAX;
	}
	if (k->in_place)
		s->buffer = place_rows(s);
}

static void nothing_left(const char *folder)
{
	DIR *open = opendir(folder);
	assert_non_null(open);
	for (const struct dirent *e = readdir(open); e; e = readdir(open))
		assert_true(e->d_name[0] == '.');
	closedir(open);
}

static struct rql_host_side described(struct side *s, bool in_place)
{
	return (struct rql_host_side){.shape = {.key_bits = s->key_bits, .column_count = 1, .column_bits = {s->value_bits}},
	                              .rows = s->rows, .next = next_rows, .in_place = in_place, .state = s};
}

/* Each pair once. */
static void unite(struct result *r)
{
	uint64_t kept = 0;
	qsort(r->pairs, r->count, 8, ascending);
	for (uint64_t i = 0; i < r->count; i++)
		if (!kept || r->pairs[i] != r->pairs[kept - 1])
			r->pairs[kept++] = r->pairs[i];
	r->count = kept;
}

static void compare(const struct result *wanted, const struct result *got)
{
	assert_int_equal(got->count, wanted->count);
	if (!got->count)
		return;
	qsort(got->pairs, got->count, 8, ascending);
	qsort(wanted->pairs, wanted->count, 8, ascending);
	assert_true(memcmp(got->pairs, wanted->pairs, got->count * 8) == 0);
}

static void check_report(const struct join_case *k, const struct rql_host_report *report, const struct result *got)
{
	assert_int_equal(report->rows, got->count);
	assert_true(!k->device_limit || report->device_peak <= k->device_limit);
	assert_true(!k->host_limit || report->host_peak <= k->host_limit);
	assert_int_equal(report->image_bytes != 0, k->drawn);
	assert_true(!got->taken || k->two || got->taken >= report->device_peak); /* images, too */
	assert_true(!k->drawn || !got->count || report->points.build + report->points.count);
	if (k->any)
		return;
	assert_int_equal(report->spilled_bytes != 0, k->spills);
	assert_int_equal(report->partitions > 1, k->partitions);
	assert_int_equal(report->passes > 1, k->again);
	assert_int_equal(report->blocks > report->partitions * (k->shared ? 2 : 1), k->blocks);
	assert_true(report->repeated || !k->repeats); /* others may, by chance */
	assert_true(!k->ordered || report->ordered == report->blocks);
	assert_true(!k->plain || !report->ordered);
}

static void print_report(const struct join_case *k, const struct rql_host_report *r, const struct rql_error *err)
{
	print_message("%s: %llu rows, %llu partitions, %llu passes, %llu blocks, %llu pieces, %llu repeated, %llu ordered, %llu spilled, "
	              "device %llu, host %llu %s\n", k->name, (unsigned long long)r->rows, (unsigned long long)r->partitions,
	              (unsigned long long)r->passes, (unsigned long long)r->blocks, (unsigned long long)r->pieces,
	              (unsigned long long)r->repeated, (unsigned long long)r->ordered,
	              (unsigned long long)r->spilled_bytes,
	              (unsigned long long)r->device_peak, (unsigned long long)r->host_peak,
	              err->status == RQL_OK ? "" : rql_error_message(err));
}

static void check_case(const struct join_case *k, struct rql_device *second)
{
	struct side sides[2];
	struct rql_device *devices_of[] = {device, second};
	struct result wanted = {.kind = k->kind}, got = {.kind = k->kind, .value_bits = {k->value_bits[0], k->value_bits[1]}};
	struct rql_host_report report;
	struct rql_error err = {0};
	char folder[] = "/tmp/rayql-host-join-XXXXXX";
	assert_non_null(mkdtemp(folder));
	make_side(k, false, &sides[0]);
	make_side(k, true, &sides[1]);
	struct rql_host_join join = {.kind = k->kind, .drawn = k->drawn, .has_null_key = true, .null_key = 0, .device_limit = k->device_limit,
	                                   .build = described(&sides[0], k->in_place),
	                                   .probe = described(&sides[1], k->in_place),
	                                   .devices = devices_of, .device_count = k->two ? 2 : 1, .host_limit = k->host_limit,
	                                   .folder = k->no_folder ? NULL : folder, .piece_rows = k->piece_rows, .put = put_rows, .state = &got,
	                                   .heavy = k->heavy ? put_heavy : NULL, .repeats = k->once_each};
	got.build = &sides[0];
	join.build.reader = k->shared ? open_reader : NULL;
	const rql_status status = rql_host_join_run(&join, &report, &err);
	if (!k->faulty)
		print_report(k, &report, &err);
	nothing_left(folder);
	rmdir(folder);
	const bool well = k->faulty && !rql_fault_struck(device);
	assert_true(status == (well ? RQL_OK : k->status) || (k->any && !k->two && status == RQL_ERROR_LIMIT));
	assert_int_equal(device->request_bytes, 0);
	assert_true(report.full == k->full || (k->faulty && !report.full) || (k->any && status == RQL_ERROR_LIMIT));
	full_seen += report.full != NULL;
	failed_last = report.failed;
	/* What is not there is the room of the limit, whoever met it. */
	if (status == RQL_ERROR_LIMIT && !k->faulty && !k->any && !k->host_limit) {
		char had[24];
		assert_non_null(strstr(rql_error_message(&err), rql_format_bytes(had, k->device_limit)));
	}
	if (status == RQL_OK) {
		expect(&sides[0], &sides[1], 0, &wanted);
		check_report(k, &report, &got);
		if (k->once_each)
			unite(&got);
		compare(&wanted, &got);
		assert_int_equal(got.heavy != 0, k->heavy);
	}
	for (int s = 0; s < 2; s++) {
		rql_buffer_free(sides[s].buffer);
		free(sides[s].keys);
	}
	free(wanted.pairs);
	free(got.pairs);
	rql_error_clear(&err);
}

#define KEYS_32 .key_bits = 32, .value_bits = {32, 32}
#define KEYS_64 .key_bits = 64, .value_bits = {64, 32}
#define SMALL .device_limit = UINT64_C(500) << 10, .piece_rows = 4096

static void test_cases(void **state)
{
	(void)state;
	const struct join_case cases[] = {
		{.name = "streams", .build = 9001, .probe = 20003, .distinct = 9000, KEYS_32, .piece_rows = 4096, .ordered = true},
		{.name = "in place", .build = 9000, .probe = 20000, .distinct = 9000, KEYS_32, .piece_rows = 4096, .in_place = true},
		{.name = "no build rows", .probe = 5000, .distinct = 90, .kind = RQL_JOIN_ANTI, KEYS_32},
		{.name = "no rows", .distinct = 90, .kind = RQL_JOIN_FULL, KEYS_64},
		{.name = "partitions", .build = 40000, .probe = 30000, .distinct = 50000, KEYS_32, SMALL,
	     .partitions = true},
		{.name = "partitions of what lies in place", .build = 40000, .probe = 30000, .distinct = 50000, KEYS_32,
	     SMALL, .partitions = true, .in_place = true},
		{.name = "a file", .kind = RQL_JOIN_LEFT, .build = 40000, .probe = 30000, .distinct = 60000, KEYS_64,
	     SMALL, .host_limit = 600000, .partitions = true, .spills = true},
		{.name = "full", .kind = RQL_JOIN_FULL, .build = 40000, .probe = 20000, .distinct = 60000, KEYS_32,
	     SMALL, .partitions = true},
		{.name = "semi", .kind = RQL_JOIN_SEMI, .build = 40000, .probe = 20000, .distinct = 60000, KEYS_64,
	     SMALL, .partitions = true},
		{.name = "a heavy key", .build = 60000, .probe = 2000, .distinct = 40000, .keys = HEAVY, KEYS_32,
	     SMALL, .partitions = true, .again = true, .blocks = true},
		{.name = "a heavy key of a left join", .kind = RQL_JOIN_LEFT, .build = 60000, .probe = 2000, .distinct = 40000,
	     .keys = HEAVY, KEYS_32, SMALL, .status = RQL_ERROR_LIMIT},
		{.name = "many matches", .build = 8000, .probe = 9000, .distinct = 400, KEYS_32, .repeats = true, .piece_rows = 2000},
		{.name = "a heavy key of a semi join", .kind = RQL_JOIN_SEMI, .build = 60000, .probe = 2000, .distinct = 4000,
	     .keys = HEAVY, KEYS_32, SMALL, .partitions = true, .again = true, .blocks = true, .once_each = true},
		{.name = "more matches than a piece's room", .build = 9000, .probe = 3000, .distinct = 1000, .keys = HEAVY, KEYS_64,
	     .piece_rows = 1024, .heavy = true, .repeats = true},
		{.name = "a block's matches", .build = 60000, .probe = 2000, .distinct = 1000, .keys = HEAVY, KEYS_32,
	     SMALL, .partitions = true, .again = true, .blocks = true, .repeats = true},
		{.name = "no room for tables", .kind = RQL_JOIN_LEFT, .build = 40000, .probe = 30000, .distinct = 30000, KEYS_64,
	     .device_limit = UINT64_C(1700) << 10, .piece_rows = 4096, .plain = true},
		/* not the device's: its memory has room */
		{.name = "no room in the host's memory", .build = 40000, .probe = 30000, .distinct = 60000, KEYS_64, SMALL,
	     .host_limit = 600000, .no_folder = true, .status = RQL_ERROR_LIMIT},
		{.name = "no room", .build = 60000, .probe = 2000, .distinct = 4000, KEYS_32, .device_limit = 50000,
	     .status = RQL_ERROR_LIMIT, .full = device},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&cases[i], NULL);
}

/* By hash images, which each piece of a partition draws again. */
static void test_drawn(void **state)
{
	(void)state;
	static const struct join_case cases[] = {
		{.name = "drawn", .build = 9001, .probe = 20003, .distinct = 9000, KEYS_32, .piece_rows = 8192, .drawn = true},
		{.name = "drawn partitions", .kind = RQL_JOIN_LEFT, .build = 40000, .probe = 30000, .distinct = 60000, KEYS_64,
	     .device_limit = UINT64_C(2000) << 10, .host_limit = 600000, .partitions = true, .spills = true, .drawn = true},
		{.name = "drawn heavy key", .kind = RQL_JOIN_SEMI, .build = 60000, .probe = 2000, .distinct = 4000, .keys = HEAVY, KEYS_32,
	     .device_limit = UINT64_C(1400) << 10, .partitions = true, .again = true, .blocks = true, .once_each = true, .drawn = true},
		{.name = "drawn matches beyond a piece's room", .build = 9000, .probe = 3000, .distinct = 1000, .keys = HEAVY, KEYS_64,
	     .piece_rows = 1024, .heavy = true, .repeats = true, .drawn = true},
	};
	if (!device->units[RQL_UNIT_RASTER])
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&cases[i], NULL);
}

/* Any limits and sides: a few, many with RAYQL_TEST_LONG. */
static void test_any(void **state)
{
	(void)state;
	static const enum rql_join_kind kinds[] = {RQL_JOIN_INNER, RQL_JOIN_LEFT, RQL_JOIN_SEMI, RQL_JOIN_ANTI, RQL_JOIN_FULL};
	const uint32_t count = getenv("RAYQL_TEST_LONG") ? 150 : 3;
	for (uint32_t i = 0; i < count; i++) {
		struct join_case k = {.name = "any", .any = true, .kind = kinds[drawn() % 5], .build = drawn() % 30000,
		                      .probe = drawn() % 30000, .key_bits = drawn() % 2 ? 64 : 32,
		                      .value_bits = {drawn() % 2 ? 64 : 32, drawn() % 2 ? 64 : 32}, .piece_rows = 1024 << drawn() % 3,
		                      .keys = drawn() % 3 ? SPREAD : drawn() % 2 ? HEAVY : SKEWED, .in_place = drawn() % 2};
		k.distinct = k.keys == SPREAD ? 1 + k.build / (1 + drawn() % 4) : 20000 + drawn() % 20000;
		k.device_limit = drawn() % 3 ? (200 + drawn() % 800) << 10 : 0;
		k.host_limit = drawn() % 2 ? (200 + drawn() % 400) << 10 : 0;
		k.drawn = k.kind != RQL_JOIN_FULL && device->units[RQL_UNIT_RASTER] && drawn() % 3 == 0;
		check_case(&k, NULL);
	}
}

/* Memory that is not there, a submission or a wait that fails, in partitions and in pieces: the error, and nothing is held. */
static void test_faults(void **state)
{
	(void)state;
	static const enum rql_fault_kind faults[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	full_seen = 0;
	struct join_case k = {.name = "faults", .build = 12000, .probe = 9000, .distinct = 9000, KEYS_32, .faulty = true,
	                      .device_limit = UINT64_C(150) << 10, .piece_rows = 1024, .partitions = true};
	for (int i = 0; i < 3; i++)
		for (uint64_t nth = 1;; nth += 1 + nth / FAULTS) {
			assert_int_equal(rql_fault_set(device, faults[i], nth, NULL), RQL_OK);
			k.status = i ? RQL_ERROR_DEVICE : RQL_ERROR_LIMIT;
			k.full = i ? NULL : device;
			check_case(&k, NULL);
			const bool struck = rql_fault_struck(device);
			rql_fault_remove(device);
			if (!struck)
				break;
		}
	assert_int_equal(full_seen, 1); /* once it is the first memory of the join's on the device */
	k.status = RQL_OK;
	k.faulty = false;
	k.full = NULL;
	check_case(&k, NULL);
}

/* Whatever one of two devices fails with, at any time, the other one does its work: of blocks of one key, too, of pieces that
 * are repeated, and of partitions that are made again. */
static void one_fails(struct rql_device *second)
{
	static const enum rql_fault_kind faults[] = {RQL_FAULT_ALLOCATION, RQL_FAULT_SUBMISSION, RQL_FAULT_WAIT};
	static const struct join_case cases[] = {
		{.name = "one fails", .build = 40000, .probe = 2000, .distinct = 1000, .keys = HEAVY, KEYS_32, SMALL, .any = true},
		{.name = "one fails", .kind = RQL_JOIN_LEFT, .build = 20000, .probe = 30000, .distinct = 20000, KEYS_64,
	     .device_limit = UINT64_C(250) << 10, .piece_rows = 1024, .any = true},
		{.name = "one fails, shared", .kind = RQL_JOIN_LEFT, .build = 9000, .probe = 5000, .distinct = 800,
	     KEYS_32, .piece_rows = 1024, .any = true, .shared = true},
		{.name = "one fails, shared", .build = 9000, .probe = 20000, .distinct = 9000, KEYS_64, .piece_rows = 1024,
	     .any = true, .shared = true},
	};
	uint32_t struck = 0, failed = 0;
	for (int i = 0; i < 3; i++)
		for (uint64_t nth = 1; nth < 30; nth += 1 + nth / 2) {
			struct join_case k = cases[nth % 4];
			k.two = true;
			k.faulty = true;
			assert_int_equal(rql_fault_set(second, faults[i], nth, NULL), RQL_OK);
			check_case(&k, second);
			const bool now = rql_fault_struck(second);
			assert_true(!now || !i || failed_last == second);
			struck += now;
			failed += failed_last != NULL;
			rql_fault_remove(second);
		}
	print_message("one of two devices failed %u times, %u of them by an error of its own\n", struck, failed);
	assert_true(failed);
	assert_non_null(second->left);
}

/* The driver opened twice is two devices. */
static void test_two_devices(void **state)
{
	(void)state;
	struct rql_devices *others;
	assert_int_equal(rql_devices_open(1, &others, NULL), RQL_OK);
	struct rql_device *second = rql_devices_get(others, device->id);
	assert_non_null(second);
	const struct join_case k = {.name = "two devices", .kind = RQL_JOIN_FULL, .build = 30000, .probe = 40000,
	                            .distinct = 30000, KEYS_32, .partitions = true, .two = true};
	check_case(&k, second);
	for (enum rql_join_kind kind = RQL_JOIN_INNER; kind < RQL_JOIN_FULL; kind++)
		if (kind == RQL_JOIN_INNER || kind == RQL_JOIN_LEFT || kind == RQL_JOIN_SEMI || kind == RQL_JOIN_ANTI) {
			const struct join_case shared = {.name = "a build side on two devices", .kind = kind, .build = 20000, .probe = 30000,
			                                 .distinct = 30000, KEYS_64, .piece_rows = 2048, .two = true, .shared = true};
			asked = joined = 0;
			in_turn = true;
			check_case(&shared, second);
			in_turn = false;
			assert_int_equal(joined, 3);
		}
	one_fails(second);
	/* Images are as small as the second one's. */
	const struct rql_host_side rows = {.shape = {.key_bits = 32}, .rows = 100000000};
	const struct rql_host_join drawn = {
		.drawn = true, .build = rows, .probe = rows, .devices = (struct rql_device *[]){device, second}, .device_count = 2};
	const uint64_t before = rql_host_join_partitions(&drawn);
	second->limits.image_side = 4096; /* 4,096 rows of as many pixels, a row of the join each */
	assert_true(!device->units[RQL_UNIT_RASTER] || rql_host_join_partitions(&drawn) > before);
	rql_devices_close(others);
}

int main(void)
{
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	int skipped = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skipped)
		return skipped;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_drawn), cmocka_unit_test(test_any),
	                                   cmocka_unit_test(test_faults),
	                                   cmocka_unit_test(test_two_devices)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
