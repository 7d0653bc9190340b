/* The join of two sides whose keys lie in the host's memory (primitive/host), as a method: words and what is asked of the rows, numbers or
 * values, go to a device, pairs of them come back. What the device has no room for is partitioned on the CPU first.
 *
 * What it must do: bring in 12 bytes a row (8 where words have 32 bits), write them once into memory that the device
 * reaches, take out 8 bytes a pair; and for rows that are partitioned another reading and writing of them. Of a sum and a
 * count of 32-bit values of both sides, by 32-bit words in partitions, that is 8 + 8 + 2 * 8 bytes of memory's traffic and 8
 * of the link's for a row (the word, its block, its piece), and for a pair 8 of each. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "method/host_rows.h"
#include "method/join/join.h"
#include "primitive/host/host_join.h"

_Static_assert(RQL_SIDE_COLUMNS == RQL_RELATION_COLUMNS, "what a side hands on");
#define CHUNK_ROWS 16384u /* a multiple of 64 */
#define READ_ROWS 4096u /* the same */
#define FOUND_AT_ONCE 1024u
#define DRAINED 8.0 /* of a partition, one part in so many: its first piece and its last result move alone */

struct rql_prepared {
	struct rql_sides of;
	bool drawn; /* on the unit raster */
	uint64_t partitions, staging; /* bytes of pieces on their way */
};

static void *at(const struct rql_span *span)
{
	return (uint8_t *)span->buffer->map + span->offset;
}

/* ---- the sides ---- */

/* Rows of a side that may have a partner, in their order. */
struct feed {
	const struct rql_run_side *side;
	struct rql_pool *pool;
	uint32_t key_bits;
	uint64_t at, live; /* of these rows: the next one, and all */
	uint64_t *before;  /* [chunks + 1]: such rows before a chunk */
	struct feed *readers; /* [RQL_DEVICES_MAX]: of a build side that several devices read */
};

/* Rows of a word of the side's bitmap that may have one. */
static uint64_t live_bits(const struct rql_run_side *side, uint64_t word)
{
	const uint64_t left = side->rows - word * 64, all = left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
	return side->none ? all & ~side->none[word] : all;
}

static rql_status open_feed(struct feed *f, const struct rql_run_side *side, uint32_t key_bits, struct rql_pool *pool,
                            struct rql_error *err)
{
	const uint64_t chunks = (side->rows + CHUNK_ROWS - 1) / CHUNK_ROWS, words = (side->rows + 63) / 64;
	*f = (struct feed){.side = side, .pool = pool, .key_bits = key_bits};
	if (!(f->before = calloc(chunks + 1, sizeof(*f->before))))
		return rql_error_memory(err, (chunks + 1) * sizeof(*f->before), "the rows of a join");
	for (uint64_t w = 0; w < words; w++)
		f->before[w / (CHUNK_ROWS / 64) + 1] += (uint64_t)__builtin_popcountll(live_bits(side, w));
	for (uint64_t c = 0; c < chunks; c++)
		f->before[c + 1] += f->before[c];
	f->live = f->before[chunks];
	return RQL_OK;
}

struct filling {
	const struct feed *f;
	uint64_t first, last, chunk; /* of the rows; of the first chunk that has some of them */
	void *keys;
	void *columns[RQL_SIDE_COLUMNS];
};

/* n rows of a side, all or those of a list, to the row `to` of where they go. */
static void fill_keys(const struct filling *x, uint64_t from, const uint32_t *list, uint32_t n, uint64_t to)
{
	const uint64_t *words = x->f->side->words;
	uint32_t *narrow = (uint32_t *)x->keys + to;
	uint64_t *wide = (uint64_t *)x->keys + to;
	if (x->f->key_bits == 32)
		for (uint32_t i = 0; i < n; i++)
			narrow[i] = (uint32_t)words[list ? list[i] : from + i];
	else
		for (uint32_t i = 0; i < n; i++)
			wide[i] = words[list ? list[i] : from + i];
}

