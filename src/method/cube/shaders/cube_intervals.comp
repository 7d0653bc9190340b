// The cells of a query's intervals summed into its groups' rows (RTCUDB, section 3, on the compute unit).
//
// Every TILE of LANES neighbouring lanes of a subgroup takes an item: it works out the interval's keys and group, looks
// its cells up, and sums them for every slot; the lanes share the cells that are read one by one. Where the sums meet:
//   SCALAR  one group: the subgroup folds its tiles' values, one row per workgroup in shared memory, then one atomic per
//           workgroup and word, so that no address is contended
//   SHARED  few groups, many additions: rows of the workgroup in shared memory, flushed once, only those touched
//   GLOBAL  rows in global memory, found by group number or in a hash table
// and the last workgroup puts the rows out when they are few (FINISH). Few plain sums have kernels of their own:
// cube_owned.comp and cube_entries.comp.
//
// Floor per interval: 2 directory sectors, per slot 2 of cumulative sums and about 4 of edges: 10 sectors of 32 bytes, of
// which neighbouring intervals share some. 27,000 intervals (SSB q1.1): 9 MB, 2 us at 4.3 TB/s; beside it one launch, 4
// to 5 us, and a chain of dependent loads: resolved (RESOLVED, SHARED_SLOTS) entry and slots together, then per slot its
// cumulative sums and 1 to 4 rounds of edges, additions, ticket, rows, templates: about 6 for the first slot and 2 to 5
// for each other one, 0.3 us each from cache, 0.75 us not; working the items out here costs about 12 more (program, box,
// segment, two a level, directory). Slots without cumulative sums and tested cells read every cell of the interval,
// CUBE_ROUND of them at once.
//
// Resolved entries of cells that must be read are never longer than a tile takes. Else intervals of more than LANES * 64
// such cells are not summed here but queued, and the same kernel takes them in a second dispatch (PIECES), cut to PIECE
// cells, so that workgroups finish together whatever the intervals' lengths.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#define CUBE_ROUND 4
#include "method/cube/shaders/cube_cells.glsl"
#include "method/cube/shaders/cube_items.glsl"
#include "method/cube/shaders/cube_finish.glsl"

layout(constant_id = 1) const uint MODE = 0u;
layout(constant_id = 2) const uint LANES = 1u;        // a power of two, at most the subgroup's size
layout(constant_id = 3) const uint SHARED_WORDS = 1u; // of rows, SCALAR and SHARED
layout(constant_id = 4) const bool READS = true;      // some slot or test reads every cell
layout(constant_id = 5) const bool PIECES = false;    // second dispatch
layout(constant_id = 6) const uint PIECE = 2048u;     // cells
layout(constant_id = 7) const bool FINISH = true;
layout(constant_id = 8) const bool RESOLVED = false;  // items are entries, none longer than LANES * 64 if READS
layout(constant_id = 9) const uint SHARED_SLOTS = 0u; // room for slots that a workgroup fetches, or 0
layout(push_constant, scalar) uniform Args { rql_cube_intervals_args args; };

const uint SCALAR = 0u, SHARED = 1u, GLOBAL = 2u;

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer CubeLong { rql_cube_long_entry v; };

shared uint64_t shared_rows[SHARED_WORDS];
shared uint64_t shared_counters[RQL_CUBE_COUNTERS];
shared rql_cube_slot_entry shared_slots[SHARED_SLOTS + 1u];

// What a tile works on. Its lanes agree in everything but `lane`.
struct Work {
	bool live; // there is something to do
	uint64_t begin, end, group;
	uint box;
	uint lane;
	bool rest; // PIECES, of a box without tests: the cumulative sums were done when the interval was queued
};

uint64_t runs, edge_cells, whole_cells, tested_cells; // of this invocation

rql_cube_slot_entry slot_at(rql_cube_program p, uint i)
{
	if (SHARED_SLOTS > 0u)
		return shared_slots[i];
	return cube_slot(p, i);
}

// ---- items ----

