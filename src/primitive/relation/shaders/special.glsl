// Of a kernel that is made for one shape of request (RQL_SPECIAL_ROWS): args.flags, and all columns' flags, if they are
// the same.
#define ANY_FLAGS 0xffffffffu
layout(constant_id = 6) const uint ROW_FLAGS = ANY_FLAGS;
layout(constant_id = 7) const uint COLUMN_FLAGS = ANY_FLAGS;

uint row_flags()
{
	return ROW_FLAGS != ANY_FLAGS ? ROW_FLAGS : args.flags;
}
