/* The part of step_kernels.h that is about dates and times. */
/* C. Neri, L. Schneider: Euclidean affine functions and their application to calendar algorithms (2022), sections 5-7:
 * multiplications instead of divisions, exact for days within +-536000000 when shifted by whole 400 years. */
#define NEAR_DAYS 536000000
#define SHIFT_CYCLES 3670u
struct fast_civil {
	int32_t year;
	uint32_t month, day, march_day; /* march_day: from the 1st of March, 0.. */
};

INLINE struct fast_civil fast_civil(int32_t day)
{
	uint32_t n = (uint32_t)day + 719468u + 146097u * SHIFT_CYCLES;
	uint32_t n1 = 4 * n + 3, century = n1 / 146097u, n2 = (n1 - century * 146097u) | 3;
	uint64_t p2 = UINT64_C(2939745) * n2;
	uint32_t z = (uint32_t)(p2 >> 32), ny = (uint32_t)p2 / 2939745u / 4;
	uint32_t n3 = 2141 * ny + 197913, month = n3 >> 16, next = ny >= 306;
	return (struct fast_civil){
		.year = (int32_t)(100 * century + z + next) - (int32_t)(400 * SHIFT_CYCLES),
		.month = next ? month - 12 : month,
		.day = (n3 & 0xffff) / 2141 + 1,
		.march_day = ny,
	};
}

/* The first of January of the (Gregorian) year. */
INLINE int32_t fast_new_year(int32_t year)
{
	uint32_t y = (uint32_t)year + 400 * SHIFT_CYCLES - 1, century = y / 100;
	return (int32_t)(365 * y + y / 4 - century + century / 4) - (int32_t)(146097 * SHIFT_CYCLES) - 719162;
}

/* Monday is 0; the 1st of January 1970 was a Thursday. 7 * 100000000 > NEAR_DAYS. */
INLINE uint32_t fast_weekday(int32_t day)
{
	return ((uint32_t)day + 3u + 700000000u) % 7u;
}

INLINE int32_t fast_part(enum rql_date_part part, int32_t day)
{
	struct fast_civil c = fast_civil(day);
	switch (part) {
	case RQL_PART_YEAR:
		return c.year;
	case RQL_PART_MONTH:
		return (int32_t)c.month;
	case RQL_PART_DAY:
		return (int32_t)c.day;
	case RQL_PART_QUARTER:
		return (int32_t)((c.month + 2) / 3);
	case RQL_PART_DAY_OF_WEEK:
		return (int32_t)((fast_weekday(day) + 1) % 7);
	case RQL_PART_ISO_DAY:
		return (int32_t)fast_weekday(day) + 1;
	case RQL_PART_DAY_OF_YEAR:
		return day - fast_new_year(c.year) + 1;
	default: { /* WEEK: counted in the year of the week's Thursday */
		int32_t thursday = day - (int32_t)fast_weekday(day) + 3;
		return (thursday - fast_new_year(fast_civil(thursday).year)) / 7 + 1;
	}
	}
}

INLINE int32_t fast_trunc(enum rql_date_part part, int32_t day)
{
	struct fast_civil c = fast_civil(day);
	switch (part) {
	case RQL_PART_YEAR:
		return fast_new_year(c.year);
	case RQL_PART_MONTH:
		return day - (int32_t)c.day + 1;
	case RQL_PART_QUARTER: {
		struct fast_civil last = fast_civil(day - (int32_t)c.day + 1); /* first of its month */
		int32_t first = day - (int32_t)c.day + 1;
		for (uint32_t k = 0; k < 2; k++) { /* two months back at most */
			bool back = (last.month + 2) % 3 != 0;
			struct fast_civil before = fast_civil(first - 1);
			first = back ? first - (int32_t)before.day : first;
			last = fast_civil(first);
		}
		return first;
	}
	case RQL_PART_WEEK:
		return day - (int32_t)fast_weekday(day);
	default:
		return day;
	}
}

#define DATE_LOOP(FAST, SLOW, PART)                                                                                    \
	case PART:                                                                                                         \
		for (uint32_t r = 0; r < n; r++)                                                                               \
			d[r] = FAST(PART, a[r]);                                                                                   \
		break;
