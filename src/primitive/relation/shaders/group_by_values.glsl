// Value columns of a group-by: how rows' values are read, in which order they are, and how groups are written. Least and
// greatest values are words in unsigned order. Signed values are moved by half of their range, so that they begin at 0.
#if VALUE_BITS == 64
#define VALUE uint64_t
#define SIGN 0x8000000000000000ul
#else
#define VALUE uint
#define SIGN 0x80000000u
#endif

struct column_words {
	uint index, flags;
	uint64_t from, sums, least, greatest; // where values are, and groups go
};

bool is_real_sum(uint flags)
{
	return (flags & (RQL_GROUP_REAL | RQL_GROUP_SUM)) == (RQL_GROUP_REAL | RQL_GROUP_SUM);
}

#ifdef REALS
uint64_t sum_of_reals(uint64_t a, uint64_t b)
{
	double sum = packDouble2x32(unpackUint2x32(a)) + packDouble2x32(unpackUint2x32(b));
	return packUint2x32(unpackDouble2x32(sum));
}
#endif

// A value as an unsigned one in the same order, which begins at 0. Of reals: 0 stays for NULL.
VALUE moved(VALUE value, uint flags)
{
#ifdef REALS
	if ((flags & RQL_GROUP_REAL) != 0u)
		return value == 0ul ? 0ul : rql_key_of(~value, RQL_WORD_F64);
#endif
	return value ^ ((flags & RQL_GROUP_SIGNED) != 0u ? SIGN : VALUE(0));
}

// What is added to a moved value for the order of least ones, where NULL's is the greatest.
VALUE least_step(uint flags)
{
	return (flags & RQL_GROUP_FIELD) != 0u ? ~VALUE(0) : VALUE(0);
}

VALUE key_of_least(VALUE value, uint flags)
{
#ifdef REALS
	if ((flags & RQL_GROUP_REAL) != 0u)
		return value == 0ul ? ~0ul : moved(value, flags);
#endif
	return moved(value, flags) + least_step(flags);
}

struct group_words {
	uint count;
	uint64_t low, high;
	VALUE least, greatest;
};

// Takes what signed values were moved by out of their sum: `count` times 2^(VALUE_BITS - 1).
void move_back(inout group_words g)
{
#if VALUE_BITS == 64
	uint64_t low = uint64_t(g.count) << 63u, high = uint64_t(g.count >> 1u);
	g.high -= high + (g.low < low ? 1ul : 0ul);
	g.low -= low;
#else
	g.low -= uint64_t(g.count) << 31u;
	g.high = (g.low & 0x8000000000000000ul) != 0ul ? ~0ul : 0ul;
#endif
}

column_words column_at(uint index)
{
	column_words column = column_words(index, 0u, 0ul, 0ul, 0ul, 0ul);
	if (index < args.column_count) {
		column.from = group_column(index, 0u);
		column.flags = COLUMN_FLAGS != ANY_FLAGS ? COLUMN_FLAGS : uint(group_column(index, 1u));
		column.sums = group_column(index, 2u);
		column.least = group_column(index, 3u);
		column.greatest = group_column(index, 4u);
	}
	return column;
}

VALUE value_of(uint narrow, uint flags)
{
	VALUE value = narrow;
#if VALUE_BITS == 64
	value = (flags & RQL_GROUP_SIGNED) != 0u ? uint64_t(int64_t(int(narrow))) : value;
#endif
	return (flags & RQL_GROUP_PRESENT) != 0u ? min(value, VALUE(1)) : value;
}

VALUE value_at(uint64_t from, uint flags, uint row)
{
	if (from == 0ul)
		return VALUE(0);
#if VALUE_BITS == 64
	if ((flags & RQL_COLUMN_WIDE) != 0u) {
		uint64_t value = RQL_U64(from, row);
		return (flags & RQL_GROUP_PRESENT) != 0u ? min(value, 1ul) : value;
	}
#endif
	return value_of(RQL_U32(from, row << ((flags & RQL_COLUMN_PAIRED) != 0u ? 1u : 0u)), flags);
}

// All columns are the one beside the keys.
#define READS_PAIRS (COLUMN_FLAGS != ANY_FLAGS && (COLUMN_FLAGS & RQL_COLUMN_PAIRED) != 0u)

void load_row(uint row, column_words column, out KEY key, out VALUE value)
{
	if (READS_PAIRS) {
		uvec2 pair = unpackUint2x32(RQL_U64(args.keys, row));
		key = KEY(pair.x);
		value = value_of(pair.y, column.flags);
		return;
	}
	key = RQL_KEY(args.keys, (row_flags() & RQL_ROWS_PAIRED) != 0u ? row << 1u : row);
	value = value_at(column.from, column.flags, row);
}

// A value in its own type, as a word of 64 bits; of reals the ordered key.
uint64_t word_of(VALUE ordered, uint flags)
{
	bool is_signed = (flags & RQL_GROUP_SIGNED) != 0u;
	VALUE value = is_signed ? ordered ^ SIGN : ordered;
#if VALUE_BITS == 64
	return value;
#else
	return is_signed ? uint64_t(int64_t(int(value))) : uint64_t(value);
#endif
}

void write_group(uint64_t place, column_words column, group_words g)
{
	uint flags = column.flags;
	if (column.index == 0u && args.counts_out != 0ul)
		RQL_U64(args.counts_out, place) = uint64_t(g.count);
	if ((flags & RQL_GROUP_SUM_WIDE) != 0u) {
		RQL_U64(column.sums, 2ul * place) = g.low;
		RQL_U64(column.sums, 2ul * place + 1ul) = g.high;
	} else if ((flags & RQL_GROUP_SUM) != 0u) {
		RQL_U64(column.sums, place) = g.low;
	}
	if ((flags & RQL_GROUP_MIN) != 0u)
		RQL_U64(column.least, place) =
			word_of((flags & RQL_GROUP_FIELD) != 0u ? g.least + 1u : g.least, flags);
	if ((flags & RQL_GROUP_MAX) != 0u)
		RQL_U64(column.greatest, place) = word_of(g.greatest, flags);
}
