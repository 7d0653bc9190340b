/* The catalog: versions, the freshness protocol, the list of structures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "catalog/catalog.h"

static int setup(void **state)
{
	struct rql_catalog *c = NULL;
	if (rql_catalog_new(&c, NULL) != RQL_OK)
		return -1;
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	rql_catalog_free(*state);
	return 0;
}

static struct rql_structure *structure(const char *name, struct rql_catalog *c, const char *table)
{
	struct rql_structure *s = rql_structure_new();
	assert_non_null(s);
	assert_true(rql_structure_set_text(&s->database, "db") && rql_structure_set_text(&s->schema, "main") &&
	            rql_structure_set_text(&s->name, name));
	if (table) {
		s->tables = calloc(1, sizeof(struct rql_table *));
		s->versions = calloc(1, sizeof *s->versions);
		s->tables[0] = rql_catalog_table(c, "db", "main", table);
		s->versions[0] = rql_table_version(c, s->tables[0]);
		s->table_count = 1;
	}
	return s;
}

static void tables_are_interned(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_table *t = rql_catalog_table(c, "db", "main", "t");
	const char *database, *schema, *name;
	assert_non_null(t);
	assert_ptr_equal(t, rql_catalog_table(c, "db", "main", "t"));
	assert_ptr_not_equal(t, rql_catalog_table(c, "db", "other", "t"));
	assert_ptr_not_equal(t, rql_catalog_table(c, "db", "main", "T"));
	rql_table_name(t, &database, &schema, &name);
	assert_string_equal(database, "db");
	assert_string_equal(schema, "main");
	assert_string_equal(name, "t");
}

static void a_write_moves_before_and_after(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_table *t = rql_catalog_table(c, "db", "main", "t"), *u = rql_catalog_table(c, "db", "main", "u");
	struct rql_table *other = rql_catalog_table(c, "db", "s2", "T");
	struct rql_write_set set = {0};
	assert_true(rql_write_set_add(&set, "T"));
	uint64_t v = rql_table_version(c, t), stamp = rql_catalog_stamp(c);
	rql_catalog_write_begin(c, &set);
	uint64_t during = rql_table_version(c, t);
	assert_true(during > v);
	assert_true(rql_table_being_written(c, t));
	assert_true(rql_table_being_written(c, other)); /* any table so called is meant */
	assert_false(rql_table_being_written(c, u));
	rql_catalog_write_end(c, &set);
	assert_true(rql_table_version(c, t) > during);
	assert_false(rql_table_being_written(c, t));
	assert_true(rql_table_moved(c, t) > stamp);
	assert_int_equal(rql_table_moved(c, t), rql_catalog_stamp(c));
	assert_int_equal(rql_table_version(c, u), 0);
	rql_write_set_clear(&set);
}

static void everything_moves_every_table(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_table *t = rql_catalog_table(c, "db", "main", "t");
	struct rql_write_set set = {.everything = true};
	rql_catalog_write_begin(c, &set);
	assert_true(rql_table_being_written(c, t));
	/* A table that is met for the first time meanwhile is being written, too. */
	assert_true(rql_table_being_written(c, rql_catalog_table(c, "db", "main", "new")));
	rql_catalog_write_end(c, &set);
	assert_false(rql_table_being_written(c, t));
	assert_int_equal(rql_table_version(c, t), 2);
}

/* Appends move the version as all writes do, but leave what was there. */
static void appends_are_told_from_other_writes(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_table *t = rql_catalog_table(c, "db", "main", "t"), *u = rql_catalog_table(c, "db", "main", "u");
	struct rql_write_set set = {0}, all = {.everything = true};
	assert_true(rql_write_set_add(&set, "t"));
	uint64_t first = rql_table_version(c, t);
	assert_true(rql_table_only_grew(c, t, first));
	rql_catalog_write_begin_appending(c, &set);
	assert_false(rql_table_only_grew(c, t, first)); /* it may not be over */
	rql_catalog_write_end_appending(c, &set);
	uint64_t grown = rql_table_version(c, t);
	assert_true(grown > first);
	assert_true(rql_table_only_grew(c, t, first));
	/* A rewrite, and one beside an append. */
	rql_catalog_write_begin_appending(c, &set);
	rql_catalog_write_begin(c, &set);
	uint64_t during = rql_table_version(c, t);
	rql_catalog_write_end(c, &set);
	rql_catalog_write_end_appending(c, &set);
	assert_false(rql_table_being_written(c, t));
	assert_false(rql_table_only_grew(c, t, first));
	assert_false(rql_table_only_grew(c, t, grown));
	assert_false(rql_table_only_grew(c, t, during)); /* nor since the middle of it */
	uint64_t now = rql_table_version(c, t);
	assert_true(rql_table_only_grew(c, t, now));
	/* What may have touched anything has touched every table, also one that was not known yet. */
	rql_catalog_write_begin(c, &all);
	rql_catalog_write_end(c, &all);
	assert_false(rql_table_only_grew(c, t, now));
	assert_false(rql_table_only_grew(c, u, 0));
	struct rql_table *later = rql_catalog_table(c, "db", "main", "later");
	assert_false(rql_table_only_grew(c, later, 0));
	assert_true(rql_table_only_grew(c, later, rql_table_version(c, later)));
	/* A set that ran out of memory. */
	now = rql_table_version(c, t);
	rql_catalog_write_begin_appending(c, &all);
	rql_catalog_write_end_appending(c, &all);
	assert_false(rql_table_only_grew(c, t, now));
	rql_write_set_clear(&set);
}

