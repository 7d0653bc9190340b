/* The fields of DuckDB's serialised plans and what each is to RayQL. A plan may say more than its readers look at; so
 * every object of one is held against the tables here, and a field that is not in them, that is refused, or that is not
 * of its form makes the operator or expression OPAQUE. The fields stand in the order in which DuckDB writes them. */
#include <stdio.h>
#include <string.h>
#include "sql/rel/rel_internal.h"

enum form {
	TEXT,
	FLAG,
	COUNT,   /* 0 or more */
	INTEGER, /* of either sign */
	NUMBER,
	PART,    /* an object that belongs to this one: of the field's shape */
	NODE,    /* an operator or expression: held against its own table when it is read itself */
	CONTENT, /* of a constant: a scalar, which its reader checks, or an object of the field's shape */
	EMPTY,   /* a list of nothing */
	ANY,
	ELEMENT = 15,
	LISTED = 16,
};
#define LIST(form) ((form) + LISTED)
#define LISTS(form) ((form) + 2 * LISTED)

enum use {
	MUST,     /* read, and always written */
	MAY,      /* read, and left out where it has DuckDB's default */
	HARMLESS, /* says nothing about which rows come out; the comment says why */
	REFUSED,  /* changes the rows in a way that RayQL does not follow */
};

struct shape;

struct field {
	const char *name;
	int form;
	enum use use;
	const struct shape *shape; /* of a PART */
	const char *only;          /* the values that are followed, as "A|B"; NULL: its reader tells them apart, or all are */
};

/* An object. With a tag the field of that name says which of the kinds it is. */
struct shape {
	const char *name;
	const struct field *fields;
	size_t count;
	const char *tag;
	const struct shape *kinds;
};
#define FIELD(n, f, u) {.name = (n), .form = (f), .use = (u)}
#define OF(n, f, u, s) {.name = (n), .form = (f), .use = (u), .shape = (s)}
#define ONLY(n, f, u, values) {.name = (n), .form = (f), .use = (u), .only = (values)}
#define FIELDS(list) .fields = (list), .count = sizeof(list) / sizeof(*(list))
#define KINDS(field, list) .tag = (field), .kinds = (list), .count = sizeof(list) / sizeof(*(list))

/* ---- types ---- */
static const struct shape type;

/* With extension_info a type is the host's. */
#define TYPE_INFO FIELD("type", TEXT, MUST), FIELD("alias", TEXT, MAY), FIELD("extension_info", ANY, HARMLESS)

static const struct field decimal_info[] = {TYPE_INFO, FIELD("width", COUNT, MAY), FIELD("scale", COUNT, MAY)};
static const struct field string_info[] = {TYPE_INFO, FIELD("collation", TEXT, MAY)};
static const struct field list_info[] = {TYPE_INFO, OF("child_type", PART, MUST, &type)};
static const struct field array_info[] = {TYPE_INFO, OF("child_type", PART, MUST, &type), FIELD("size", COUNT, MAY)};
static const struct field enum_info[] = {
	TYPE_INFO,
	FIELD("values_count", COUNT, MUST),
	FIELD("values", LIST(TEXT), MUST),
};
static const struct field plain_info[] = {TYPE_INFO};

static const struct field struct_member[] = {FIELD("first", TEXT, MUST), OF("second", PART, MUST, &type)};
static const struct shape struct_member_shape = {FIELDS(struct_member)};
static const struct field struct_info[] = {TYPE_INFO, OF("child_types", LIST(PART), MAY, &struct_member_shape)};

/* Those of types that are the host's whatever they say, and of a function's parameters. */
static const struct field aggregate_state_info[] = {
	TYPE_INFO,
	FIELD("function_name", TEXT, HARMLESS),
	OF("return_type", PART, HARMLESS, &type),
	OF("bound_argument_types", LIST(PART), HARMLESS, &type),
};
static const struct field any_info[] = {
	TYPE_INFO,
	OF("target_type", PART, HARMLESS, &type),
	FIELD("cast_score", COUNT, HARMLESS),
};
static const struct field literal_info[] = {TYPE_INFO, FIELD("constant_value", ANY, HARMLESS)};
static const struct field template_info[] = {TYPE_INFO, FIELD("name", TEXT, HARMLESS)};
static const struct field geometry_info[] = {TYPE_INFO, FIELD("crs", ANY, HARMLESS)};

