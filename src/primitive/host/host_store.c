/* Stores of partitioned rows. A worker orders a chunk of rows by partition in its cache, then each partition's run goes to
 * the end of the partition's last block. Full blocks stay or go to the temporary file. */
#include "primitive/host/host_store.h"

#include <pthread.h>
#include <stdlib.h>

#include "primitive/primitive_internal.h"
#include "util/large.h"
#include "util/spill.h"

#define CHUNK_ROWS 65536u
#define CHUNK_BYTES (UINT64_C(1) << 20) /* with the rows' places it stays in a core's second cache */
#define STAGGER 37u
#define BLOCK_BYTES (UINT64_C(1) << 20) /* of which freed ones are kept (util/large.h): new pages cost more than the rows */
#define BLOCK_ROWS_LEAST 64u
#define BLOCKS_SHARE 8u /* of the limit of memory, for a store's blocks that are being filled: one part in so many */
#define FULL_SHARE 2u   /* the same, for full blocks. What is left has the first blocks of four stores: two passes */

struct rql_host_memory {
	uint64_t limit, file_limit;
	_Atomic uint64_t used, peak;
	pthread_mutex_t lock; /* of `spill` being made */
	struct rql_spill *_Atomic spill;
	char *folder;
};

struct block {
	uint8_t *memory; /* NULL: in the file */
	uint64_t at;
};

struct partition {
	pthread_mutex_t lock;
	struct block *blocks;
	uint32_t block_count, block_room;
	uint64_t rows;
};

/* A worker's chunk, in the order of partitions. */
struct scratch {
	uint32_t *place;
	uint32_t *starts; /* [2^bits + 1] */
	uint8_t *ordered; /* [chunk_rows] of each column, one after the other */
	uint8_t *taken;   /* the same, of a chunk of a source; NULL until there is one */
};

struct rql_host_store {
	struct rql_host_store_spec spec;
	uint64_t chunk_rows, block_rows, block_bytes;
	uint64_t column_at[RQL_RELATION_COLUMNS + 1]; /* in a block: the keys' 0, then those of the columns */
	uint32_t column_count;                        /* the keys included */
	uint32_t column_bytes[RQL_RELATION_COLUMNS + 1];
	uint32_t workers; /* the pool's threads */
	struct scratch *scratch; /* [workers] */
	struct partition *partitions;
};

uint64_t rql_host_row_bytes(const struct rql_host_shape *shape)
{
	uint64_t bits = shape->key_bits;
	for (uint32_t i = 0; i < shape->column_count; i++)
		bits += shape->column_bits[i];
	return bits / 8;
}

/* ---- memory ---- */

rql_status rql_host_memory_new(uint64_t limit, const char *folder, uint64_t file_limit, struct rql_host_memory **out,
                               struct rql_error *err)
{
	struct rql_host_memory *memory = calloc(1, sizeof(*memory));
	if (!memory || (folder && !(memory->folder = strdup(folder)))) {
		free(memory);
		return rql_error_memory(err, sizeof(*memory), "partitions in the host's memory");
	}
	memory->limit = limit;
	memory->file_limit = file_limit;
	pthread_mutex_init(&memory->lock, NULL);
	*out = memory;
	return RQL_OK;
}

void rql_host_memory_free(struct rql_host_memory *memory)
{
	if (!memory)
		return;
	rql_spill_free(atomic_load(&memory->spill));
	pthread_mutex_destroy(&memory->lock);
	free(memory->folder);
	free(memory);
}

uint64_t rql_host_memory_peak(const struct rql_host_memory *memory)
{
	return atomic_load(&memory->peak);
}

uint64_t rql_host_memory_spilled(const struct rql_host_memory *memory)
{
	struct rql_spill *spill = atomic_load(&memory->spill);
	return spill ? rql_spill_bytes(spill) : 0;
}

static void count_memory(struct rql_host_memory *memory, uint64_t bytes)
{
	const uint64_t used = atomic_fetch_add(&memory->used, bytes) + bytes;
	uint64_t peak = atomic_load(&memory->peak);
	while (peak < used && !atomic_compare_exchange_weak(&memory->peak, &peak, used)) {
	}
}

static rql_status spill_of(struct rql_host_memory *memory, struct rql_spill **out, struct rql_error *err)
{
	rql_status status = RQL_OK;
	pthread_mutex_lock(&memory->lock);
	struct rql_spill *spill = atomic_load(&memory->spill);
	if (!spill) {
		status = rql_spill_new(memory->folder, memory->file_limit, &spill, err);
		if (status == RQL_OK)
			atomic_store(&memory->spill, spill);
	}
	pthread_mutex_unlock(&memory->lock);
	*out = spill;
	return status;
}

