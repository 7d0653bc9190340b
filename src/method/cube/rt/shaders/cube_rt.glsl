// What the rt unit's ray-tracing shaders share: a ray's number becomes its interval, a primitive its cells. Include after
// kernel.glsl, trace.glsl, axis.glsl and cube_cells.glsl.
#ifndef RQL_CUBE_RT_GLSL
#define RQL_CUBE_RT_GLSL
#include "method/cube/rt/shaders/cube_rt_keys.glsl"

layout(push_constant, scalar) uniform arguments { rql_rt_args args; };

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_launch_at { rql_rt_launch value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_box_at { rql_rt_box value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_level_at { rql_rt_level value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_step_at { rql_rt_step value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_segment_at { rql_rt_segment value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_test_at { rql_rt_test value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_cell_test_at { rql_rt_cell_test value; };

rql_rt_launch rql_rt_launch_of()
{
	return rql_rt_launch_at(args.launch).value;
}

rql_rt_box rql_rt_box_of(rql_rt_launch launch, uint number)
{
	return rql_rt_box_at(launch.boxes + 72ul * number).value;
}

uint rql_rt_find_box(rql_rt_launch launch, uint64_t ray)
{
	uint low = 0, high = launch.box_count; // first_ray of box low <= ray
	while (high - low > 1) {
		uint middle = (low + high) / 2;
		if (rql_rt_box_of(launch, middle).first_ray <= ray)
			low = middle;
		else
			high = middle;
	}
	return low;
}

// A quotient and what it leaves: most of the time in 32 bits, which GPUs divide several times as fast.
uint64_t rql_rt_divide(inout uint64_t rest, uint divisor)
{
	uint64_t quotient = (rest >> 32) == 0 ? uint64_t(uint(rest) / divisor) : rest / divisor;
	uint64_t left = rest - quotient * divisor;
	rest = left;
	return quotient;
}

struct rql_rt_ray {
	uint point[2]; // x, y
	uint low, high;
	uint64_t group;
};

rql_rt_ray rql_rt_ray_of(rql_rt_box box, uint64_t number)
{
	uint64_t rest = number;
	uint64_t combination = rql_rt_divide(rest, box.cuts);
	uint cut = uint(rest);
	rest = combination;
	combination = rql_rt_divide(rest, box.segment_count);
	rql_rt_segment segment = rql_rt_segment_at(box.segments + 16ul * rest).value;
	uint point[3] = {0, 0, 0};
	uint64_t group = segment.group;
	for (uint l = box.level_count; l-- > 0;) {
		rql_rt_level level = rql_rt_level_at(box.levels + 24ul * l).value;
		rest = combination;
		combination = rql_rt_divide(rest, level.count);
		if (level.steps != 0) {
			rql_rt_step step = rql_rt_step_at(level.steps + 16ul * rest).value;
			point[level.axis] += step.add;
			group += step.group;
		} else {
			point[level.axis] += uint(rest) * level.stride;
		}
	}
	uint low = point[2] + segment.low, high = point[2] + segment.high;
	if (box.cuts > 1) { // as even as whole numbers allow; a cut may be empty
		uint length = high - low + 1, share = length / box.cuts, more = length % box.cuts;
		low += share * cut + min(cut, more);
		high = low + share + (cut < more ? 1 : 0) - 1;
		if (share == 0 && cut >= more) {
			low = 1;
			high = 0;
		}
	}
	return rql_rt_ray(uint[2](point[0], point[1]), low, high, group);
}

uint64_t rql_rt_start(rql_rt_launch launch, uint64_t primitive)
{
	return launch.starts == 0 ? primitive : rql_rt_offset(launch.starts, launch.wide != 0, primitive);
}

// The group numbers of a ray's copy of the rows.
uint64_t rql_rt_copy(rql_cube_program program, uint64_t ray)
{
	return (ray & (args.copies - 1)) * program.group_count;
}

void rql_rt_count(uint64_t ray, uint counter, uint64_t value)
{
	uint64_t set = ray & (args.counter_sets - 1);
	atomicAdd(CubeWord(args.counters + 8ul * (set * RQL_RT_COUNTERS + counter)).v, value);
}

// The directory key of `cell`, when that of a cell not far before it is `key`.
uint64_t rql_rt_key_at(rql_rt_launch launch, uint64_t key, uint64_t cell)
{
	for (uint i = 0; i < 4; i++, key++)
		if (cell < rql_rt_offset(launch.directory, launch.directory_wide != 0, key + 1))
			return key;
	return rql_rt_key_of(launch.directory, launch.directory_size, launch.directory_wide != 0, cell);
}

uint64_t rql_rt_first_key(rql_rt_launch launch, rql_rt_box box, uint64_t cell)
{
	if (box.keyed == 0)
		return 0;
	return rql_rt_key_of(launch.directory, launch.directory_size, launch.directory_wide != 0, cell);
}

// The group number of a cell that is tested, or CUBE_ONES: filtered out. key: its directory key, when box.keyed.
uint64_t rql_rt_test_cell(rql_rt_box box, uint64_t key, uint64_t cell, uint64_t group)
{
	for (uint t = 0; t < box.cell_test_count; t++) {
		rql_rt_cell_test test = rql_rt_cell_test_at(box.cell_tests + 64ul * t).value;
		uint64_t value = test.key_stride != 0 ? key / test.key_stride % test.radix
		                                      : cube_field(test.codes, cell) + test.codes.base_low;
		int gid = CubeI32(test.gids + 4ul * value).v;
		if (gid < 0)
			return CUBE_ONES;
		group += uint64_t(gid) * test.group_stride;
	}
	return group;
}

// Cells [begin, end) whose codes decide, added to the rows at once.
void rql_rt_add_tested(rql_rt_launch launch, rql_rt_box box, rql_cube_program program, uint64_t copy, uint64_t group,
                       uint64_t begin, uint64_t end)
{
	uint64_t key = rql_rt_first_key(launch, box, begin);
	for (uint64_t cell = begin; cell < end; cell++) {
		if (box.keyed != 0)
			key = rql_rt_key_at(launch, key, cell);
		uint64_t to = rql_rt_test_cell(box, key, cell, group);
		if (to != CUBE_ONES)
			cube_add_cell(program, args.accumulator, copy + to, cell);
	}
}
#endif
