/* The kernels of all steps, compiled once per instruction set: the including file defines
 *   TARGET      the function attribute,
 *   KERNELS     the name of the table,
 *   KERNELS_NAME its text,
 *   PACK_BYTES  uint64_t of 64 bytes of 0 or 1,
 * and KERNELS_AVX512 where masks are registers, which no compiler uses by itself for comparisons that end as bits.
 *
 * Every loop runs over whole words of 64 rows, so that there are no tails. Floor: L1 bandwidth, 2 loads and 1 store of
 * 64 bytes a cycle at best: a binary step over I64 touches 24 bytes a row, so about 5 rows a cycle with 64-byte
 * registers, twice that over I32. */
#include <math.h>
#include <string.h>
#include "expr/expr_internal.h"

#define KERNEL TARGET static bool
#define INLINE TARGET static inline __attribute__((always_inline))
#define ROWS (x->words * 64u)
#define OPERAND(T, r) ((const T *)x->slots[r].data)
#define RESULT(T) ((T *)x->slots[s->dst].data)
#define IS_CONSTANT(r) (x->slots[r].constant)
#define CONSTANT(i) (x->program->constants[i])

/* ---- arithmetic that cannot fail ---- */
#define UNARY_LOOP(T, R, A, EXPR)                                                                                      \
	{                                                                                                                  \
		const T *restrict pa = (A);                                                                                    \
		R *restrict d = RESULT(R);                                                                                     \
		for (uint32_t r = 0, n = ROWS; r < n; r++) {                                                                   \
			T a = pa[r];                                                                                               \
			d[r] = (R)(EXPR);                                                                                          \
		}                                                                                                              \
	}
#define BINARY_LOOP(T, R, A, B, EXPR)                                                                                  \
	{                                                                                                                  \
		const T *restrict pa = OPERAND(T, s->a), *restrict pb = OPERAND(T, s->b);                                      \
		R *restrict d = RESULT(R);                                                                                     \
		for (uint32_t r = 0, n = ROWS; r < n; r++) {                                                                   \
			T a = A, b = B;                                                                                            \
			d[r] = (R)(EXPR);                                                                                          \
		}                                                                                                              \
	}
#define UNARY(name, T, R, EXPR)                                                                                        \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		UNARY_LOOP(T, R, OPERAND(T, s->a), EXPR)                                                                       \
		return false;                                                                                                  \
	}
#define BINARY(name, T, R, EXPR)                                                                                       \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		if (IS_CONSTANT(s->b)) {                                                                                       \
			T k = OPERAND(T, s->b)[0];                                                                                 \
			BINARY_LOOP(T, R, pa[r], ((void)pb, k), EXPR)                                                              \
		} else if (IS_CONSTANT(s->a)) {                                                                                \
			T k = OPERAND(T, s->a)[0];                                                                                 \
			BINARY_LOOP(T, R, ((void)pa, k), pb[r], EXPR)                                                              \
		} else {                                                                                                       \
			BINARY_LOOP(T, R, pa[r], pb[r], EXPR)                                                                      \
		}                                                                                                              \
		return false;                                                                                                  \
	}

/* Unsigned: dead rows wrap. */
BINARY(add_i32, uint32_t, uint32_t, a + b)
BINARY(sub_i32, uint32_t, uint32_t, a - b)
BINARY(mul_i32, uint32_t, uint32_t, a *b)
BINARY(add_i64, uint64_t, uint64_t, a + b)
BINARY(sub_i64, uint64_t, uint64_t, a - b)
BINARY(mul_i64, uint64_t, uint64_t, a *b)
BINARY(add_i128, rql_uint128, rql_uint128, a + b)
BINARY(sub_i128, rql_uint128, rql_uint128, a - b)
BINARY(mul_i128, rql_uint128, rql_uint128, a *b)
BINARY(add_f32, float, float, a + b)
BINARY(sub_f32, float, float, a - b)
BINARY(mul_f32, float, float, a *b)
BINARY(add_f64, double, double, a + b)
BINARY(sub_f64, double, double, a - b)
BINARY(mul_f64, double, double, a *b)
BINARY(mul_wide_i32, int32_t, int64_t, (int64_t)a *b)
BINARY(mul_wide_i64, int64_t, rql_int128, (rql_int128)a *b)
UNARY(neg_i32, uint32_t, uint32_t, 0u - a)
UNARY(neg_i64, uint64_t, uint64_t, 0u - a)
UNARY(neg_i128, rql_uint128, rql_uint128, 0u - a)
UNARY(neg_f32, float, float, -a)
UNARY(neg_f64, double, double, -a)
UNARY(abs_i32, int32_t, uint32_t, a < 0 ? 0u - (uint32_t)a : (uint32_t)a)
UNARY(abs_i64, int64_t, uint64_t, a < 0 ? 0u - (uint64_t)a : (uint64_t)a)
UNARY(abs_i128, rql_int128, rql_uint128, a < 0 ? 0u - (rql_uint128)a : (rql_uint128)a)
UNARY(abs_f32, float, float, fabsf(a))
UNARY(abs_f64, double, double, fabs(a))

INLINE bool product_overflows(rql_int128 a, rql_int128 b)
{
	rql_int128 product;
	return __builtin_mul_overflow(a, b, &product);
}

