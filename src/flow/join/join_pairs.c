/* Joins whose pairs a method finds, from keys that lie in the host's memory as words (method/stage.h, rql_run_sides). What
 * else a join is stays here: rows without a partner, further conditions, marks.
 *
 * Only pairs come in, also of outer joins, and a bit is kept for each row that has one. So a method can cut both sides as
 * it likes: a row may find its partners in several places. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "flow/join/join_internal.h"
#include "flow/operator.h"

#define SHARE 3u /* of the memory that is left, one part in so many */
#define KEY_BYTES 8u  /* of a row of a partition, at most */
#define SPARE_BYTES (UINT64_C(64) << 20)

struct finding {
	struct joining *j;
	struct pairs *p;
	struct pair_room *room; /* further conditions */
	uint64_t *hit;          /* bitmap of the rows that look up; NULL: nobody asks */
};

bool rql_join_by_pairs(const struct joining *j)
{
	return j->r->pairs && j->keys.key_count && !j->keys.range.found && j->sides[0]->rows && j->sides[1]->rows;
}

/* ---- pairs as they come ---- */

static rql_status take(struct finding *f, uint32_t build, uint32_t probe, struct rql_error *err)
{
	struct joining *j = f->j;
	if (j->single && rql_bit(f->hit, probe))
		return rql_join_two_partners(err);
	if (f->hit)
		rql_bit_set(f->hit, probe);
	if (j->found)
		rql_join_mark_found(j, build);
	if (j->wants != WANT_PAIRS)
		return RQL_OK;
	if (f->p->count == f->p->room)
		RQL_TRY(rql_join_add_room(j, f->p, 1, err));
	f->p->build[f->p->count] = build;
	f->p->probe[f->p->count++] = probe;
	return RQL_OK;
}

/* Nothing but pairs is wanted. */
static rql_status take_all(struct finding *f, const uint32_t *build, const uint32_t *probe, uint64_t count,
                           struct rql_error *err)
{
	struct pairs *p = f->p;
	if (p->room - p->count < count)
		RQL_TRY(rql_join_add_room(f->j, p, count, err));
	RQL_TRY(rql_join_copy(f->j, p->build + p->count, build, count, err));
	RQL_TRY(rql_join_copy(f->j, p->probe + p->count, probe, count, err));
	p->count += count;
	return RQL_OK;
}

/* ---- candidates by hash ---- */

#define CHECKED_AT_ONCE 4096u /* a multiple of 64 */

struct rql_checked {
	uint64_t room;   /* of pairs */
	uint64_t *same;  /* bitmap */
	uint32_t *rows[2];
};

struct checking {
	const struct joining *j;
	const uint32_t *rows[2];
	uint64_t count, *same;
	_Atomic uint64_t wrong;
};

static void check_part(void *state, uint64_t index, unsigned worker)
{
	struct checking *c = state;
	const uint64_t first = index * CHECKED_AT_ONCE, left = c->count - first, n = left < CHECKED_AT_ONCE ? left : CHECKED_AT_ONCE;
	uint64_t wrong = n;
	(void)worker;
	memset(c->same + first / 64, 0, (n + 63) / 64 * sizeof(*c->same));
	for (uint64_t i = first; i < first + n; i++) {
		const bool same = rql_keys_same(&c->j->words, c->rows[0][i], c->rows[1][i]);
		rql_bit_or(c->same, i, same);
		wrong -= same;
	}
	if (wrong)
		atomic_fetch_add(&c->wrong, wrong);
}

static rql_status room_for_checked(struct joining *j, uint64_t count, struct rql_error *err)
{
	struct rql_checked *k = j->checked ? j->checked : (j->checked = calloc(1, sizeof(*k)));
	if (k && k->room < count) {
		free(k->same);
		free(k->rows[0]);
		free(k->rows[1]);
		*k = (struct rql_checked){.room = count,
		                          .same = malloc((count + 63) / 64 * sizeof(*k->same)),
		                          .rows = {malloc(count * sizeof(uint32_t)), malloc(count * sizeof(uint32_t))}};
	}
	return k && k->same && k->rows[0] && k->rows[1] ? RQL_OK : rql_error_memory(err, count * 9, "the rows of a join");
}

rql_status rql_join_pairs_check(struct joining *j, struct rql_found *found, struct rql_error *err)
{
	if (!j->by_hash || !found->count)
		return RQL_OK;
	RQL_TRY(room_for_checked(j, found->count, err));
	const struct rql_checked *k = j->checked;
	struct checking c = {.j = j, .rows = {found->columns[0][0], found->columns[1][0]}, .count = found->count, .same = k->same};
	rql_pool_each(j->r->flow->pool, (found->count + CHECKED_AT_ONCE - 1) / CHECKED_AT_ONCE, check_part, &c);
	if (!atomic_load(&c.wrong))
		return RQL_OK;
	found->count = 0;
	for (uint64_t i = 0; i < c.count; i++) {
		k->rows[0][found->count] = c.rows[0][i];
		k->rows[1][found->count] = c.rows[1][i];
		found->count += rql_bit(k->same, i);
	}
	found->columns[0][0] = k->rows[0];
	found->columns[1][0] = k->rows[1];
	return RQL_OK;
}