#define DATE_KERNEL(name, FAST, SLOW, LOOPS)                                                                           \
	KERNEL name(struct rql_exec *x, const struct rql_step *s)                                                          \
	{                                                                                                                  \
		const int32_t *restrict a = OPERAND(int32_t, s->a);                                                            \
		int32_t *restrict d = RESULT(int32_t);                                                                         \
		enum rql_date_part part = (enum rql_date_part)s->detail;                                                       \
		uint32_t n = ROWS, far = 0;                                                                                    \
		for (uint32_t r = 0; r < n; r++)                                                                               \
			far |= (uint32_t)a[r] + NEAR_DAYS > 2u * NEAR_DAYS;                                                        \
		if (far) {                                                                                                     \
			for (uint32_t r = 0; r < n; r++)                                                                           \
				d[r] = rql_day_finite(a[r]) ? SLOW(part, a[r]) : a[r];                                                 \
			return true;                                                                                               \
		}                                                                                                              \
		switch (part) {                                                                                                \
			LOOPS                                                                                                      \
		default:                                                                                                       \
			break;                                                                                                     \
		}                                                                                                              \
		return false;                                                                                                  \
	}
#define PART_LOOP(PART) DATE_LOOP(fast_part, rql_day_part, PART)
#define TRUNC_LOOP(PART) DATE_LOOP(fast_trunc, rql_day_trunc, PART)
DATE_KERNEL(date_part, fast_part, rql_day_part,
            PART_LOOP(RQL_PART_YEAR) PART_LOOP(RQL_PART_MONTH) PART_LOOP(RQL_PART_DAY) PART_LOOP(RQL_PART_QUARTER)
                PART_LOOP(RQL_PART_WEEK) PART_LOOP(RQL_PART_DAY_OF_WEEK) PART_LOOP(RQL_PART_ISO_DAY)
                    PART_LOOP(RQL_PART_DAY_OF_YEAR))
DATE_KERNEL(date_trunc, fast_trunc, rql_day_trunc,
            TRUNC_LOOP(RQL_PART_DAY) TRUNC_LOOP(RQL_PART_MONTH) TRUNC_LOOP(RQL_PART_QUARTER) TRUNC_LOOP(RQL_PART_YEAR)
                TRUNC_LOOP(RQL_PART_WEEK))

/* The quotient through doubles is off by one at most; the remainder tells. */
INLINE int32_t day_of_micros(int64_t t)
{
	int32_t q = (int32_t)floor((double)t * (1.0 / (double)RQL_DAY_MICROS));
	int64_t rest = (int64_t)((uint64_t)t - (uint64_t)q * (uint64_t)RQL_DAY_MICROS);
	q += (rest >= RQL_DAY_MICROS) - (rest < 0);
	q = t == RQL_MICROS_INFINITY ? RQL_DAY_INFINITY : q;
	return t == -RQL_MICROS_INFINITY ? -RQL_DAY_INFINITY : q;
}
UNARY(days, int64_t, int32_t, day_of_micros(a))

KERNEL micros(struct rql_exec *x, const struct rql_step *s)
{
	const int32_t *restrict a = OPERAND(int32_t, s->a);
	int64_t *restrict d = RESULT(int64_t);
	uint32_t n = ROWS, far = 0;
	for (uint32_t r = 0; r < n; r++) {
		far |= (uint32_t)a[r] + RQL_DAY_TIMESTAMP_MAX > 2u * RQL_DAY_TIMESTAMP_MAX;
		d[r] = (int64_t)((uint64_t)(int64_t)a[r] * (uint64_t)RQL_DAY_MICROS);
	}
	for (uint32_t r = 0; far && r < n; r++)
		if (!rql_day_finite(a[r]))
			d[r] = a[r] > 0 ? RQL_MICROS_INFINITY : -RQL_MICROS_INFINITY;
	return far;
}

KERNEL time_part(struct rql_exec *x, const struct rql_step *s)
{
	const int64_t *restrict a = OPERAND(int64_t, s->a);
	int64_t *restrict d = RESULT(int64_t);
	int64_t unit = s->detail == RQL_PART_HOUR ? INT64_C(3600000000) : s->detail == RQL_PART_MINUTE ? 60000000 : 1000000;
	int64_t modulus = s->detail == RQL_PART_HOUR ? 24 : 60;
	bool infinite = false;
	for (uint32_t r = 0, n = ROWS; r < n; r++) {
		int64_t rest = a[r] % RQL_DAY_MICROS;
		rest += rest < 0 ? RQL_DAY_MICROS : 0;
		d[r] = rest / unit % modulus;
		infinite |= !rql_micros_finite(a[r]);
	}
	return infinite;
}