Work take_item(rql_cube_program p, uint64_t number, uint lane)
{
	CubeItem item = cube_item(p, number);
	Work w;
	w.lane = lane;
	w.rest = false;
	w.box = item.box;
	w.group = item.group;
	w.begin = item.begin;
	w.end = item.end;
	if (item.search_radix != 0u) {
		rql_cube_column codes = item.search_codes;
		uint radix = item.search_radix;
		if (LANES > 1u) { // both ends at once: even lanes search the first, odd ones the other
			bool odd = (lane & 1u) != 0u;
			uint64_t value = odd ? item.search_end : item.search_begin;
			uint64_t mine = cube_lower_bound(codes, item.begin, item.end, value, radix);
			uint64_t other = packUint2x32(subgroupShuffleXor(unpackUint2x32(mine), 1u));
			w.begin = odd ? other : mine;
			w.end = odd ? mine : other;
		} else {
			w.begin = cube_lower_bound(codes, item.begin, item.end, item.search_begin, radix);
			w.end = cube_lower_bound(codes, w.begin, item.end, item.search_end, radix);
		}
	}
	w.live = w.begin < w.end;
	return w;
}

Work take_entry(uint64_t number, uint lane)
{
	uvec4 e = CubeEntry(args.queue + number * 16ul).v;
	Work w;
	w.live = true;
	w.begin = packUint2x32(uvec2(e.x, e.w & 0xffu));
	w.end = w.begin + packUint2x32(uvec2(e.y, (e.w >> 8) & 0xffu));
	w.group = uint64_t(e.z);
	w.box = e.w >> 16;
	w.lane = lane;
	w.rest = false;
	return w;
}

// ---- the queue of long intervals ----

uint64_t queue_state()
{
	return CubeWord(args.accumulator.state + RQL_CUBE_STATE_QUEUE * 8u).v;
}

// One atomic numbers the entry and its pieces at once, so that entries ascend by first_piece.
void queue_long(Work w)
{
	uint64_t pieces = (w.end - w.begin + PIECE - 1ul) / PIECE;
	uint64_t before =
		atomicAdd(CubeWord(args.accumulator.state + RQL_CUBE_STATE_QUEUE * 8u).v, (1ul << 36) | pieces);
	rql_cube_long_entry entry;
	entry.begin = w.begin;
	entry.end = w.end;
	entry.group = w.group;
	entry.first_piece = before & ((1ul << 36) - 1ul);
	entry.box = w.box;
	entry.unused = 0u;
	CubeLong(args.queue + (before >> 36) * 40ul).v = entry;
}

Work take_piece(rql_cube_program p, uint64_t piece, uint64_t entries, uint lane)
{
	uint64_t low = 0ul, high = entries;
	while (high - low > 1ul) {
		uint64_t middle = (low + high) / 2ul;
		if (CubeLong(args.queue + middle * 40ul).v.first_piece <= piece)
			low = middle;
		else
			high = middle;
	}
	rql_cube_long_entry entry = CubeLong(args.queue + low * 40ul).v;
	Work w;
	w.lane = lane;
	w.box = entry.box;
	w.group = entry.group;
	w.begin = entry.begin + (piece - entry.first_piece) * PIECE;
	w.end = min(w.begin + PIECE, entry.end);
	w.live = true;
	w.rest = cube_box(p, w.box).test_count == 0u;
	return w;
}

// ---- adding to rows ----

#if CUBE_REAL
void shared_add_real(uint at, uint64_t value)
{
	uint64_t now = shared_rows[at], before;
	do {
		before = now;
		now = atomicCompSwap(shared_rows[at], before, rql_state_add_reals(before, value));
	} while (now != before);
}
#endif

void shared_fold(uint kind, uint at, u64vec2 value)
{
	if (kind <= RQL_CUBE_SUM) {
		atomicAdd(shared_rows[at], value.x);
	} else if (kind == RQL_CUBE_SUM_WIDE) {
		uint64_t before = atomicAdd(shared_rows[at], value.x);
		atomicAdd(shared_rows[at + 1u], value.y + (before + value.x < before ? 1ul : 0ul));
#if CUBE_REAL
	} else if (kind == RQL_CUBE_SUM_REAL) {
		shared_add_real(at, value.x);
#endif
	} else if (STATE_IS_MIN(kind)) {
		atomicMin(shared_rows[at], value.x);
	} else {
		atomicMax(shared_rows[at], value.x);
	}
}

// Where the group's row is: a word of shared_rows, or an address (0: the hash table is full).
uint64_t find_row(rql_cube_program p, uint64_t group)
{
	if (MODE == GLOBAL)
		return cube_find_row(p, args.accumulator, group);
	return MODE == SCALAR ? 0ul : group * p.row_words;
}