/* ---- checked arithmetic: the loop finds out whether any row may be wrong, exactly or nearly ---- */
#define CHECKED_BINARY(name, T, U, EXPR, OVERFLOWS)                                                                    \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict pa = OPERAND(T, s->a), *restrict pb = OPERAND(T, s->b);                                      \
		T *restrict d = RESULT(T);                                                                                     \
		T low = (T)CONSTANT(s->imm).integer, high = (T)CONSTANT(s->imm + 1).integer;                                   \
		T bad = 0;                                                                                                     \
		for (uint32_t r = 0, n = ROWS; r < n; r++) {                                                                   \
			T a = pa[r], b = pb[r];                                                                                    \
			T v = (T)(EXPR);                                                                                           \
			bad |= (T)((v < low) | (v > high)) | (T)(OVERFLOWS);                                                       \
			d[r] = v;                                                                                                  \
		}                                                                                                              \
		return bad != 0;                                                                                               \
	}
CHECKED_BINARY(add_checked_i64, int64_t, uint64_t, (uint64_t)a + (uint64_t)b, ((a ^ v) & (b ^ v)) < 0)
CHECKED_BINARY(sub_checked_i64, int64_t, uint64_t, (uint64_t)a - (uint64_t)b, ((a ^ b) & (a ^ v)) < 0)
/* Where the product of the roundings stays below 2^63 by more than they can be wrong, there was no overflow. */
CHECKED_BINARY(mul_checked_i64, int64_t, uint64_t, (uint64_t)a *(uint64_t)b,
               fabs((double)a *(double)b) > 9.223372036854e18)
CHECKED_BINARY(add_checked_i128, rql_int128, rql_uint128, (rql_uint128)a + (rql_uint128)b, ((a ^ v) & (b ^ v)) < 0)
CHECKED_BINARY(sub_checked_i128, rql_int128, rql_uint128, (rql_uint128)a - (rql_uint128)b, ((a ^ b) & (a ^ v)) < 0)
CHECKED_BINARY(mul_checked_i128, rql_int128, rql_uint128, (rql_uint128)a *(rql_uint128)b, product_overflows(a, b))

#define CHECK(name, T)                                                                                                 \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict pa = OPERAND(T, s->a);                                                                       \
		T *restrict d = RESULT(T);                                                                                     \
		T low = (T)CONSTANT(s->imm).integer, high = (T)CONSTANT(s->imm + 1).integer;                                   \
		T bad = 0;                                                                                                     \
		for (uint32_t r = 0, n = ROWS; r < n; r++) {                                                                   \
			T a = pa[r];                                                                                               \
			bad |= (T)((a < low) | (a > high));                                                                        \
			d[r] = a;                                                                                                  \
		}                                                                                                              \
		return bad != 0;                                                                                               \
	}
CHECK(check_i32, int32_t)
CHECK(check_i64, int64_t)
CHECK(check_i128, rql_int128)

/* k >= 2, a power of ten. 2 * remainder < 2 * 10^38 fits. */
#define SCALE_DOWN(name, T, U)                                                                                         \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict pa = OPERAND(T, s->a);                                                                       \
		T *restrict d = RESULT(T);                                                                                     \
		T low = (T)CONSTANT(s->imm).integer, high = (T)CONSTANT(s->imm + 1).integer;                                   \
		const T k = (T)CONSTANT(s->imm + 2).integer;                                                                   \
		bool bad = false;                                                                                              \
		for (uint32_t r = 0, n = ROWS; r < n; r++) {                                                                   \
			T a = pa[r], rest = a % k;                                                                                 \
			T away = (U)(rest < 0 ? -rest : rest) * 2 >= (U)k ? (a < 0 ? -1 : 1) : 0;                                  \
			d[r] = a / k + away;                                                                                       \
			bad |= (d[r] < low) || (d[r] > high);                                                                      \
		}                                                                                                              \
		return bad;                                                                                                    \
	}
SCALE_DOWN(scale_down_i64, int64_t, uint64_t)
SCALE_DOWN(scale_down_i128, rql_int128, rql_uint128)

/* ---- division: rows with a divisor of 0 or an overflow are left to rql_step_judge ---- */
#define DIVISION(name, T, OP)                                                                                          \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict pa = OPERAND(T, s->a), *restrict pb = OPERAND(T, s->b);                                      \
		T *restrict d = RESULT(T);                                                                                     \
		T low = (T)CONSTANT(s->imm).integer, high = (T)CONSTANT(s->imm + 1).integer;                                   \
		bool bad = false;                                                                                              \
		for (uint32_t r = 0, n = ROWS; r < n; r++) {                                                                   \
			T a = pa[r], b = pb[r];                                                                                    \
			bool odd = b == 0 || b == -1; /* least / -1 overflows */                                                   \
			T v = odd ? (T)(b == 0 ? 0 : division_by_minus_one_##name(a)) : (T)(a OP b);                               \
			bad |= odd || v < low || v > high;                                                                         \
			d[r] = v;                                                                                                  \
		}                                                                                                              \
		return bad;                                                                                                    \
	}
#define division_by_minus_one_div_i64(a) (int64_t)(0u - (uint64_t)(a))
#define division_by_minus_one_div_i128(a) (rql_int128)(0u - (rql_uint128)(a))
#define division_by_minus_one_mod_i64(a) ((void)(a), 0)
#define division_by_minus_one_mod_i128(a) ((void)(a), 0)
DIVISION(div_i64, int64_t, /)
DIVISION(div_i128, rql_int128, /)
DIVISION(mod_i64, int64_t, %)
DIVISION(mod_i128, rql_int128, %)

