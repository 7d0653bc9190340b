/* Bounds of a cast as bounds of the column below: see the header. */
#include "flow/join/range_cast.h"

#include <math.h>

/* ---- which casts ---- */

/* Digits of the greatest value: those of no type that is wide. */
static unsigned digits_of(struct rql_type t)
{
	static const unsigned digits[2][4] = {{3, 5, 10, 20}, {3, 5, 10, 19}};
	return digits[rql_type_is_signed(t)][__builtin_ctz(rql_type_bytes(t))];
}

static bool keeps(struct rql_type from, struct rql_type to)
{
	const unsigned bytes = rql_type_bytes(from);
	if (rql_type_equal(from, to) || rql_type_widens(from, to))
		return to.id != RQL_TYPE_UHUGEINT;
	if (from.id == RQL_TYPE_FLOAT)
		return to.id == RQL_TYPE_DOUBLE;
	if (from.id == RQL_TYPE_DECIMAL)
		return to.id == RQL_TYPE_DECIMAL && to.scale >= from.scale && to.width - to.scale >= from.width - from.scale;
	if (!rql_type_is_integer(from) || bytes > 8)
		return false;
	if (to.id == RQL_TYPE_DECIMAL)
		return digits_of(from) + to.scale <= to.width;
	return (to.id == RQL_TYPE_DOUBLE && bytes <= 4) || (to.id == RQL_TYPE_FLOAT && bytes <= 2);
}

static unsigned scale_of(struct rql_type t)
{
	return t.id == RQL_TYPE_DECIMAL ? t.scale : 0;
}

const struct rql_expr *rql_range_column(const struct rql_expr *value, struct rql_range_cast *cast)
{
	const struct rql_expr *e = value;
	for (; e->kind == RQL_EXPR_CAST && !e->try_cast; e = e->children[0])
		if (!keeps(e->children[0]->type, e->type))
			return NULL;
	if (e->kind != RQL_EXPR_REF)
		return NULL;
	*cast = (struct rql_range_cast){.column = e->type, .factor = 1};
	cast->casts = !rql_type_equal(e->type, value->type) && !rql_type_is_real(e->type);
	for (unsigned i = scale_of(e->type); i < scale_of(value->type); i++)
		cast->factor *= 10;
	return e;
}

/* ---- bounds ---- */

/* Where a bound lies: `whole` is the greatest number not above it; more: it is not that number itself. */
struct bound {
	rql_int128 whole;
	bool more;
};

/* false: no number of the column is within it. */
static bool within(struct bound b, bool upper, bool open, rql_int128 least, rql_int128 greatest, rql_int128 *out)
{
	if (b.whole < least) {
		*out = least;
		return !upper;
	}
	if (b.whole > greatest) {
		*out = greatest;
		return upper;
	}
	*out = upper ? b.whole - (open && !b.more) : b.whole + (open || b.more);
	return *out >= least && *out <= greatest;
}

static struct bound whole_of(rql_int128 value, rql_int128 factor)
{
	rql_int128 whole = value / factor;
	const bool more = whole * factor != value;
	return (struct bound){whole - (more && value < 0), more};
}

/* least, greatest: of the column, all of which reals hold. NaN is above all. */
static struct bound whole_of_real(double value, rql_int128 least, rql_int128 greatest)
{
	if (!(value <= (double)greatest))
		return (struct bound){greatest + 1, false};
	if (value < (double)least)
		return (struct bound){least - 1, false};
	const double whole = floor(value);
	return (struct bound){(rql_int128)whole, whole != value};
}

void rql_range_cast_places(const struct rql_range_cast *cast, const struct rql_vector *bound, bool upper, bool open,
                           const uint32_t *rows, uint32_t n, uint64_t *places, uint64_t *live)
{
	const bool real = rql_type_is_real(bound->type), is_signed = rql_type_is_signed(cast->column);
	const unsigned bits = rql_type_bytes(cast->column) * 8 - is_signed;
	const rql_int128 greatest = ((rql_int128)1 << bits) - 1, least = is_signed ? -greatest - 1 : 0;
	_Alignas(16) rql_int128 data[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
	struct rql_lanes lanes;
	rql_vector_load(bound, rows, n, real ? RQL_LANE_F64 : RQL_LANE_I128, data, valid, &lanes);
	for (uint32_t i = 0; i < n; i++) {
		rql_int128 value = 0;
		const struct bound b = real ? whole_of_real(((const double *)lanes.data)[i], least, greatest)
		                            : whole_of(((const rql_int128 *)lanes.data)[i], cast->factor);
		if (!rql_bit_valid(lanes.valid, i) || !within(b, upper, open, least, greatest, &value))
			rql_bit_clear(live, i);
		places[i] = (uint64_t)value ^ (is_signed ? UINT64_C(1) << 63 : 0);
	}
}
