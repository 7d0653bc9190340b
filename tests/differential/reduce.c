/* The reducer: takes away what the difference does not need, replaying the log in a fresh database each time. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS 60

struct reducing {
	struct dt_arena arena;
	struct dt_log log;
	struct dt_select *query;
	uint32_t threads;
	bool on_file;
	const char *setup;
	time_t until;
	bool errors;      /* the difference is about an error: it must stay so */
	char *difference; /* of the last failing replay */
};

static bool replay(struct reducing *r)
{
	struct dt_session s;
	char path[64] = "";
	bool differs = false;
	if (r->on_file) {
		snprintf(path, sizeof path, "/tmp/rayql_diff_reduce_XXXXXX");
		if (!mkdtemp(path))
			return false;
	}
	char file[96];
	snprintf(file, sizeof file, "%s/d.db", path);
	if (dt_session_open(&s, r->on_file ? file : NULL, r->threads, r->setup)) {
		for (uint32_t i = 0; i < r->log.count; i++) {
			char *error = NULL;
			if (!r->log.entries[i].dropped)
				dt_session_replay(&s, &r->log.entries[i], &error);
			free(error);
		}
		char method[32], reason[256];
		char *difference = dt_session_check(&s, r->query, false, method, reason, sizeof reason);
		if (difference && (strncmp(difference, "RayQL: ", 7) == 0) != r->errors) {
			free(difference); /* another one */
		} else if (difference) {
			free(r->difference);
			r->difference = difference;
			differs = true;
		}
		dt_session_close(&s);
	}
	if (r->on_file)
		dt_remove_tree(path);
	return differs;
}

static bool in_time(const struct reducing *r)
{
	return time(NULL) < r->until;
}

/* Drops runs of entries, the runs getting shorter. */
static void reduce_log(struct reducing *r)
{
	for (uint32_t size = r->log.count; size > 0; size /= 2) {
		for (uint32_t end = r->log.count; end > 0 && in_time(r); end -= size < end ? size : end) {
			uint32_t first = end > size ? end - size : 0, changed = 0;
			bool before[4096];
			if (end - first > 4096)
				continue;
			for (uint32_t i = first; i < end; i++) {
				before[i - first] = r->log.entries[i].dropped;
				changed += !r->log.entries[i].dropped;
				r->log.entries[i].dropped = true;
			}
			if (changed && replay(r))
				continue;
			for (uint32_t i = first; i < end; i++)
				r->log.entries[i].dropped = before[i - first];
		}
	}
}

static bool drop_bits(struct reducing *r, uint32_t *mask, uint32_t count)
{
	bool any = false;
	for (uint32_t i = 0; i < count && in_time(r); i++) {
		if (*mask >> i & 1)
			continue;
		*mask |= 1u << i;
		if (replay(r))
			any = true;
		else
			*mask &= ~(1u << i);
	}
	return any;
}

static bool reduce_predicate(struct reducing *r, struct dt_pred **p)
{
	bool any = false;
	while ((*p)->kind != DT_ATOM && in_time(r)) {
		struct dt_pred *whole = *p;
		*p = whole->a;
		if (replay(r)) {
			any = true;
			continue;
		}
		*p = whole->b;
		if (whole->b && replay(r)) {
			any = true;
			continue;
		}
		*p = whole;
		any |= reduce_predicate(r, &whole->a);
		if (whole->b)
			any |= reduce_predicate(r, &whole->b);
		break;
	}
	return any;
}

static bool try_flag(struct reducing *r, bool *field, bool value)
{
	bool before = *field;
	if (before == value)
		return false;
	*field = value;
	if (replay(r))
		return true;
	*field = before;
	return false;
}

static bool reduce_limit(struct reducing *r, struct dt_select *q)
{
	int64_t limit = q->limit, offset = q->offset;
	if (limit < 0 && offset < 0)
		return false;
	q->offset = -1;
	if (offset >= 0 && replay(r))
		return true;
	q->offset = offset;
	q->limit = q->offset = -1;
	if (replay(r))
		return true;
	q->limit = limit;
	q->offset = offset;
	return false;
}

static bool reduce_form(struct reducing *r, struct dt_select *q)
{
	struct dt_select before = *q;
	q->wrap = DT_PLAIN;
	bool any = before.wrap != DT_PLAIN && replay(r);
	if (!any)
		q->wrap = before.wrap;
	q->style = 0;
	if (before.style != 0 && !replay(r))
		q->style = before.style;
	q->group_style = DT_GROUP_EXPRESSIONS;
	if (before.group_style != DT_GROUP_EXPRESSIONS && !replay(r))
		q->group_style = before.group_style;
	return any;
}

static bool reduce_select(struct reducing *r, struct dt_select *q)
{
	bool any = reduce_form(r, q);
	any |= reduce_limit(r, q);
	any |= drop_bits(r, &q->dropped_order, q->order_count);
	any |= drop_bits(r, &q->dropped_having, q->having_count);
	any |= drop_bits(r, &q->dropped_where, q->where_count);
	for (uint32_t i = 0; i < q->where_count; i++)
		if (!(q->dropped_where >> i & 1))
			any |= reduce_predicate(r, &q->where[i]);
	any |= drop_bits(r, &q->dropped_aggs, q->agg_count);
	any |= drop_bits(r, &q->dropped_keys, q->key_count);
	any |= try_flag(r, &q->aggregates_first, false);
	return any;
}