#define REAL_DIVISION(name, T, EXPR)                                                                                   \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict pa = OPERAND(T, s->a), *restrict pb = OPERAND(T, s->b);                                      \
		T *restrict d = RESULT(T);                                                                                     \
		int zero = 0;                                                                                                  \
		for (uint32_t r = 0, n = ROWS; r < n; r++) {                                                                   \
			T a = pa[r], b = pb[r];                                                                                    \
			zero |= b == 0;                                                                                            \
			d[r] = EXPR;                                                                                               \
		}                                                                                                              \
		return zero && s->imm;                                                                                         \
	}
REAL_DIVISION(div_f32, float, a / b)
REAL_DIVISION(div_f64, double, a / b)
REAL_DIVISION(mod_f32, float, fmodf(a, b))
REAL_DIVISION(mod_f64, double, fmod(a, b))

/* ---- conversions ---- */
UNARY(convert_i32_i64, int32_t, int64_t, a)
UNARY(convert_i32_i128, int32_t, rql_int128, a)
UNARY(convert_i64_i32, uint64_t, uint32_t, a)
UNARY(convert_i64_i128, int64_t, rql_int128, a)
UNARY(convert_i128_i32, rql_uint128, uint32_t, a)
UNARY(convert_i128_i64, rql_uint128, uint64_t, a)
UNARY(convert_i32_f32, int32_t, float, a)
UNARY(convert_i32_f64, int32_t, double, a)
UNARY(convert_i64_f32, int64_t, float, a)
UNARY(convert_i64_f64, int64_t, double, a)
UNARY(convert_f32_f64, float, double, a)

/* DuckDB's hugeint to real: the halves, each rounded once. */
INLINE double real_of_i128(rql_int128 v)
{
	int64_t upper = (int64_t)(v >> 64);
	uint64_t lower = (uint64_t)v;
	if (upper == -1)
		return -(double)(UINT64_MAX - lower) - 1;
	return (double)lower + (double)upper * 18446744073709551616.0;
}
UNARY(convert_i128_f64, rql_int128, double, real_of_i128(a))
UNARY(convert_i128_f32, rql_int128, float, real_of_i128(a))

KERNEL convert_f64_f32(struct rql_exec *x, const struct rql_step *s)
{
	const double *restrict pa = OPERAND(double, s->a);
	float *restrict d = RESULT(float);
	int bad = 0;
	for (uint32_t r = 0, n = ROWS; r < n; r++) {
		d[r] = (float)pa[r];
		bad |= isinf(d[r]) && !isinf(pa[r]);
	}
	return bad;
}

KERNEL convert_bool_i32(struct rql_exec *x, const struct rql_step *s)
{
	const uint64_t *restrict pa = OPERAND(uint64_t, s->a);
	int32_t *restrict d = RESULT(int32_t);
	for (uint32_t w = 0; w < x->words; w++)
		for (uint32_t j = 0; j < 64; j++)
			d[w * 64 + j] = (int32_t)(pa[w] >> j & 1);
	return false;
}

KERNEL round_f64(struct rql_exec *x, const struct rql_step *s)
{
	const double *restrict pa = OPERAND(double, s->a);
	int64_t *restrict d = RESULT(int64_t);
	double low = (double)CONSTANT(s->imm).integer, high = (double)(CONSTANT(s->imm + 1).integer + 1);
	struct rql_type to = rql_step_unpack_to(s->count);
	unsigned shift = 64 - 8 * rql_type_bytes(to);
	bool is_signed = CONSTANT(s->imm).integer < 0, bad = false;
	for (uint32_t r = 0, n = ROWS; r < n; r++) {
		bool inside = pa[r] >= low && pa[r] < high;
		/* at most 2^63 - 1024 for 64 bits, at most 2^32 below: fits */
		uint64_t v = inside ? (uint64_t)(int64_t)nearbyint(pa[r]) << shift : 0;
		d[r] = is_signed ? (int64_t)v >> shift : (int64_t)(v >> shift);
		bad |= !inside;
	}
	return bad;
}

/* ---- comparisons: EQ and LT; the others swap operands or invert ---- */
#define EQ_INT(a, b) ((a) == (b))
#define LT_INT(a, b) ((a) < (b))
#define EQ_REAL(a, b) (((a) == (b)) | (((a) != (a)) & ((b) != (b))))
#define LT_REAL(a, b) (((a) < (b)) | (((b) != (b)) & ((a) == (a))))

#define COMPARE_WORD(T, TEST, A, B)                                                                                    \
	({                                                                                                                 \
		_Alignas(64) uint8_t bytes[64];                                                                                \
		for (uint32_t r = 0; r < 64; r++)                                                                              \
			bytes[r] = TEST(A, B);                                                                                     \
		PACK_BYTES(bytes);                                                                                             \
	})

/* The bits of 64 rows. ca, cb: that operand is row 0's value in every row. */
#define WORD_BY_BYTES(name, T, TEST)                                                                                   \
	INLINE uint64_t name##_word(const T *restrict a, bool ca, const T *restrict b, bool cb)                            \
	{                                                                                                                  \
		return __extension__ COMPARE_WORD(T, TEST, a[ca ? 0 : r], b[cb ? 0 : r]);                                      \
	}
#define WORD_BY_MASKS(name, T, LANES, SET, COMPARE)                                                                    \
	INLINE uint64_t name##_word(const T *restrict a, bool ca, const T *restrict b, bool cb)                            \
	{                                                                                                                  \
		uint64_t word = 0;                                                                                             \
		for (uint32_t r = 0; r < 64; r += LANES) {                                                                     \
			__m512i va = ca ? SET(a[0]) : _mm512_loadu_si512(a + r), vb = cb ? SET(b[0]) : _mm512_loadu_si512(b + r);  \
			word |= (uint64_t)COMPARE(va, vb) << r;                                                                    \
		}                                                                                                              \
		return word;                                                                                                   \
	}
