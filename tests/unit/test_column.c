/* src/column alone. Literals and order are checked against DuckDB in test_host_batch.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "column/batch.h"
#include "column/value/type.h"
#include "column/value/value.h"
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"red", "it's"};
static const struct rql_type_info colour_info = {"ENUM('red', 'it''s')", 2, colours};
static const struct rql_type colour = {.id = RQL_TYPE_ENUM, .info = &colour_info};

static struct rql_type decimal(uint8_t width, uint8_t scale)
{
	return (struct rql_type){.id = RQL_TYPE_DECIMAL, .width = width, .scale = scale};
}

static void test_bytes(void **state)
{
	(void)state;
	static const struct {
		uint8_t width, bytes;
	} widths[] = {{1, 2}, {4, 2}, {5, 4}, {9, 4}, {10, 8}, {18, 8}, {19, 16}, {38, 16}};
	for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
		assert_int_equal(rql_type_bytes(decimal(widths[i].width, 0)), widths[i].bytes);
	static const struct {
		uint32_t members, bytes;
	} sizes[] = {{0, 1}, {255, 1}, {256, 2}, {65535, 2}, {65536, 4}};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct rql_type_info info = {.text = "", .name_count = sizes[i].members};
		assert_int_equal(rql_type_bytes((struct rql_type){.id = RQL_TYPE_ENUM, .info = &info}), sizes[i].bytes);
	}
	assert_int_equal(rql_type_bytes(rql_type_simple(RQL_TYPE_OTHER)), 0);
	assert_int_equal(rql_type_bytes(rql_type_simple(RQL_TYPE_UUID)), 16);
}

static void test_kinds(void **state)
{
	(void)state;
	for (int id = 0; id < RQL_TYPE_COUNT; id++) {
		struct rql_type type = id == RQL_TYPE_ENUM ? colour : rql_type_simple((rql_type_id)id);
		bool real = id == RQL_TYPE_FLOAT || id == RQL_TYPE_DOUBLE;
		assert_false(rql_type_is_integer(type) && !rql_type_is_integral(type));
		assert_false(rql_type_is_integral(type) && (real || rql_type_bytes(type) == 0));
		assert_false(rql_type_is_signed(type) && !rql_type_is_integral(type));
	}
	assert_true(rql_type_is_signed(decimal(5, 2)));
	assert_false(rql_type_is_signed(rql_type_simple(RQL_TYPE_UHUGEINT)));
	assert_false(rql_type_is_signed(colour));
	assert_false(rql_type_is_integral(rql_type_simple(RQL_TYPE_UUID)));
	assert_false(rql_type_is_integer(rql_type_simple(RQL_TYPE_BOOLEAN)));
}

static void test_types(void **state)
{
	(void)state;
	struct rql_arena *arena = rql_arena_new();
	struct rql_type copy = rql_type_copy(arena, colour);
	assert_true(rql_type_equal(copy, colour));
	assert_ptr_not_equal(copy.info->names[1], colours[1]);
	static const char *const others[] = {"red", "green"};
	struct rql_type_info info = {"ENUM('red', 'green')", 2, others};
	assert_false(rql_type_equal(colour, (struct rql_type){.id = RQL_TYPE_ENUM, .info = &info}));
	assert_false(rql_type_equal(decimal(5, 2), decimal(5, 1)));
	assert_true(rql_type_equal(decimal(5, 2), decimal(5, 2)));
	struct rql_strbuf text = {0};
	rql_type_print(&text, copy);
	rql_type_print(&text, decimal(12, 2));
	rql_type_print(&text, rql_type_simple(RQL_TYPE_TIMESTAMP_TZ));
	assert_string_equal(rql_strbuf_text(&text), "ENUM('red', 'it''s')DECIMAL(12,2)TIMESTAMP WITH TIME ZONE");
	rql_strbuf_free(&text);
	rql_arena_free(arena);
}

/* Every integral type at the ends of its range goes into a column and comes out again. */
static void test_integrals(void **state)
{
	(void)state;
	for (int id = RQL_TYPE_TINYINT; id <= RQL_TYPE_UHUGEINT; id++) {
		struct rql_type type = rql_type_simple((rql_type_id)id);
		unsigned bits = rql_type_bytes(type) * 8;
		bool is_signed = rql_type_is_signed(type);
		rql_uint128 top = (rql_uint128)1 << (bits - 1);
		struct rql_value low = {.type = type}, high = {.type = type};
		low.integer = is_signed ? -(rql_int128)(top - 1) - 1 : 0;
		high.integer = (rql_int128)(is_signed ? top - 1 : top - 1 + top);
		struct rql_batch *batch = rql_batch_new(1, &type, 3);
		assert_non_null(batch);
		rql_column_put(&batch->columns[0], 0, &low);
		rql_column_put(&batch->columns[0], 2, &high);
		struct rql_value a = rql_column_get(&batch->columns[0], 0), b = rql_column_get(&batch->columns[0], 2);
		assert_true(a.integer == low.integer);
		assert_true(b.integer == high.integer);
		assert_int_equal(rql_value_compare(&a, &b), -1);
		assert_int_equal(rql_column_compare(&batch->columns[0], 2, &batch->columns[0], 0), 1);
		assert_true(rql_column_get(&batch->columns[0], 1).integer == 0);
		rql_batch_release(batch);
	}
}