static void fill_column(const struct filling *x, uint32_t c, uint64_t from, const uint32_t *list, uint32_t n, uint64_t to)
{
	const struct rql_side_column *column = &x->f->side->columns[c];
	const uint32_t *narrow = column->values;
	const uint64_t *wide = column->values;
	uint32_t *narrow_to = (uint32_t *)x->columns[c] + to;
	uint64_t *wide_to = (uint64_t *)x->columns[c] + to;
	for (uint32_t i = 0; i < n && !column->values; i++)
		narrow_to[i] = list ? list[i] : (uint32_t)(from + i);
	if (column->values && !list)
		memcpy((uint8_t *)x->columns[c] + to * (column->bits / 8),
		       (const uint8_t *)column->values + from * (column->bits / 8), (uint64_t)n * (column->bits / 8));
	else if (column->values && column->bits == 32)
		for (uint32_t i = 0; i < n; i++)
			narrow_to[i] = narrow[list[i]];
	else if (column->values)
		for (uint32_t i = 0; i < n; i++)
			wide_to[i] = wide[list[i]];
}

static void fill_rows(const struct filling *x, uint64_t from, const uint32_t *list, uint32_t n, uint64_t to)
{
	fill_keys(x, from, list, n, to);
	for (uint32_t c = 0; c < x->f->side->column_count; c++)
		fill_column(x, c, from, list, n, to);
}

/* Rows of words [begin, end) that may have a partner: at most n of them behind the first *skip ones, which it counts down. */
static uint32_t list_live(const struct rql_run_side *side, uint64_t begin, uint64_t end, uint64_t *skip, uint64_t n,
                          uint32_t *list)
{
	uint32_t count = 0;
	for (uint64_t w = begin; w < end && count < n; w++)
		for (uint64_t bits = live_bits(side, w); bits && count < n; bits &= bits - 1) {
			if (*skip) {
				--*skip;
				continue;
			}
			list[count++] = (uint32_t)(w * 64 + (uint64_t)__builtin_ctzll(bits));
		}
	return count;
}

static void fill_chunk(void *state, uint64_t index, unsigned worker)
{
	const struct filling *x = state;
	const uint64_t chunk = x->chunk + index, *before = x->f->before;
	const uint64_t first = before[chunk] > x->first ? before[chunk] : x->first;
	const uint64_t last = before[chunk + 1] < x->last ? before[chunk + 1] : x->last;
	const uint64_t words = (x->f->side->rows + 63) / 64, begin = chunk * (CHUNK_ROWS / 64);
	const uint64_t end = begin + CHUNK_ROWS / 64 < words ? begin + CHUNK_ROWS / 64 : words;
	uint64_t skip = first - before[chunk], at = first;
	uint32_t list[READ_ROWS];
	(void)worker;
	if (first >= last)
		return;
	if (!x->f->side->none) {
		fill_rows(x, first, NULL, (uint32_t)(last - first), first - x->first);
		return;
	}
	for (uint64_t w = begin; w < end && at < last; w += READ_ROWS / 64) {
		const uint64_t until = w + READ_ROWS / 64 < end ? w + READ_ROWS / 64 : end;
		const uint32_t n = list_live(x->f->side, w, until, &skip, last - at, list);
		fill_rows(x, 0, list, n, at - x->first);
		at += n;
	}
}

/* For partitions: no thread needs to know what others have read. */
static void read_rows(void *state, uint64_t first, struct rql_host_rows *rows)
{
	const struct feed *f = state;
	const uint64_t end = first + rows->count;
	struct filling x = {.f = f, .keys = rows->keys};
	uint32_t list[READ_ROWS];
	memcpy(x.columns, rows->columns, sizeof(x.columns));
	if (!f->side->none) {
		fill_rows(&x, first, NULL, (uint32_t)rows->count, 0);
		return;
	}
	rows->count = 0;
	for (uint64_t at = first; at < end; at += READ_ROWS) {
		const uint64_t all = end - at < READ_ROWS ? end - at : READ_ROWS;
		uint32_t n = 0;
		for (uint64_t w = at / 64; w < (at + all + 63) / 64; w++)
			for (uint64_t bits = live_bits(f->side, w); bits; bits &= bits - 1)
				list[n++] = (uint32_t)(w * 64 + (uint64_t)__builtin_ctzll(bits));
		while (n && list[n - 1] >= end) /* a word may go on beyond the last row that is asked for */
			n--;
		fill_rows(&x, at, n < all ? list : NULL, n, rows->count);
		rows->count += n;
	}
}

