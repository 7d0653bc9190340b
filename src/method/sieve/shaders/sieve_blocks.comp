// ROWS of a conjunction by blocks: a workgroup takes one. Of each bound one vector is read, the nearer one, and what it has
// wrong are rows that lie side by side in the order of the block's keys. So nothing is read that is thrown away: no row of
// another bin, and no sector of 32 bytes for a single key.
//
// Floor, in bytes a row: 1/8 for each vector and for the bitmap (1/64 for lists), 6 for a row between a bound and its
// vector, and a sector in each block for where these begin. What is read depends on nothing but the bounds.
//
// A block is little work behind three waits for memory, so what counts is how many blocks are on their way: few
// registers, little shared memory, little code. Vectors and runs of all tests are loaded into registers first; then one
// test after another is put right in the same 512 bytes. What no test asks for is not in the pipeline's code.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // RQL_SIEVE_BLOCK_LANES
layout(constant_id = 1) const bool COUNTING = false;
#define SIEVE_COUNTING COUNTING
#include "method/sieve/shaders/sieve_spans.glsl"
layout(constant_id = 2) const uint ASKS = RQL_SIEVE_BLOCKS_ANY; // the most that a test asks for
layout(constant_id = 3) const uint TESTS = RQL_SIEVE_BLOCK_TESTS; // that are taken together
layout(constant_id = 4) const bool LISTS = false;
#include "method/sieve/shaders/sieve_rows.glsl"