static const struct shape type_infos[] = {
	{"DECIMAL_TYPE_INFO", FIELDS(decimal_info)},
	{"ENUM_TYPE_INFO", FIELDS(enum_info)},
	{"STRING_TYPE_INFO", FIELDS(string_info)},
	{"LIST_TYPE_INFO", FIELDS(list_info)},
	{"STRUCT_TYPE_INFO", FIELDS(struct_info)},
	{"ARRAY_TYPE_INFO", FIELDS(array_info)},
	{"GENERIC_TYPE_INFO", FIELDS(plain_info)},
	{"AGGREGATE_STATE_TYPE_INFO", FIELDS(aggregate_state_info)},
	{"ANY_TYPE_INFO", FIELDS(any_info)},
	{"INTEGER_LITERAL_TYPE_INFO", FIELDS(literal_info)},
	{"TEMPLATE_TYPE_INFO", FIELDS(template_info)},
	{"GEO_TYPE_INFO", FIELDS(geometry_info)},
};
static const struct shape type_info = {KINDS("type", type_infos)};
static const struct field type_fields[] = {FIELD("id", TEXT, MUST), OF("type_info", PART, MAY, &type_info)};
static const struct shape type = {FIELDS(type_fields)};

/* ---- constants ---- */
static const struct field content_fields[] = {
	/* of 128 bits */
	FIELD("upper", INTEGER, MAY),
	FIELD("lower", COUNT, MAY),
	/* of an INTERVAL */
	FIELD("months", INTEGER, MAY),
	FIELD("days", INTEGER, MAY),
	FIELD("micros", INTEGER, MAY),
	/* of a nested value, which is no constant to RayQL */
	FIELD("children", LIST(ANY), HARMLESS),
};
static const struct shape content = {FIELDS(content_fields)};
static const struct field value_fields[] = {
	OF("type", PART, MUST, &type),
	FIELD("is_null", FLAG, MUST),
	OF("value", CONTENT, MAY, &content),
};
static const struct shape value = {FIELDS(value_fields)};

/* ---- functions ---- */
/* Of a function with state only the state of a few is known: the readers refuse the others by their names. */
static const struct field bind_data_fields[] = {
	FIELD("separator", TEXT, MAY),                                   /* string_agg */
	OF("quantiles", LIST(PART), HARMLESS, &value),                /* median: its name says which */
	FIELD("order", LIST(COUNT), HARMLESS),                           /* of the quantiles, which is one */
	ONLY("desc", FLAG, MAY, "false"),                       /* from the other end */
	FIELD("check_overflow", FLAG, HARMLESS),                         /* whether the optimiser could rule out an overflow */
	OF("return_type", PART, HARMLESS, &type),                     /* the expression's own, again */
	OF("arguments", LIST(PART), HARMLESS, &type),                 /* the children's types, again */
};
static const struct shape bind_data = {FIELDS(bind_data_fields)};

/* arguments: types to which the children were cast. has_serialize: whether function_data follows. */
#define FUNCTION                                                                                                       \
	FIELD("name", TEXT, MUST), OF("arguments", LIST(PART), HARMLESS, &type),                                           \
	OF("original_arguments", LIST(PART), MUST, &type), FIELD("catalog_name", TEXT, MAY),                               \
	FIELD("schema_name", TEXT, MAY), FIELD("has_serialize", FLAG, HARMLESS),                                           \
	OF("function_data", PART, MAY, &bind_data)

/* ---- orders ---- */
static const struct field order_fields[] = {
	ONLY("type", TEXT, MUST, "ASCENDING|DESCENDING"),
	ONLY("null_order", TEXT, MUST, "NULLS FIRST|NULLS LAST"),
	FIELD("expression", NODE, MUST),
};
static const struct shape order = {FIELDS(order_fields)};
static const struct field order_modifier_fields[] = {OF("orders", LIST(PART), MAY, &order)};
static const struct shape order_modifier = {FIELDS(order_modifier_fields)};

/* ---- expressions ---- */
/* query_location: where in the text it stood, for messages. */
#define EXPRESSION(kinds)                                                                                              \
	FIELD("expression_class", TEXT, MUST), ONLY("type", TEXT, MUST, kinds), FIELD("alias", TEXT, MAY),                 \
	FIELD("query_location", COUNT, HARMLESS)

/* DuckDB 2 has them as functions, whose arguments' types it tells once more. */
#define ARGUMENTS OF("arguments", LIST(PART), HARMLESS, &type)

