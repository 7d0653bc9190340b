// What generated code does with numbers, beyond one instruction: quotients, rounding, truncated dates, times of day, long
// lists. Integers come as their bits. Parameters are `const in` as in scan_kernel.comp. Include after scan_values.glsl.
#ifndef SCAN_NUMBERS_GLSL
#define SCAN_NUMBERS_GLSL

// ---- quotients ----

uint64_t magnitude_of(uint64_t a)
{
	return (a >> 63) != 0ul ? ~a + 1ul : a;
}
uint64_t with_sign(uint64_t magnitude, bool negative)
{
	return negative ? ~magnitude + 1ul : magnitude;
}
// Quotient and remainder; a divisor of 0 gives anything. GPUs divide 64 bits many times slower than 32.
u64vec2 divided(uint64_t x, uint64_t y)
{
	y = max(y, 1ul);
	if (((x | y) >> 32) == 0ul) {
		uint quotient = uint(x) / uint(y);
		return u64vec2(uint64_t(quotient), uint64_t(uint(x) - quotient * uint(y)));
	}
	uint64_t quotient = x / y;
	return u64vec2(quotient, x - quotient * y);
}

// As C and SQL divide: truncated, and the remainder has the sign of a. The least by -1 wraps.
uint64_t scan_quotient(const uint64_t a, const uint64_t b)
{
	return with_sign(divided(magnitude_of(a), magnitude_of(b)).x, ((a ^ b) >> 63) != 0ul);
}
uint64_t scan_remainder(const uint64_t a, const uint64_t b)
{
	return with_sign(divided(magnitude_of(a), magnitude_of(b)).y, (a >> 63) != 0ul);
}
uint magnitude_32(uint a)
{
	return (a >> 31) != 0u ? ~a + 1u : a;
}
uint scan_quotient_32(const uint a, const uint b)
{
	uint quotient = magnitude_32(a) / max(magnitude_32(b), 1u);
	return ((a ^ b) >> 31) != 0u ? ~quotient + 1u : quotient;
}
uint scan_remainder_32(const uint a, const uint b)
{
	uint rest = magnitude_32(a) % max(magnitude_32(b), 1u);
	return (a >> 31) != 0u ? ~rest + 1u : rest;
}
// a / by, halves away from zero; by > 0 and twice it below 2^64.
uint64_t scan_scaled_down(const uint64_t a, const uint64_t by)
{
	u64vec2 q = divided(magnitude_of(a), by);
	return with_sign(q.x + (q.y * 2ul >= by ? 1ul : 0ul), (a >> 63) != 0ul);
}

// ---- reals, by their bits, so that no driver's own rounding is asked ----

// The nearest int64, ties to even, of a double from -2^63 to below 2^63; of others anything.
uint64_t scan_rounded(const uint64_t bits)
{
	uint64_t mantissa = (bits & 0xffffffffffffful) | 0x10000000000000ul;
	int exponent = int(uint(bits >> 52) & 0x7ffu) - 1075; // the value is mantissa * 2^exponent
	uint64_t magnitude = 0ul;
	if (exponent >= 0) {
		magnitude = mantissa << uint(min(exponent, 11)); // 11: the least int64
	} else if (exponent >= -53) {
		uint by = uint(-exponent);
		uint64_t rest = mantissa & ((1ul << by) - 1ul), half_way = 1ul << (by - 1u);
		magnitude = mantissa >> by;
		magnitude += rest > half_way || (rest == half_way && (magnitude & 1ul) != 0ul) ? 1ul : 0ul;
	}
	return with_sign(magnitude, (bits >> 63) != 0ul);
}

// C's fmod: exact, the sign of a. Long division, 11 bits of the exponents' difference at a time.
uint64_t scan_real_remainder(const uint64_t a, const uint64_t b)
{
	const uint64_t infinity = 0x7ff0000000000000ul, hidden = 0x10000000000000ul;
	uint64_t x = a & 0x7ffffffffffffffful, y = b & 0x7ffffffffffffffful, sign = a & 0x8000000000000000ul;
	if (y == 0ul || x >= infinity || y > infinity)
		return 0x7ff8000000000000ul;
	if (x < y)
		return a;
	int ex = max(int(uint(x >> 52)), 1), ey = max(int(uint(y >> 52)), 1);
	uint64_t mx = x & (hidden - 1ul), my = y & (hidden - 1ul);
	mx |= x >= hidden ? hidden : 0ul;
	my |= y >= hidden ? hidden : 0ul;
	uint64_t rest = mx % my;
	for (int left = ex - ey; left > 0 && rest != 0ul; left -= 11)
		rest = (rest << uint(min(left, 11))) % my;
	if (rest == 0ul)
		return sign;
	uint high = uint(rest >> 32);
	int top = high != 0u ? findMSB(high) + 32 : findMSB(uint(rest));
	int up = min(52 - top, ey - 1);
	rest <<= uint(up);
	return sign | (rest >= hidden ? (rest & (hidden - 1ul)) | (uint64_t(ey - up) << 52) : rest);
}