static void test_batch(void **state)
{
	(void)state;
	const struct rql_type types[] = {rql_type_simple(RQL_TYPE_VARCHAR), colour, rql_type_simple(RQL_TYPE_OTHER)};
	struct rql_batch *batch = rql_batch_new(3, types, 100);
	assert_non_null(batch);
	char text[] = "thirteen char";
	assert_true(rql_batch_set_string(batch, 0, 99, text, 13));
	assert_true(rql_batch_set_string(batch, 0, 0, "twelve chars", 12));
	memset(text, 'x', 13); /* the batch has its own bytes */
	assert_null(batch->columns[0].validity);
	assert_true(rql_batch_set_null(batch, 0, 64));
	for (uint64_t r = 0; r < 100; r++)
		assert_int_equal(rql_column_valid(&batch->columns[0], r), r != 64);
	struct rql_value value = rql_column_get(&batch->columns[0], 99);
	assert_int_equal(value.string.length, 13);
	assert_memory_equal(value.string.data, "thirteen char", 13);
	value = rql_column_get(&batch->columns[0], 0);
	assert_memory_equal(value.string.data, "twelve chars", 12);
	assert_true(rql_column_get(&batch->columns[0], 64).is_null);
	assert_null(batch->columns[2].data);
	((uint8_t *)batch->columns[1].data)[5] = 1;
	value = rql_column_get(&batch->columns[1], 5);
	struct rql_strbuf literal = {0};
	assert_true(rql_value_print(&literal, &value));
	assert_string_equal(rql_strbuf_text(&literal), "CAST('it''s' AS ENUM('red', 'it''s'))");
	rql_strbuf_free(&literal);
	value = rql_column_get(&batch->columns[2], 0);
	assert_false(rql_value_print(&literal, &value));
	rql_batch_release(batch);
	batch = rql_batch_new(0, NULL, 0);
	assert_non_null(batch);
	rql_batch_release(batch);
}

static void test_copy(void **state)
{
	(void)state;
	struct rql_arena *arena = rql_arena_new();
	char text[] = "a string that is long";
	struct rql_value value = {.type = rql_type_simple(RQL_TYPE_VARCHAR)};
	value.string.data = text;
	value.string.length = strlen(text);
	struct rql_value copy = rql_value_copy(arena, &value);
	text[0] = 'x';
	assert_memory_equal(copy.string.data, "a string that is long", copy.string.length);
	assert_int_equal(rql_value_compare(&value, &copy), 1);
	rql_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),     cmocka_unit_test(test_kinds), cmocka_unit_test(test_types),
		cmocka_unit_test(test_integrals), cmocka_unit_test(test_batch), cmocka_unit_test(test_copy),
	};
	return cmocka_run_group_tests_name("column", tests, NULL, NULL);
}