static const struct field ref_fields[] = {
	EXPRESSION("BOUND_REF"),
	OF("return_type", PART, MUST, &type),
	FIELD("index", COUNT, MAY),
};
static const struct field constant_fields[] = {
	EXPRESSION("VALUE_CONSTANT"),
	OF("value", PART, MUST, &value),
};
static const struct field comparison_fields[] = {
	EXPRESSION(NULL),
	ARGUMENTS,
	FIELD("left", NODE, MUST),
	FIELD("right", NODE, MUST),
};
static const struct field function_fields[] = {
	EXPRESSION("BOUND_FUNCTION"),
	OF("return_type", PART, MUST, &type),
	FIELD("children", LIST(NODE), MUST),
	FUNCTION,
	FIELD("is_operator", FLAG, MUST),
};
static const struct field cast_fields[] = {
	EXPRESSION("OPERATOR_CAST"),
	ARGUMENTS,
	FIELD("child", NODE, MUST),
	OF("return_type", PART, MUST, &type),
	FIELD("try_cast", FLAG, MAY),
};
static const struct field aggregate_expr_fields[] = {
	EXPRESSION("BOUND_AGGREGATE"),
	OF("return_type", PART, MUST, &type),
	FIELD("children", LIST(NODE), MUST),
	FUNCTION,
	ONLY("aggregate_type", TEXT, MUST, "NON_DISTINCT|DISTINCT"),
	FIELD("filter", NODE, MAY),
	OF("order_bys", PART, MAY, &order_modifier),
};
static const struct field conjunction_fields[] = {
	EXPRESSION(NULL),
	FIELD("children", LIST(NODE), MUST),
};
static const struct field operator_expr_fields[] = {
	EXPRESSION(NULL),
	OF("return_type", PART, MUST, &type),
	FIELD("children", LIST(NODE), MUST),
};
static const struct field between_fields[] = {
	EXPRESSION("COMPARE_BETWEEN"),
	ARGUMENTS,
	FIELD("input", NODE, MUST),
	FIELD("lower", NODE, MUST),
	FIELD("upper", NODE, MUST),
	FIELD("lower_inclusive", FLAG, MAY),
	FIELD("upper_inclusive", FLAG, MAY),
};
static const struct field case_check_fields[] = {FIELD("when_expr", NODE, MUST), FIELD("then_expr", NODE, MUST)};
static const struct shape case_check = {FIELDS(case_check_fields)};
static const struct field case_fields[] = {
	EXPRESSION("CASE_EXPR"),
	OF("return_type", PART, MUST, &type),
	OF("case_checks", LIST(PART), MUST, &case_check),
	FIELD("else_expr", NODE, MUST),
};

#define FRAME_ENDS                                                                                                     \
	"UNBOUNDED_PRECEDING|UNBOUNDED_FOLLOWING|CURRENT_ROW_RANGE|CURRENT_ROW_ROWS|CURRENT_ROW_GROUPS|"                   \
	"EXPR_PRECEDING_RANGE|EXPR_PRECEDING_ROWS|EXPR_PRECEDING_GROUPS|EXPR_FOLLOWING_RANGE|EXPR_FOLLOWING_ROWS|"         \
	"EXPR_FOLLOWING_GROUPS"
#define FRAME                                                                                                          \
	FIELD("partitions", LIST(NODE), MUST), OF("orders", LIST(PART), MUST, &order), FIELD("filters", NODE, MAY),        \
	FIELD("ignore_nulls", FLAG, MUST), ONLY("start", TEXT, MUST, FRAME_ENDS), ONLY("end", TEXT, MUST, FRAME_ENDS),     \
	FIELD("start_expr", NODE, MAY), FIELD("end_expr", NODE, MAY), FIELD("offset_expr", NODE, MAY),                     \
	FIELD("default_expr", NODE, MAY), ONLY("exclude_clause", TEXT, MUST, "NO_OTHER|CURRENT_ROW|GROUP|TIES"),           \
	FIELD("distinct", FLAG, MUST), FIELD("arg_orders", EMPTY, MUST)
