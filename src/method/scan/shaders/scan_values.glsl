// What generated code makes of values: reals, look-ups in join maps and tables, overflow, parts of dates. Parameters are
// `const in` as in scan_kernel.comp. Include after scan_rows.glsl.
#ifndef SCAN_VALUES_GLSL
#define SCAN_VALUES_GLSL

// The double of a FLOAT.
uint64_t scan_widened(const uint64_t bits)
{
#if SCAN_REAL
	return packUint2x32(unpackDouble2x32(double(uintBitsToFloat(uint(bits)))));
#else
	return bits;
#endif
}
// Of a row's extremes: -0.0 is below 0.0, so that the host is shown the one that there is.
uint64_t scan_extreme_key(const uint64_t bits)
{
	return rql_key_of_real(bits);
}
// The same, but that -0.0 is 0.0.
uint64_t scan_real_key(const uint64_t bits)
{
	return rql_key_of_equal_real(bits);
}
// rql_real_code of column/value/value.h; `same`: the one that stands for all that equal it.
uint64_t scan_real_code(const uint64_t bits, const bool same)
{
	uint64_t key = same ? rql_key_of_equal_real(bits) : rql_key_of_real(bits);
	return key == RQL_KEY_NAN ? 0xffe0000000000002ul + (same ? 0ul : bits >> 63) : key - 0xffffffffffffful;
}

// Join maps. Over a dense range: payload + 1 of key number `at`, in `width` bytes; 0: none, and number `span` has none.
uint scan_payload(const uint64_t table, const uint at, const uint span, const uint width)
{
	uint64_t byte = table + uint64_t(min(at, span)) * uint64_t(width);
	uint word = ScanU32(byte & ~3ul).v;
	return width == 4u ? word : bitfieldExtract(word, int(uint(byte) & 3u) * 8, int(width) * 8);
}
// Else: a hash table, of entries of 8 or 16 bytes (column/map/map_layout.h). A search reads 32 bytes of it at once: 4 places or 2,
// of which those before `first` are not the key's. x: its entry, 0: none of these; y: not 0: nor can it lie behind them.
uvec2 scan_probe_narrow(const uvec4 low, const uvec4 high, const uint first, const uint word)
{
	bvec4 is = equal(uvec4(low.xz, high.xz), uvec4(word)); // no key's word is 0
	bvec4 free = equal(uvec4(low.yw, high.yw), uvec4(0u));
	uint found = is.x ? low.y : is.y ? low.w : is.z ? high.y : is.w ? high.w : 0u;
	bool last = free.w || (free.z && first < 3u) || (free.y && first < 2u) || (free.x && first == 0u);
	return uvec2(found, last ? 1u : 0u);
}
uvec2 scan_probe_wide(const uvec4 low, const uvec4 high, const uint first, const uvec2 word)
{
	uint found = low.xy == word ? low.z : 0u;
	found = found == 0u && high.xy == word ? high.z : found;
	return uvec2(found, high.z == 0u || (low.z == 0u && first == 0u) ? 1u : 0u);
}
uint scan_probe(const uint64_t table, const uint64_t mask, const uint width, const uint64_t word, const bool live)
{
	if (!live)
		return 0u;
	uint64_t hash = word * 0x9e3779b97f4a7c15ul;
	uint64_t at = (hash ^ (hash >> 32)) & mask;
	uint places = 32u / width, first = uint(at) & (places - 1u);
	uvec2 words = unpackUint2x32(word);
	at -= uint64_t(first);
	for (uint64_t tries = 0ul; tries <= mask + uint64_t(places); tries += uint64_t(places)) {
		uint64_t from = table + at * uint64_t(width);
		uvec4 low = ScanU32x4(from).v, high = ScanU32x4(from + 16ul).v;
		uvec2 seen = width == 16u ? scan_probe_wide(low, high, first, words) : scan_probe_narrow(low, high, first, words.x);
		if (seen.x != 0u || seen.y != 0u)
			return seen.x;
		at = (at + uint64_t(places)) & mask;
		first = 0u;
	}
	return 0u;
}

