#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
// One frame, the same for every executor of expressions (EXECUTOR below): an invocation takes four rows of four columns
// at a time, evaluates a program of flat steps for each, and keeps two sums in registers. Floor: 16 bytes a row.
//
// INTERPRET: steps are read from shared memory, a switch in a loop; uniform in the dispatch.
// SPECIAL:   steps are specialization constants, a fixed number of them unrolled.
// GENERATED: executor_bench.c replaces the body of executor_row.
// SHARED:    the interpreter's registers lie in shared memory, else in an array of the invocation's.
// ROWS:      rows that one step handles, 1 or 4.
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#include "../bench/alone/executor_kernels.h"

#define INTERPRET 0
#define SPECIAL 1
#define GENERATED 2

#if ROWS == 4
#define VALUE uvec4
#define SIGNED ivec4
#define WIDE u64vec4
#define SIGNED_WIDE i64vec4
#define LESS(a, b) VALUE(lessThan(a, b))
#define LESS_EQUAL(a, b) VALUE(lessThanEqual(a, b))
#define EQUAL(a, b) VALUE(equal(a, b))
#define CHOOSE(c, a, b) mix(b, a, notEqual(c, VALUE(0)))
#else
#define VALUE uint
#define SIGNED int
#define WIDE uint64_t
#define SIGNED_WIDE int64_t
#define LESS(a, b) VALUE((a) < (b))
#define LESS_EQUAL(a, b) VALUE((a) <= (b))
#define EQUAL(a, b) VALUE((a) == (b))
#define CHOOSE(c, a, b) ((c) != 0u ? (a) : (b))
#endif

layout(constant_id = 1) const uint PLACES = 64u; // of registers: words of a row, or with SHARED of a workgroup's rows
layout(constant_id = 2) const uint CONSTANTS_AT = 0u; // SPECIAL
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Quads { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Constants { uint64_t v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Sums { uint64_t v[]; };
layout(push_constant, scalar) uniform Push { rql_executor_args args; };

#define LANES gl_WorkGroupSize.x
#define LANE gl_LocalInvocationID.x
shared uint64_t partial[128];
WIDE sums0, sums1;

#if EXECUTOR != GENERATED
#if SHARED
shared VALUE places[PLACES];
#define HIGH LANES
uint place(const uint p)
{
	return (p & (RQL_EXECUTOR_OF_LANE - 1u)) + ((p & RQL_EXECUTOR_OF_LANE) != 0u ? LANE : 0u);
}
#else
VALUE places[PLACES];
#define HIGH 1u
#define place(p) (p)
#endif

VALUE get(const uint p)
{
	return places[place(p)];
}
WIDE get_wide(const uint p)
{
	uint at = place(p);
	return WIDE(places[at]) | WIDE(places[at + HIGH]) << 32;
}
void put(const uint p, const VALUE v)
{
	places[place(p)] = v;
}
void put_wide(const uint p, const WIDE v)
{
	uint at = place(p);
	places[at] = VALUE(v);
	places[at + HIGH] = VALUE(v >> 32);
}
WIDE widen(const VALUE v)
{
	return WIDE(SIGNED_WIDE(SIGNED(v)));
}
void add(const uint which, const WIDE v, const VALUE pass)
{
	WIDE kept = v & (WIDE(0) - WIDE(pass));
	if (which == 0u)
		sums0 += kept;
	else
		sums1 += kept;
}

#define CASE(code, put, value)                                                                                         \
	case code:                                                                                                         \
		put(dst, value);                                                                                               \
		break;
void execute(const uint op, const uint dst, const uint a, const uint b, const uint c)
{
	switch (op) {
	CASE(RQL_EXECUTOR_ADD, put, get(a) + get(b))
	CASE(RQL_EXECUTOR_ADD64, put_wide, get_wide(a) + get_wide(b))
	CASE(RQL_EXECUTOR_SUB, put, get(a) - get(b))
	CASE(RQL_EXECUTOR_SUB64, put_wide, get_wide(a) - get_wide(b))
	CASE(RQL_EXECUTOR_MUL, put, get(a) * get(b))
	CASE(RQL_EXECUTOR_MUL64, put_wide, get_wide(a) * get_wide(b))
	CASE(RQL_EXECUTOR_LT, put, LESS(SIGNED(get(a)), SIGNED(get(b))))
	CASE(RQL_EXECUTOR_LT64, put, LESS(SIGNED_WIDE(get_wide(a)), SIGNED_WIDE(get_wide(b))))
	CASE(RQL_EXECUTOR_LE, put, LESS_EQUAL(SIGNED(get(a)), SIGNED(get(b))))
	CASE(RQL_EXECUTOR_LE64, put, LESS_EQUAL(SIGNED_WIDE(get_wide(a)), SIGNED_WIDE(get_wide(b))))
	CASE(RQL_EXECUTOR_EQ, put, EQUAL(get(a), get(b)))
	CASE(RQL_EXECUTOR_EQ64, put, EQUAL(get_wide(a), get_wide(b)))
	CASE(RQL_EXECUTOR_CHOOSE, put, CHOOSE(get(c), get(a), get(b)))
	CASE(RQL_EXECUTOR_CHOOSE64, put_wide, CHOOSE(get(c), get_wide(a), get_wide(b)))
	CASE(RQL_EXECUTOR_MUL_WIDE, put_wide, widen(get(a)) * widen(get(b)))
	CASE(RQL_EXECUTOR_WIDEN, put_wide, widen(get(a)))
	CASE(RQL_EXECUTOR_NARROW, put, get(a))
	CASE(RQL_EXECUTOR_AND, put, get(a) & get(b))
	CASE(RQL_EXECUTOR_OR, put, get(a) | get(b))
	CASE(RQL_EXECUTOR_NOT, put, get(a) ^ 1u)
	case RQL_EXECUTOR_SUM:
		add(dst, widen(get(a)), get(b));
		break;
	case RQL_EXECUTOR_SUM64:
		add(dst, get_wide(a), get(b));
		break;
	}
}
#endif

#if EXECUTOR == INTERPRET
shared uvec4 steps[RQL_EXECUTOR_STEPS];
void run()
{
	for (uint i = 0; i < args.step_count; i++) {
		uvec4 s = steps[i];
		execute(s.x, s.y, s.z & 0xffffu, s.z >> 16, s.w);
	}
}
#elif EXECUTOR == SPECIAL
#define STEP(i)                                                                                                        \
	layout(constant_id = 16 + 4 * i) const uint X##i = 0u;                                                             \
	layout(constant_id = 17 + 4 * i) const uint Y##i = 0u;                                                             \
	layout(constant_id = 18 + 4 * i) const uint Z##i = 0u;                                                             \
	layout(constant_id = 19 + 4 * i) const uint W##i = 0u;
#define RUN(i) execute(X##i, Y##i, Z##i & 0xffffu, Z##i >> 16, W##i);
#define ALL(F)                                                                                                         \
	F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19)      \
	F(20) F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31)