static const struct field aggregate_window[] = {
	EXPRESSION(NULL),
	OF("return_type", PART, MUST, &type),
	FIELD("children", LIST(NODE), MUST),
	FUNCTION,
	FRAME,
};
static const struct field other_window[] = {
	EXPRESSION(NULL),
	OF("return_type", PART, MUST, &type),
	FIELD("children", LIST(NODE), MUST),
	FRAME,
};
static const struct shape windows[] = {
	{"WINDOW_AGGREGATE", FIELDS(aggregate_window)}, {"WINDOW_ROW_NUMBER", FIELDS(other_window)},
	{"WINDOW_RANK", FIELDS(other_window)},          {"WINDOW_RANK_DENSE", FIELDS(other_window)},
	{"WINDOW_NTILE", FIELDS(other_window)},         {"WINDOW_PERCENT_RANK", FIELDS(other_window)},
	{"WINDOW_CUME_DIST", FIELDS(other_window)},     {"WINDOW_FIRST_VALUE", FIELDS(other_window)},
	{"WINDOW_LAST_VALUE", FIELDS(other_window)},    {"WINDOW_NTH_VALUE", FIELDS(other_window)},
	{"WINDOW_LEAD", FIELDS(other_window)},          {"WINDOW_LAG", FIELDS(other_window)},
};

/* The most frequent first: they are looked for one after another. */
static const struct shape expressions[] = {
	{"BOUND_REF", FIELDS(ref_fields)},
	{"BOUND_CONSTANT", FIELDS(constant_fields)},
	{"BOUND_FUNCTION", FIELDS(function_fields)},
	{"BOUND_CAST", FIELDS(cast_fields)},
	{"BOUND_COMPARISON", FIELDS(comparison_fields)},
	{"BOUND_AGGREGATE", FIELDS(aggregate_expr_fields)},
	{"BOUND_CONJUNCTION", FIELDS(conjunction_fields)},
	{"BOUND_OPERATOR", FIELDS(operator_expr_fields)},
	{"BOUND_CASE", FIELDS(case_fields)},
	{"BOUND_BETWEEN", FIELDS(between_fields)},
	{"BOUND_WINDOW", KINDS("type", windows)},
};

/* ---- scans ---- */
static const struct shape filter;

#define FILTER FIELD("filter_type", TEXT, MUST)
static const struct field plain_filter[] = {FILTER};
static const struct field compare_filter[] = {
	FILTER,
	FIELD("comparison_type", TEXT, MUST),
	OF("constant", PART, MUST, &value),
};
static const struct field list_filter[] = {FILTER, OF("child_filters", LIST(PART), MUST, &filter)};
static const struct field in_filter[] = {FILTER, OF("values", LIST(PART), MUST, &value)};
static const struct field expression_filter[] = {FILTER, FIELD("expr", NODE, MUST)};
/* What it drops is dropped again above the scan. */
static const struct field optional_filter[] = {FILTER, OF("child_filter", PART, HARMLESS, &filter)};
/* To RayQL a condition that it cannot read, whatever it says. */
static const struct field struct_filter[] = {
	FILTER,
	FIELD("child_idx", COUNT, HARMLESS),
	FIELD("child_name", TEXT, HARMLESS),
	FIELD("child_filter", ANY, HARMLESS),
};
static const struct shape filters[] = {
	{"CONSTANT_COMPARISON", FIELDS(compare_filter)}, {"CONJUNCTION_AND", FIELDS(list_filter)},
	{"CONJUNCTION_OR", FIELDS(list_filter)},         {"EXPRESSION_FILTER", FIELDS(expression_filter)},
	{"OPTIONAL_FILTER", FIELDS(optional_filter)},    {"DYNAMIC_FILTER", FIELDS(plain_filter)},
	{"IN_FILTER", FIELDS(in_filter)},                {"IS_NULL", FIELDS(plain_filter)},
	{"IS_NOT_NULL", FIELDS(plain_filter)},           {"STRUCT_EXTRACT", FIELDS(struct_filter)},
};
static const struct shape filter = {KINDS("filter_type", filters)};
static const struct field table_filter_fields[] = {FIELD("key", COUNT, MUST), OF("value", PART, MUST, &filter)};
static const struct shape table_filter = {FIELDS(table_filter_fields)};
static const struct field table_filters_fields[] = {OF("filters", LIST(PART), MAY, &table_filter)};
static const struct shape table_filters = {FIELDS(table_filters_fields)};