#define COMPARE(name, T)                                                                                               \
	INLINE void name##_words(struct rql_exec *x, uint16_t ra, uint16_t rb, uint64_t *restrict d, uint64_t invert)      \
	{                                                                                                                  \
		const T *restrict a = OPERAND(T, ra), *restrict b = OPERAND(T, rb);                                            \
		if (IS_CONSTANT(rb)) {                                                                                         \
			for (uint32_t w = 0; w < x->words; w++, a += 64)                                                           \
				d[w] = name##_word(a, false, b, true) ^ invert;                                                        \
		} else if (IS_CONSTANT(ra)) {                                                                                  \
			for (uint32_t w = 0; w < x->words; w++, b += 64)                                                           \
				d[w] = name##_word(a, true, b, false) ^ invert;                                                        \
		} else {                                                                                                       \
			for (uint32_t w = 0; w < x->words; w++, a += 64, b += 64)                                                  \
				d[w] = name##_word(a, false, b, false) ^ invert;                                                       \
		}                                                                                                              \
	}
#if defined(KERNELS_AVX512)
WORD_BY_MASKS(eq_i32, int32_t, 16, _mm512_set1_epi32, _mm512_cmpeq_epi32_mask)
WORD_BY_MASKS(lt_i32, int32_t, 16, _mm512_set1_epi32, _mm512_cmplt_epi32_mask)
WORD_BY_MASKS(eq_i64, int64_t, 8, _mm512_set1_epi64, _mm512_cmpeq_epi64_mask)
WORD_BY_MASKS(lt_i64, int64_t, 8, _mm512_set1_epi64, _mm512_cmplt_epi64_mask)
#else
WORD_BY_BYTES(eq_i32, int32_t, EQ_INT)
WORD_BY_BYTES(lt_i32, int32_t, LT_INT)
WORD_BY_BYTES(eq_i64, int64_t, EQ_INT)
WORD_BY_BYTES(lt_i64, int64_t, LT_INT)
#endif
WORD_BY_BYTES(eq_i128, rql_int128, EQ_INT)
WORD_BY_BYTES(lt_i128, rql_int128, LT_INT)
WORD_BY_BYTES(eq_f32, float, EQ_REAL)
WORD_BY_BYTES(lt_f32, float, LT_REAL)
WORD_BY_BYTES(eq_f64, double, EQ_REAL)
WORD_BY_BYTES(lt_f64, double, LT_REAL)
COMPARE(eq_i32, int32_t)
COMPARE(lt_i32, int32_t)
COMPARE(eq_i64, int64_t)
COMPARE(lt_i64, int64_t)
COMPARE(eq_i128, rql_int128)
COMPARE(lt_i128, rql_int128)
COMPARE(eq_f32, float)
COMPARE(lt_f32, float)
COMPARE(eq_f64, double)
COMPARE(lt_f64, double)

INLINE void eq_bool_words(struct rql_exec *x, uint16_t ra, uint16_t rb, uint64_t *restrict d, uint64_t invert)
{
	const uint64_t *a = OPERAND(uint64_t, ra), *b = OPERAND(uint64_t, rb);
	for (uint32_t w = 0; w < x->words; w++)
		d[w] = ~(a[w] ^ b[w]) ^ invert;
}

INLINE void lt_bool_words(struct rql_exec *x, uint16_t ra, uint16_t rb, uint64_t *restrict d, uint64_t invert)
{
	const uint64_t *a = OPERAND(uint64_t, ra), *b = OPERAND(uint64_t, rb);
	for (uint32_t w = 0; w < x->words; w++)
		d[w] = (~a[w] & b[w]) ^ invert;
}

/* IS [NOT] DISTINCT FROM: equal values, or both NULL. */
INLINE void same_nulls(struct rql_exec *x, const struct rql_step *s, uint64_t invert)
{
	const uint64_t *va = x->slots[s->a].valid, *vb = x->slots[s->b].valid;
	uint64_t *d = RESULT(uint64_t);
	for (uint32_t w = 0; w < x->words; w++) {
		uint64_t a = va ? va[w] : ~UINT64_C(0), b = vb ? vb[w] : ~UINT64_C(0);
		d[w] = ((d[w] & a & b) | (~a & ~b)) ^ invert;
	}
}

#define COMPARISONS(K)                                                                                                 \
	KERNEL eq_##K(struct rql_exec *x, const struct rql_step *s)                                                        \
	{                                                                                                                  \
		eq_##K##_words(x, s->a, s->b, RESULT(uint64_t), s->op == RQL_STEP_NE ? ~UINT64_C(0) : 0);                      \
		return false;                                                                                                  \
	}                                                                                                                  \
	KERNEL lt_##K(struct rql_exec *x, const struct rql_step *s)                                                        \
	{                                                                                                                  \
		bool swap = s->op == RQL_STEP_GT || s->op == RQL_STEP_LE, not = s->op == RQL_STEP_LE || s->op == RQL_STEP_GE;  \
		lt_##K##_words(x, swap ? s->b : s->a, swap ? s->a : s->b, RESULT(uint64_t), not ? ~UINT64_C(0) : 0);           \
		return false;                                                                                                  \
	}                                                                                                                  \
	KERNEL same_##K(struct rql_exec *x, const struct rql_step *s)                                                      \
	{                                                                                                                  \
		eq_##K##_words(x, s->a, s->b, RESULT(uint64_t), 0);                                                            \
		same_nulls(x, s, s->op == RQL_STEP_DIFFERENT ? ~UINT64_C(0) : 0);                                              \
		return false;                                                                                                  \
	}