/* ---- life ---- */

/* Blocks that are being filled take a share of the limit at most. */
static void choose_blocks(struct rql_host_store *store)
{
	const struct rql_host_shape *shape = &store->spec.shape;
	const uint64_t row = rql_host_row_bytes(shape), limit = store->spec.memory->limit;
	uint64_t bytes = BLOCK_BYTES, share = (limit / BLOCKS_SHARE) >> store->spec.bits;
	if (limit && share < bytes)
		bytes = share;
	store->block_rows = bytes / row / BLOCK_ROWS_LEAST * BLOCK_ROWS_LEAST;
	if (!store->block_rows)
		store->block_rows = BLOCK_ROWS_LEAST;
	store->block_bytes = store->block_rows * row;
	store->chunk_rows = CHUNK_BYTES / row < CHUNK_ROWS ? CHUNK_BYTES / row / 64 * 64 : CHUNK_ROWS;
	store->column_count = shape->column_count + 1;
	for (uint32_t i = 0; i < store->column_count; i++) {
		store->column_bytes[i] = (i ? shape->column_bits[i - 1] : shape->key_bits) / 8;
		if (i)
			store->column_at[i] = store->column_at[i - 1] + store->block_rows * store->column_bytes[i - 1];
	}
}

static rql_status make_scratch(struct rql_host_store *store, struct rql_error *err)
{
	store->workers = store->spec.pool ? rql_pool_threads(store->spec.pool) : 1;
	store->scratch = calloc(store->workers, sizeof(*store->scratch));
	for (uint32_t i = 0; store->scratch && i < store->workers; i++) {
		struct scratch *s = &store->scratch[i];
		s->place = malloc(store->chunk_rows * sizeof(*s->place));
		s->starts = malloc((((size_t)1 << store->spec.bits) + 1) * sizeof(*s->starts));
		s->ordered = malloc(store->chunk_rows * rql_host_row_bytes(&store->spec.shape));
		if (!s->place || !s->starts || !s->ordered)
			return rql_error_memory(err, CHUNK_BYTES, "a chunk of a partition");
	}
	return store->scratch ? RQL_OK : rql_error_memory(err, store->workers * sizeof(*store->scratch), "chunks of a partition");
}

rql_status rql_host_store_new(const struct rql_host_store_spec *spec, struct rql_host_store **out, struct rql_error *err)
{
	const size_t partitions = (size_t)1 << spec->bits;
	if (spec->bits > RQL_HOST_PASS_BITS || spec->used + spec->bits > RQL_HOST_HASH_BITS ||
	    spec->shape.column_count > RQL_RELATION_COLUMNS)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a store of 2^%u partitions behind 2^%u, of %u columns",
		                     spec->bits, spec->used, spec->shape.column_count);
	struct rql_host_store *store = calloc(1, sizeof(*store));
	if (!store || !(store->partitions = calloc(partitions, sizeof(*store->partitions)))) {
		free(store);
		return rql_error_memory(err, partitions * sizeof(struct partition), "partitions in the host's memory");
	}
	store->spec = *spec;
	for (size_t p = 0; p < partitions; p++)
		pthread_mutex_init(&store->partitions[p].lock, NULL);
	choose_blocks(store);
	rql_status status = make_scratch(store, err);
	if (status != RQL_OK) {
		rql_host_store_free(store);
		return status;
	}
	*out = store;
	return RQL_OK;
}

void rql_host_store_drop(struct rql_host_store *store, uint64_t partition)
{
	struct partition *p = &store->partitions[partition];
	for (uint32_t i = 0; i < p->block_count; i++) {
		if (p->blocks[i].memory)
			atomic_fetch_sub(&store->spec.memory->used, store->block_bytes);
		else
			rql_spill_forget(atomic_load(&store->spec.memory->spill), p->blocks[i].at, store->block_bytes);
		rql_large_free(p->blocks[i].memory);
	}
	free(p->blocks);
	p->blocks = NULL;
	p->block_count = p->block_room = 0;
	p->rows = 0;
}

void rql_host_store_free(struct rql_host_store *store)
{
	if (!store)
		return;
	for (uint32_t i = 0; i < store->workers && store->scratch; i++) {
		free(store->scratch[i].place);
		free(store->scratch[i].starts);
		free(store->scratch[i].ordered);
		free(store->scratch[i].taken);
	}
	for (uint64_t p = 0; p < UINT64_C(1) << store->spec.bits; p++) {
		rql_host_store_drop(store, p);
		pthread_mutex_destroy(&store->partitions[p].lock);
	}
	free(store->scratch);
	free(store->partitions);
	free(store);
}