static const struct field scan_data_fields[] = {
	FIELD("catalog", TEXT, MUST),
	FIELD("schema", TEXT, MUST),
	FIELD("table", TEXT, MUST),
	ONLY("is_index_scan", FLAG, MUST, "false"),
	ONLY("is_create_index", FLAG, MUST, "false"),
	FIELD("result_ids", ANY, REFUSED), /* the rows that an index gave */
};
static const struct shape scan_data = {FIELDS(scan_data_fields)};
static const struct field column_index_fields[] = {
	FIELD("index", COUNT, MAY),
	/* a part of a nested column */
	FIELD("child_indexes", EMPTY, MAY),
	ONLY("index_type", TEXT, MAY, "FULL_READ"),
	FIELD("type", ANY, REFUSED),
	FIELD("field", TEXT, REFUSED),
	ONLY("has_index", FLAG, MAY, "true"),
};
static const struct shape column_index = {FIELDS(column_index_fields)};
static const struct field extra_info_fields[] = {
	FIELD("file_filters", TEXT, REFUSED),
	FIELD("total_files", ANY, HARMLESS), /* counted for EXPLAIN */
	FIELD("filtered_files", ANY, HARMLESS),
	FIELD("sample_options", ANY, REFUSED),
};
static const struct shape extra_info = {FIELDS(extra_info_fields)};
/* In which order row groups are read, and when a top-N above the scan has enough of them: it takes its rows itself. But
 * groups that OFFSET passes over are missing from what is left of the OFFSET there. */
static const struct field row_group_fields[] = {
	FIELD("column_idx", ANY, HARMLESS),   FIELD("order_by", TEXT, HARMLESS),    FIELD("order_type", TEXT, HARMLESS),
	FIELD("null_order", TEXT, HARMLESS),  FIELD("column_type", TEXT, HARMLESS), FIELD("row_limit", COUNT, HARMLESS),
	FIELD("row_group_offset", ANY, REFUSED), FIELD("leading_null_group_offset", ANY, REFUSED),
};
static const struct shape row_groups = {FIELDS(row_group_fields)};

/* ---- operators ---- */
/* Numbers of tables (table_index, group_index, ...) are names that references no longer use. */
#define OPERATOR FIELD("type", TEXT, MUST), FIELD("children", LIST(NODE), MAY)
#define NUMBER_OF(what) FIELD(what, COUNT, HARMLESS)

static const struct field get_fields[] = {
	OPERATOR,
	NUMBER_OF("table_index"),
	OF("returned_types", LIST(PART), MUST, &type),
	FIELD("names", LIST(TEXT), MUST),
	FIELD("projection_ids", LIST(COUNT), MUST),
	OF("table_filters", PART, MUST, &table_filters),
	ONLY("name", TEXT, MUST, "seq_scan"),
	FIELD("arguments", EMPTY, MUST),
	FIELD("original_arguments", EMPTY, MUST),
	ONLY("catalog_name", TEXT, MAY, "system"),
	ONLY("schema_name", TEXT, MAY, "main"),
	ONLY("has_serialize", FLAG, MUST, "true"),
	OF("function_data", PART, MUST, &scan_data),
	FIELD("projected_input", EMPTY, MUST),
	OF("column_indexes", LIST(PART), MAY, &column_index),
	OF("extra_info", PART, MAY, &extra_info),
	FIELD("ordinality_idx", ANY, REFUSED),
	OF("row_group_order_options", PART, MAY, &row_groups),
};
static const struct field projection_fields[] = {
	OPERATOR,
	NUMBER_OF("table_index"),
	FIELD("expressions", LIST(NODE), MAY),
};
static const struct field filter_fields[] = {
	OPERATOR,
	FIELD("expressions", LIST(NODE), MAY),
	FIELD("projection_map", LIST(COUNT), MAY),
};
static const struct field aggregate_fields[] = {
	OPERATOR,
	FIELD("expressions", LIST(NODE), MAY),
	NUMBER_OF("group_index"),
	NUMBER_OF("aggregate_index"),
	NUMBER_OF("groupings_index"),
	FIELD("groups", LIST(NODE), MAY),
	FIELD("grouping_sets", LISTS(COUNT), MAY),
	FIELD("grouping_functions", EMPTY, MAY),
	FIELD("distinct_validity", TEXT, HARMLESS), /* what statistics say about NULLs among the keys */
};
/* mark_types: the types of duplicate_eliminated_columns, again. */
#define COMPARISON_JOIN(columns, flipped)                                                                              \
	OPERATOR, FIELD("join_type", TEXT, MUST), NUMBER_OF("mark_index"), FIELD("left_projection_map", LIST(COUNT), MAY), \
	FIELD("right_projection_map", LIST(COUNT), MAY), OF("conditions", LIST(PART), MAY, &condition),                    \
	OF("mark_types", LIST(PART), HARMLESS, &type), FIELD("duplicate_eliminated_columns", columns, MAY),                \
	ONLY("delim_flipped", FLAG, MAY, flipped), FIELD("predicate", ANY, REFUSED)
