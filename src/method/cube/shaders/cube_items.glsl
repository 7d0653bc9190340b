// Items of a bound request (rql_cube_box_entry) worked out: from a number to an interval of cells and its group.
#ifndef CUBE_ITEMS_GLSL
#define CUBE_ITEMS_GLSL

struct CubeItem {
	uint64_t begin, end, group; // cells
	uint box;
	// The first residual digit's segment that is still to be searched in [begin, end); search_radix 0: none.
	uint64_t search_begin, search_end;
	uint search_radix;
	rql_cube_column search_codes;
};

uint64_t cube_divide(uint64_t a, uint b, out uint rest)
{
	if (a <= 0xfffffffful) { // 64-bit division is a long loop on every GPU
		rest = uint(a) % b;
		return uint64_t(uint(a) / b);
	}
	rest = uint(a % b);
	return a / b;
}

uint cube_find_box(rql_cube_program p, uint64_t item)
{
	uint low = 0u, high = p.box_count;
	while (high - low > 1u) {
		uint middle = (low + high) / 2u;
		if (CubeBox(p.boxes + uint64_t(middle) * 96ul).v.first_item <= item)
			low = middle;
		else
			high = middle;
	}
	return low;
}

// First cell of the sorted run [begin, end) whose code is at least value: doubling steps from a guess by interpolation,
// then halving.
uint64_t cube_lower_bound(rql_cube_column codes, uint64_t begin, uint64_t end, uint64_t value, uint radix)
{
	if (value <= codes.base_low || begin == end)
		return begin;
	if (value >= uint64_t(radix))
		return end;
	uint64_t wanted = value - codes.base_low, low = begin, high = end, step = 1ul;
	uint64_t at = begin + uint64_t(float(end - begin) * (float(value) / float(radix)));
	while (low < high) {
		at = clamp(at, low, high - 1ul);
		if (cube_field(codes, at) < wanted) {
			low = at + 1ul;
			at = high - low > step ? at + step : low + (high - low) / 2ul;
		} else {
			high = at;
			at = high - low > step ? at - step : low + (high - low) / 2ul;
		}
		step *= 2ul;
	}
	return low;
}

// Everything but the search: box, segment and steps, each after the other, then both directory entries.
CubeItem cube_item(rql_cube_program p, uint64_t number)
{
	CubeItem item;
	item.box = cube_find_box(p, number);
	rql_cube_box_entry box = cube_box(p, item.box);
	uint64_t left = number - box.first_item, key = 0ul;
	uint segment, search = 0u;
	if (box.search_count > 0u)
		left = cube_divide(left, box.search_count, search);
	left = cube_divide(left, box.segment_count, segment);
	rql_cube_segment_entry s = CubeSegment(box.segments + uint64_t(segment) * 24ul).v;
	item.group = s.group;
	for (uint l = box.level_count; l-- > 0u;) {
		rql_cube_level_entry level = CubeLevel(box.levels + uint64_t(l) * 16ul).v;
		uint at;
		left = cube_divide(left, level.count, at);
		rql_cube_step_entry step = CubeStep(level.steps + uint64_t(at) * 16ul).v;
		key += step.key;
		item.group += step.group;
	}
	item.begin = cube_cell_of(p, key + s.begin);
	item.end = cube_cell_of(p, key + s.end);
	item.search_radix = 0u;
	item.search_begin = item.search_end = 0ul;
	if (box.search_count > 0u && item.begin < item.end) {
		rql_cube_segment_entry found = CubeSegment(box.searches + uint64_t(search) * 24ul).v;
		item.search_begin = found.begin;
		item.search_end = found.end;
		item.search_radix = box.search_radix;
		item.search_codes = box.search_codes;
		item.group += found.group;
	}
	return item;
}
#endif