COMPARISONS(bool)
COMPARISONS(i32)
COMPARISONS(i64)
COMPARISONS(i128)
COMPARISONS(f32)
COMPARISONS(f64)

/* One unsigned comparison: low <= a <= high is a - low <= high - low. */
#define INSIDE(name, T, U)                                                                                             \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict a = OPERAND(T, s->a);                                                                        \
		uint64_t *restrict d = RESULT(uint64_t);                                                                       \
		U low = (U)CONSTANT(s->imm).integer, span = (U)CONSTANT(s->imm + 1).integer - low;                             \
		if (CONSTANT(s->imm).integer > CONSTANT(s->imm + 1).integer) {                                                 \
			memset(d, 0, x->words * sizeof(*d));                                                                       \
			return false;                                                                                              \
		}                                                                                                              \
		for (uint32_t w = 0; w < x->words; w++, a += 64)                                                               \
			d[w] = name##_word(a, low, span);                                                                          \
		return false;                                                                                                  \
	}
#define INSIDE_TEST(a, b) ((a) <= (b))
#define INSIDE_BYTES(name, T, U)                                                                                       \
	INLINE uint64_t name##_word(const T *restrict a, U low, U span)                                                    \
	{                                                                                                                  \
		return __extension__ COMPARE_WORD(T, INSIDE_TEST, (U)a[r] - low, span);                                        \
	}
#define INSIDE_MASKS(name, T, U, LANES, SET, SUB, COMPARE)                                                             \
	INLINE uint64_t name##_word(const T *restrict a, U low, U span)                                                    \
	{                                                                                                                  \
		uint64_t word = 0;                                                                                             \
		for (uint32_t r = 0; r < 64; r += LANES)                                                                       \
			word |= (uint64_t)COMPARE(SUB(_mm512_loadu_si512(a + r), SET((T)low)), SET((T)span)) << r;                 \
		return word;                                                                                                   \
	}
#if defined(KERNELS_AVX512)
INSIDE_MASKS(inside_i32, int32_t, uint32_t, 16, _mm512_set1_epi32, _mm512_sub_epi32, _mm512_cmple_epu32_mask)
INSIDE_MASKS(inside_i64, int64_t, uint64_t, 8, _mm512_set1_epi64, _mm512_sub_epi64, _mm512_cmple_epu64_mask)
#else
INSIDE_BYTES(inside_i32, int32_t, uint32_t)
INSIDE_BYTES(inside_i64, int64_t, uint64_t)
#endif
INSIDE_BYTES(inside_i128, rql_int128, rql_uint128)
INSIDE(inside_i32, int32_t, uint32_t)
INSIDE(inside_i64, int64_t, uint64_t)
INSIDE(inside_i128, rql_int128, rql_uint128)

/* Few entries: compared one after the other, all rows at once. More: binary search by row. */
#define IN_FEW 8u
#define IN_LIST(name, T, FIELD, EQ, LT)                                                                                \
	INLINE bool name##_search(const union rql_constant *list, uint32_t count, T v)                                     \
	{                                                                                                                  \
		uint32_t low = 0;                                                                                              \
		for (uint32_t n = count; n > 1;) {                                                                             \
			uint32_t half = n / 2;                                                                                     \
			T middle = (T)list[low + half].FIELD;                                                                      \
			low = LT(v, middle) ? low : low + half;                                                                    \
			n -= half;                                                                                                 \
		}                                                                                                              \
		T found = (T)list[low].FIELD;                                                                                  \
		return EQ(v, found);                                                                                           \
	}                                                                                                                  \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict a = OPERAND(T, s->a);                                                                        \
		uint64_t *restrict d = RESULT(uint64_t);                                                                       \
		const union rql_constant *list = &CONSTANT(s->imm);                                                            \
		for (uint32_t w = 0; w < x->words; w++, a += 64) {                                                             \
			_Alignas(64) uint8_t bytes[64] = {0};                                                                      \
			for (uint32_t i = 0; s->count <= IN_FEW && i < s->count; i++) {                                            \
				T k = (T)list[i].FIELD;                                                                                \
				for (uint32_t r = 0; r < 64; r++)                                                                      \
					bytes[r] |= EQ(a[r], k);                                                                           \
			}                                                                                                          \
			for (uint32_t r = 0; s->count > IN_FEW && r < 64; r++)                                                     \
				bytes[r] = name##_search(list, s->count, a[r]);                                                        \
			d[w] = PACK_BYTES(bytes);                                                                                  \
		}                                                                                                              \
		return false;                                                                                                  \
	}
IN_LIST(in_i32, int32_t, integer, EQ_INT, LT_INT)
IN_LIST(in_i64, int64_t, integer, EQ_INT, LT_INT)
IN_LIST(in_i128, rql_int128, integer, EQ_INT, LT_INT)
IN_LIST(in_f32, float, real, EQ_REAL, LT_REAL)
IN_LIST(in_f64, double, real, EQ_REAL, LT_REAL)