/* What makes side files of earlier sessions usable: a table's version counts from the opening, asked for or not. */
static void writes_before_the_first_question_count(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_write_set set = {0};
	assert_true(rql_write_set_add(&set, "late"));
	rql_catalog_write_begin(c, &set);
	rql_catalog_write_end(c, &set);
	assert_int_equal(rql_table_version(c, rql_catalog_table(c, "db", "main", "Late")), 2);
	assert_int_equal(rql_table_version(c, rql_catalog_table(c, "db", "main", "never")), 0);
	rql_write_set_clear(&set);
}

static void write_sets_merge(void **state)
{
	struct rql_write_set a = {0}, b = {.everything = true};
	(void)state;
	assert_true(rql_write_set_add(&a, "x") && rql_write_set_add(&a, "X") && rql_write_set_add(&a, "y"));
	assert_int_equal(a.count, 2);
	assert_true(rql_write_set_add(&b, "z") && rql_write_set_add(&b, "y"));
	assert_false(a.everything);
	rql_write_set_merge(&a, &b);
	assert_true(a.everything);
	assert_int_equal(a.count, 3);
	rql_write_set_clear(&a);
	rql_write_set_clear(&b);
	assert_int_equal(a.count, 0);
}

static void publishing(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_structure *s = structure("v", c, "t");
	uint64_t epoch = rql_catalog_structure_epoch(c);
	s->refresh = RQL_REFRESH_AUTO;
	assert_int_equal(rql_catalog_publish(c, s, NULL), RQL_OK);
	assert_int_equal(rql_catalog_structure_count(c), 1);
	assert_true(rql_catalog_structure_epoch(c) > epoch);
	struct rql_structure *found = rql_catalog_find(c, NULL, NULL, "V");
	assert_ptr_equal(found, s);
	assert_null(rql_catalog_find(c, "db", "s2", "v"));
	struct rql_structure *next = rql_structure_clone(found);
	assert_int_equal(next->refresh, RQL_REFRESH_AUTO);
	assert_ptr_equal(next->tables[0], found->tables[0]);
	assert_int_equal(next->id, found->id);
	assert_int_equal(rql_catalog_publish(c, next, NULL), RQL_OK);
	assert_int_equal(rql_catalog_structure_count(c), 1);
	/* The old one is still whole in its reader's hands. */
	assert_string_equal(found->name, "v");
	/* Replacing what is no longer there changes nothing. */
	struct rql_structure *late = rql_structure_clone(found);
	assert_false(rql_catalog_replace(c, found, late));
	struct rql_structure *now = rql_catalog_find_id(c, found->id);
	assert_ptr_equal(now, next);
	assert_true(rql_catalog_replace(c, now, rql_structure_clone(now)));
	rql_structure_release(now);
	rql_structure_release(found);
}

static void what_was_removed_does_not_come_back(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_error err = {0};
	assert_int_equal(rql_catalog_publish(c, structure("a", c, NULL), NULL), RQL_OK);
	assert_int_equal(rql_catalog_publish(c, structure("b", c, NULL), NULL), RQL_OK);
	struct rql_structure *a = rql_catalog_find(c, NULL, NULL, "a"), *late = rql_structure_clone(a);
	rql_catalog_remove(c, a->id);
	assert_int_equal(rql_catalog_structure_count(c), 1);
	assert_int_equal(rql_catalog_publish(c, late, &err), RQL_ERROR_STALE);
	assert_non_null(strstr(rql_error_message(&err), "dropped"));
	rql_error_clear(&err);
	assert_null(rql_catalog_find_id(c, a->id));
	assert_int_equal(rql_catalog_publish(c, structure("c", c, NULL), NULL), RQL_OK);
	struct rql_structure *third = rql_catalog_find(c, NULL, NULL, "c");
	assert_int_not_equal(third->id, a->id); /* ids are never reused */
	rql_structure_release(third);
	rql_structure_release(a);
}

/* Relations are counted through the structure's own functions. */
static int relations;
static const struct rql_relation counted;
static void retain_counter(const struct rql_relation *relation)
{
	relations += relation == &counted;
}
static void release_counter(const struct rql_relation *relation)
{
	relations -= relation == &counted;
}