uint64_t rql_host_store_rows(const struct rql_host_store *store, uint64_t partition)
{
	return store->partitions[partition].rows;
}

/* ---- a partition grows: its lock is held ---- */

/* Memory for the next block: that of the full block before it, which then goes to the file, where there is no more. */
static rql_status memory_for_block(struct rql_host_store *store, struct partition *p, uint8_t **out, struct rql_error *err)
{
	struct rql_host_memory *memory = store->spec.memory;
	struct block *last = p->block_count ? &p->blocks[p->block_count - 1] : NULL;
	struct rql_spill *spill;
	if (last && memory->limit && atomic_load(&memory->used) + store->block_bytes > memory->limit / FULL_SHARE) {
		if (!memory->folder)
			return rql_error_set(err, RQL_ERROR_LIMIT, "the partitions of a join take more than the %llu bytes of memory "
			                     "that they may have, and there is no folder for temporary files",
			                     (unsigned long long)memory->limit);
		RQL_TRY(spill_of(memory, &spill, err));
		RQL_TRY(rql_spill_write(spill, last->memory, store->block_bytes, &last->at, err));
		*out = last->memory;
		last->memory = NULL;
		return RQL_OK;
	}
	*out = rql_large_alloc(store->block_bytes);
	if (!*out)
		return rql_error_memory(err, store->block_bytes, "a block of a partition");
	count_memory(memory, store->block_bytes);
	return RQL_OK;
}

static rql_status add_block(struct rql_host_store *store, struct partition *p, struct rql_error *err)
{
	if (p->block_count == p->block_room) {
		const uint32_t room = p->block_room ? 2 * p->block_room : 4;
		struct block *more = realloc(p->blocks, room * sizeof(*more));
		if (!more)
			return rql_error_memory(err, room * sizeof(*more), "a partition's list of blocks");
		p->blocks = more;
		p->block_room = room;
	}
	uint8_t *memory;
	RQL_TRY(memory_for_block(store, p, &memory, err));
	p->blocks[p->block_count++] = (struct block){.memory = memory};
	return RQL_OK;
}

/* ---- a chunk ---- */

struct adding {
	struct rql_host_store *store;
	const struct rql_host_rows *rows;
	const struct rql_host_source *source; /* NULL: `rows` lie in memory */
	uint64_t first, end;                  /* of its rows */
	pthread_mutex_t lock; /* of what follows */
	rql_status status;
	struct rql_error *err;
};