// The nearest FLOAT of a double, ties to even, as a double. Sums, differences, products and quotients of FLOATs that are
// computed so are FLOAT's own: a double has more than twice its digits (Figueroa, "When is double rounding innocuous?",
// SIGNUM 1995).
uint64_t scan_float_of(const uint64_t bits)
{
	uint64_t sign = bits & 0x8000000000000000ul, magnitude = bits ^ sign;
	int exponent = int(uint(magnitude >> 52)) - 1023;
	if (exponent == 1024)
		return bits;
	if (exponent >= -126) {
		magnitude = (magnitude + 0xffffffful + ((magnitude >> 29) & 1ul)) & ~0x1ffffffful;
		return sign | (magnitude >= 0x47f0000000000000ul ? 0x7ff0000000000000ul : magnitude); // 2^128
	}
	uint drop = uint(29 - 126 - exponent); // below FLOAT's least exponent: multiples of 2^-149
	if (drop > 53u)
		return sign;
	uint64_t mantissa = (magnitude & 0xffffffffffffful) | 0x10000000000000ul;
	uint64_t rest = mantissa & ((1ul << drop) - 1ul), half_way = 1ul << (drop - 1u);
	uint count = uint(mantissa >> drop);
	count += rest > half_way || (rest == half_way && (count & 1u) != 0u) ? 1u : 0u;
	if (count == 0u)
		return sign;
	int top = findMSB(count);
	return sign | (uint64_t(top - 149 + 1023) << 52) | ((uint64_t(count) << uint(52 - top)) & 0xffffffffffffful);
}
// An int64 with as many digits as a double has and the same nearest FLOAT: what is left out leaves a one.
uint64_t scan_jammed(const uint64_t a)
{
	uint64_t x = magnitude_of(a);
	if ((x >> 53) != 0ul)
		x = (x & ~0x7fful) | ((x & 0x7fful) != 0ul ? 0x800ul : 0ul);
	return with_sign(x, (a >> 63) != 0ul);
}

// ---- dates and times ----

// The day that begins the year (0), month (1), quarter (3) or week (4) of a finite one; part 2: the day itself. Wraps below
// the first day that DATE has.
uint scan_date_trunc(const uint days, const uint part)
{
	int64_t day = int64_t(int(days));
	if (part == 2u)
		return days;
	if (part == 4u)
		return days - uint((day + 2147483649l) % 7l); // Monday is 0
	ivec4 c = civil_of(day);
	if (part == 0u)
		return days - uint(c.w - 1);
	if (part == 1u)
		return days - uint(c.z - 1);
	int quarter = (c.y - 1) / 3, march = c.y - 3;
	// days of the year before the month, as they are and without a leap day
	int leap = c.y < 3 ? 0 : c.w - c.z - (59 + (153 * march + 2) / 5);
	int start = quarter == 0 ? 0 : (quarter == 1 ? 90 : quarter == 2 ? 181 : 273) + leap;
	return days - uint(c.w - 1 - start);
}

const uint64_t DAY_MICROS = 86400000000ul;
// Microseconds since 1970 to the day, and their time of day.
uint scan_day_of(const uint64_t micros)
{
	u64vec2 q = divided(magnitude_of(micros), DAY_MICROS);
	if (micros == 0x7ffffffffffffffful)
		return 0x7fffffffu;
	if (micros == 0x8000000000000001ul)
		return 0x80000001u;
	uint day = uint(q.x);
	return (micros >> 63) == 0ul ? day : ~day + 1u - (q.y != 0ul ? 1u : 0u);
}
// The first microsecond of a day.
uint64_t scan_micros_of(const uint days)
{
	if (days == 0x7fffffffu)
		return 0x7ffffffffffffffful;
	if (days == 0x80000001u)
		return 0x8000000000000001ul;
	return uint64_t(int64_t(int(days))) * DAY_MICROS;
}
// Of the day that `micros` are in: hour (8), minute (9) or second.
uint scan_time_part(const uint64_t micros, const uint part)
{
	uint64_t rest = divided(magnitude_of(micros), DAY_MICROS).y;
	if ((micros >> 63) != 0ul && rest != 0ul)
		rest = DAY_MICROS - rest;
	uint second = uint(rest / 1000000ul);
	return part == 8u ? second / 3600u : part == 9u ? second / 60u % 60u : second % 60u;
}

// ---- lists ----

// Is `key` one of the ascending keys in a table?
bool scan_in_list(const uint64_t table, const uint count, const uint64_t key)
{
	uint low = 0u, high = count;
	while (low < high) {
		uint middle = (low + high) / 2u;
		if (ScanU64(table + uint64_t(middle) * 8ul).v < key)
			low = middle + 1u;
		else
			high = middle;
	}
	return low < count && ScanU64(table + uint64_t(low) * 8ul).v == key;
}
#endif
