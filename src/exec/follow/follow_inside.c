/* DELETE and UPDATE inside a transaction of the user's: which rows of a table its statements have changed, noted
 * until the COMMIT and given to the catalog there. Before it nobody else sees the changes, and after a ROLLBACK there
 * are none.
 *
 * A table is followed as long as every statement that changes its rows says which. What is asked runs in the user's own
 * transaction. If it fails, the statement would have failed as well, and its error is given: a condition of one table is
 * the statement's own, and with other tables nothing in it can fail (follow_plan.c). */
#include "exec/follow/follow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct rql_followed_table {
	struct rql_followed_table *next;
	char *name;
	bool lost;     /* nobody knows its rows any more */
	struct rql_row_changes changes;
};

/* ---- tables ---- */
static struct rql_followed_table *table_of(const struct rql_transaction *txn, const char *name)
{
	struct rql_followed_table *t = txn->followed;
	while (t && strcasecmp(t->name, name) != 0)
		t = t->next;
	return t;
}

static void lose(struct rql_followed_table *t)
{
	const struct rql_table *table = t->changes.table;
	rql_row_changes_clear(&t->changes);
	t->changes.table = table;
	t->lost = true;
}

/* What a statement without known rows writes is lost, also when nothing was known of it before. */
static void lose_all(struct rql_transaction *txn, const struct rql_effects *effects)
{
	for (struct rql_followed_table *t = txn->followed; t; t = t->next) {
		bool written = effects->schema || effects->set.everything;
		for (uint32_t i = 0; i < effects->set.count; i++)
			written = written || strcasecmp(effects->set.names[i], t->name) == 0;
		if (written)
			lose(t);
	}
}

static bool is_in(const struct rql_write_set *set, const char *name)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (strcasecmp(set->names[i], name) == 0)
			return true;
	return set->everything;
}

/* The table of a statement that can be followed, noted when it is new. `written`: earlier statements have changed it,
 * of which nothing was noted. NULL: it is lost, or out of memory. */
static struct rql_followed_table *note_table(struct rql_transaction *txn, const char *name, bool written)
{
	struct rql_followed_table *t = table_of(txn, name);
	if (t || written)
		return t && !t->lost ? t : NULL;
	t = calloc(1, sizeof *t);
	if (t)
		t->name = strdup(name);
	if (!t || !t->name) {
		free(t);
		return NULL;
	}
	t->next = txn->followed;
	txn->followed = t;
	return t;
}

void rql_follow_forget(struct rql_transaction *txn)
{
	while (txn->followed) {
		struct rql_followed_table *next = txn->followed->next;
		rql_row_changes_clear(&txn->followed->changes);
		free(txn->followed->name);
		free(txn->followed);
		txn->followed = next;
	}
}

/* ---- statements ---- */
static void keep(struct rql_followed_table *t, struct rql_follow *f)
{
	struct rql_row_changes *all = &t->changes;
	const bool another = all->table && all->table != f->changes.table; /* of the same name */
	all->table = f->changes.table;
	if (another || !rql_row_changes_add(all, &f->changes) || all->gone_count + all->renewed_count > RQL_FOLLOW_ROWS_MOST)
		lose(t);
}

/* The statement would have failed as well. What the host shows of the query's text is not the user's: left out. */
static rql_status find_rows(struct rql_follow *f, struct rql_host_con *con, struct rql_error *err)
{
	rql_status status = rql_follow_find(f, con, err);
	char *shown = status != RQL_OK && err && err->message ? strstr(err->message, "\n\nLINE ") : NULL;
	if (shown)
		*shown = 0;
	return status;
}

static rql_status run_known(const struct rql_call *call, struct rql_host_stmt *stmt, struct rql_followed_table *t,
                            struct rql_follow *f, rql_follow_run *run, struct rql_error *err)
{
	struct rql_host_con *con = call->s->host;
	RQL_TRY(find_rows(f, con, err));
	RQL_TRY(run(call, stmt, err));
	if (!rql_follow_found(f)) {
		lose(t);
		return RQL_OK;
	}
	RQL_TRY(rql_follow_settle(f, con, err));
	keep(t, f);
	return RQL_OK;
}

rql_status rql_follow_inside(const struct rql_call *call, struct rql_host_stmt *stmt, const struct rql_effects *effects,
                             rql_follow_run *run, struct rql_error *err)
{
	struct rql_session *s = call->s;
	struct rql_transaction *txn = &s->txn;
	struct rql_followed_table *t = NULL;
	const char *name = effects->set.count == 1 ? effects->set.names[0] : NULL;
	const bool may = name && !txn->failed && !txn->schema && !(table_of(txn, name) && table_of(txn, name)->lost);
	const bool written = name && is_in(&txn->set, name);
	struct rql_follow *f = may && !effects->schema ? rql_follow_new(call, effects) : NULL;
	if (f)
		t = note_table(txn, name, written);
	/* Noted before it runs: also a failed write may have changed what this transaction sees. */
	rql_write_set_merge(&txn->set, &effects->set);
	rql_write_set_merge(&txn->appends, &effects->appends);
	txn->wrote = txn->wrote || effects->set.everything || effects->set.count || effects->appends.count || effects->schema;
	txn->schema = txn->schema || effects->schema;
	if (!t)
		lose_all(txn, effects);
	rql_status status = t ? run_known(call, stmt, t, f, run, err) : run(call, stmt, err);
	if (status != RQL_OK && t)
		lose(t);
	rql_follow_free(f);
	return status;
}

/* ---- the end ---- */
static bool is_known(const struct rql_transaction *txn, const char *name)
{
	const struct rql_followed_table *t = table_of(txn, name);
	return t && !t->lost && !txn->schema && !txn->set.everything && is_in(&txn->set, name);
}

void rql_follow_begin_commit(struct rql_session *s, struct rql_write_set *rest)
{
	const struct rql_transaction *txn = &s->txn;
	rest->everything = txn->set.everything;
	for (uint32_t i = 0; i < txn->set.count; i++) {
		char *name = txn->set.names[i];
		if (is_known(txn, name))
			rql_catalog_write_begin_known(s->db->catalog, &(struct rql_write_set){.count = 1, .names = &name});
		else
			(void)rql_write_set_add(rest, name); /* a failure sets `everything` */
	}
}

void rql_follow_end_commit(struct rql_session *s, bool committed)
{
	const struct rql_transaction *txn = &s->txn;
	for (uint32_t i = 0; i < txn->set.count; i++) {
		char *name = txn->set.names[i];
		if (is_known(txn, name))
			rql_catalog_write_end_known(s->db->catalog, &(struct rql_write_set){.count = 1, .names = &name},
			                            committed ? &table_of(txn, name)->changes : NULL);
	}
}