/* The last chunk before which there are no more than `number` rows. */
static uint64_t chunk_of(const struct feed *f, uint64_t number)
{
	uint64_t low = 0, high = (f->side->rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
	while (low + 1 < high) {
		const uint64_t middle = (low + high) / 2;
		if (f->before[middle] <= number)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static rql_status next_rows(void *state, struct rql_device *device, struct rql_host_piece *piece, struct rql_error *err)
{
	struct feed *f = state;
	const uint64_t left = f->live - f->at, count = left < piece->rows ? left : piece->rows;
	(void)device;
	(void)err;
	piece->rows = count;
	if (!count)
		return RQL_OK;
	struct filling x = {.f = f, .first = f->at, .last = f->at + count, .chunk = chunk_of(f, f->at), .keys = at(&piece->keys)};
	for (uint32_t c = 0; c < f->side->column_count; c++)
		x.columns[c] = at(&piece->columns[c]);
	rql_pool_each(f->pool, chunk_of(f, f->at + count - 1) - x.chunk + 1, fill_chunk, &x);
	f->at += count;
	return RQL_OK;
}

static void *open_reader(void *state, uint32_t index)
{
	struct feed *f = state, *reader = &f->readers[index];
	*reader = *f;
	return reader;
}

/* ---- what is found ---- */

static uint32_t key_bits_of(const struct rql_run_sides *sides)
{
	return sides->bits > 32 ? 64 : 32;
}

struct sink {
	const struct rql_run_sides *sides;
	struct rql_progress *progress;
};

static rql_status put_pairs(void *state, const struct rql_host_piece *piece, struct rql_error *err)
{
	const struct sink *s = state;
	struct rql_found found = {.count = piece->rows};
	uint32_t n = 0;
	for (unsigned side = s->sides->hits; side < 2; side++)
		for (uint32_t c = 0; c < s->sides->side[side].column_count; c++)
			found.columns[side][c] = at(&piece->columns[n++]);
	return s->sides->put(s->sides->state, &found, err);
}

/* Rows of the build side beside one probe row, so many at a time. */
struct heavy {
	const struct sink *s;
	uint32_t count, rows[FOUND_AT_ONCE];
	uint64_t values[2][RQL_SIDE_COLUMNS][FOUND_AT_ONCE];
};

static rql_status put_partners(struct heavy *h, struct rql_error *err)
{
	const struct rql_run_side *build = &h->s->sides->side[0];
	struct rql_found found = {.count = h->count};
	struct filling x = {.f = &(struct feed){.side = build}};
	for (uint32_t c = 0; c < build->column_count; c++) {
		found.columns[0][c] = x.columns[c] = h->values[0][c];
		fill_column(&x, c, 0, h->rows, h->count, 0);
	}
	for (uint32_t c = 0; c < h->s->sides->side[1].column_count; c++)
		found.columns[1][c] = h->values[1][c];
	h->count = 0;
	return found.count ? h->s->sides->put(h->s->sides->state, &found, err) : RQL_OK;
}

/* The probe row, as often as it is put at once. */
static uint64_t repeat_row(struct heavy *h, const struct rql_host_piece *piece, uint32_t key_bits)
{
	const struct rql_run_side *probe = &h->s->sides->side[1];
	for (uint32_t c = 0; c < probe->column_count; c++)
		for (uint32_t i = 0; i < FOUND_AT_ONCE; i++)
			if (probe->columns[c].bits == 32)
				((uint32_t *)(void *)h->values[1][c])[i] = *(const uint32_t *)at(&piece->columns[c]);
			else
				h->values[1][c][i] = *(const uint64_t *)at(&piece->columns[c]);
	return key_bits == 32 ? *(const uint32_t *)at(&piece->keys) : *(const uint64_t *)at(&piece->keys);
}

/* A probe row with more partners than a device has room for: more than a few of all build rows are, so that all are looked
 * at. */
static rql_status find_partners(struct heavy *h, uint64_t word, struct rql_error *err)
{
	const struct rql_run_side *build = &h->s->sides->side[0];
	const struct rql_progress *progress = h->s->progress;
	for (uint64_t i = 0; i < build->rows; i++) {
		if (!(i % CHUNK_ROWS) && progress && atomic_load_explicit(&progress->cancel, memory_order_relaxed))
			return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
		if (build->words[i] != word || (build->none && rql_bit(build->none, i)))
			continue;
		h->rows[h->count++] = (uint32_t)i;
		if (h->count == FOUND_AT_ONCE)
			RQL_TRY(put_partners(h, err));
	}
	return put_partners(h, err);
}

static rql_status put_heavy(void *state, const struct rql_host_piece *piece, struct rql_error *err)
{
	const struct sink *s = state;
	struct heavy *h = malloc(sizeof(*h));
	if (!h)
		return rql_error_memory(err, sizeof(*h), "a row with many partners");
	h->s = s;
	h->count = 0;
	const rql_status status = find_partners(h, repeat_row(h, piece, key_bits_of(s->sides)), err);
	free(h);
	return status;
}

/* ---- the method ---- */

/* Of sides of which rows' numbers are asked for. */
static struct rql_host_join join_of(bool hits, uint32_t key_bits, const uint64_t rows[2], uint64_t device_bytes, bool drawn,
                                    const struct rql_sharers *on)
{
	const struct rql_host_shape shape = {.key_bits = key_bits, .column_count = 1, .column_bits = {32}};
	return (struct rql_host_join){.kind = hits ? RQL_JOIN_SEMI : RQL_JOIN_INNER,
	                              .repeats = hits,
	                              .drawn = drawn,
	                              .build = {.shape = shape, .rows = rows[0], .reader = open_reader},
	                              .probe = {.shape = shape, .rows = rows[1]},
	                              .devices = on->device,
	                              .device_count = on->count,
	                              .device_limit = device_bytes};
}

static struct rql_host_shape shape_of(const struct rql_run_side *side, uint32_t key_bits)
{
	struct rql_host_shape shape = {.key_bits = key_bits, .column_count = side->column_count};
	for (uint32_t c = 0; c < side->column_count; c++)
		shape.column_bits[c] = side->columns[c].bits;
	return shape;
}

static struct rql_host_join expected_join(const struct rql_sides *of, uint32_t key_bits, bool drawn)
{
	const uint64_t rows[2] = {(uint64_t)of->rows[0] + 1, (uint64_t)of->rows[1] + 1};
	return join_of(of->hits, key_bits, rows, of->device_bytes, drawn, &of->on);
}

static const char *refusal(const struct rql_request *request, enum rql_unit unit)
{
	const struct rql_sides *of = request->sides;
	const char *lack = rql_sharers_lack(&of->on, unit);
	if (lack)
		return lack;
	if (!of->device_bytes)
		return "rayql_device_memory_limit leaves nothing of the device's memory";
	return of->rows[0] > (double)RQL_RELATION_ROWS || of->rows[1] > (double)RQL_RELATION_ROWS
	           ? "a side of a join may have 2^32 rows or more"
	           : NULL;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)device;
	return rql_offer_unless(refusal(request, RQL_UNIT_COMPUTE), reason);
}

static enum rql_offer offer_drawn(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)device;
	return rql_offer_unless(refusal(request, RQL_UNIT_RASTER), reason);
}

static rql_status prepare_on(const struct rql_request *request, bool drawn, struct rql_prepared **out, struct rql_error *err)
{
	const struct rql_host_join join = expected_join(request->sides, request->sides->key_bits, drawn);
	const uint64_t partitions = rql_host_join_partitions(&join);
	char need[32], have[32];
	if (!partitions)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a partition of a join needs %s of the device's memory, and "
		                     "rayql_device_memory_limit leaves %s", rql_format_bytes(need, rql_host_join_least(&join)),
		                     rql_format_bytes(have, request->sides->device_bytes));
	struct rql_prepared *p = malloc(sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "a query's join");
	*p = (struct rql_prepared){
		.of = *request->sides, .drawn = drawn, .partitions = partitions, .staging = rql_host_join_staging(&join)};
	*out = p;
	return RQL_OK;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	(void)device;
	return prepare_on(request, false, out, err);
}

