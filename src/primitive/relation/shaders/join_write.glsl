// Writing rows of a join: places in the output, and columns to them.
#define JOIN_INNER 0u
#define JOIN_LEFT 1u
#define JOIN_SEMI 2u
#define JOIN_ANTI 3u
#define JOIN_NOT_IN 4u
#define JOIN_MARK 5u
// enum rql_join_test
#define TEST_EQ 1u
#define TEST_NE 2u
#define TEST_LE 4u
#define TEST_GE 6u

#if KEY_BITS == 64
#define NO_KEY 0ul
#else
#define NO_KEY 0u
#endif
#define NONE 0xffffffffu

// The table of columns; every thread reads it again and again.
shared uint64_t join_columns[2u * RQL_JOIN_COLUMNS * RQL_COLUMN_WORDS];

// Ends with a barrier.
void read_columns(uint columns)
{
	for (uint i = rql_thread(); i < columns * RQL_COLUMN_WORDS; i += THREADS)
		join_columns[i] = RQL_U64(args.columns, i);
	barrier();
}

uint64_t column_word(uint column, uint word)
{
	return join_columns[column * RQL_COLUMN_WORDS + word];
}

shared uint64_t join_base;

// Takes places for all threads' rows with one atomic: those of this subgroup begin at the result. It goes on counting
// past the capacity. Ends with a barrier.
uint64_t reserve(uint rows_of_thread)
{
	uint sum = subgroupAdd(rows_of_thread);
	if (subgroupElect())
		rql_subgroup_sums[gl_SubgroupID] = sum;
	barrier();
	uint total;
	uint before = rql_subgroups_before(total);
	if (rql_thread() == 0u)
		join_base = total != 0u ? atomicAdd(RQL_U64(args.found, 0), uint64_t(total)) : 0ul;
	barrier();
	return join_base + before;
}

// The same for the rows of this subgroup alone, which waits for no other.
uint64_t reserve_own(uint rows_of_thread)
{
	uint sum = subgroupAdd(rows_of_thread);
	uint64_t base = 0ul;
	if (subgroupElect() && sum != 0u)
		base = atomicAdd(RQL_U64(args.found, 0), uint64_t(sum));
	uvec2 halves = unpackUint2x32(base);
	return packUint2x32(uvec2(subgroupBroadcastFirst(halves.x), subgroupBroadcastFirst(halves.y)));
}

uint64_t read_value(uint64_t from, uint flags, uint row)
{
	if (from == 0ul)
		return row;
	row <<= (flags & RQL_COLUMN_PAIRED) != 0u ? 1u : 0u;
	return (flags & RQL_COLUMN_WIDE) != 0u ? RQL_U64(from, row) : uint64_t(RQL_U32(from, row));
}

// A row's key, and what lies beside it if keys are paired.
KEY read_key(uint64_t keys, uint row, bool paired, inout uint beside)
{
#if KEY_BITS == 32
	if (paired) {
		uvec2 pair = unpackUint2x32(RQL_U64(keys, row));
		beside = pair.y;
		return pair.x;
	}
#endif
	return RQL_KEY(keys, row);
}

// Of a row that has no match.
uint64_t missing_value(uint flags)
{
	return (flags & RQL_COLUMN_NUMBER) != 0u ? 0xfffffffful : 0ul;
}