// Entries of tables; of one without a live row, which may have any index: the first.
uint scan_u32_at(const uint64_t table, const uint index, const bool live)
{
	return ScanU32(table + uint64_t(live ? index : 0u) * 4ul).v;
}
uint64_t scan_u64_at(const uint64_t table, const uint index, const bool live)
{
	return ScanU64(table + uint64_t(live ? index : 0u) * 8ul).v;
}
bool scan_bit_at(const uint64_t table, const uint index, const bool live)
{
	uint bit = live ? index : 0u;
	return ((ScanU32(table + uint64_t(bit >> 5) * 4ul).v >> (bit & 31u)) & 1u) != 0u;
}

// a * b does not fit int64.
bool scan_product_overflows(const uint64_t a, const uint64_t b)
{
	bool negative = ((a ^ b) >> 63) != 0ul;
	uint64_t x = (a >> 63) != 0ul ? ~a + 1ul : a, y = (b >> 63) != 0ul ? ~b + 1ul : b;
	uint64_t x1 = x >> 32, y1 = y >> 32, x0 = x & 0xfffffffful, y0 = y & 0xfffffffful;
	if (x1 != 0ul && y1 != 0ul)
		return true;
	uint64_t middle = x1 * y0 + x0 * y1, low = x0 * y0;
	if ((middle >> 32) != 0ul)
		return true;
	uint64_t sum = low + (middle << 32);
	return sum < low || sum > (negative ? 0x8000000000000000ul : 0x7ffffffffffffffful);
}

// Days since 1970 to year, month, day and day of the year (from 1). Years begin in March here, so that leap days are
// the last of theirs; 146097 days are 400 years. 64 bits only where DATE is far beyond what anybody stores.
ivec4 civil_of(int64_t day)
{
	uint era, rest;
	int eras = 7400;
	if (day >= -1000000000l && day <= 1000000000l) {
		uint z = uint(int(day) + 719468 + 1081117800);
		era = z / 146097u;
		rest = z % 146097u;
	} else {
		uint64_t z = uint64_t(day + 719468l + 2922086097l);
		eras = 20001;
		era = uint(z / 146097ul);
		rest = uint(z % 146097ul);
	}
	uint of_era = (rest - rest / 1460u + rest / 36524u - rest / 146096u) / 365u;
	uint of_year = rest - (365u * of_era + of_era / 4u - of_era / 100u), march = (5u * of_year + 2u) / 153u;
	int year = int(of_era) + (int(era) - eras) * 400;
	int dom = int(of_year - (153u * march + 2u) / 5u) + 1, month = march < 10u ? int(march) + 3 : int(march) - 9;
	bool leap = (of_era % 4u == 0u && of_era % 100u != 0u) || of_era == 0u;
	int from_january = march < 10u ? int(of_year) + (leap ? 61 : 60) : int(of_year) - 305;
	return ivec4(month <= 2 ? year + 1 : year, month, dom, from_january);
}

// enum rql_date_part of a finite day.
uint scan_date_part(const uint days, const uint part)
{
	int64_t day = int64_t(int(days));
	uint weekday = uint((day + 2147483649l) % 7l); // Monday is 0
	ivec4 c = civil_of(part == 4u ? day - int64_t(weekday) + 3l : day);
	switch (part) {
	case 0u:
		return uint(c.x);
	case 1u:
		return uint(c.y);
	case 2u:
		return uint(c.z);
	case 3u:
		return uint(c.y + 2) / 3u;
	case 4u: // of the year of the week's Thursday
		return uint(c.w - 1) / 7u + 1u;
	case 5u:
		return (weekday + 1u) % 7u;
	case 6u:
		return weekday + 1u;
	default:
		return uint(c.w);
	}
}
#endif