static rql_status prepare_drawn(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                                struct rql_error *err)
{
	(void)device;
	return prepare_on(request, true, out, err);
}

/* What the CPU's threads do. Memory that is new to the process has the partitions, the pieces on their way and the pairs of
 * whoever takes them. A pass of partitioning counts a row and gives it a place, as a group-by in the cache does, and
 * moves the key and the column there, each for half of that (measured: 7.3 ns a row of 8 bytes where row_ns is 3.6). Bytes
 * go through memory once for each reading and writing: words into a piece or a block, a block into a piece, a result into
 * whoever takes it. */
static double cpu_ns(const struct rql_prepared *p, const struct rql_device *device, double row, double pair)
{
	const struct rql_profile *cpu = &device->host->profile;
	const double rows = p->of.rows[0] + p->of.rows[1], threads = rql_pool_threads(device->pool);
	const double passes = ceil(log2((double)p->partitions) / RQL_HOST_PASS_BITS);
	const double placed = passes * rows * 2 * cpu->scan.row_ns / threads;
	const double bytes = rows * (8 + row) + passes * rows * 2 * row + 2 * p->of.pairs * pair;
	return placed + bytes / cpu->read_gbps +
	       rql_host_rows_memory_ns(passes > 0 ? rows * row : 0, p->of.host_bytes,
	                               (double)p->staging + p->of.pairs * pair, threads);
}