void add_to_row(uint kind, uint64_t row, uint word, u64vec2 value)
{
	if (MODE != GLOBAL)
		shared_fold(kind, uint(row) + word, value);
	else if (row != 0ul)
		rql_state_atomic(kind, row + uint64_t(word) * 8ul, value);
}

u64vec2 fold_lanes(uint kind, u64vec2 value, uint from, uint lanes)
{
	for (uint d = from; d < lanes; d <<= 1) {
		u64vec2 other = u64vec2(packUint2x32(subgroupShuffleXor(unpackUint2x32(value.x), d)), 0ul);
		if (kind == RQL_CUBE_SUM_WIDE)
			other.y = packUint2x32(subgroupShuffleXor(unpackUint2x32(value.y), d));
		value = rql_state_fold(kind, value, other);
	}
	return value;
}

// ---- one interval ----

// Groups of the lane's cells begin + lane + (from + k) * LANES; CUBE_ONES: filtered out, or there is no such cell.
void test_cells(rql_cube_box_entry box, Work w, uint from, out uint64_t cell[CUBE_ROUND], out uint64_t group[CUBE_ROUND])
{
	[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
		uint64_t at = w.begin + w.lane + (from + k) * LANES;
		cell[k] = min(at, w.end - 1ul);
		group[k] = at < w.end ? w.group : CUBE_ONES;
	}
	for (uint t = 0u; t < box.test_count; t++)
		cube_test(CubeTest(box.tests + uint64_t(t) * 56ul).v, cell, group);
}

// Cells that have groups of their own: each lane adds its cells one by one.
void add_grouped(rql_cube_program p, rql_cube_box_entry box, Work w)
{
	for (uint from = 0u; w.begin + from * LANES < w.end; from += CUBE_ROUND) {
		uint64_t cell[CUBE_ROUND], group[CUBE_ROUND], row[CUBE_ROUND];
		u64vec2 value[CUBE_ROUND];
		test_cells(box, w, from, cell, group);
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++) {
			row[k] = group[k] == CUBE_ONES ? 0ul : find_row(p, group[k]);
			if (group[k] != CUBE_ONES)
				add_to_row(RQL_CUBE_COUNT, row[k], 0u, u64vec2(1ul, 0ul));
		}
		for (uint i = 0u; i < p.slot_count; i++) {
			rql_cube_slot_entry s = slot_at(p, i);
			cube_cells(s, cell, value);
			[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
				if (group[k] != CUBE_ONES)
					add_to_row(s.kind, row[k], s.word, value[k]);
		}
	}
}

// Which of the lane's cells pass: bit k is cell begin + lane + k * LANES. An interval has 64 * LANES cells at most.
uint64_t passed_cells(rql_cube_box_entry box, Work w)
{
	uint64_t passed = 0ul;
	for (uint from = 0u; w.begin + from * LANES < w.end; from += CUBE_ROUND) {
		uint64_t cell[CUBE_ROUND], group[CUBE_ROUND];
		test_cells(box, w, from, cell, group);
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			passed |= group[k] != CUBE_ONES ? 1ul << (from + k) : 0ul;
	}
	return passed;
}

u64vec2 masked_part(rql_cube_slot_entry s, Work w, uint64_t passed)
{
	u64vec2 value = u64vec2(rql_state_identity(s.kind), 0ul), one[CUBE_ROUND];
	for (uint from = 0u; passed != 0ul; from += CUBE_ROUND, passed >>= CUBE_ROUND) {
		uint64_t cell[CUBE_ROUND];
		if ((passed & ((1ul << CUBE_ROUND) - 1ul)) == 0ul)
			continue;
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			cell[k] = min(w.begin + w.lane + (from + k) * LANES, w.end - 1ul);
		cube_cells(s, cell, one);
		[[unroll]] for (uint k = 0u; k < CUBE_ROUND; k++)
			if ((passed >> k & 1ul) != 0ul)
				value = rql_state_fold(s.kind, value, one[k]);
	}
	return value;
}

// Whether all tiles of the subgroup that add something add it to one group.
bool one_group(bool adds, uint64_t group)
{
	if (MODE == SCALAR)
		return true;
	uint first = subgroupBallotFindLSB(subgroupBallot(adds));
	uvec2 wanted = subgroupShuffle(unpackUint2x32(group), first);
	return subgroupAll(!adds || unpackUint2x32(group) == wanted);
}

uint count_bits(uint64_t bits)
{
	uvec2 halves = unpackUint2x32(bits);
	return bitCount(halves.x) + bitCount(halves.y);
}