/* ---- tables ---- */
/* Codes that the table does not have read its last entry, and are made NULL by rql_step_judge. */
INLINE bool lookup_nulls(struct rql_exec *x, const struct rql_step *s, const struct rql_program_table *t)
{
	const uint32_t *restrict a = OPERAND(uint32_t, s->a);
	struct rql_slot *dst = &x->slots[s->dst];
	const uint64_t *valid = x->slots[s->a].valid;
	uint32_t last = t->count - 1, bad = 0;
	for (uint32_t r = 0, n = ROWS; r < n; r++)
		bad |= a[r] > last;
	for (uint32_t w = 0; valid && w < x->words; w++)
		dst->own_valid[w] = valid[w];
	dst->valid = valid ? dst->own_valid : NULL;
	if (!t->valid)
		return bad;
	for (uint32_t w = 0; w < x->words; w++, a += 64) {
		_Alignas(64) uint8_t bytes[64];
		for (uint32_t r = 0; r < 64; r++) {
			uint32_t code = a[r] < last ? a[r] : last;
			bytes[r] = t->valid[code >> 6] >> (code & 63) & 1;
		}
		dst->own_valid[w] = PACK_BYTES(bytes) & (valid ? valid[w] : ~UINT64_C(0));
	}
	dst->valid = dst->own_valid;
	return bad;
}

#define LOOKUP(name, T)                                                                                                \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const struct rql_program_table *t = &x->program->tables[s->imm];                                               \
		const uint32_t *restrict a = OPERAND(uint32_t, s->a);                                                          \
		const T *restrict values = t->data;                                                                            \
		T *restrict d = RESULT(T);                                                                                     \
		uint32_t last = t->count - 1;                                                                                  \
		for (uint32_t r = 0, n = ROWS; r < n; r++)                                                                     \
			d[r] = values[a[r] < last ? a[r] : last];                                                                  \
		return lookup_nulls(x, s, t);                                                                                  \
	}
LOOKUP(lookup_i32, int32_t)
LOOKUP(lookup_i64, int64_t)
LOOKUP(lookup_i128, rql_int128)
LOOKUP(lookup_f32, float)
LOOKUP(lookup_f64, double)

KERNEL lookup_bool(struct rql_exec *x, const struct rql_step *s)
{
	const struct rql_program_table *t = &x->program->tables[s->imm];
	const uint32_t *restrict a = OPERAND(uint32_t, s->a);
	const uint64_t *restrict values = t->data;
	uint64_t *restrict d = RESULT(uint64_t);
	uint32_t last = t->count - 1;
	for (uint32_t w = 0; w < x->words; w++, a += 64) {
		_Alignas(64) uint8_t bytes[64];
		for (uint32_t r = 0; r < 64; r++) {
			uint32_t code = a[r] < last ? a[r] : last;
			bytes[r] = values[code >> 6] >> (code & 63) & 1;
		}
		d[w] = PACK_BYTES(bytes);
	}
	return lookup_nulls(x, s, t);
}

/* ---- logic over words ---- */
#define WORD(p, w) ((p) ? (p)[w] : ~UINT64_C(0))

/* A decided operand decides, whatever the other one is (it may be arbitrary: its mask left the row out). */
KERNEL logic(struct rql_exec *x, const struct rql_step *s)
{
	const uint64_t *a = OPERAND(uint64_t, s->a), *b = OPERAND(uint64_t, s->b);
	const uint64_t *va = x->slots[s->a].valid, *vb = x->slots[s->b].valid;
	struct rql_slot *dst = &x->slots[s->dst];
	uint64_t *d = dst->data, flip = s->op == RQL_STEP_OR ? ~UINT64_C(0) : 0; /* OR is AND of the inverses, inverted */
	for (uint32_t w = 0; w < x->words; w++) {
		uint64_t pa = a[w] ^ flip, pb = b[w] ^ flip, ka = WORD(va, w), kb = WORD(vb, w);
		d[w] = ((pa | ~ka) & (pb | ~kb)) ^ flip;
		dst->own_valid[w] = (ka & kb) | (~pa & ka) | (~pb & kb);
	}
	dst->valid = va || vb ? dst->own_valid : NULL;
	return false;
}

KERNEL not_bool(struct rql_exec *x, const struct rql_step *s)
{
	const uint64_t *a = OPERAND(uint64_t, s->a);
	uint64_t *d = RESULT(uint64_t);
	for (uint32_t w = 0; w < x->words; w++)
		d[w] = ~a[w];
	return false;
}

KERNEL null_test(struct rql_exec *x, const struct rql_step *s)
{
	const uint64_t *valid = x->slots[s->a].valid;
	const uint64_t *mask = s->op == RQL_STEP_MASK_NULL && s->mask != RQL_REG_NONE ? OPERAND(uint64_t, s->mask) : NULL;
	uint64_t *d = RESULT(uint64_t), invert = s->op == RQL_STEP_IS_NOT_NULL ? 0 : ~UINT64_C(0);
	for (uint32_t w = 0; w < x->words; w++)
		d[w] = (WORD(valid, w) ^ invert) & WORD(mask, w);
	return false;
}

/* Stands in for masks that are not there, where a loop has no time to ask. */
static const uint64_t all_rows[RQL_VECTOR_WORDS] = {
	~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0),
	~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0),
};

/* TRUE: a & k; NOT_TRUE: ~(a & k); NOT_FALSE: ~(~a & k). */
KERNEL mask_bool(struct rql_exec *x, const struct rql_step *s)
{
	const uint64_t *a = OPERAND(uint64_t, s->a), *valid = x->slots[s->a].valid ? x->slots[s->a].valid : all_rows;
	const uint64_t *mask = s->mask == RQL_REG_NONE ? all_rows : OPERAND(uint64_t, s->mask);
	uint64_t *restrict d = RESULT(uint64_t);
	uint64_t first = s->op == RQL_STEP_MASK_NOT_FALSE ? ~UINT64_C(0) : 0;
	uint64_t then = s->op == RQL_STEP_MASK_TRUE ? 0 : ~UINT64_C(0);
	for (uint32_t w = 0, n = x->words; w < n; w++)
		d[w] = (((a[w] ^ first) & valid[w]) ^ then) & mask[w];
	return false;
}