/* The link's ways are used at once, beside the device's own work. Several devices share the partitions, or, without any,
 * have the build side each and share the probe side. The CPU's work they do not share. */
static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double row = p->of.key_bits / 8.0 + 4, pair = p->of.hits ? 4 : 8;
	const double rows = p->of.rows[0] + p->of.rows[1];
	const double count = p->of.on.count, builds = p->partitions > 1 ? count : 1;
	const struct rql_pair_size size = {.rows = {p->of.rows[1] / count, p->of.rows[0] / builds}, .row_bytes = {row, row},
	                                   .out_rows = p->of.pairs / count, .out_bytes = pair};
	const double in = size.rows[0] * row / profile->upload_gbps, back = size.out_rows * pair / profile->download_gbps;
	const struct rql_method *method = p->drawn ? &rql_method_join_raster : &rql_method_join_compute;
	const double link = size.rows[1] * row / profile->upload_gbps + (in > back ? in : back) + (in + back) / DRAINED;
	const double steps = (double)p->partitions / builds * RQL_HOST_ROWS_STEPS;
	*out = (struct rql_cost){.run_ns = method->pair_ns(profile, &size) + steps * profile->submit_ns + cpu_ns(p, device, row, pair),
	                         .transfer_ns = link,
	                         .rows_out = p->of.pairs,
	                         .device_bytes = p->of.device_bytes,
	                         .cells = p->of.pairs,
	                         .runs = (double)p->partitions,
	                         .bytes = rows * row + p->of.pairs * pair};
}

/* Which words there are, the run knows: the kernels of both are made ahead. */
static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	for (uint32_t bits = 32; bits <= p->of.key_bits; bits += 32) {
		const struct rql_host_join join = expected_join(&p->of, bits, p->drawn);
		RQL_TRY(rql_host_join_kernels(&join, see, state, err));
	}
	return RQL_OK;
}

static void report(const struct rql_host_report *r, uint32_t key_bits, struct rql_port *out)
{
	out->kind = RQL_PORT_PAIRS;
	out->failed = r->failed;
	out->full = r->full;
	rql_join_drawn(&r->points, key_bits, r->pixel_bytes, r->image_bytes, &out->drawn);
	out->device_ns = r->device_ns;
	out->moved = (struct rql_moved){.partitions = r->partitions,
	                                .passes = r->passes,
	                                .in_bytes = r->build_bytes + r->probe_bytes,
	                                .out_bytes = r->result_bytes,
	                                .spilled_bytes = r->spilled_bytes,
	                                .device_peak = r->device_peak,
	                                .host_peak = r->host_peak,
	                                .left = r->left};
}

