/* Nested values as SQL. */
#include "column/value/nested.h"

/* Elements [from, from + count) as the arguments of a call. */
static bool put_elements(struct rql_strbuf *out, const struct rql_nested *nested, uint64_t from, uint64_t count)
{
	bool ok = true;
	rql_strbuf_put(out, "system.main.list_value(");
	for (uint64_t i = 0; i < count && ok; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		ok = rql_nested_print(out, nested, from + i);
	}
	rql_strbuf_putc(out, ')');
	return ok;
}

static bool put_member(struct rql_strbuf *out, const struct rql_nested *nested, uint32_t member, uint64_t row)
{
	if (!nested->names[member][0])
		return false;
	rql_strbuf_put_ident(out, nested->names[member]);
	rql_strbuf_put(out, " := ");
	return rql_nested_print(out, &nested->children[member], row);
}

static bool put_struct(struct rql_strbuf *out, const struct rql_nested *nested, uint64_t row)
{
	bool ok = nested->child_count > 0;
	rql_strbuf_put(out, "system.main.struct_pack(");
	for (uint32_t m = 0; m < nested->child_count && ok; m++) {
		rql_strbuf_put(out, m ? ", " : "");
		ok = put_member(out, nested, m, row);
	}
	rql_strbuf_putc(out, ')');
	return ok;
}

static bool put_map(struct rql_strbuf *out, const struct rql_nested *nested, uint64_t row)
{
	struct rql_entry entry = nested->entries[row];
	rql_strbuf_put(out, "system.main.map(");
	bool ok = put_elements(out, &nested->children[0], entry.offset, entry.length);
	rql_strbuf_put(out, ", ");
	ok = ok && put_elements(out, &nested->children[1], entry.offset, entry.length);
	rql_strbuf_putc(out, ')');
	return ok;
}

static bool put_value(struct rql_strbuf *out, const struct rql_nested *nested, uint64_t row)
{
	if (nested->column.type.id == RQL_TYPE_OTHER || nested->column.type.id == RQL_TYPE_INVALID)
		return false;
	struct rql_value value = rql_column_get(&nested->column, row);
	return rql_value_print(out, &value);
}

bool rql_nested_print(struct rql_strbuf *out, const struct rql_nested *nested, uint64_t row)
{
	if (!rql_column_valid(&nested->column, row)) {
		rql_strbuf_put(out, "NULL");
		return true;
	}
	switch (nested->kind) {
	case RQL_NESTED_LIST:
		return put_elements(out, nested->children, nested->entries[row].offset, nested->entries[row].length);
	case RQL_NESTED_ARRAY:
		return put_elements(out, nested->children, row * nested->array_size, nested->array_size);
	case RQL_NESTED_STRUCT:
		return put_struct(out, nested, row);
	case RQL_NESTED_MAP:
		return put_map(out, nested, row);
	case RQL_NESTED_UNION: {
		rql_strbuf_put(out, "system.main.union_value(");
		bool ok = nested->tags[row] < nested->child_count && put_member(out, nested, nested->tags[row], row);
		rql_strbuf_putc(out, ')');
		return ok;
	}
	case RQL_NESTED_VALUE:
		break;
	}
	return put_value(out, nested, row);
}
