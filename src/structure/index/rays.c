/* The kinds "rx" and "cgrx": look-ups by rays. What CREATE INDEX says of RTIndeX's dimensions of design (papers/003,
 * section 3) and of cgRX's buckets; index.c does the rest. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "structure/index/index.h"
#include "structure/structure_internal.h"

#define AXIS_BITS 22u /* geometry/axis.h: integers that an axis holds */
#define KEY_BITS 64u
#define BUCKET 32u
#define BUCKET_MOST 65536u

static const char *const key_modes[] = {[RQL_RAY_KEYS_AUTO] = "auto",         [RQL_RAY_KEYS_NAIVE] = "naive",
                                        [RQL_RAY_KEYS_EXTENDED] = "extended", [RQL_RAY_KEYS_3D] = "3d"};
static const char *const primitives[] = {
	[RQL_RAY_TRIANGLE] = "triangle", [RQL_RAY_SPHERE] = "sphere", [RQL_RAY_AABB] = "aabb"};
static const char *const forms[] = {[RQL_RAY_AUTO] = "auto",
                                    [RQL_RAY_OFFSET] = "offset",
                                    [RQL_RAY_ZERO] = "zero",
                                    [RQL_RAY_PERPENDICULAR] = "perpendicular"};

/* ---- reading ---- */
/* Its number among the names; `count`: it is none of them. */
static unsigned find(const char *value, const char *const *names, unsigned count)
{
	unsigned i = 0;
	while (i < count && strcasecmp(value, names[i]) != 0)
		i++;
	return i;
}

static bool read_keys(const struct rql_option *o, struct rql_ray_design *out)
{
	const unsigned i = find(o->value, key_modes, RQL_RAY_KEYS_MODES);
	out->keys = (enum rql_ray_keys)i;
	return i < RQL_RAY_KEYS_MODES;
}

static bool read_primitive(const struct rql_option *o, struct rql_ray_design *out)
{
	const unsigned i = find(o->value, primitives, RQL_RAY_PRIMITIVES);
	out->primitive = (enum rql_ray_primitive)i;
	return i < RQL_RAY_PRIMITIVES;
}

static bool read_rays(const struct rql_option *o, struct rql_ray_design *out)
{
	const unsigned i = find(o->value, forms, RQL_RAY_FORMS);
	out->rays = (enum rql_ray_form)i;
	return i < RQL_RAY_FORMS;
}

static bool read_compact(const struct rql_option *o, struct rql_ray_design *out)
{
	static const char *const words[] = {"true", "on", "false", "off"};
	const unsigned i = find(o->value, words, 4);
	out->loose = i >= 2;
	return i < 4;
}

/* A whole number that begins here; *end is behind it. */
static bool read_number(const char *text, uint32_t most, uint32_t *out, char **end)
{
	const unsigned long value = strtoul(text, end, 10);
	if (*text < '0' || *text > '9' || value > most)
		return false;
	*out = (uint32_t)value;
	return true;
}

static bool read_bucket(const struct rql_option *o, struct rql_ray_design *out)
{
	char *end = NULL;
	return read_number(o->value, BUCKET_MOST, &out->bucket, &end) && !*end && out->bucket &&
	       !(out->bucket & (out->bucket - 1));
}

/* (x, y, z) */
static bool read_bits(const struct rql_option *o, struct rql_ray_design *out)
{
	const char *c = o->value;
	for (unsigned axis = 0; axis < 3; axis++) {
		char *end = NULL;
		c += strspn(c, " \t\n");
		if (!read_number(c, AXIS_BITS, &out->bits[axis], &end))
			return false;
		c = end + strspn(end, " \t\n");
		if (*c != (axis < 2 ? ',' : 0))
			return false;
		c += axis < 2;
	}
	return out->bits[0] && out->bits[0] + out->bits[1] + out->bits[2] <= KEY_BITS;
}