void rql_join_pairs_close(struct joining *j)
{
	struct rql_checked *k = j->checked;
	if (!k)
		return;
	free(k->same);
	free(k->rows[0]);
	free(k->rows[1]);
	free(k);
	j->checked = NULL;
}

static rql_status test(struct finding *f, const uint32_t *build, const uint32_t *probe, uint32_t count,
                       struct rql_error *err)
{
	uint64_t live[RQL_VECTOR_WORDS];
	f->room->count = count;
	memcpy(f->room->build, build, count * sizeof(*build));
	memcpy(f->room->probe, probe, count * sizeof(*probe));
	RQL_TRY(rql_join_test(f->j, f->room, 0, live, err));
	for (uint32_t i = 0; i < count; i++)
		if (rql_bit(live, i))
			RQL_TRY(take(f, build[i], probe[i], err));
	return RQL_OK;
}

static rql_status put_some(struct finding *f, const uint32_t *build, const uint32_t *probe, uint64_t count,
                           struct rql_error *err)
{
	RQL_TRY(rql_running_ask(f->j->r, err));
	for (uint64_t i = 0; !build && i < count; i++)
		rql_bit_set(f->hit, probe[i]);
	if (!build)
		return RQL_OK;
	if (f->room) {
		for (uint64_t at = 0, n; at < count; at += n) {
			n = count - at < RQL_VECTOR_ROWS ? count - at : RQL_VECTOR_ROWS;
			RQL_TRY(test(f, build + at, probe + at, (uint32_t)n, err));
		}
		return RQL_OK;
	}
	for (uint64_t i = 0; i < count; i++)
		RQL_TRY(take(f, build[i], probe[i], err));
	return RQL_OK;
}

static rql_status put(void *state, const struct rql_found *all, struct rql_error *err)
{
	struct finding *f = state;
	struct rql_found found = *all;
	RQL_TRY(rql_join_pairs_check(f->j, &found, err));
	const uint32_t *build = found.columns[0][0], *probe = found.columns[1][0];
	if (build && !f->room && !f->hit && !f->j->found)
		return take_all(f, build, probe, found.count, err);
	for (uint64_t at = 0, n; at < found.count; at += n) {
		n = found.count - at < RQL_PAIRS_AT_ONCE ? found.count - at : RQL_PAIRS_AT_ONCE;
		RQL_TRY(put_some(f, build ? build + at : NULL, probe + at, n, err));
	}
	return RQL_OK;
}

/* Rows that look up alone, as take_alone of join.c has them. */
static rql_status take_alone(struct finding *f)
{
	struct joining *j = f->j;
	const uint64_t rows = j->sides[!j->build]->rows;
	const bool wanted = j->wants == WANT_HITS;
	for (uint64_t i = 0; j->wants == WANT_MARK && i < rows; i++)
		j->hit[i] = rql_bit(f->hit, (uint32_t)i);
	if (!j->keep_probe && j->wants != WANT_HITS && j->wants != WANT_MISSES)
		return RQL_OK;
	for (uint64_t i = 0; i < rows; i++) {
		if (rql_bit(f->hit, (uint32_t)i) != wanted)
			continue;
		if (f->p->count == f->p->room)
			RQL_TRY(rql_join_add_room(j, f->p, 1, j->r->err));
		f->p->probe[f->p->count] = (uint32_t)i;
		if (f->p->build)
			f->p->build[f->p->count] = RQL_NO_ROW;
		f->p->count++;
	}
	return RQL_OK;
}

/* ---- the run ---- */

uint64_t rql_pairs_host_bytes(struct rql_budget *budget)
{
	const uint64_t limit = budget ? atomic_load(&budget->limit) : 0, used = limit ? atomic_load(&budget->used) : 0;
	const uint64_t share = limit > used ? (limit - used) / SHARE : 0;
	return !limit ? 0 : share ? share : 1;
}

uint64_t rql_pairs_room(uint64_t (*room)(void *state, struct rql_device *device), void *state,
                        const struct rql_sharers *on, struct rql_device **limited)
{
	uint64_t least = room ? UINT64_MAX : 0;
	*limited = on->device[0];
	for (uint32_t i = 0; i < on->count && room; i++) {
		const uint64_t bytes = room(state, on->device[i]);
		if (bytes >= least)
			continue;
		least = bytes;
		*limited = on->device[i];
	}
	return least;
}

rql_status rql_pairs_no_room(struct rql_running *r, struct rql_device *device)
{
	r->failed.full = device;
	return rql_error_set(r->err, RQL_ERROR_LIMIT, "rayql_device_memory_limit leaves nothing of device %s's memory", device->id);
}