/* Partitions of about one size, each drawn as it comes. */
static void draws(const struct rql_prepared *p, struct rql_drawn *out)
{
	struct rql_raster_join sizes = {.kind = p->of.hits ? RQL_JOIN_SEMI : RQL_JOIN_INNER,
	                                .key_bits = p->of.key_bits,
	                                .build = {.count = (uint64_t)(p->of.rows[0] / (double)p->partitions) + 1},
	                                .probe = {.count = (uint64_t)(p->of.rows[1] / (double)p->partitions) + 1}};
	rql_raster_join_size(&sizes);
	rql_join_expected(&sizes, 0, p->partitions, out);
}

static rql_status run_join(const struct rql_host_join *join, struct rql_budget *budget, struct rql_host_report *done,
                           struct rql_error *err)
{
	const uint64_t staging = budget ? rql_host_join_staging(join) : 0;
	if (staging)
		RQL_TRY(rql_budget_charge(budget, staging, "pieces of a join", err));
	const rql_status status = rql_host_join_run(join, done, err);
	if (staging)
		rql_budget_release(budget, staging);
	return status;
}

/* Its sides may be of other sizes than was expected. */
static rql_status run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	const struct rql_run_sides *sides = how->sides;
	const uint32_t key_bits = key_bits_of(sides);
	struct sink sink = {.sides = sides, .progress = how->progress};
	struct feed feeds[2] = {{.side = NULL}, {.side = NULL}}, readers[RQL_DEVICES_MAX];
	struct rql_host_report done = {0};
	rql_status status = RQL_OK;
	for (int s = 0; s < 2 && status == RQL_OK; s++)
		status = open_feed(&feeds[s], &sides->side[s], key_bits, device->pool, err);
	if (status == RQL_OK) {
		const uint64_t rows[2] = {feeds[0].live, feeds[1].live};
		struct rql_host_join join = join_of(sides->hits, key_bits, rows, sides->device_bytes, p->drawn, &p->of.on);
		join.limited = sides->limited;
		join.build.shape = shape_of(&sides->side[0], key_bits);
		join.probe.shape = shape_of(&sides->side[1], key_bits);
		join.build.next = join.probe.next = next_rows;
		feeds[0].readers = readers;
		join.build.state = &feeds[0];
		join.probe.state = &feeds[1];
		join.build.source = (struct rql_host_source){read_rows, &feeds[0], sides->side[0].rows};
		join.probe.source = (struct rql_host_source){read_rows, &feeds[1], sides->side[1].rows};
		join.host_limit = sides->host_bytes;
		join.folder = sides->folder;
		join.file_limit = sides->file_bytes;
		join.put = put_pairs;
		join.heavy = put_heavy;
		join.state = &sink;
		join.progress = how->progress;
		join.timed = how->flags & RQL_RUN_TIMED;
		status = run_join(&join, sides->budget, &done, err);
		report(&done, key_bits, out);
	}
	free(feeds[0].before);
	free(feeds[1].before);
	return status;
}

static void free_prepared(struct rql_prepared *p)
{
	free(p);
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return sizeof(*p);
}

extern const struct rql_method rql_method_join_host;
const struct rql_method rql_method_join_host = {
	.name = "join",
	.variant = "join of rows in host memory",
	.description = "joins rows that lie in the host's memory on a GPU, by partitions where it has no room for them",
	.paper = "GARUDA (PVLDB 16(10)), sections 5 and 6.1",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_SIDES,
	.gives = 1u << RQL_PORT_PAIRS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.kernels = kernels,
	.run = run,
	.free = free_prepared,
	.bytes = bytes,
};

extern const struct rql_method rql_method_join_host_raster;
const struct rql_method rql_method_join_host_raster = {
	.name = "join",
	.variant = "join of rows in host memory",
	.description = "joins rows that lie in the host's memory by drawing them on a GPU, by partitions where these are many",
	.paper = "GARUDA (PVLDB 16(10)), sections 3, 5 and 6.1",
	.unit = RQL_UNIT_RASTER,
	.reads = RQL_READS_SIDES,
	.gives = 1u << RQL_PORT_PAIRS,
	.offer = offer_drawn,
	.prepare = prepare_drawn,
	.price = price,
	.draws = draws,
	.kernels = kernels,
	.run = run,
	.free = free_prepared,
	.bytes = bytes,
};