static const struct ray_option {
	const char *name;
	bool (*read)(const struct rql_option *o, struct rql_ray_design *out);
	const char *expected;
	bool coarse; /* cgRX has it, too, or alone: */
	bool fine;
} all_options[] = {
	{"keys", read_keys, "auto, naive, extended or '3d'", false, true},
	{"bits", read_bits, "three numbers, of x, y and z, from 0 to 22, as in bits = (22, 10, 0); x has 1 at least, and all "
	                    "together 64 at most", true, true},
	{"primitive", read_primitive, "triangle, sphere or aabb", false, true},
	{"rays", read_rays, "auto, offset, zero or perpendicular", false, true},
	{"bucket", read_bucket, "a power of two from 1 to 65536", true, false},
	{"compact", read_compact, "true or false", true, true},
};
#define OPTIONS (sizeof all_options / sizeof *all_options)

static rql_status unknown(bool coarse, const char *sql, const struct rql_option *o, struct rql_error *err)
{
	return rql_error_at(err, sql, o->position,
	                    "Binder Error: CREATE INDEX ... USING %s has no option \"%s\"; its options are %s",
	                    coarse ? "cgrx" : "rx", o->name,
	                    coarse ? "bucket (a power of two), bits (of x, y, z) and compact (true, false)"
	                           : "keys (auto, naive, extended, '3d'), bits (of x, y, z), primitive (triangle, sphere, "
	                             "aabb), rays (auto, offset, zero, perpendicular) and compact (true, false)");
}

static const struct rql_option *given(const struct rql_statement *st, const char *name)
{
	const struct rql_option *found = NULL;
	for (uint32_t i = 0; i < st->option_count; i++)
		found = strcmp(st->options[i].name, name) == 0 ? &st->options[i] : found;
	return found;
}

/* What does not go together. */
static rql_status check_together(const char *sql, const struct rql_statement *st, const struct rql_ray_design *d,
                                 struct rql_error *err)
{
	if (d->bits[0] && (d->keys == RQL_RAY_KEYS_NAIVE || d->keys == RQL_RAY_KEYS_EXTENDED))
		return rql_error_at(err, sql, given(st, "bits")->position,
		                    "Binder Error: bits cut keys in three axes; keys = %s has one: leave bits out, or take keys = "
		                    "'3d'", key_modes[d->keys]);
	if (d->keys == RQL_RAY_KEYS_EXTENDED && d->rays == RQL_RAY_OFFSET)
		return rql_error_at(err, sql, given(st, "rays")->position,
		                    "Binder Error: rays = offset does not go with keys = extended, whose keys are not equally far "
		                    "apart: take rays = zero or perpendicular");
	if (d->keys == RQL_RAY_KEYS_EXTENDED && d->primitive == RQL_RAY_SPHERE)
		return rql_error_at(err, sql, given(st, "primitive")->position,
		                    "Binder Error: primitive = sphere does not go with keys = extended, where a sphere's two halves "
		                    "are not equally long: take triangle or aabb");
	return RQL_OK;
}

static rql_status read_design(bool coarse, const char *sql, const struct rql_statement *st, struct rql_ray_design *out,
                              struct rql_error *err)
{
	*out = (struct rql_ray_design){.bucket = 0};
	for (uint32_t i = 0; i < st->option_count; i++) {
		const struct rql_option *o = &st->options[i];
		const struct ray_option *known = all_options;
		while (known < all_options + OPTIONS &&
		       (strcmp(known->name, o->name) != 0 || !(coarse ? known->coarse : known->fine)))
			known++;
		if (known == all_options + OPTIONS)
			return unknown(coarse, sql, o, err);
		if (!known->read(o, out))
			return rql_error_at(err, sql, o->position, "Binder Error: the option %s cannot be '%s'; it is %s", o->name,
			                    o->value, known->expected);
	}
	return check_together(sql, st, out, err);
}

static rql_status options_of(bool coarse, const char *sql, const struct rql_statement *st,
                             struct rql_structure_options *out, struct rql_error *err)
{
	*out = (struct rql_structure_options){.refresh = RQL_REFRESH_MANUAL};
	return read_design(coarse, sql, st, &out->rays, err);
}

static rql_status rx_options(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                             struct rql_structure_options *out, struct rql_error *err)
{
	(void)arena;
	return options_of(false, sql, st, out, err);
}

static rql_status cgrx_options(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                               struct rql_structure_options *out, struct rql_error *err)
{
	(void)arena;
	return options_of(true, sql, st, out, err);
}

/* ---- printing ---- */
static void put(struct rql_strbuf *out, const char *name, const char *value)
{
	rql_strbuf_printf(out, "%s%s = %s", out->length ? ", " : "", name, value);
}