// Called by whole subgroups. `cumulative`: the interval's cells wait in the queue, only cumulative sums are added now.
void add_interval(rql_cube_program p, Work w, bool cumulative)
{
	rql_cube_box_entry box = cube_box(p, w.box);
	bool tested = READS && w.live && box.test_count > 0u;
	if (tested && box.tests_group != 0u) {
		add_grouped(p, box, w);
		w.live = false;
	}
	uint64_t passed = tested && w.live ? passed_cells(box, w) : 0ul;
	CubeEdges edges;
	if (w.live && !tested)
		edges = cube_edges(p.cells, w.begin, w.end);
	uint64_t count = tested ? uint64_t(count_bits(passed)) : w.lane == 0u && !w.rest ? w.end - w.begin : 0ul;
	count = fold_lanes(RQL_CUBE_COUNT, u64vec2(w.live ? count : 0ul, 0ul), 1u, LANES).x;
	bool adds = w.live && (count != 0ul || w.rest);
	if (!subgroupAny(adds))
		return;
	// Lanes that add: one of each tile, or, when all have one group, the first that has something to add.
	bool same = one_group(adds, w.group);
	uint width = same ? gl_SubgroupSize : LANES;
	bool leads = same ? gl_SubgroupInvocationID == subgroupBallotFindLSB(subgroupBallot(adds)) : adds && w.lane == 0u;
	count = fold_lanes(RQL_CUBE_COUNT, u64vec2(count, 0ul), LANES, width).x;
	uint64_t row = leads ? find_row(p, w.group) : 0ul;
	if (leads && count != 0ul)
		add_to_row(RQL_CUBE_COUNT, row, 0u, u64vec2(count, 0ul));
	for (uint i = 0u; i < p.slot_count; i++) {
		rql_cube_slot_entry s = slot_at(p, i);
		bool summed = (s.flags & RQL_CUBE_SLOT_CUMULATIVE) != 0u;
		u64vec2 value = u64vec2(rql_state_identity(s.kind), 0ul);
		if (READS && tested) {
			value = masked_part(s, w, passed);
		} else if (w.live && !(summed ? w.rest : cumulative)) {
			if (READS || summed)
				value = cube_interval_part(s, edges, w.begin, w.end, w.lane, LANES);
		}
		value = fold_lanes(s.kind, value, 1u, width);
		if (leads)
			add_to_row(s.kind, row, s.word, value);
	}
	if (!RESOLVED && !tested && adds && w.lane == 0u && !w.rest)
		edge_cells += uint64_t(edges.left + edges.right);
}

void take_work(rql_cube_program p, Work w)
{
	bool tested = READS && w.live && cube_box(p, w.box).test_count > 0u;
	bool first = w.live && w.lane == 0u;
	bool is_long = READS && !PIECES && !RESOLVED && w.live && w.end - w.begin > uint64_t(LANES) * 64ul;
	if (first && !PIECES && !RESOLVED) {
		runs += 1ul;
		if (tested)
			tested_cells += w.end - w.begin;
		else if (READS) // else nobody asks: an atomic less
			whole_cells += w.end - w.begin;
	}
	if (is_long && first)
		queue_long(w);
	w.live = w.live && !(is_long && tested);
	if (subgroupAny(w.live))
		add_interval(p, w, is_long);
}

// ---- the workgroup ----

void clear_shared(rql_cube_program p)
{
	uint words = MODE == SCALAR ? p.row_words : uint(p.group_count) * p.row_words;
	for (uint i = gl_LocalInvocationIndex; MODE != GLOBAL && i < words; i += gl_WorkGroupSize.x)
		shared_rows[i] = cube_template_word(p, i % p.row_words);
	if (!RESOLVED && gl_LocalInvocationIndex < RQL_CUBE_COUNTERS)
		shared_counters[gl_LocalInvocationIndex] = 0ul;
	if (SHARED_SLOTS > 0u && gl_LocalInvocationIndex < p.slot_count)
		shared_slots[gl_LocalInvocationIndex] = cube_slot(p, gl_LocalInvocationIndex);
	memoryBarrierShared();
	barrier();
}

void count_up(uint counter, uint64_t value)
{
	value = fold_lanes(RQL_CUBE_COUNT, u64vec2(value, 0ul), 1u, gl_SubgroupSize).x;
	if (subgroupElect() && value != 0ul)
		atomicAdd(shared_counters[counter], value);
}