layout(push_constant, scalar) uniform Args { rql_sieve_blocks_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveOpens { rql_sieve_kernel_opens v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveOpen { rql_sieve_kernel_open v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SievePair { uvec2 v; };
const uint WORDS = RQL_SIEVE_BLOCK_ROWS / 32u, LANES = RQL_SIEVE_BLOCK_LANES;
shared uint map[WORDS];                   // the block's rows that pass a test
shared uvec2 runs[RQL_SIEVE_BLOCK_OPENS]; // of each open range, where its bins begin and end

// ---- vectors ----
// A test whose vectors decide all but its open ranges reads one span; others are read and tested as they come.
bool is_plain(const rql_sieve_kernel_test t)
{
	return t.span_count == 0u || (t.span_count == 1u && SieveSpan(t.spans).v.sure != 0u);
}

void put_map(const uvec4 rows)
{
	const uint at = gl_LocalInvocationIndex * 4u;
	map[at] = rows.x;
	map[at + 1u] = rows.y;
	map[at + 2u] = rows.z;
	map[at + 3u] = rows.w;
}

uvec4 get_map()
{
	const uint at = gl_LocalInvocationIndex * 4u;
	return uvec4(map[at], map[at + 1u], map[at + 2u], map[at + 3u]);
}

uvec4 other_rows(const rql_sieve_kernel_test t, const uint lane, const uvec4 rows)
{
	uvec4 sure, maybe;
	read_spans(t, lane, sure, maybe);
	maybe &= rows & ~sure;
	if (COUNTING)
		sieve_tested += rows_in(maybe);
	return sure | test_rows(t, uint64_t(lane) * RQL_SIEVE_LANE_ROWS, maybe);
}

// What vectors say of each test. Loads of all of them first; nothing waits between two.
void read_vectors(const uint64_t tests, const uint count, const uint lane, const uvec4 rows, out uvec4 passed[TESTS])
{
	uvec4 from[TESTS], both[TESTS];
	[[unroll]] for (uint j = 0u; j < TESTS; j++) {
		passed[j] = from[j] = both[j] = uvec4(0u);
		if (j >= count)
			continue;
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(j) * RQL_SIEVE_TEST_BYTES).v;
		if (t.span_count == 0u)
			continue;
		const rql_sieve_kernel_span s = SieveSpan(t.spans).v;
		passed[j] = vector_at(t, s.to_first, lane);
		if (ASKS == RQL_SIEVE_BLOCKS_ONE)
			continue;
		from[j] = vector_at(t, s.from_first, lane);
		if (ASKS == RQL_SIEVE_BLOCKS_PLAIN)
			continue;
		if (s.from_third != RQL_SIEVE_KERNEL_NO_ROW)
			from[j] |= vector_at(t, s.from_second, lane) & vector_at(t, s.from_third, lane);
		if (s.to_third != RQL_SIEVE_KERNEL_NO_ROW)
			both[j] = vector_at(t, s.to_second, lane) & vector_at(t, s.to_third, lane);
	}
	if (ASKS == RQL_SIEVE_BLOCKS_ONE)
		return;
	[[unroll]] for (uint j = 0u; j < TESTS; j++)
		passed[j] = (passed[j] | both[j]) & ~from[j];
	[[unroll]] for (uint j = 0u; j < TESTS; j++) {
		const uint64_t nulls = j < count ? SieveTest(tests + uint64_t(j) * RQL_SIEVE_TEST_BYTES).v.nulls : 0ul;
		if (nulls != 0ul)
			passed[j] |= ~SieveWords(nulls + uint64_t(lane) * RQL_SIEVE_LANE_BYTES).v;
	}
	for (uint j = 0u; ASKS == RQL_SIEVE_BLOCKS_ANY && j < count; j++) {
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(j) * RQL_SIEVE_TEST_BYTES).v;
		if (is_plain(t))
			continue;
		const uvec4 other = other_rows(t, lane, rows);
		[[unroll]] for (uint k = 0u; k < TESTS; k++)
			passed[k] = j == k ? other : passed[k];
	}
}

// ---- open ranges ----
uint start_at(const rql_sieve_kernel_open o, const uint block, const uint bin)
{
	const uint64_t at = uint64_t(block) * o.stride + bin;
	return SieveBits(o.starts + at / 2ul * 4ul).v >> uint(at & 1ul) * 16u & 0xffffu;
}

rql_sieve_kernel_open open_at(const rql_sieve_kernel_opens opens, const uint number)
{
	return SieveOpen(opens.at + uint64_t(number) * RQL_SIEVE_OPEN_BYTES).v;
}

// Four neighbours in the order of keys are a quad. All of the range's bins, from the end where it is; and how many the
// first round reads: those that are expected, and some more.
uint quads_of(const uvec2 run)
{
	return run.x < run.y ? (run.y + 3u) / 4u - run.x / 4u : 0u;
}
uint first_quads(const rql_sieve_kernel_open o, const uvec2 run)
{
	const float rows = o.share * float(run.y - run.x);
	return min(min(uint((rows + 2.0 * sqrt(rows)) * 0.25) + 2u, LANES), quads_of(run));
}
uint quad_at(const rql_sieve_kernel_open o, const uvec2 run, const uint number)
{
	return (o.down != 0u ? (run.y + 3u) / 4u - 1u - number : run.x / 4u + number) * 4u;
}

void load_quad(const rql_sieve_kernel_open o, const uint block, const uint first, out uvec4 keys, out uvec2 rows)
{
	const uint64_t at = uint64_t(block) * RQL_SIEVE_BLOCK_ROWS + first;
	keys = SieveWords(o.keys + at * 4ul).v;
	rows = SievePair(o.rows + at * 2ul).v;
	note_bytes(24u);
}

// True: rows of the range may come behind these.
bool put_quad(const rql_sieve_kernel_open o, const uvec2 run, const uint first, const uvec4 keys, const uvec2 pairs)
{
	[[unroll]] for (uint e = 0u; e < 4u; e++) {
		const uint at = first + e, row = pairs[e / 2u] >> e % 2u * 16u & 0xffffu;
		if (at < run.x || at >= run.y || keys[e] < o.least || keys[e] > o.greatest)
			continue;
		const uint word = row / 32u, bit = 1u << (row & 31u);
		if (COUNTING)
			sieve_tested++;
		if (o.pass != 0u)
			atomicOr(map[word], bit);
		else
			atomicAnd(map[word], ~bit);
	}
	return o.down != 0u ? keys.x >= o.least : keys.w <= o.greatest;
}

// Does the range go on behind the first round?
bool goes_on(const rql_sieve_kernel_open o, const uint block, const uvec2 run, const uint quads)
{
	if (quads >= quads_of(run))
		return false;
	const uint64_t at = uint64_t(block) * RQL_SIEVE_BLOCK_ROWS + quad_at(o, run, quads) + (o.down != 0u ? 3u : 0u);
	const uint key = SieveKey32(o.keys + at * 4ul).v;
	return o.down != 0u ? key >= o.least : key <= o.greatest;
}

// What the first round of a range found in memory.
struct Round {
	uvec4 keys;
	uvec2 rows;
	uint more; // rows may come behind it
};

Round load_round(const rql_sieve_kernel_open o, const uint block, const uvec2 run)
{
	const uint quads = first_quads(o, run);
	Round r = Round(uvec4(0u), uvec2(0u), 0u);
	if (gl_LocalInvocationIndex < quads)
		load_quad(o, block, quad_at(o, run, gl_LocalInvocationIndex), r.keys, r.rows);
	r.more = goes_on(o, block, run, quads) ? 1u : 0u;
	return r;
}

// Puts the range right in the map: the first round, then what is left.
void put_round(const rql_sieve_kernel_open o, const uint block, const uvec2 run, Round r)
{
	const uint quads = first_quads(o, run), all = quads_of(run);
	bool more = gl_LocalInvocationIndex < quads || r.more != 0u;
	for (uint q = gl_LocalInvocationIndex; more && q < all; q += LANES) {
		const uint first = quad_at(o, run, q);
		if (q >= quads)
			load_quad(o, block, first, r.keys, r.rows);
		more = put_quad(o, run, first, r.keys, r.rows) && r.more != 0u;
	}
}

// The rows that pass all tests, of those in `rows`. Ranges stand in the order of their tests.
uvec4 put_opens(const rql_sieve_kernel_opens opens, const uint block, const uint count, const uvec4 passed[TESTS],
                uvec4 rows)
{
	Round ahead[TESTS];
	[[unroll]] for (uint a = 0u; a < TESTS; a++)
		if (a < opens.count)
			ahead[a] = load_round(open_at(opens, a), block, runs[a]);
	uint next = 0u;
	for (uint j = 0u; j < count; j++) {
		uvec4 mine = passed[0];
		[[unroll]] for (uint t = 1u; t < TESTS; t++)
			mine = j == t ? passed[t] : mine;
		put_map(mine);
		wait();
		for (; next < opens.count && open_at(opens, next).test == j; next++) {
			const rql_sieve_kernel_open o = open_at(opens, next);
			Round r = ahead[0];
			[[unroll]] for (uint a = 1u; a < TESTS; a++)
				if (next == a)
					r = ahead[a];
			if (next >= TESTS)
				r = load_round(o, block, runs[next]);
			put_round(o, block, runs[next], r);
		}
		wait();
		rows &= get_map();
	}
	return rows;
}

void main()
{
	const uint64_t group = rql_group();
	if (group >= args.part_count)
		return;
	const rql_sieve_kernel_part part = SievePart(args.parts + group * 16ul).v;
	const uint id = gl_LocalInvocationIndex, lane = part.first + id, block = part.first / LANES;
	const uint groups = (args.test_count + TESTS - 1u) / TESTS, segment = part.test / args.test_count;
	const uint64_t tests = args.tests + uint64_t(part.test) * RQL_SIEVE_TEST_BYTES;
	uvec4 rows = uvec4(0xffffffffu), passed[TESTS];
	for (uint g = 0u; g < groups; g++) {
		const uint count = min(args.test_count - g * TESTS, TESTS);
		const rql_sieve_kernel_opens opens = SieveOpens(args.opens + uint64_t(segment * groups + g) * 16ul).v;
		uvec2 run = uvec2(0u);
		if (id < opens.count) {
			const rql_sieve_kernel_open o = open_at(opens, id);
			run = uvec2(start_at(o, block, o.first_bin), start_at(o, block, o.end_bin));
			note_bytes(RQL_SIEVE_SECTOR);
		}
		read_vectors(tests + uint64_t(g * TESTS) * RQL_SIEVE_TEST_BYTES, count, lane, rows, passed);
		if (id < opens.count)
			runs[id] = run;
		wait();
		rows = put_opens(opens, block, count, passed, rows);
	}
	put_rows(rows, true, uint64_t(part.place) + id, args.rows, args.lists, args.counts);
	put_counts(args.counts, 0u);
}