/* Loops that compilers make vectors of. No multiplier is one of the device's hash (relation.glsl). */
static uint32_t mixed(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

static void partitions_32(const uint32_t *restrict keys, uint32_t count, uint32_t left, uint32_t right,
                          uint32_t *restrict partition_ids)
{
	for (uint32_t i = 0; i < count; i++)
		partition_ids[i] = mixed(keys[i]) << left >> right;
}

static void partitions_64(const uint64_t *restrict keys, uint32_t count, uint32_t left, uint32_t right,
                          uint32_t *restrict partition_ids)
{
	for (uint32_t i = 0; i < count; i++)
		partition_ids[i] = mixed((uint32_t)keys[i] + mixed((uint32_t)(keys[i] >> 32) ^ 0x68bc21ebu)) << left >> right;
}

/* Of a chunk in the order of partitions. */
static uint64_t column_in_chunk(const struct rql_host_store *store, uint32_t column)
{
	return store->column_at[column] / store->block_rows * store->chunk_rows;
}

static uint8_t *ordered_column(const struct rql_host_store *store, const struct scratch *s, uint32_t column)
{
	return s->ordered + column_in_chunk(store, column);
}

/* Each row's place in the order of partitions, in place of its partition. */
static void place_rows(const struct rql_host_store *store, const struct scratch *s, const void *keys, uint32_t count)
{
	const struct rql_host_store_spec *spec = &store->spec;
	const uint32_t partitions = 1u << spec->bits;
	if (!spec->bits)
		memset(s->place, 0, count * sizeof(*s->place));
	else if (spec->shape.key_bits == 32)
		partitions_32(keys, count, spec->used, 32 - spec->bits, s->place);
	else
		partitions_64(keys, count, spec->used, 32 - spec->bits, s->place);
	memset(s->starts, 0, (partitions + 1) * sizeof(*s->starts));
	for (uint32_t i = 0; i < count; i++)
		s->starts[s->place[i]]++;
	for (uint32_t p = 0, at = 0; p <= partitions; p++) {
		const uint32_t own = s->starts[p];
		s->starts[p] = at;
		at += own;
	}
	for (uint32_t i = 0; i < count; i++)
		s->place[i] = s->starts[s->place[i]]++;
	memmove(s->starts + 1, s->starts, partitions * sizeof(*s->starts)); /* the ends are the next ones' starts */
	s->starts[0] = 0;
}

static void order_column(const struct scratch *s, const void *from, uint32_t bytes, uint32_t count, void *ordered)
{
	if (bytes == 4) {
		const uint32_t *values = from;
		uint32_t *to = ordered;
		for (uint32_t i = 0; i < count; i++)
			to[s->place[i]] = values[i];
		return;
	}
	const uint64_t *values = from;
	uint64_t *to = ordered;
	for (uint32_t i = 0; i < count; i++)
		to[s->place[i]] = values[i];
}

/* Rows [first, end) of an ordered chunk. A block is full before the next one is there, so that it may go to the file. */
static rql_status append_run(struct rql_host_store *store, struct partition *p, const struct scratch *s, uint64_t first,
                             uint64_t end, struct rql_error *err)
{
	while (first < end) {
		const uint64_t in_block = p->rows % store->block_rows, left = store->block_rows - in_block;
		const uint64_t count = end - first < left ? end - first : left;
		if (p->rows == p->block_count * store->block_rows)
			RQL_TRY(add_block(store, p, err));
		uint8_t *block = p->blocks[p->block_count - 1].memory;
		for (uint32_t c = 0; c < store->column_count; c++) {
			const uint64_t bytes = store->column_bytes[c];
			memcpy(block + store->column_at[c] + in_block * bytes, ordered_column(store, s, c) + first * bytes,
			       count * bytes);
		}
		p->rows += count;
		first += count;
	}
	return RQL_OK;
}

static void keep_error(struct adding *a, rql_status status, const struct rql_error *err)
{
	pthread_mutex_lock(&a->lock);
	if (a->status == RQL_OK)
		a->status = rql_error_set(a->err, status, "%s", rql_error_message(err));
	pthread_mutex_unlock(&a->lock);
}

static rql_status append_chunk(struct rql_host_store *store, const struct scratch *s, uint64_t chunk,
                               struct rql_error *err)
{
	const uint64_t partitions = UINT64_C(1) << store->spec.bits;
	for (uint64_t i = 0; i < partitions; i++) {
		const uint64_t partition = (i + chunk * STAGGER) & (partitions - 1); /* workers begin at different partitions */
		struct partition *p = &store->partitions[partition];
		if (s->starts[partition] == s->starts[partition + 1])
			continue;
		pthread_mutex_lock(&p->lock);
		const rql_status status = append_run(store, p, s, s->starts[partition], s->starts[partition + 1], err);
		pthread_mutex_unlock(&p->lock);
		RQL_TRY(status);
	}
	return RQL_OK;
}

/* A chunk's rows as they lie in memory. */
static struct rql_host_rows rows_of_chunk(const struct adding *a, uint64_t index)
{
	const struct rql_host_store *store = a->store;
	const uint64_t first = index * store->chunk_rows, left = a->rows->count - first;
	struct rql_host_rows rows = {.count = left < store->chunk_rows ? left : store->chunk_rows};
	rows.keys = (uint8_t *)a->rows->keys + first * store->column_bytes[0];
	for (uint32_t c = 1; c < store->column_count; c++)
		rows.columns[c - 1] = (uint8_t *)a->rows->columns[c - 1] + first * store->column_bytes[c];
	return rows;
}

static rql_status take_chunk(const struct adding *a, struct scratch *s, uint64_t index, struct rql_host_rows *rows,
                             struct rql_error *err)
{
	const struct rql_host_store *store = a->store;
	const uint64_t first = a->first + index * store->chunk_rows, left = a->end - first;
	if (!s->taken && !(s->taken = malloc(store->chunk_rows * rql_host_row_bytes(&store->spec.shape))))
		return rql_error_memory(err, CHUNK_BYTES, "a chunk of a partition");
	rows->count = left < store->chunk_rows ? left : store->chunk_rows;
	rows->keys = s->taken;
	for (uint32_t c = 1; c < store->column_count; c++)
		rows->columns[c - 1] = s->taken + column_in_chunk(store, c);
	a->source->read(a->source->state, first, rows);
	return RQL_OK;
}

static void add_chunk(void *state, uint64_t index, unsigned worker)
{
	struct adding *a = state;
	struct rql_host_store *store = a->store;
	struct scratch *s = &store->scratch[worker];
	struct rql_host_rows rows = {0};
	struct rql_error err = {0};
	rql_status status = RQL_OK;
	if (a->source)
		status = take_chunk(a, s, index, &rows, &err);
	else
		rows = rows_of_chunk(a, index);
	if (status == RQL_OK && rows.count) {
		const uint32_t count = (uint32_t)rows.count;
		place_rows(store, s, rows.keys, count);
		for (uint32_t c = 0; c < store->column_count; c++)
			order_column(s, c ? rows.columns[c - 1] : rows.keys, store->column_bytes[c], count, ordered_column(store, s, c));
		status = append_chunk(store, s, index, &err);
	}
	if (status != RQL_OK)
		keep_error(a, status, &err);
	rql_error_clear(&err);
}

rql_status rql_host_store_add(struct rql_host_store *store, const struct rql_host_rows *rows, struct rql_error *err)
{
	struct adding a = {.store = store, .rows = rows, .status = RQL_OK, .err = err};
	pthread_mutex_init(&a.lock, NULL);
	rql_pool_each(store->spec.pool, rql_div_up(rows->count, store->chunk_rows), add_chunk, &a);
	pthread_mutex_destroy(&a.lock);
	return a.status;
}

rql_status rql_host_store_take(struct rql_host_store *store, const struct rql_host_source *source, uint64_t first,
                               uint64_t end, struct rql_error *err)
{
	struct adding a = {.store = store, .source = source, .first = first, .end = end, .status = RQL_OK, .err = err};
	pthread_mutex_init(&a.lock, NULL);
	rql_pool_each(store->spec.pool, rql_div_up(end - first, store->chunk_rows), add_chunk, &a);
	pthread_mutex_destroy(&a.lock);
	return a.status;
}

/* ---- reading ---- */

struct reading {
	const struct rql_host_store *store;
	const struct partition *partition;
	uint64_t first;
	const struct rql_host_rows *to;
	struct adding errors;
};

static rql_status read_column(const struct reading *r, const struct block *block, uint32_t column, uint64_t in_block,
                              uint64_t at, uint64_t count, struct rql_error *err)
{
	const struct rql_host_store *store = r->store;
	const uint64_t bytes = store->column_bytes[column], from = store->column_at[column] + in_block * bytes;
	uint8_t *to = (uint8_t *)(column ? r->to->columns[column - 1] : r->to->keys) + at * bytes;
	if (!block->memory)
		return rql_spill_read(atomic_load(&store->spec.memory->spill), block->at + from, to, count * bytes, err);
	memcpy(to, block->memory + from, count * bytes);
	return RQL_OK;
}

/* index: blocks after the one where the rows begin. */
static void read_block(void *state, uint64_t index, unsigned worker)
{
	struct reading *r = state;
	const uint64_t rows = r->store->block_rows, number = r->first / rows + index, end = r->first + r->to->count;
	const uint64_t first = index ? number * rows : r->first, last = (number + 1) * rows < end ? (number + 1) * rows : end;
	struct rql_error err = {0};
	(void)worker;
	for (uint32_t c = 0; c < r->store->column_count; c++) {
		const rql_status status = read_column(r, &r->partition->blocks[number], c, first % rows, first - r->first,
		                                      last - first, &err);
		if (status != RQL_OK) {
			keep_error(&r->errors, status, &err);
			break;
		}
	}
	rql_error_clear(&err);
}

rql_status rql_host_store_read(const struct rql_host_store *store, uint64_t partition, uint64_t first,
                               const struct rql_host_rows *rows, struct rql_error *err)
{
	const struct partition *p = &store->partitions[partition];
	struct reading r = {.store = store, .partition = p, .first = first, .to = rows, .errors = {.status = RQL_OK, .err = err}};
	if (!rows->count)
		return RQL_OK;
	if (first + rows->count > p->rows)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "rows %llu to %llu of a partition of %llu", (unsigned long long)first,
		                     (unsigned long long)(first + rows->count), (unsigned long long)p->rows);
	const uint64_t blocks = (first + rows->count - 1) / store->block_rows - first / store->block_rows + 1;
	pthread_mutex_init(&r.errors.lock, NULL);
	rql_pool_each(store->spec.pool, blocks, read_block, &r);
	pthread_mutex_destroy(&r.errors.lock);
	return r.errors.status;
}
