// ROWS of a conjunction by blocks: a workgroup takes one. Of each bound one vector is read, the nearer one, and what it has
// wrong are rows that lie side by side in the order of the block's keys. So nothing is read that is thrown away: no row of
// another bin, and no sector of 32 bytes for a single key.
//
// Floor, in bytes a row: 1/8 for each vector and for the bitmap, 6 for a row between a bound and its vector, and a sector
// in each block for where these begin. What is read depends on nothing but the bounds.
//
// A block is little work behind three waits for memory, so what counts is how many blocks are on their way. Vectors and
// runs of all tests are loaded into registers first; then one test after another is put right in the same 512 bytes of
// shared memory. A bitmap for each test instead left half as many workgroups on a multiprocessor.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // RQL_SIEVE_BLOCK_LANES
layout(constant_id = 1) const bool COUNTING = false;
layout(constant_id = 2) const bool TWO = true; // some cut reads three vectors
#define SIEVE_COUNTING COUNTING
#include "method/sieve/shaders/sieve_spans.glsl"
layout(constant_id = 3) const uint TESTS = RQL_SIEVE_BLOCK_TESTS; // that are taken together

layout(push_constant, scalar) uniform Args { rql_sieve_blocks_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveOpens { rql_sieve_kernel_opens v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveOpen { rql_sieve_kernel_open v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SievePair { uvec2 v; };
const uint WORDS = RQL_SIEVE_BLOCK_ROWS / 32u, LANES = RQL_SIEVE_BLOCK_LANES;
const uint AHEAD = 4u; // open ranges whose first round is loaded together
shared uint map[WORDS];                   // the block's rows that pass a test
shared uvec2 runs[RQL_SIEVE_BLOCK_OPENS]; // of each open range, where its bins begin and end

void wait()
{
	memoryBarrierShared();
	barrier();
}

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
	if (COUNTING) {
		const ivec4 asked = bitCount(maybe);
		sieve_tested += uint(asked.x + asked.y + asked.z + asked.w);
	}
	return sure | test_rows(t, uint64_t(lane) * RQL_SIEVE_LANE_ROWS, maybe);
}

// What vectors say of each test. Loads of all of them first; nothing waits between two.
void read_vectors(const uint64_t tests, const uint count, const uint lane, const uvec4 rows, out uvec4 passed[TESTS])
{
	uvec4 from[TESTS], to[TESTS], from2[TESTS], to2[TESTS], from3[TESTS], to3[TESTS], null[TESTS];
	bool plain[TESTS];
	[[unroll]] for (uint j = 0u; j < TESTS; j++) {
		from[j] = to[j] = from2[j] = to2[j] = from3[j] = to3[j] = uvec4(0u);
		null[j] = uvec4(0xffffffffu);
		plain[j] = false;
		if (j >= count)
			continue;
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(j) * RQL_SIEVE_TEST_BYTES).v;
		plain[j] = is_plain(t);
		if (plain[j] && t.nulls != 0ul)
			null[j] = SieveWords(t.nulls + uint64_t(lane) * RQL_SIEVE_LANE_BYTES).v;
		if (!plain[j] || t.span_count == 0u)
			continue;
		const rql_sieve_kernel_span s = SieveSpan(t.spans).v;
		from[j] = vector_at(t, s.from_first, lane);
		to[j] = vector_at(t, s.to_first, lane);
		if (TWO && s.from_third != RQL_SIEVE_KERNEL_NO_ROW) {
			from2[j] = vector_at(t, s.from_second, lane);
			from3[j] = vector_at(t, s.from_third, lane);
		}
		if (TWO && s.to_third != RQL_SIEVE_KERNEL_NO_ROW) {
			to2[j] = vector_at(t, s.to_second, lane);
			to3[j] = vector_at(t, s.to_third, lane);
		}
	}
	[[unroll]] for (uint j = 0u; j < TESTS; j++) {
		passed[j] = ((to[j] | (to2[j] & to3[j])) & ~(from[j] | (from2[j] & from3[j]))) | ~null[j];
		if (j < count && !plain[j])
			passed[j] = other_rows(SieveTest(tests + uint64_t(j) * RQL_SIEVE_TEST_BYTES).v, lane, rows);
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

// What the first rounds of ranges found in memory.
struct Round {
	uvec4 keys;
	uvec2 rows;
	uint quads;
	bool more;
};

void load_round(const rql_sieve_kernel_open o, const uint block, const uvec2 run, out Round r)
{
	r.keys = uvec4(0u);
	r.rows = uvec2(0u);
	r.quads = first_quads(o, run);
	if (gl_LocalInvocationIndex < r.quads)
		load_quad(o, block, quad_at(o, run, gl_LocalInvocationIndex), r.keys, r.rows);
	r.more = goes_on(o, block, run, r.quads);
}

// Puts the range right in the map: the first round, then what is left.
void put_round(const rql_sieve_kernel_open o, const uint block, const uvec2 run, Round r)
{
	const uint id = gl_LocalInvocationIndex;
	if (id < r.quads)
		put_quad(o, run, quad_at(o, run, id), r.keys, r.rows);
	for (uint q = r.quads + id; r.more && q < quads_of(run); q += LANES) {
		const uint first = quad_at(o, run, q);
		load_quad(o, block, first, r.keys, r.rows);
		r.more = put_quad(o, run, first, r.keys, r.rows);
	}
}

// The rows that pass all tests, of those in `rows`. Ranges stand in the order of their tests.
uvec4 put_opens(const rql_sieve_kernel_opens opens, const uint block, const uint count, const uvec4 passed[TESTS],
                uvec4 rows)
{
	Round ahead[AHEAD];
	uint test[AHEAD];
	[[unroll]] for (uint a = 0u; a < AHEAD; a++) {
		test[a] = TESTS;
		if (a >= opens.count)
			continue;
		const rql_sieve_kernel_open o = open_at(opens, a);
		test[a] = o.test;
		load_round(o, block, runs[a], ahead[a]);
	}
	uint next = AHEAD;
	[[unroll]] for (uint j = 0u; j < TESTS; j++) {
		if (j >= count)
			break;
		put_map(passed[j]);
		wait();
		[[unroll]] for (uint a = 0u; a < AHEAD; a++)
			if (test[a] == j)
				put_round(open_at(opens, a), block, runs[a], ahead[a]);
		for (; next < opens.count && open_at(opens, next).test == j; next++) {
			Round r;
			load_round(open_at(opens, next), block, runs[next], r);
			put_round(open_at(opens, next), block, runs[next], r);
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
	SieveRows(args.rows + (uint64_t(part.place) + id) * RQL_SIEVE_LANE_BYTES).v = rows;
	note_bytes(RQL_SIEVE_LANE_BYTES);
	put_counts(args.counts, 0u);
}