INLINE void choose_nulls(struct rql_exec *x, const struct rql_step *s)
{
	const uint64_t *va = x->slots[s->a].valid, *vb = x->slots[s->b].valid, *vc = x->slots[s->c].valid;
	const uint64_t *c = OPERAND(uint64_t, s->c);
	struct rql_slot *dst = &x->slots[s->dst];
	for (uint32_t w = 0; (va || vb) && w < x->words; w++) {
		uint64_t when = c[w] & WORD(vc, w);
		dst->own_valid[w] = (when & WORD(va, w)) | (~when & WORD(vb, w));
	}
	dst->valid = va || vb ? dst->own_valid : NULL;
}

/* 64 rows: a where the bit of when is set. */
#if defined(KERNELS_AVX512)
INLINE void choose_32_word(uint32_t *restrict d, uint64_t when, const uint32_t *restrict a, const uint32_t *restrict b)
{
	for (uint32_t r = 0; r < 64; r += 16)
		_mm512_storeu_si512(d + r, _mm512_mask_blend_epi32((__mmask16)(when >> r), _mm512_loadu_si512(b + r),
		                                                   _mm512_loadu_si512(a + r)));
}

INLINE void choose_64_word(uint64_t *restrict d, uint64_t when, const uint64_t *restrict a, const uint64_t *restrict b)
{
	for (uint32_t r = 0; r < 64; r += 8)
		_mm512_storeu_si512(d + r, _mm512_mask_blend_epi64((__mmask8)(when >> r), _mm512_loadu_si512(b + r),
		                                                   _mm512_loadu_si512(a + r)));
}
#else
static const uint32_t bit_of_lane[32] = {
	1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,  1u << 8,  1u << 9,  1u << 10,
	1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
	1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
};

INLINE void choose_32_word(uint32_t *restrict d, uint64_t when, const uint32_t *restrict a, const uint32_t *restrict b)
{
	for (uint32_t h = 0; h < 64; h += 32) {
		uint32_t half = (uint32_t)(when >> h);
		for (uint32_t r = 0; r < 32; r++)
			d[h + r] = (half & bit_of_lane[r]) != 0 ? a[h + r] : b[h + r];
	}
}

INLINE void choose_64_word(uint64_t *restrict d, uint64_t when, const uint64_t *restrict a, const uint64_t *restrict b)
{
	for (uint32_t h = 0; h < 64; h += 32) {
		uint32_t half = (uint32_t)(when >> h);
		for (uint32_t r = 0; r < 32; r++)
			d[h + r] = (half & bit_of_lane[r]) != 0 ? a[h + r] : b[h + r];
	}
}
#endif
INLINE void choose_128_word(rql_uint128 *restrict d, uint64_t when, const rql_uint128 *restrict a,
                            const rql_uint128 *restrict b)
{
	for (uint32_t r = 0; r < 64; r++)
		d[r] = when >> r & 1 ? a[r] : b[r];
}

/* Moves bits, so that F32 is I32 and F64 I64. */
#define CHOOSE(name, T)                                                                                                \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const T *restrict a = OPERAND(T, s->a), *restrict b = OPERAND(T, s->b);                                        \
		const uint64_t *restrict c = OPERAND(uint64_t, s->c), *vc = x->slots[s->c].valid;                              \
		T *restrict d = RESULT(T);                                                                                     \
		for (uint32_t w = 0; w < x->words; w++, a += 64, b += 64, d += 64) {                                           \
			uint64_t when = c[w] & WORD(vc, w);                                                                        \
			name##_word(d, when, a, b);                                                                                \
		}                                                                                                              \
		choose_nulls(x, s);                                                                                            \
		return false;                                                                                                  \
	}
CHOOSE(choose_32, uint32_t)
CHOOSE(choose_64, uint64_t)
CHOOSE(choose_128, rql_uint128)

KERNEL choose_bool(struct rql_exec *x, const struct rql_step *s)
{
	const uint64_t *a = OPERAND(uint64_t, s->a), *b = OPERAND(uint64_t, s->b), *c = OPERAND(uint64_t, s->c);
	const uint64_t *vc = x->slots[s->c].valid;
	uint64_t *d = RESULT(uint64_t);
	for (uint32_t w = 0; w < x->words; w++) {
		uint64_t when = c[w] & WORD(vc, w);
		d[w] = (when & a[w]) | (~when & b[w]);
	}
	choose_nulls(x, s);
	return false;
}

#include "expr/step_kernels_date.h"

/* ---- the table ---- */
#define ALL_INTS(op)                                                                                                   \
	{                                                                                                                  \
		[RQL_LANE_I32] = op##_i32, [RQL_LANE_I64] = op##_i64, [RQL_LANE_I128] = op##_i128                              \
	}
#define WIDE_INTS(op)                                                                                                  \
	{                                                                                                                  \
		[RQL_LANE_I64] = op##_i64, [RQL_LANE_I128] = op##_i128                                                         \
	}
#define NUMBERS(op)                                                                                                    \
	{                                                                                                                  \
		[RQL_LANE_I32] = op##_i32, [RQL_LANE_I64] = op##_i64, [RQL_LANE_I128] = op##_i128, [RQL_LANE_F32] = op##_f32,  \
		[RQL_LANE_F64] = op##_f64                                                                                      \
	}