static const struct field condition_fields[] = {
	FIELD("left", NODE, MUST),
	FIELD("right", NODE, MAY), /* its reader asks for it where there is a comparison */
	FIELD("comparison", TEXT, MUST),
};
static const struct shape condition = {FIELDS(condition_fields)};
static const struct field comparison_join_fields[] = {COMPARISON_JOIN(EMPTY, "false")};
static const struct field delim_join_fields[] = {COMPARISON_JOIN(LIST(NODE), NULL)};
static const struct field any_join_fields[] = {
	OPERATOR,
	FIELD("join_type", TEXT, MUST),
	NUMBER_OF("mark_index"),
	FIELD("left_projection_map", LIST(COUNT), MAY),
	FIELD("right_projection_map", LIST(COUNT), MAY),
	FIELD("condition", NODE, MUST),
};
static const struct field inputs_only[] = {OPERATOR};
static const struct field delim_get_fields[] = {
	OPERATOR,
	NUMBER_OF("table_index"),
	OF("chunk_types", LIST(PART), MUST, &type),
};
static const struct field sort_fields[] = {
	OPERATOR,
	OF("orders", LIST(PART), MAY, &order),
	FIELD("projections", LIST(COUNT), MAY),
};
static const struct field top_n_fields[] = {
	OPERATOR,
	OF("orders", LIST(PART), MAY, &order),
	FIELD("limit", COUNT, MAY),
	FIELD("offset", COUNT, MAY),
};
static const struct field limit_value_fields[] = {
	FIELD("type", TEXT, MUST),
	FIELD("constant_integer", COUNT, MAY),
	FIELD("constant_percentage", NUMBER, HARMLESS), /* nothing unless the type says that it is one */
	FIELD("expression", ANY, REFUSED),
};
static const struct shape limit_value = {FIELDS(limit_value_fields)};
static const struct field limit_fields[] = {
	OPERATOR,
	OF("limit_val", PART, MUST, &limit_value),
	OF("offset_val", PART, MUST, &limit_value),
};
static const struct field distinct_fields[] = {
	OPERATOR,
	ONLY("distinct_type", TEXT, MUST, "DISTINCT|DISTINCT_ON"),
	FIELD("distinct_targets", LIST(NODE), MAY),
	OF("order_by", PART, MAY, &order_modifier),
};
static const struct field window_fields[] = {
	OPERATOR,
	NUMBER_OF("window_index"),
	FIELD("expressions", LIST(NODE), MAY),
};
static const struct field setop_fields[] = {
	OPERATOR,
	NUMBER_OF("table_index"),
	FIELD("column_count", COUNT, HARMLESS), /* of its inputs */
	FIELD("setop_all", FLAG, MAY),
	FIELD("allow_out_of_order", FLAG, HARMLESS), /* whether rows may come in any order, which SQL lets them */
};
static const struct field cte_fields[] = {
	OPERATOR,
	FIELD("table_index", COUNT, MAY), /* cte_index of its references */
	FIELD("column_count", COUNT, HARMLESS), /* of its definition */
	FIELD("ctename", TEXT, HARMLESS),
	FIELD("materialize", TEXT, HARMLESS), /* how to compute it */
};
static const struct field cte_ref_fields[] = {
	OPERATOR,
	NUMBER_OF("table_index"),
	FIELD("cte_index", COUNT, MAY),
	OF("chunk_types", LIST(PART), MUST, &type),
	FIELD("bound_columns", LIST(TEXT), HARMLESS), /* names */
	ONLY("is_recurring", FLAG, MAY, "false"),
};
static const struct field binding_fields[] = {NUMBER_OF("table_index"), FIELD("column_index", COUNT, HARMLESS)};
static const struct shape binding = {FIELDS(binding_fields)};
static const struct field empty_fields[] = {
	OPERATOR,
	OF("return_types", LIST(PART), MUST, &type),
	OF("bindings", LIST(PART), HARMLESS, &binding), /* names that references no longer use */
};
static const struct field dummy_fields[] = {OPERATOR, NUMBER_OF("table_index")};
static const struct shape dummy = {FIELDS(dummy_fields)};
static const struct field values_fields[] = {
	FIELD("type", TEXT, MUST),
	OF("children", LIST(PART), MUST, &dummy), /* not read itself: one row of nothing */
	NUMBER_OF("table_index"),
	OF("expr_types", LIST(PART), MUST, &type),
	FIELD("expressions", LISTS(NODE), MAY),
};

