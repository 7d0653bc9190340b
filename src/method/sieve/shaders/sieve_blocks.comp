// ROWS of a conjunction by blocks: a workgroup takes one. Of each bound one vector is read, the nearer one, and what it has
// wrong are rows that lie side by side in the order of the block's keys. So nothing is read that is thrown away: no row of
// another bin, and no sector of 32 bytes for a single key.
//
// Floor, in bytes a row: 1/8 for each vector and for the bitmap, 6 for a row between a bound and its vector, and a sector
// in each block for where these begin. What is read depends on nothing but the bounds. All loads of up to four tests are
// on their way together: first vectors and where runs begin, then the runs.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // RQL_SIEVE_BLOCK_LANES
layout(constant_id = 1) const bool COUNTING = false;
layout(constant_id = 2) const bool TWO = true; // some cut reads three vectors
#define SIEVE_COUNTING COUNTING
#include "method/sieve/shaders/sieve_spans.glsl"

layout(push_constant, scalar) uniform Args { rql_sieve_blocks_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveOpens { rql_sieve_kernel_opens v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SieveOpen { rql_sieve_kernel_open v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer SievePair { uvec2 v; };
const uint TESTS = RQL_SIEVE_BLOCK_TESTS, WORDS = RQL_SIEVE_BLOCK_ROWS / 32u, LANES = RQL_SIEVE_BLOCK_LANES;
shared uint map[TESTS * WORDS];               // of each test, the block's rows that pass
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

void put_map(const uint j, const uvec4 rows)
{
	const uint at = j * WORDS + gl_LocalInvocationIndex * 4u;
	map[at] = rows.x;
	map[at + 1u] = rows.y;
	map[at + 2u] = rows.z;
	map[at + 3u] = rows.w;
}

void put_other(const rql_sieve_kernel_test t, const uint j, const uint lane, const uvec4 rows)
{
	uvec4 sure, maybe;
	read_spans(t, lane, sure, maybe);
	maybe &= rows & ~sure;
	if (COUNTING) {
		const ivec4 asked = bitCount(maybe);
		sieve_tested += uint(asked.x + asked.y + asked.z + asked.w);
	}
	put_map(j, sure | test_rows(t, uint64_t(lane) * RQL_SIEVE_LANE_ROWS, maybe));
}

// Loads of all tests first; nothing waits between two of them.
void put_vectors(const uint64_t tests, const uint count, const uint lane, const uvec4 rows)
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
	[[unroll]] for (uint j = 0u; j < TESTS; j++)
		if (plain[j])
			put_map(j, ((to[j] | (to2[j] & to3[j])) & ~(from[j] | (from2[j] & from3[j]))) | ~null[j]);
	for (uint j = 0u; j < count; j++) {
		const rql_sieve_kernel_test t = SieveTest(tests + uint64_t(j) * RQL_SIEVE_TEST_BYTES).v;
		if (!is_plain(t))
			put_other(t, j, lane, rows);
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

// Four neighbours in the order of keys: this lane's in round `round`, from the end where the range is. False: there are
// none.
bool find_quad(const rql_sieve_kernel_open o, const uvec2 run, const uint round, out uint first)
{
	const uint step = round * LANES + gl_LocalInvocationIndex;
	const uint low = run.x / 4u, high = (run.y + 3u) / 4u; // quads
	first = (o.down != 0u ? high - 1u - step : low + step) * 4u;
	return run.x < run.y && step < high - low;
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
		const uint word = o.test * WORDS + row / 32u, bit = 1u << (row & 31u);
		if (COUNTING)
			sieve_tested++;
		if (o.pass != 0u)
			atomicOr(map[word], bit);
		else
			atomicAnd(map[word], ~bit);
	}
	return o.down != 0u ? keys.x >= o.least : keys.w <= o.greatest;
}

// The first round of two ranges together, then what is left of each.
void put_opens(const rql_sieve_kernel_opens opens, const uint block)
{
	const uint BOTH = 2u;
	for (uint base = 0u; base < opens.count; base += BOTH) {
		uint first[BOTH];
		uvec4 keys[BOTH];
		uvec2 pairs[BOTH];
		bool there[BOTH];
		[[unroll]] for (uint k = 0u; k < BOTH; k++) {
			there[k] = false;
			keys[k] = uvec4(0u);
			pairs[k] = uvec2(0u);
			first[k] = 0u;
			if (base + k >= opens.count)
				continue;
			const rql_sieve_kernel_open o = open_at(opens, base + k);
			there[k] = find_quad(o, runs[base + k], 0u, first[k]);
			if (there[k])
				load_quad(o, block, first[k], keys[k], pairs[k]);
		}
		[[unroll]] for (uint k = 0u; k < BOTH; k++) {
			if (!there[k])
				continue;
			const rql_sieve_kernel_open o = open_at(opens, base + k);
			const uvec2 run = runs[base + k];
			bool more = put_quad(o, run, first[k], keys[k], pairs[k]);
			for (uint round = 1u; more && find_quad(o, run, round, first[k]); round++) {
				load_quad(o, block, first[k], keys[k], pairs[k]);
				more = put_quad(o, run, first[k], keys[k], pairs[k]);
			}
		}
	}
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
	uvec4 rows = uvec4(0xffffffffu);
	for (uint g = 0u; g < groups; g++) {
		const uint count = min(args.test_count - g * TESTS, TESTS);
		const rql_sieve_kernel_opens opens = SieveOpens(args.opens + uint64_t(segment * groups + g) * 16ul).v;
		uvec2 run = uvec2(0u);
		if (id < opens.count) {
			const rql_sieve_kernel_open o = open_at(opens, id);
			run = uvec2(start_at(o, block, o.first_bin), start_at(o, block, o.end_bin));
			note_bytes(RQL_SIEVE_SECTOR);
		}
		put_vectors(tests + uint64_t(g * TESTS) * RQL_SIEVE_TEST_BYTES, count, lane, rows);
		if (id < opens.count)
			runs[id] = run;
		wait();
		put_opens(opens, block);
		wait();
		for (uint j = 0u; j < count; j++) {
			const uint at = j * WORDS + id * 4u;
			rows &= uvec4(map[at], map[at + 1u], map[at + 2u], map[at + 3u]);
		}
	}
	SieveRows(args.rows + (uint64_t(part.place) + id) * RQL_SIEVE_LANE_BYTES).v = rows;
	note_bytes(RQL_SIEVE_LANE_BYTES);
	put_counts(args.counts, 0u);
}
