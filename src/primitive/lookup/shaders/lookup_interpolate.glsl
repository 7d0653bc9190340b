// Interpolation search in sorted keys, whose bounds tell their mean density. KEY_BITS: 32 or 64. Needs what
// lookup_search.glsl has above it, and args with base, slope.
//
// A guess is off by some sqrt(n) / 2 places where keys are spread evenly. Further jumps go by the density between the
// last two places, so that one of keys that thin out slowly is followed. Each jump is a read of its own line, and one
// may end on the same side as all before it. So what is left is not halved but galloped to from the last place, where that
// seems near: twice log2 of the distance. Else it is halved. 2^26 keys that are evenly spread take some four jumps.
#define JUMPS 6u
#define NEAR 4.0 // places: a gallop's first step
#define PLACES 4294967040.0 // the greatest float below 2^32

// As of bisect. up: the answer is near low, else near high.
uint gallop(uint low, uint high, KEY key, bool after, bool up)
{
	uint width = BESIDE;
	bool inside = false;
	while (high - low > width && !inside) {
		uint at = up ? low + width - 1u : high - width;
		bool before = is_before(KEY_AT(at), key, after);
		if (before)
			low = at + 1u;
		else
			high = at;
		inside = before != up;
		width = width > high ? width : width * 2u;
	}
	return bisect(low, high, key, after);
}

uint search(uint low, uint high, KEY key, bool after)
{
	uint64_t wide = uint64_t(key);
	float slope = args.slope, step = wide <= args.base ? 0.0 : float(wide - args.base) * slope;
	uint at = uint(min(step, PLACES)), last = 0u;
	KEY last_key = KEY(0);
	bool before = true;
	for (uint jump = 0u; jump < JUMPS && high - low > BESIDE; jump++) {
		at = clamp(at, low, high - 1u);
		KEY there = KEY_AT(at);
		before = is_before(there, key, after);
		if (jump != 0u && there != last_key)
			slope = float(at > last ? at - last : last - at) / float(there > last_key ? there - last_key : last_key - there);
		last = at;
		last_key = there;
		step = float(before ? key - there : there - key) * slope;
		if (before)
			low = at + 1u;
		else
			high = at;
		if (step < NEAR)
			break;
		uint places = uint(min(step, PLACES));
		at = before ? at + min(places, high - at) : at - min(places, at);
	}
	return step * step < float(high - low) ? gallop(low, high, key, after, before) : bisect(low, high, key, after);
}