/* The most frequent first. */
static const struct shape operators[] = {
	{"LOGICAL_PROJECTION", FIELDS(projection_fields)},
	{"LOGICAL_GET", FIELDS(get_fields)},
	{"LOGICAL_FILTER", FIELDS(filter_fields)},
	{"LOGICAL_AGGREGATE_AND_GROUP_BY", FIELDS(aggregate_fields)},
	{"LOGICAL_CROSS_PRODUCT", FIELDS(inputs_only)},
	{"LOGICAL_COMPARISON_JOIN", FIELDS(comparison_join_fields)},
	{"LOGICAL_ORDER_BY", FIELDS(sort_fields)},
	{"LOGICAL_LIMIT", FIELDS(limit_fields)},
	{"LOGICAL_TOP_N", FIELDS(top_n_fields)},
	{"LOGICAL_DELIM_GET", FIELDS(delim_get_fields)},
	{"LOGICAL_DELIM_JOIN", FIELDS(delim_join_fields)},
	{"LOGICAL_ANY_JOIN", FIELDS(any_join_fields)},
	{"LOGICAL_ASOF_JOIN", FIELDS(comparison_join_fields)},
	{"LOGICAL_WINDOW", FIELDS(window_fields)},
	{"LOGICAL_DISTINCT", FIELDS(distinct_fields)},
	{"LOGICAL_UNION", FIELDS(setop_fields)},
	{"LOGICAL_EXCEPT", FIELDS(setop_fields)},
	{"LOGICAL_INTERSECT", FIELDS(setop_fields)},
	{"LOGICAL_CTE_REF", FIELDS(cte_ref_fields)},
	{"LOGICAL_MATERIALIZED_CTE", FIELDS(cte_fields)},
	{"LOGICAL_DUMMY_SCAN", FIELDS(dummy_fields)},
	{"LOGICAL_EMPTY_RESULT", FIELDS(empty_fields)},
	{"LOGICAL_EXPRESSION_GET", FIELDS(values_fields)},
};

static const struct field plan_fields[] = {
	ONLY("error", FLAG, MUST, "false"),
	FIELD("plans", LIST(NODE), MUST),
};
static const struct shape plan = {FIELDS(plan_fields)};

/* ---- holding an object against its table ---- */

enum trouble { UNKNOWN, MISSING, STRANGE, OTHER_VALUE };

struct finding {
	enum trouble trouble;
	char path[120]; /* from the node to the field, by dots */
};

static bool found(struct finding *finding, enum trouble trouble, const char *name)
{
	finding->trouble = trouble;
	snprintf(finding->path, sizeof(finding->path), "%s", name);
	return false;
}

static bool found_within(struct finding *finding, const char *name)
{
	char path[sizeof(finding->path)];
	memcpy(path, finding->path, sizeof(path));
	snprintf(finding->path, sizeof(finding->path), "%.50s.%.60s", name, path);
	return false;
}

static bool is_among(const char *words, const char *text)
{
	size_t length = strcspn(text, "|");
	while (words && !text[length]) {
		if (strncmp(words, text, length) == 0 && (words[length] == '|' || !words[length]))
			return true;
		words = strchr(words, '|');
		words += words != NULL;
	}
	return false;
}