static void freshness(void **state)
{
	struct rql_catalog *c = *state;
	struct rql_structure *s = structure("v", c, "t");
	struct rql_write_set t = {0}, u = {0};
	assert_true(rql_write_set_add(&t, "t") && rql_write_set_add(&u, "u"));
	assert_false(rql_structure_fresh(c, s)); /* unbuilt */
	relations = 1;
	s->relation = &counted;
	s->retain_relation = retain_counter;
	s->release_relation = release_counter;
	s->state = RQL_STATE_READY;
	assert_true(rql_structure_fresh(c, s));
	rql_catalog_write_begin(c, &u);
	assert_true(rql_structure_fresh(c, s));
	rql_catalog_write_end(c, &u);
	assert_true(rql_structure_fresh(c, s));
	rql_catalog_write_begin(c, &t);
	assert_false(rql_structure_fresh(c, s));
	assert_ptr_equal(rql_structure_moved_table(c, s), s->tables[0]);
	/* Built in the middle of the write: the end moves the version again. */
	s->versions[0] = rql_table_version(c, s->tables[0]);
	assert_false(rql_structure_fresh(c, s));
	rql_catalog_write_end(c, &t);
	assert_false(rql_structure_fresh(c, s));
	s->versions[0] = rql_table_version(c, s->tables[0]);
	assert_true(rql_structure_fresh(c, s));
	struct rql_structure *copy = rql_structure_clone(s);
	assert_int_equal(relations, 2);
	rql_structure_release(copy);
	rql_structure_release(s);
	assert_int_equal(relations, 0);
	rql_write_set_clear(&t);
	rql_write_set_clear(&u);
}

/* A counter per table that a writer changes only between begin and end; a reader that finds the table fresh at an even version must
 * see the counter that belongs to it. */
#define ROUNDS 20000
struct shared {
	struct rql_catalog *c;
	struct rql_table *table;
	_Atomic uint64_t value;
	_Atomic bool done;
};

/* Copies take failures along; they go with the contents. */
static void failures(void **state)
{
	const struct rql_device *one = (const void *)&relations, *two = (const void *)&state; /* only compared */
	struct rql_structure *s = structure("v", *state, NULL);
	assert_null(rql_structure_failed_on(s, one));
	assert_true(rql_structure_mark_failed(s, one, "it smokes"));
	assert_true(rql_structure_mark_failed(s, two, "it is gone"));
	assert_true(rql_structure_mark_failed(s, one, "and now it is gone, too"));
	struct rql_structure *copy = rql_structure_clone(s);
	rql_structure_forget_failures(s);
	assert_null(rql_structure_failed_on(s, one));
	assert_int_equal(copy->failure_count, 2);
	assert_string_equal(rql_structure_failed_on(copy, one), "it smokes");
	assert_string_equal(rql_structure_failed_on(copy, two), "it is gone");
	rql_structure_clear(copy);
	assert_null(rql_structure_failed_on(copy, one));
	assert_int_equal(copy->failure_count, 0);
	rql_structure_release(copy);
	rql_structure_release(s);
}

static void *writer(void *arg)
{
	struct shared *s = arg;
	struct rql_write_set set = {0};
	(void)rql_write_set_add(&set, "t");
	for (uint64_t i = 0; i < ROUNDS; i++) {
		rql_catalog_write_begin(s->c, &set);
		atomic_store(&s->value, rql_table_version(s->c, s->table) + 1);
		rql_catalog_write_end(s->c, &set);
	}
	atomic_store(&s->done, true);
	rql_write_set_clear(&set);
	return NULL;
}

static void *publisher(void *arg)
{
	struct shared *s = arg;
	while (!atomic_load(&s->done)) {
		struct rql_structure *v = structure("v", s->c, "t");
		if (rql_catalog_publish(s->c, v, NULL) != RQL_OK)
			abort();
		v = rql_catalog_find(s->c, NULL, NULL, "v");
		if (v)
			rql_catalog_remove(s->c, v->id);
		rql_structure_release(v);
	}
	return NULL;
}

static void threads_see_the_protocol(void **state)
{
	struct shared s = {.c = *state, .table = rql_catalog_table(*state, "db", "main", "t")};
	pthread_t w, p;
	assert_int_equal(pthread_create(&w, NULL, writer, &s), 0);
	assert_int_equal(pthread_create(&p, NULL, publisher, &s), 0);
	uint64_t seen = 0, wrong = 0;
	while (!atomic_load(&s.done)) {
		uint64_t version = rql_table_version(s.c, s.table);
		if (rql_table_being_written(s.c, s.table))
			continue;
		uint64_t value = atomic_load(&s.value);
		/* Nothing moved around the reading: the value is that of the version. */
		if (!rql_table_being_written(s.c, s.table) && rql_table_version(s.c, s.table) == version && version) {
			wrong += value != version;
			seen++;
		}
	}
	pthread_join(w, NULL);
	pthread_join(p, NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(rql_table_version(s.c, s.table), 2 * ROUNDS);
	(void)seen;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tables_are_interned, setup, teardown),
		cmocka_unit_test_setup_teardown(a_write_moves_before_and_after, setup, teardown),
		cmocka_unit_test_setup_teardown(everything_moves_every_table, setup, teardown),
		cmocka_unit_test_setup_teardown(appends_are_told_from_other_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(writes_before_the_first_question_count, setup, teardown),
		cmocka_unit_test(write_sets_merge),
		cmocka_unit_test_setup_teardown(publishing, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_removed_does_not_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(freshness, setup, teardown),
		cmocka_unit_test_setup_teardown(failures, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_see_the_protocol, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