ALL(STEP)
void run()
{
	ALL(RUN)
}
#endif

#if EXECUTOR == GENERATED
uint64_t kept[RQL_EXECUTOR_KEPT]; // indexed by literals only
uint64_t executor_constant(const in uint index)
{
	return kept[index];
}
void executor_sum(const in uint which, const in uint64_t v, const in bool pass)
{
	if (which == 0u)
		sums0 += pass ? v : 0ul;
	else
		sums1 += pass ? v : 0ul;
}
void executor_row(const in uint x0, const in uint x1, const in uint x2, const in uint x3)
{
	executor_sum(x0, executor_constant(0u), x1 < x2 + x3); // replaced; names what the template has
}
#else
void executor_row(const VALUE x0, const VALUE x1, const VALUE x2, const VALUE x3)
{
#if SHARED
	places[LANE] = x0;
	places[LANES + LANE] = x1;
	places[2u * LANES + LANE] = x2;
	places[3u * LANES + LANE] = x3;
#else
	places[0] = x0;
	places[1] = x1;
	places[2] = x2;
	places[3] = x3;
#endif
	run();
}
#endif

void prepare()
{
	sums0 = sums1 = WIDE(0);
#if EXECUTOR == GENERATED
	[[unroll]] for (uint i = 0; i < RQL_EXECUTOR_KEPT; i++)
		kept[i] = i < args.constant_count ? Constants(args.constants).v[i] : 0ul;
#elif EXECUTOR == SPECIAL
	[[unroll]] for (uint i = 0; i < RQL_EXECUTOR_KEPT; i++) // a place that only a run-time index names is no register
		put_wide(CONSTANTS_AT + 2u * i, i < args.constant_count ? WIDE(Constants(args.constants).v[i]) : WIDE(0));
#elif SHARED
	for (uint i = LANE; i < args.constant_count; i += LANES)
		put_wide(args.constants_at + i, WIDE(Constants(args.constants).v[i]));
#else
	for (uint i = 0; i < args.constant_count; i++)
		put_wide(args.constants_at + 2u * i, WIDE(Constants(args.constants).v[i]));
#endif
#if EXECUTOR == INTERPRET
	for (uint i = LANE; i < args.step_count; i += LANES)
		steps[i] = Quads(args.steps).v[i];
	barrier();
#endif
}

uint64_t sum_of_rows(const WIDE v)
{
#if ROWS == 4
	return v.x + v.y + v.z + v.w;
#else
	return v;
#endif
}

// A workgroup's sum, in its first invocation.
uint64_t sum_of_group(uint64_t v, const uint which)
{
	for (uint d = gl_SubgroupSize / 2u; d > 0u; d /= 2u)
		v += packUint2x32(subgroupShuffleXor(unpackUint2x32(v), d));
	if (subgroupElect())
		partial[which * 64u + gl_SubgroupID] = v;
	barrier();
	v = 0ul;
	if (LANE == 0u)
		for (uint i = 0; i < gl_NumSubgroups; i++)
			v += partial[which * 64u + i];
	return v;
}

void main()
{
	prepare();
	uint group = uint(rql_group());
	uint stride = uint(args.groups) * LANES;
	for (uint i = group * LANES + LANE; i < uint(args.quads); i += stride) {
		uvec4 x0 = Quads(args.column0).v[i];
		uvec4 x1 = Quads(args.column1).v[i];
		uvec4 x2 = Quads(args.column2).v[i];
		uvec4 x3 = Quads(args.column3).v[i];
#if ROWS == 4
		executor_row(x0, x1, x2, x3);
#elif EXECUTOR == INTERPRET
		[[dont_unroll]] for (uint k = 0; k < 4u; k++) {
			executor_row(x0.x, x1.x, x2.x, x3.x);
			x0 = x0.yzwx;
			x1 = x1.yzwx;
			x2 = x2.yzwx;
			x3 = x3.yzwx;
		}
#else
		executor_row(x0.x, x1.x, x2.x, x3.x);
		executor_row(x0.y, x1.y, x2.y, x3.y);
		executor_row(x0.z, x1.z, x2.z, x3.z);
		executor_row(x0.w, x1.w, x2.w, x3.w);
#endif
	}
	uint64_t sum0 = sum_of_group(sum_of_rows(sums0), 0u), sum1 = sum_of_group(sum_of_rows(sums1), 1u);
	if (LANE == 0u && group < uint(args.groups)) {
		atomicAdd(Sums(args.sums).v[0], sum0);
		atomicAdd(Sums(args.sums).v[1], sum1);
	}
}