/* As many as these sides need, where there are more. */
static uint64_t host_bytes(const struct joining *j, const struct rql_run_sides *sides)
{
	uint64_t bytes = 0;
	for (unsigned s = 0; s < 2; s++) {
		uint64_t row = KEY_BYTES;
		for (uint32_t c = 0; c < sides->side[s].column_count; c++)
			row += sides->side[s].columns[c].bits / 8;
		bytes += sides->side[s].rows * row;
	}
	const uint64_t share = rql_pairs_host_bytes(j->r->flow->budget);
	const uint64_t most = bytes * 2 + SPARE_BYTES;
	return share < most ? share : most;
}

/* Else the reason names the method whose rows are joined. */
static void say_whose(struct rql_error *err, rql_status status, const char *what, const struct rql_method *method,
                      const struct rql_device *device)
{
	char *why = strdup(rql_error_message(err));
	(void)rql_error_set(err, status, "%s by %s on %s: %s", what, method->name, device->id, why ? why : "");
	free(why);
}

rql_status rql_pairs_run(struct rql_running *r, struct rql_run how, const char *what, const char *phase)
{
	const struct rql_pairs_offer *offer = r->pairs;
	struct rql_port port = {0};
	how.arena = r->arena;
	how.flags = r->profile ? RQL_RUN_TIMED : 0;
	how.progress = r->flow->progress;
	if (how.progress)
		atomic_store(&how.progress->phase, phase);
	const rql_status status = offer->method->run(offer->prepared, offer->device, &how, &port, r->err);
	if (how.progress)
		atomic_store(&how.progress->phase, NULL);
	const struct rql_device *whose = status == RQL_ERROR_DEVICE ? port.failed : status == RQL_ERROR_LIMIT ? port.full : NULL;
	if (status == RQL_ERROR_DEVICE || status == RQL_ERROR_LIMIT || status == RQL_ERROR_MEMORY || status == RQL_ERROR_IO)
		say_whose(r->err, status, what, offer->method, whose ? whose : offer->device);
	if (status == RQL_ERROR_LIMIT)
		r->failed.full = port.full;
	/* Until the program ends, as after a loss: there is no structure to mark. Those whose work others did are marked. */
	if (status == RQL_ERROR_DEVICE)
		rql_device_leave(port.failed ? port.failed : offer->device, rql_error_message(r->err));
	r->stats.left.failed |= port.moved.left.failed;
	r->stats.left.full |= port.moved.left.full;
	r->moved = port.moved;
	rql_drawn_add(&r->stats.drawn, &port.drawn);
	r->stats.device_ns += port.device_ns;
	return status;
}

static rql_status find(struct joining *j, struct rql_run_sides *sides)
{
	return rql_pairs_run(j->r, (struct rql_run){.sides = sides}, "pairs", "joining rows of the host's memory on a device");
}

/* Partitions are charged to the budget as long as they are there. */
static rql_status find_within(struct joining *j, struct rql_run_sides *sides)
{
	const struct rql_flow *flow = j->r->flow;
	sides->host_bytes = host_bytes(j, sides);
	sides->budget = flow->budget;
	if (!sides->host_bytes)
		return find(j, sides);
	char *folder = flow->host ? rql_host_temporary_folder(flow->host, &sides->file_bytes) : NULL;
	sides->folder = folder;
	rql_status status = rql_budget_charge(flow->budget, sides->host_bytes, "partitions of a join", j->r->err);
	if (status == RQL_OK) {
		status = find(j, sides);
		rql_budget_release(flow->budget, sides->host_bytes);
	}
	free(folder);
	return status;
}

rql_status rql_join_pairs_find(struct joining *j, struct rql_run_sides *sides)
{
	const struct rql_flow *flow = j->r->flow;
	const struct rql_pairs_offer *offer = j->r->pairs;
	sides->bits = j->words.bits;
	for (unsigned s = 0; s < 2; s++) {
		sides->side[s].rows = j->words.sides[s].set->rows;
		sides->side[s].words = j->words.sides[s].words;
		sides->side[s].none = j->words.sides[s].none;
	}
	sides->device_bytes = rql_pairs_room(flow->device_room, flow->device_state, &offer->on, &sides->limited);
	return sides->device_bytes ? find_within(j, sides) : rql_pairs_no_room(j->r, sides->limited);
}

rql_status rql_join_pairs_run(struct joining *j)
{
	struct rql_running *r = j->r;
	const uint64_t words = (j->sides[!j->build]->rows + 63) / 64;
	struct finding f = {.j = j, .p = &j->morsels[0]};
	if (j->wants != WANT_PAIRS || j->keep_probe || j->single)
		RQL_TRY(RQL_ZEROED_SCRATCH(r, f.hit, words));
	if (j->rest) {
		RQL_TRY(rql_join_room_for(j, 0, r->err));
		f.room = j->rooms[0];
	}
	struct rql_run_sides sides = {.put = put, .state = &f};
	for (unsigned s = 0; s < 2; s++) {
		sides.side[s].column_count = 1;
		sides.side[s].columns[0].bits = 32;
	}
	sides.hits = j->wants != WANT_PAIRS && !j->rest && !j->by_hash;
	RQL_TRY(rql_join_pairs_find(j, &sides));
	return take_alone(&f);
}
