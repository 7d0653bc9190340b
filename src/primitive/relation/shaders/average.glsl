// Averages as the CPU's double and 80-bit long double give them, by integers alone, so that no driver's rounding is asked:
// a quotient is rounded to the bits that the division has (64, or 53), and then to a double's. Numbers are of 128 bits as
// (low, high). Parameters that change are copies: NVIDIA's compilers are best served by small functions.
#ifndef RQL_AVERAGE_GLSL
#define RQL_AVERAGE_GLSL

const uint64_t RQL_TOP_BIT = 0x8000000000000000ul;

// mantissa * 2^exponent; the mantissa's top bit is set, or it is 0.
struct rql_scaled {
	uint64_t mantissa;
	int exponent;
};

uint rql_leading_zeros(uint64_t word)
{
	uint high = uint(word >> 32), low = uint(word);
	return high != 0u ? 31u - uint(findMSB(high)) : low != 0u ? 63u - uint(findMSB(low)) : 64u;
}

u64vec2 rql_times(uint64_t a, uint64_t b)
{
	uint64_t mask = 0xfffffffful, a0 = a & mask, a1 = a >> 32, b0 = b & mask, b1 = b >> 32;
	uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), cross = a0 * b1 + (middle & mask);
	return u64vec2((cross << 32) | (low & mask), a1 * b1 + (middle >> 32) + (cross >> 32));
}

u64vec2 rql_plus(u64vec2 a, u64vec2 b)
{
	uint64_t low = a.x + b.x;
	return u64vec2(low, a.y + b.y + (low < a.x ? 1ul : 0ul));
}

u64vec2 rql_minus_of(u64vec2 a)
{
	return u64vec2(0ul - a.x, ~a.y + (a.x == 0ul ? 1ul : 0ul));
}

// value * 2^exponent with so many bits (1 to 64), ties to even; rest: there is something behind the last bit of value.
rql_scaled rql_rounded(u64vec2 value, bool rest, int exponent, uint bits)
{
	uint64_t high = value.y, low = value.x;
	if ((high | low) == 0ul)
		return rql_scaled(0ul, 0);
	if (high == 0ul) {
		high = low;
		low = 0ul;
		exponent -= 64;
	}
	uint by = rql_leading_zeros(high), drop = 64u - bits;
	if (by != 0u) {
		high = (high << by) | (low >> (64u - by));
		low <<= by;
	}
	exponent += 64 - int(by);
	uint64_t unit = 1ul << drop, behind = drop == 0u ? low : (high << bits) | (low != 0ul ? 1ul : 0ul);
	bool more = (behind << 1) != 0ul || rest, up = (behind & RQL_TOP_BIT) != 0ul && (more || (high & unit) != 0ul);
	high = (high & ~(unit - 1ul)) + (up ? unit : 0ul);
	return high != 0ul ? rql_scaled(high, exponent) : rql_scaled(RQL_TOP_BIT, exponent + 1);
}

// a / b, neither of them 0, as bits of 128: the quotient's 64, one more behind them, and whether that is not all.
u64vec2 rql_divided(rql_scaled a, rql_scaled b, out bool rest, out int exponent)
{
	bool once = a.mantissa >= b.mantissa;
	uint64_t left = once ? a.mantissa - b.mantissa : (a.mantissa << 1) - b.mantissa, quotient = 1ul;
	uint bit = 0u;
	for (uint i = 0u; i < 64u; i++) {
		bool carry = (left & RQL_TOP_BIT) != 0ul;
		left <<= 1;
		bit = carry || left >= b.mantissa ? 1u : 0u;
		left -= bit != 0u ? b.mantissa : 0ul;
		if (i < 63u)
			quotient = (quotient << 1) | uint64_t(bit);
	}
	rest = left != 0ul;
	exponent = a.exponent - b.exponent - (once ? 127 : 128);
	return u64vec2(bit != 0u ? RQL_TOP_BIT : 0ul, quotient);
}

// The bits of (double)(sum / (count * power)), computed with `bits` bits: 64, or 53. sum is signed, count is not 0.
uint64_t rql_average(u64vec2 sum, uint64_t count, uint64_t power, uint bits)
{
	bool negative = (sum.y & RQL_TOP_BIT) != 0ul, rest;
	int exponent;
	rql_scaled a = rql_rounded(negative ? rql_minus_of(sum) : sum, false, 0, bits);
	if (a.mantissa == 0ul)
		return 0ul;
	rql_scaled b = rql_rounded(rql_times(count, power), false, 0, bits);
	u64vec2 quotient = rql_divided(a, b, rest, exponent);
	rql_scaled q = rql_rounded(quotient, rest, exponent, bits);
	q = rql_rounded(u64vec2(q.mantissa, 0ul), false, q.exponent, 53u);
	return (negative ? RQL_TOP_BIT : 0ul) | (uint64_t(q.exponent + 63 + 1023) << 52) |
	       ((q.mantissa >> 11) & 0xffffffffffffful);
}

// The same of a double's bits by a count below 2^53.
uint64_t rql_real_average(uint64_t sum, uint64_t count)
{
	uint64_t sign = sum & RQL_TOP_BIT, magnitude = sum ^ sign, fraction = magnitude & 0xffffffffffffful;
	int exponent = int(uint(magnitude >> 52)), keep;
	bool rest;
	if (magnitude == 0ul || exponent == 2047)
		return sum;
	fraction |= exponent != 0 ? 0x10000000000000ul : 0ul;
	rql_scaled a = rql_rounded(u64vec2(fraction, 0ul), false, max(exponent, 1) - 1075, 64u);
	rql_scaled b = rql_rounded(u64vec2(count, 0ul), false, 0, 64u);
	u64vec2 quotient = rql_divided(a, b, rest, exponent);
	keep = min(53, exponent + 127 + 1022 + 53); // fewer bits below the least normal number
	if (keep <= 0)
		return sign | (keep == 0 && (quotient.x != 0ul || quotient.y != RQL_TOP_BIT || rest) ? 1ul : 0ul);
	rql_scaled q = rql_rounded(quotient, rest, exponent, uint(keep));
	int biased = q.exponent + 63 + 1023;
	return sign | (biased > 0 ? (uint64_t(biased) << 52) | ((q.mantissa >> 11) & 0xffffffffffffful)
	                          : q.mantissa >> uint(12 - biased));
}
#endif