void flush_counters()
{
	count_up(RQL_CUBE_COUNTER_RUNS, runs);
	count_up(RQL_CUBE_COUNTER_EDGES, edge_cells);
	count_up(RQL_CUBE_COUNTER_CELLS, whole_cells);
	count_up(RQL_CUBE_COUNTER_TESTED, tested_cells);
	memoryBarrierShared();
	barrier();
	if (gl_LocalInvocationIndex < RQL_CUBE_COUNTERS) {
		uint at = RQL_CUBE_STATE_COUNTERS + gl_LocalInvocationIndex;
		rql_state_atomic(RQL_CUBE_COUNT, args.accumulator.state + uint64_t(at) * 8ul,
		            u64vec2(shared_counters[gl_LocalInvocationIndex], 0ul));
	}
}

// The touched rows of the workgroup into those of all.
void flush_shared(rql_cube_program p)
{
	uint rows = MODE == SCALAR ? 1u : uint(p.group_count), parts = p.slot_count + 1u;
	for (uint i = gl_LocalInvocationIndex; i < rows * parts; i += gl_WorkGroupSize.x) {
		uint row = i / parts, part = i % parts, kind = RQL_CUBE_COUNT, word = 0u;
		// Pieces of intervals without tests leave word 0 alone: their rows count as touched.
		if (!PIECES && shared_rows[row * p.row_words] == 0ul)
			continue;
		if (part > 0u) {
			rql_cube_slot_entry s = slot_at(p, part - 1u);
			kind = s.kind;
			word = s.word;
		}
		uint from = row * p.row_words + word;
		u64vec2 value = u64vec2(shared_rows[from], kind == RQL_CUBE_SUM_WIDE ? shared_rows[from + 1u] : 0ul);
		if (value != u64vec2(rql_state_identity(kind), 0ul))
			rql_state_atomic(kind, args.accumulator.rows + uint64_t(from) * 8ul, value);
	}
}

// Resolved, nothing is loaded for it: what lies behind the slots' and boxes' addresses is loaded where it is needed.
rql_cube_program program()
{
	if (!RESOLVED)
		return CubeProgram(args.program).v;
	rql_cube_program p;
	p.directory = 0ul;
	p.cells = args.cells;
	p.items = args.count;
	p.group_count = args.group_count;
	p.slots = args.slots;
	p.boxes = args.boxes;
	p.row_template = args.row_template;
	p.directory_wide = 0u;
	p.slot_count = args.slot_count;
	p.box_count = 0u;
	p.row_words = args.row_words;
	return p;
}

void main()
{
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	runs = edge_cells = whole_cells = tested_cells = 0ul;
	// Lanes of a tile are neighbours in the subgroup, whatever the order of invocations in the workgroup is.
	uint tile = gl_SubgroupID * (gl_SubgroupSize / LANES) + gl_SubgroupInvocationID / LANES;
	uint lane = gl_SubgroupInvocationID % LANES;
	uint64_t tiles = gl_WorkGroupSize.x / LANES, queued = PIECES ? queue_state() : 0ul;
	uint64_t count = PIECES ? queued & ((1ul << 36) - 1ul) : args.count;
	Work none;
	none.live = none.rest = false;
	none.begin = none.end = none.group = 0ul;
	none.box = 0u;
	none.lane = lane;
	Work ahead = none; // on its way while rows and slots are made ready
	if (RESOLVED && group * tiles + tile < count)
		ahead = take_entry(group * tiles + tile, lane);
	rql_cube_program p = program();
	clear_shared(p);
	for (uint64_t first = group * tiles; first < count; first += args.groups * tiles) {
		Work w = none;
		uint64_t item = first + tile;
		if (RESOLVED && first == group * tiles) {
			w = ahead;
		} else if (item < count) {
			if (RESOLVED)
				w = take_entry(item, lane);
			else if (PIECES)
				w = take_piece(p, item, queued >> 36, lane);
			else
				w = take_item(p, item, lane);
		}
		if (subgroupAny(w.live))
			take_work(p, w);
	}
	memoryBarrierShared();
	barrier();
	if (!RESOLVED)
		flush_counters();
	if (MODE != GLOBAL)
		flush_shared(p);
	if (!FINISH || !cube_last_workgroup(args.accumulator, args.groups))
		return;
	cube_put_rows(p, args.accumulator);
	cube_put_head(args.accumulator);
}