static void reduce_rows(struct reducing *r, struct dt_entry *e)
{
	for (int64_t step = (e->high - e->low) / 2; step > 0 && in_time(r);) {
		int64_t low = e->low, high = e->high;
		if (step > high - low - 1)
			step = high - low - 1;
		if (step <= 0)
			break;
		e->high = high - step;
		if (replay(r))
			continue;
		e->high = high;
		e->low = low + step;
		if (replay(r))
			continue;
		e->low = low;
		step /= 2;
	}
}

static struct dt_pred *copy_predicate(struct dt_arena *arena, const struct dt_pred *p)
{
	struct dt_pred *copy = dt_alloc(arena, sizeof *copy);
	*copy = *p;
	if (p->a)
		copy->a = copy_predicate(arena, p->a);
	if (p->b)
		copy->b = copy_predicate(arena, p->b);
	return copy;
}

static struct dt_select copy_select(struct dt_arena *arena, const struct dt_select *s)
{
	struct dt_select copy = *s;
	for (uint32_t i = 0; i < s->where_count; i++)
		copy.where[i] = copy_predicate(arena, s->where[i]);
	return copy;
}

static void copy_log(struct reducing *r, const struct dt_log *log)
{
	r->log.count = log->count;
	r->log.entries = dt_alloc(&r->arena, (log->count + 1) * sizeof *r->log.entries);
	for (uint32_t i = 0; i < log->count; i++) {
		struct dt_entry *e = &r->log.entries[i];
		*e = log->entries[i];
		if (e->kind == DT_VIEW) {
			struct dt_view *v = dt_alloc(&r->arena, sizeof *v);
			*v = *e->view;
			v->select = copy_select(&r->arena, &e->view->select);
			e->view = v;
		}
	}
}

static void drop_queries(struct dt_log *log, bool drop)
{
	for (uint32_t i = 0; i < log->count; i++)
		if (log->entries[i].kind == DT_QUERY)
			log->entries[i].dropped = drop;
}

static void reduce_all(struct reducing *r)
{
	reduce_log(r);
	for (unsigned round = 0; round < 3 && in_time(r); round++) {
		bool any = reduce_select(r, r->query);
		for (uint32_t i = 0; i < r->log.count; i++)
			if (!r->log.entries[i].dropped && r->log.entries[i].kind == DT_VIEW)
				any |= reduce_select(r, &r->log.entries[i].view->select);
		if (!any)
			break;
	}
	for (uint32_t i = 0; i < r->log.count; i++)
		if (!r->log.entries[i].dropped && r->log.entries[i].kind == DT_ROWS)
			reduce_rows(r, &r->log.entries[i]);
	reduce_log(r);
}

void dt_reduce(const struct dt_options *options, uint64_t world, const struct dt_log *log,
               const struct dt_select *query, const char *difference, uint32_t threads, bool on_file)
{
	struct reducing r = {.threads = threads, .on_file = on_file, .until = time(NULL) + SECONDS};
	struct dt_select copy = copy_select(&r.arena, query);
	struct dt_text out = {0};
	r.query = &copy;
	r.setup = options->setup;
	r.errors = strncmp(difference, "RayQL: ", 7) == 0;
	copy_log(&r, log);
	drop_queries(&r.log, true);
	bool again = !options->no_reduce && replay(&r);
	if (!again && !options->no_reduce) { /* what ran before may matter: cached plans, rebuilt structures */
		drop_queries(&r.log, false);
		again = replay(&r);
	}
	if (again)
		reduce_all(&r);
	char *sql = dt_select_print(r.query, true);
	dt_put(&out, "\n==== the answers differ: --seed %llu --world %llu, threads %u ====\n-- %s:\n%s\n",
	       (unsigned long long)options->seed, (unsigned long long)world, threads,
	       again ? "reduced" : "NOT reproduced from its log alone; the whole log",
	       on_file ? "-- in a database file" : "-- in memory");
	dt_put(&out, "SET rayql_force = on;\n%s%s", options->setup ? options->setup : "", options->setup ? ";\n" : "");
	for (uint32_t i = 0; i < r.log.count; i++) {
		if (r.log.entries[i].dropped)
			continue;
		char *text = dt_entry_print(&r.log.entries[i]);
		dt_put(&out, "%s\n", text);
		free(text);
	}
	dt_put(&out, "%s;\n-- and the host: SET rayql_enable_cube = off;\n", sql);
	dt_put(&out, "-- difference:\n%s", r.difference ? r.difference : difference);
	if (again)
		dt_put(&out, "-- as it was found:\n%s", difference);
	dt_put(&out, "====\n");
	fwrite(out.data, 1, out.length, stdout);
	fflush(stdout);
	free(sql);
	free(r.difference);
	dt_text_free(&out);
	dt_arena_clear(&r.arena);
}