#define WIDE_NUMBERS(op)                                                                                               \
	{                                                                                                                  \
		[RQL_LANE_I64] = op##_i64, [RQL_LANE_I128] = op##_i128, [RQL_LANE_F32] = op##_f32, [RQL_LANE_F64] = op##_f64   \
	}
#define ANY(op)                                                                                                        \
	{                                                                                                                  \
		[RQL_LANE_BOOL] = op##_bool, [RQL_LANE_I32] = op##_i32, [RQL_LANE_I64] = op##_i64,                             \
		[RQL_LANE_I128] = op##_i128, [RQL_LANE_F32] = op##_f32, [RQL_LANE_F64] = op##_f64                              \
	}
#define WHATEVER(fn)                                                                                                   \
	{                                                                                                                  \
		fn, fn, fn, fn, fn, fn                                                                                         \
	}
#define BOOL_ONLY(fn)                                                                                                  \
	{                                                                                                                  \
		[RQL_LANE_BOOL] = fn                                                                                           \
	}

const struct rql_step_kernels KERNELS = {
	.name = KERNELS_NAME,
	.ops =
		{
			[RQL_STEP_ADD] = NUMBERS(add),
			[RQL_STEP_SUB] = NUMBERS(sub),
			[RQL_STEP_MUL] = NUMBERS(mul),
			[RQL_STEP_MUL_WIDE] = {[RQL_LANE_I32] = mul_wide_i32, [RQL_LANE_I64] = mul_wide_i64},
			[RQL_STEP_ADD_CHECKED] = WIDE_INTS(add_checked),
			[RQL_STEP_SUB_CHECKED] = WIDE_INTS(sub_checked),
			[RQL_STEP_MUL_CHECKED] = WIDE_INTS(mul_checked),
			[RQL_STEP_DIV] = WIDE_NUMBERS(div),
			[RQL_STEP_MOD] = WIDE_NUMBERS(mod),
			[RQL_STEP_NEG] = NUMBERS(neg),
			[RQL_STEP_ABS] = NUMBERS(abs),
			[RQL_STEP_CHECK] = ALL_INTS(check),
			[RQL_STEP_ROUND] = {[RQL_LANE_F64] = round_f64},
			[RQL_STEP_SCALE_DOWN] = WIDE_INTS(scale_down),
			[RQL_STEP_EQ] = ANY(eq),
			[RQL_STEP_NE] = ANY(eq),
			[RQL_STEP_LT] = ANY(lt),
			[RQL_STEP_LE] = ANY(lt),
			[RQL_STEP_GT] = ANY(lt),
			[RQL_STEP_GE] = ANY(lt),
			[RQL_STEP_SAME] = ANY(same),
			[RQL_STEP_DIFFERENT] = ANY(same),
			[RQL_STEP_INSIDE] = ALL_INTS(inside),
			[RQL_STEP_IN_LIST] = NUMBERS(in),
			[RQL_STEP_AND] = BOOL_ONLY(logic),
			[RQL_STEP_OR] = BOOL_ONLY(logic),
			[RQL_STEP_NOT] = BOOL_ONLY(not_bool),
			[RQL_STEP_IS_NULL] = WHATEVER(null_test),
			[RQL_STEP_IS_NOT_NULL] = WHATEVER(null_test),
			[RQL_STEP_MASK_TRUE] = BOOL_ONLY(mask_bool),
			[RQL_STEP_MASK_NOT_TRUE] = BOOL_ONLY(mask_bool),
			[RQL_STEP_MASK_NOT_FALSE] = BOOL_ONLY(mask_bool),
			[RQL_STEP_MASK_NULL] = WHATEVER(null_test),
			[RQL_STEP_CHOOSE] = {choose_bool, choose_32, choose_64, choose_128, choose_32, choose_64},
			[RQL_STEP_DATE_PART] = {[RQL_LANE_I32] = date_part},
			[RQL_STEP_DATE_TRUNC] = {[RQL_LANE_I32] = date_trunc},
			[RQL_STEP_DAYS] = {[RQL_LANE_I64] = days},
			[RQL_STEP_MICROS] = {[RQL_LANE_I32] = micros},
			[RQL_STEP_TIME_PART] = {[RQL_LANE_I64] = time_part},
		},
	.convert =
		{
			[RQL_LANE_BOOL] = {[RQL_LANE_I32] = convert_bool_i32},
			[RQL_LANE_I32] = {[RQL_LANE_I64] = convert_i32_i64,
                              [RQL_LANE_I128] = convert_i32_i128,
                              [RQL_LANE_F32] = convert_i32_f32,
                              [RQL_LANE_F64] = convert_i32_f64},
			[RQL_LANE_I64] = {[RQL_LANE_I32] = convert_i64_i32,
                              [RQL_LANE_I128] = convert_i64_i128,
                              [RQL_LANE_F32] = convert_i64_f32,
                              [RQL_LANE_F64] = convert_i64_f64},
			[RQL_LANE_I128] = {[RQL_LANE_I32] = convert_i128_i32,
                               [RQL_LANE_I64] = convert_i128_i64,
                               [RQL_LANE_F32] = convert_i128_f32,
                               [RQL_LANE_F64] = convert_i128_f64},
			[RQL_LANE_F32] = {[RQL_LANE_F64] = convert_f32_f64},
			[RQL_LANE_F64] = {[RQL_LANE_F32] = convert_f64_f32},
		},
	.lookup = {lookup_bool, lookup_i32, lookup_i64, lookup_i128, lookup_f32, lookup_f64},
};