/* Those that are not the defaults. */
static void put_options(struct rql_strbuf *out, const struct rql_structure_options *options)
{
	const struct rql_ray_design *d = &options->rays;
	if (d->keys)
		put(out, "keys", d->keys == RQL_RAY_KEYS_3D ? "'3d'" : key_modes[d->keys]);
	if (d->bits[0])
		rql_strbuf_printf(out, "%sbits = (%u, %u, %u)", out->length ? ", " : "", d->bits[0], d->bits[1], d->bits[2]);
	if (d->primitive)
		put(out, "primitive", primitives[d->primitive]);
	if (d->rays)
		put(out, "rays", forms[d->rays]);
	if (d->bucket && d->bucket != BUCKET)
		rql_strbuf_printf(out, "%sbucket = %u", out->length ? ", " : "", d->bucket);
	if (d->loose)
		put(out, "compact", "false");
}

/* ---- can it hold the keys? ---- */
/* Reals are integers that ascend as they do, so that two of them are nearly always far apart. */
static rql_status check_types(const char *sql, const struct rql_statement *st, const struct rql_columns_shape *shape,
                              struct rql_error *err)
{
	struct rql_ray_design d;
	RQL_TRY(read_design(false, sql, st, &d, err));
	for (uint32_t c = 0; c < shape->count && (d.keys == RQL_RAY_KEYS_NAIVE || d.keys == RQL_RAY_KEYS_EXTENDED); c++) {
		const enum rql_type_id id = shape->types[c].id;
		if (id == RQL_TYPE_FLOAT || id == RQL_TYPE_DOUBLE)
			return rql_error_at(err, sql, given(st, "keys")->position,
			                    "Binder Error: keys = %s cannot hold the column \"%s\": it has 2^%u keys at most, and a %s "
			                    "has 2^%u values; take keys = '3d'",
			                    key_modes[d.keys], shape->names[c], d.keys == RQL_RAY_KEYS_NAIVE ? 22 : 24,
			                    id == RQL_TYPE_FLOAT ? "FLOAT" : "DOUBLE", id == RQL_TYPE_FLOAT ? 32 : 64);
	}
	return RQL_OK;
}

rql_status rql_structure_rays_check(struct rql_build_context *ctx, struct rql_structure *s,
                                    const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                                    struct rql_error *err)
{
	uint32_t bits = 0;
	if ((of->form != RQL_INDEX_RX && of->form != RQL_INDEX_CGRX) || rql_index_rays_fit(snapshot, of, &bits))
		return RQL_OK;
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "%s cannot hold the keys of the index %s, which span up to 2^%u values%s", s->options, s->name,
	                  bits, s->id ? ": parts of the table with more of them have keys = '3d'"
	                              : "; take keys = '3d', or bits whose sum is as large");
	if (!s->id) {
		rql_status status = rql_error_set(err, RQL_ERROR_STATEMENT, "Binder Error: %s", rql_strbuf_text(&text));
		rql_strbuf_free(&text);
		return status;
	}
	(void)rql_structure_set_text(&s->note, rql_strbuf_text(&text));
	free(ctx->notice);
	ctx->notice = rql_strbuf_take(&text);
	return RQL_OK;
}

/* ---- the kinds ---- */
static rql_status describe_rx(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                              const struct rql_statement *st, const char *schema,
                              const struct rql_structure_options *options, struct rql_structure **out,
                              struct rql_error *err)
{
	(void)schema;
	return rql_structure_index_describe(&rql_structure_rx_index, plan, all, sql, st, check_types, options, out, err);
}

static rql_status describe_cgrx(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                                const struct rql_statement *st, const char *schema,
                                const struct rql_structure_options *options, struct rql_structure **out,
                                struct rql_error *err)
{
	(void)schema;
	return rql_structure_index_describe(&rql_structure_cgrx_index, plan, all, sql, st, NULL, options, out, err);
}

const struct rql_structure_kind rql_structure_rx_index = {
	RQL_INDEX_KIND("rx"), .options = rx_options, .put_options = put_options, .describe = describe_rx};
const struct rql_structure_kind rql_structure_cgrx_index = {
	RQL_INDEX_KIND("cgrx"), .options = cgrx_options, .put_options = put_options, .describe = describe_cgrx};