static const struct shape *kind_of(const struct shape *kinds, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

static bool part_is_known(const struct shape *shape, struct json_object *json, struct finding *finding);

static bool value_is_known(const struct field *field, int form, struct json_object *json, struct finding *finding)
{
	enum json_type is = json_object_get_type(json);
	bool known = false;
	if (form >= LISTED) {
		size_t count = is == json_type_array ? json_object_array_length(json) : 0;
		for (size_t i = 0; i < count; i++)
			if (!value_is_known(field, form - LISTED, json_object_array_get_idx(json, i), finding))
				return false;
		return is == json_type_array || found(finding, STRANGE, field->name);
	}
	switch ((enum form)form) {
	case TEXT:
		known = is == json_type_string;
		break;
	case FLAG:
		known = is == json_type_boolean;
		break;
	case COUNT:
		known = is == json_type_int && json_object_get_int64(json) >= 0;
		break;
	case INTEGER:
		known = is == json_type_int;
		break;
	case NUMBER:
		known = is == json_type_int || is == json_type_double;
		break;
	case PART:
		known = is == json_type_object;
		if (known && !part_is_known(field->shape, json, finding))
			return found_within(finding, field->name);
		break;
	case NODE:
		known = is == json_type_object;
		break;
	case CONTENT:
		known = is != json_type_array && is != json_type_null;
		if (is == json_type_object && !part_is_known(field->shape, json, finding))
			return found_within(finding, field->name);
		break;
	case EMPTY:
		known = is == json_type_array && json_object_array_length(json) == 0;
		break;
	default:
		known = true;
	}
	if (!known)
		return found(finding, STRANGE, field->name);
	return !field->only || is_among(field->only, json_object_get_string(json)) ||
	       found(finding, OTHER_VALUE, field->name);
}

/* DuckDB's order is the table's: the search starts behind the field that was found last. */
static const struct field *field_of(const struct shape *shape, const char *name, size_t *next)
{
	for (size_t n = 0, i = *next; n < shape->count; n++, i++) {
		i = i < shape->count ? i : 0;
		if (strcmp(shape->fields[i].name, name) == 0) {
			*next = i + 1;
			return &shape->fields[i];
		}
	}
	return NULL;
}

static bool fields_are_known(const struct shape *shape, struct json_object *json, struct finding *finding)
{
	uint64_t seen = 0; /* no table has more than 64 fields */
	size_t next = 0;
	json_object_object_foreach(json, name, member)
	{
		const struct field *field = field_of(shape, name, &next);
		if (!field || field->use == REFUSED)
			return found(finding, UNKNOWN, name);
		if (!value_is_known(field, field->form, member, finding))
			return false;
		seen |= 1ull << (field - shape->fields);
	}
	for (size_t i = 0; i < shape->count; i++)
		if (shape->fields[i].use == MUST && !(seen >> i & 1))
			return found(finding, MISSING, shape->fields[i].name);
	return true;
}

static bool part_is_known(const struct shape *shape, struct json_object *json, struct finding *finding)
{
	if (shape->tag) {
		const char *tag = shape->tag;
		shape = kind_of(shape->kinds, shape->count, rql_json_text(json, tag));
		if (!shape)
			return found(finding, rql_json_field(json, tag) ? OTHER_VALUE : MISSING, tag);
	}
	return fields_are_known(shape, json, finding);
}

static const char *trouble_text(struct rql_plan_reader *reader, const char *what, const char *name,
                                const struct finding *finding)
{
	static const char *const formats[] = {
		[UNKNOWN] = "%s%s says %s, which RayQL does not know",
		[MISSING] = "%s%s does not say %s",
		[STRANGE] = "%s%s says %s in a form that RayQL does not know",
		[OTHER_VALUE] = "%s%s gives %s a value that RayQL does not know",
	};
	const char *text = rql_arena_printf(reader->arena, formats[finding->trouble], what, name, finding->path);
	reader->no_memory |= !text;
	return text;
}

static const char *node_trouble(struct rql_plan_reader *reader, struct json_object *json, const char *what,
                                const struct shape *kinds, size_t count, const char *name)
{
	struct finding finding = {.trouble = UNKNOWN, .path = "its name"};
	const struct shape *shape = kind_of(kinds, count, name);
	if (shape && part_is_known(shape, json, &finding))
		return NULL;
	return trouble_text(reader, what, name, &finding);
}

const char *rql_plan_operator_trouble(struct rql_plan_reader *reader, struct json_object *json, const char *type)
{
	return node_trouble(reader, json, "the operator ", operators, sizeof(operators) / sizeof(*operators), type);
}

const char *rql_plan_expr_trouble(struct rql_plan_reader *reader, struct json_object *json, const char *class)
{
	return node_trouble(reader, json, "the expression ", expressions, sizeof(expressions) / sizeof(*expressions), class);
}

const char *rql_plan_root_trouble(struct rql_plan_reader *reader, struct json_object *json)
{
	struct finding finding;
	return fields_are_known(&plan, json, &finding) ? NULL : trouble_text(reader, "DuckDB's plan", "", &finding);
}
