/* Expressions over a dictionary's entries: evaluating them. A vector is 1024 entries; truths, NULLs and masks are bits. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "expr/entries_internal.h"

#define VECTOR RQL_TEXT_VECTOR
#define WORDS RQL_TEXT_WORDS
#define INLINE_ENTRIES 8192u /* so few are not worth waking threads */

struct vector {
	uint64_t valid[WORDS];
	uint64_t truth[WORDS];     /* nowhere but where it is valid */
	int64_t *integers;         /* [VECTOR] */
	struct rql_string *strings;
	char *bytes; /* of strings that are made, malloc'ed */
	size_t room;
};

struct job {
	struct rql_entry_run *run;
	const struct rql_text_kernels *kernels;
	struct rql_entry *root;
	uint32_t nodes;
	/* The result: one of them. */
	uint64_t *set;
	bool negated;
	struct rql_column *out;
	struct worker *workers;
	pthread_mutex_t lock; /* of the arena */
	bool failed, refused; /* atomic */
};

struct worker {
	struct job *job;
	struct vector *vectors; /* NULL: not begun */
	void *values;
	uint32_t first, count, words; /* of the vector at hand */
};

/* ---- nodes ---- */

static bool evaluate(struct worker *w, const struct rql_entry *e, const uint64_t *mask);

static struct vector *vector_of(struct worker *w, const struct rql_entry *e)
{
	return &w->vectors[e->number];
}

/* Calls body for each place i of the mask. */
#define EACH(mask, words, i)                                                                                           \
	for (uint32_t each_w = 0; each_w < (words); each_w++)                                                              \
		for (uint64_t each_m = (mask)[each_w]; each_m; each_m &= each_m - 1)                                           \
			for (uint32_t i = each_w * 64 + (uint32_t)__builtin_ctzll(each_m), each_once = 1; each_once; each_once = 0)

static void value(struct worker *w, struct vector *v)
{
	const struct rql_dimension *d = w->job->run->dimension;
	v->strings = (struct rql_string *)d->values.data + w->first;
	memset(v->valid, 0xff, sizeof v->valid);
	if (d->values.validity)
		memcpy(v->valid, d->values.validity + w->first / 64, w->words * sizeof *v->valid);
}

/* mask, where the children are valid. */
static void both_valid(uint64_t *out, const uint64_t *mask, const struct vector *a, const struct vector *b,
                       uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		out[i] = mask[i] & a->valid[i] & (b ? b->valid[i] : ~UINT64_C(0));
}

static void keep_range(uint64_t *mask, const struct worker *w, uint32_t first, uint32_t behind)
{
	for (uint32_t i = 0; i < w->words; i++) {
		uint64_t from = w->first + i * 64u, to = from + 64;
		if (from < first)
			mask[i] &= to <= first ? 0 : ~UINT64_C(0) << (first - from);
		if (to > behind)
			mask[i] &= from >= behind ? 0 : ~UINT64_C(0) >> (to - behind);
	}
}

static void like(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *text = vector_of(w, e->child[0]);
	uint64_t left[WORDS];
	both_valid(left, mask, text, NULL, w->words);
	memcpy(v->valid, left, w->words * sizeof *left);
	if (e->ranged)
		keep_range(left, w, e->first, e->behind);
	if (e->only)
		memcpy(v->truth, left, w->words * sizeof *left);
	else
		rql_like_select(w->job->kernels, e->like, text->strings, w->count, left, v->truth);
}

static void lengths(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *text = vector_of(w, e->child[0]);
	both_valid(v->valid, mask, text, NULL, w->words);
	if (e->op == RQL_ENTRY_OP_BYTES) {
		for (uint32_t i = 0; i < w->count; i++)
			v->integers[i] = rql_bit(v->valid, i) ? text->strings[i].length : 0;
		return;
	}
	EACH(v->valid, w->words, i) {
		const struct rql_string *s = &text->strings[i];
		v->integers[i] = (int64_t)w->job->kernels->characters(rql_string_data(s), s->length);
	}
}

static void position(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *text = vector_of(w, e->child[0]);
	const struct rql_text_kernels *kernels = w->job->kernels;
	both_valid(v->valid, mask, text, NULL, w->words);
	EACH(v->valid, w->words, i) {
		const struct rql_string *s = &text->strings[i];
		const char *data = rql_string_data(s);
		const char *hit = e->text.length ? kernels->find(data, data + s->length, &e->needle) : data;
		v->integers[i] = hit ? (int64_t)kernels->characters(data, (uint64_t)(hit - data)) + 1 : 0;
	}
}

static bool slice(const struct rql_text_kernels *kernels, const struct rql_entry *e, const struct rql_string *s,
                  struct rql_string *out)
{
	int64_t from = e->integer, count = e->count, all = 0;
	if (e->op == RQL_ENTRY_OP_RIGHT || (e->op == RQL_ENTRY_OP_LEFT && count < 0))
		all = (int64_t)kernels->characters(rql_string_data(s), s->length);
	if (e->op == RQL_ENTRY_OP_LEFT && count < 0)
		count = all + count > 0 ? all + count : 0;
	if (e->op == RQL_ENTRY_OP_RIGHT) {
		count = count < 0 ? (all + count > 0 ? all + count : 0) : count < all ? count : all;
		from = all - count + 1;
	}
	return rql_text_slice(kernels, s, from, count, out);
}

static void slices(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *text = vector_of(w, e->child[0]);
	both_valid(v->valid, mask, text, NULL, w->words);
	EACH(v->valid, w->words, i)
		if (!slice(w->job->kernels, e, &text->strings[i], &v->strings[i])) {
			__atomic_store_n(&w->job->refused, true, __ATOMIC_RELAXED);
			v->strings[i] = rql_string_make("", 0);
		}
}

static bool reserve(struct vector *v, size_t bytes)
{
	if (bytes <= v->room)
		return true;
	free(v->bytes);
	v->bytes = malloc(bytes + bytes / 2);
	v->room = v->bytes ? bytes + bytes / 2 : 0;
	return v->bytes;
}

static void mark_unknown(struct worker *w, struct vector *v, uint32_t i)
{
	w->job->run->unknown[(w->first + i) >> 6] |= UINT64_C(1) << (i & 63);
	rql_bit_clear(v->valid, i);
}

static bool cases(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *text = vector_of(w, e->child[0]);
	size_t bytes = 0;
	both_valid(v->valid, mask, text, NULL, w->words);
	EACH(v->valid, w->words, i)
		bytes += text->strings[i].length > RQL_STRING_INLINE ? text->strings[i].length : 0;
	if (!reserve(v, bytes))
		return false;
	char *at = v->bytes, few[RQL_STRING_INLINE];
	EACH(v->valid, w->words, i) {
		const struct rql_string *s = &text->strings[i];
		bool is_short = s->length <= RQL_STRING_INLINE;
		char *to = is_short ? few : at;
		if (!rql_text_case(rql_string_data(s), s->length, e->truth, to)) {
			mark_unknown(w, v, i);
			v->strings[i] = rql_string_make("", 0);
			continue;
		}
		v->strings[i] = rql_string_make(to, s->length);
		at += is_short ? 0 : s->length;
	}
	return true;
}

static void regexp(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *text = vector_of(w, e->child[0]);
	struct rql_regexp_match match;
	uint64_t left[WORDS];
	both_valid(left, mask, text, NULL, w->words);
	memcpy(v->valid, left, w->words * sizeof *left);
	memset(v->truth, 0, sizeof v->truth);
	EACH(left, w->words, i) {
		const struct rql_string *s = &text->strings[i];
		enum rql_regexp_found found = rql_regexp_search(e->regexp, rql_string_data(s), s->length, e->truth, &match);
		rql_bit_or(v->truth, i, found == RQL_REGEXP_YES);
		if (found == RQL_REGEXP_UNKNOWN)
			mark_unknown(w, v, i);
	}
}

static char *append(char *to, const char *from, const char *end)
{
	if (from != end)
		memcpy(to, from, (size_t)(end - from));
	return to + (end - from);
}

/* Where the match is the text, and one group replaces it, the result is a piece of the text. */
static struct rql_string replaced(const struct rql_entry *e, const struct rql_string *s,
                                  const struct rql_regexp_match *match, char *to)
{
	const char *data = rql_string_data(s), *end = data + s->length;
	const struct rql_entry_part *part = e->parts;
	if (!e->fresh || (e->part_count == 1 && !part->bytes && match->begin[0] == data && match->end[0] == end))
		return rql_string_make(match->begin[part->group] ? match->begin[part->group] : "",
		                       (uint32_t)(match->end[part->group] - match->begin[part->group]));
	char *at = append(to, data, match->begin[0]);
	for (uint32_t k = 0; k < e->part_count; k++, part++)
		at = part->bytes ? append(at, part->bytes, part->bytes + part->length)
		                 : append(at, match->begin[part->group], match->end[part->group]);
	at = append(at, match->end[0], end);
	return rql_string_make(to, (uint32_t)(at - to));
}

/* The most that one may become. */
static size_t most_bytes(const struct rql_entry *e, uint32_t length)
{
	size_t sum = length;
	for (uint32_t k = 0; k < e->part_count; k++)
		sum += e->parts[k].bytes ? e->parts[k].length : length;
	return sum;
}

static bool replace(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *text = vector_of(w, e->child[0]);
	struct rql_regexp_match match;
	uint64_t left[WORDS];
	size_t bytes = 0;
	both_valid(left, mask, text, NULL, w->words);
	memcpy(v->valid, left, w->words * sizeof *left);
	EACH(left, w->words, i)
		bytes += e->fresh ? most_bytes(e, text->strings[i].length) : 0;
	if (!reserve(v, bytes))
		return false;
	char *at = v->bytes;
	EACH(left, w->words, i) {
		const struct rql_string *s = &text->strings[i];
		enum rql_regexp_found found = rql_regexp_search(e->regexp, rql_string_data(s), s->length, false, &match);
		v->strings[i] = found == RQL_REGEXP_YES ? replaced(e, s, &match, at) : *s;
		at += e->fresh ? v->strings[i].length : 0;
		if (found == RQL_REGEXP_UNKNOWN)
			mark_unknown(w, v, i);
	}
	return true;
}

static int compare_strings(const struct rql_string *a, const struct rql_string *b)
{
	uint32_t common = a->length < b->length ? a->length : b->length;
	int order = memcmp(rql_string_data(a), rql_string_data(b), common);
	return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool same_string(const struct rql_string *a, const struct rql_string *b)
{
	return a->length == b->length && !memcmp(rql_string_data(a), rql_string_data(b), a->length);
}

static bool holds(enum rql_entry_comparison op, int order)
{
	switch (op) {
	case RQL_ENTRY_EQ:
	case RQL_ENTRY_NOT_DISTINCT:
		return order == 0;
	case RQL_ENTRY_NE:
	case RQL_ENTRY_DISTINCT:
		return order != 0;
	case RQL_ENTRY_LT:
		return order < 0;
	case RQL_ENTRY_LE:
		return order <= 0;
	case RQL_ENTRY_GT:
		return order > 0;
	case RQL_ENTRY_GE:
		break;
	}
	return order >= 0;
}

static int order_of(const struct rql_entry *e, const struct vector *a, const struct vector *b, uint32_t i)
{
	enum rql_entry_comparison op = e->comparison;
	if (e->child[0]->kind == RQL_ENTRY_INTEGER)
		return (a->integers[i] > b->integers[i]) - (a->integers[i] < b->integers[i]);
	if (op == RQL_ENTRY_EQ || op == RQL_ENTRY_NE || op >= RQL_ENTRY_DISTINCT)
		return !same_string(&a->strings[i], &b->strings[i]);
	return compare_strings(&a->strings[i], &b->strings[i]);
}

static void compare(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *a = vector_of(w, e->child[0]), *b = vector_of(w, e->child[1]);
	uint64_t both[WORDS];
	both_valid(both, mask, a, b, w->words);
	memset(v->truth, 0, sizeof v->truth);
	memcpy(v->valid, both, w->words * sizeof *both);
	EACH(both, w->words, i)
		rql_bit_or(v->truth, i, holds(e->comparison, order_of(e, a, b, i)));
	if (e->comparison < RQL_ENTRY_DISTINCT)
		return;
	for (uint32_t i = 0; i < w->words; i++) {
		uint64_t one = a->valid[i] ^ b->valid[i], none = ~(a->valid[i] | b->valid[i]);
		v->truth[i] |= mask[i] & (e->comparison == RQL_ENTRY_DISTINCT ? one : none);
		v->valid[i] = mask[i];
	}
}

static bool is_in(const struct rql_entry *e, const struct vector *a, uint32_t i)
{
	for (uint32_t k = 0; k < e->list_count; k++)
		if (e->child[0]->kind == RQL_ENTRY_TEXT ? same_string(&a->strings[i], &e->strings[k])
		                                        : a->integers[i] == e->integers[k])
			return true;
	return false;
}

/* Beside a NULL what is not found is unknown. */
static void in_list(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *a = vector_of(w, e->child[0]);
	both_valid(v->valid, mask, a, NULL, w->words);
	memset(v->truth, 0, sizeof v->truth);
	EACH(v->valid, w->words, i)
		rql_bit_or(v->truth, i, is_in(e, a, i));
	for (uint32_t i = 0; i < w->words && e->null; i++)
		v->valid[i] &= v->truth[i];
}

static void arithmetic(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *a = vector_of(w, e->child[0]), *b = vector_of(w, e->child[1]);
	both_valid(v->valid, mask, a, b, w->words);
	EACH(v->valid, w->words, i) {
		int64_t x = a->integers[i], y = b->integers[i];
		v->integers[i] = e->integer == '+' ? x + y : e->integer == '-' ? x - y : x * y;
	}
}

static bool both(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *a = vector_of(w, e->child[0]), *b = vector_of(w, e->child[1]);
	bool and = e->op == RQL_ENTRY_OP_AND;
	uint64_t open[WORDS]; /* which the first does not decide */
	if (!evaluate(w, e->child[0], mask))
		return false;
	for (uint32_t i = 0; i < w->words; i++)
		open[i] = mask[i] & ~(and? a->valid[i] & ~a->truth[i] : a->truth[i]);
	if (!evaluate(w, e->child[1], open))
		return false;
	for (uint32_t i = 0; i < w->words; i++) {
		uint64_t a_false = a->valid[i] & ~a->truth[i], b_false = open[i] & b->valid[i] & ~b->truth[i];
		uint64_t b_true = open[i] & b->truth[i];
		uint64_t is_true = and? a->truth[i] & b_true : a->truth[i] | b_true;
		uint64_t is_false = and? a_false | b_false : a_false & b_false;
		v->truth[i] = mask[i] & is_true;
		v->valid[i] = mask[i] & (is_true | is_false);
	}
	return true;
}

static void merge(struct worker *w, const struct rql_entry *e, const struct vector *from, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e);
	for (uint32_t i = 0; i < w->words; i++) {
		v->valid[i] |= mask[i] & from->valid[i];
		if (e->kind == RQL_ENTRY_TRUTH)
			v->truth[i] |= mask[i] & from->truth[i];
	}
	if (e->kind == RQL_ENTRY_INTEGER)
		EACH(mask, w->words, i)
			v->integers[i] = from->integers[i];
	if (e->kind == RQL_ENTRY_TEXT)
		EACH(mask, w->words, i)
			v->strings[i] = from->strings[i];
}

static bool choose(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *when = vector_of(w, e->child[0]);
	uint64_t yes[WORDS], no[WORDS];
	if (!evaluate(w, e->child[0], mask))
		return false;
	for (uint32_t i = 0; i < w->words; i++) {
		yes[i] = mask[i] & when->truth[i];
		no[i] = mask[i] & ~when->truth[i];
	}
	if (!evaluate(w, e->child[1], yes) || !evaluate(w, e->child[2], no))
		return false;
	memset(v->valid, 0, sizeof v->valid);
	memset(v->truth, 0, sizeof v->truth);
	merge(w, e, vector_of(w, e->child[1]), yes);
	merge(w, e, vector_of(w, e->child[2]), no);
	return true;
}

static void one_truth(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	struct vector *v = vector_of(w, e), *a = vector_of(w, e->child[0]);
	for (uint32_t i = 0; i < w->words; i++) {
		bool is_null = e->op == RQL_ENTRY_OP_IS_NULL;
		v->valid[i] = mask[i] & (is_null ? ~UINT64_C(0) : a->valid[i]);
		v->truth[i] = mask[i] & (is_null ? ~a->valid[i] : a->valid[i] & ~a->truth[i]);
	}
}

static bool is_empty(const uint64_t *mask, uint32_t words)
{
	uint64_t any = 0;
	for (uint32_t i = 0; i < words; i++)
		any |= mask[i];
	return !any;
}

/* The node's vector, right at the places of mask; false: out of memory. */
static bool evaluate(struct worker *w, const struct rql_entry *e, const uint64_t *mask)
{
	if (e->op == RQL_ENTRY_OP_CONSTANT)
		return true;
	if (is_empty(mask, w->words)) {
		memset(vector_of(w, e)->valid, 0, sizeof(uint64_t[WORDS]));
		memset(vector_of(w, e)->truth, 0, sizeof(uint64_t[WORDS]));
		return true;
	}
	if (e->op == RQL_ENTRY_OP_AND || e->op == RQL_ENTRY_OP_OR)
		return both(w, e, mask);
	if (e->op == RQL_ENTRY_OP_CHOOSE)
		return choose(w, e, mask);
	for (unsigned i = 0; i < 3 && e->child[i]; i++)
		if (!evaluate(w, e->child[i], mask))
			return false;
	switch (e->op) {
	case RQL_ENTRY_OP_VALUE:
		value(w, vector_of(w, e));
		return true;
	case RQL_ENTRY_OP_LIKE:
		like(w, e, mask);
		return true;
	case RQL_ENTRY_OP_BYTES:
	case RQL_ENTRY_OP_CHARACTERS:
		lengths(w, e, mask);
		return true;
	case RQL_ENTRY_OP_POSITION:
		position(w, e, mask);
		return true;
	case RQL_ENTRY_OP_SLICE:
	case RQL_ENTRY_OP_LEFT:
	case RQL_ENTRY_OP_RIGHT:
		slices(w, e, mask);
		return true;
	case RQL_ENTRY_OP_CASE:
		return cases(w, e, mask);
	case RQL_ENTRY_OP_REPLACE:
		return replace(w, e, mask);
	case RQL_ENTRY_OP_REGEXP:
		regexp(w, e, mask);
		return true;
	case RQL_ENTRY_OP_COMPARE:
		compare(w, e, mask);
		return true;
	case RQL_ENTRY_OP_IN:
		in_list(w, e, mask);
		return true;
	case RQL_ENTRY_OP_ARITHMETIC:
		arithmetic(w, e, mask);
		return true;
	default:
		one_truth(w, e, mask);
		return true;
	}
}

/* ---- results ---- */

static void put_set(struct worker *w, const struct vector *v, const uint64_t *mask)
{
	uint64_t *set = w->job->set + w->first / 64;
	for (uint32_t i = 0; i < w->words; i++)
		set[i] = mask[i] & (w->job->negated ? v->valid[i] & ~v->truth[i] : v->truth[i]);
}

static void put_integers(struct worker *w, const struct vector *v)
{
	struct rql_column *out = w->job->out;
	unsigned bytes = rql_type_bytes(out->type);
	char *to = (char *)out->data + (size_t)w->first * bytes;
	EACH(v->valid, w->words, i) {
		if (bytes == 16) {
			rql_int128 wide = v->integers[i];
			memcpy(to + (size_t)i * 16, &wide, 16);
		} else {
			memcpy(to + (size_t)i * bytes, &v->integers[i], bytes); /* little endian */
		}
	}
}

static bool put_strings(struct worker *w, const struct vector *v)
{
	struct job *job = w->job;
	struct rql_string *to = (struct rql_string *)job->out->data + w->first;
	size_t bytes = 0;
	char *at = NULL;
	EACH(v->valid, w->words, i) {
		to[i] = v->strings[i];
		bytes += to[i].length > RQL_STRING_INLINE ? to[i].length : 0;
	}
	if (!job->root->fresh || !bytes)
		return true;
	pthread_mutex_lock(&job->lock);
	at = rql_arena_alloc(job->run->arena, bytes);
	pthread_mutex_unlock(&job->lock);
	if (!at)
		return false;
	EACH(v->valid, w->words, i)
		if (to[i].length > RQL_STRING_INLINE) {
			memcpy(at, to[i].pointer.data, to[i].length);
			to[i].pointer.data = at;
			at += to[i].length;
		}
	return true;
}

static bool put_column(struct worker *w, const struct vector *v)
{
	struct rql_column *out = w->job->out;
	memcpy(out->validity + w->first / 64, v->valid, w->words * sizeof *v->valid);
	if (w->job->root->kind == RQL_ENTRY_TEXT)
		return put_strings(w, v);
	if (w->job->root->kind == RQL_ENTRY_INTEGER)
		put_integers(w, v);
	else
		EACH(v->valid, w->words, i)
			((uint8_t *)out->data)[w->first + i] = rql_bit(v->truth, i);
	return true;
}

/* ---- the loop ---- */

static void fill_constant(struct vector *v, const struct rql_entry *e)
{
	memset(v->valid, e->null ? 0 : 0xff, sizeof v->valid);
	memset(v->truth, !e->null && e->kind == RQL_ENTRY_TRUTH && e->truth ? 0xff : 0, sizeof v->truth);
	for (uint32_t i = 0; i < VECTOR && e->kind != RQL_ENTRY_TRUTH; i++) {
		if (e->kind == RQL_ENTRY_INTEGER)
			v->integers[i] = e->integer;
		else
			v->strings[i] = e->text;
	}
}

static void lay_out(struct worker *w, const struct rql_entry *e, char **at)
{
	struct vector *v = vector_of(w, e);
	if (e->kind == RQL_ENTRY_INTEGER) {
		v->integers = (int64_t *)(void *)*at;
		*at += VECTOR * sizeof *v->integers;
	}
	if (e->kind == RQL_ENTRY_TEXT && e->op != RQL_ENTRY_OP_VALUE) {
		v->strings = (struct rql_string *)(void *)*at;
		*at += VECTOR * sizeof *v->strings;
	}
	if (e->op == RQL_ENTRY_OP_CONSTANT)
		fill_constant(v, e);
	for (unsigned i = 0; i < 3 && e->child[i]; i++)
		lay_out(w, e->child[i], at);
}

static bool begin(struct worker *w)
{
	if (w->vectors)
		return true;
	w->values = malloc(w->job->nodes * VECTOR * sizeof(struct rql_string));
	w->vectors = w->values ? calloc(w->job->nodes, sizeof *w->vectors) : NULL;
	if (!w->vectors)
		return false;
	char *at = w->values;
	lay_out(w, w->job->root, &at);
	return true;
}

static void finish(struct worker *w, uint32_t nodes)
{
	for (uint32_t i = 0; w->vectors && i < nodes; i++)
		free(w->vectors[i].bytes);
	free(w->vectors);
	free(w->values);
}

static void run_vector(void *state, uint64_t index, unsigned number)
{
	struct job *job = state;
	struct worker *w = &job->workers[number];
	const struct rql_dimension *d = job->run->dimension;
	uint64_t mask[WORDS];
	if (__atomic_load_n(&job->failed, __ATOMIC_RELAXED) || __atomic_load_n(&job->refused, __ATOMIC_RELAXED))
		return;
	w->job = job;
	w->first = (uint32_t)index * VECTOR;
	w->count = d->count - w->first < VECTOR ? d->count - w->first : VECTOR;
	w->words = (w->count + 63) / 64;
	for (uint32_t i = 0; i < w->words; i++)
		mask[i] = job->run->within ? job->run->within[w->first / 64 + i] : ~UINT64_C(0);
	if (w->count & 63)
		mask[w->words - 1] &= rql_bit_mask(w->count % 64);
	bool done = begin(w) && evaluate(w, job->root, mask);
	const struct vector *v = done ? vector_of(w, job->root) : NULL;
	if (done && job->set) {
		put_set(w, v, mask);
	} else if (done) {
		struct vector masked = *v;
		for (uint32_t i = 0; i < w->words; i++)
			masked.valid[i] &= mask[i];
		done = put_column(w, &masked);
	}
	if (!done)
		__atomic_store_n(&job->failed, true, __ATOMIC_RELAXED);
}

/* ---- before ---- */

/* The first code whose string does not come before the prefix (behind: nor begin with it). */
static uint32_t prefix_bound(const struct rql_dimension *d, const char *prefix, uint32_t length, bool behind)
{
	const struct rql_string *strings = d->values.data;
	uint32_t low = 0, high = d->count - d->has_null;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t common = strings[middle].length < length ? strings[middle].length : length;
		int order = memcmp(rql_string_data(&strings[middle]), prefix, common);
		if (!order && common < length)
			order = -1;
		if (order < 0 || (behind && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Numbers the nodes, and tells searches about the dictionary. */
static void prepare(const struct rql_dimension *d, const uint32_t common[256], bool sorted, struct rql_entry *e,
                    uint32_t *nodes)
{
	e->number = (*nodes)++;
	if (e->op == RQL_ENTRY_OP_LIKE) {
		uint32_t length;
		rql_like_aim(e->like, common);
		const char *prefix = rql_like_prefix(e->like, &length, &e->only);
		e->ranged = sorted && length && e->child[0]->op == RQL_ENTRY_OP_VALUE;
		e->only = e->only && e->ranged;
		if (e->ranged) {
			e->first = prefix_bound(d, prefix, length, false);
			e->behind = prefix_bound(d, prefix, length, true);
		}
	}
	if (e->op == RQL_ENTRY_OP_POSITION && e->text.length)
		e->needle = rql_needle_make(rql_string_data(&e->text), e->text.length, common);
	for (unsigned i = 0; i < 3 && e->child[i]; i++)
		prepare(d, common, sorted, e->child[i], nodes);
}

static rql_status run(struct job *job, struct rql_error *err)
{
	const struct rql_dimension *d = job->run->dimension;
	uint32_t common[256], vectors = (d->count + VECTOR - 1) / VECTOR;
	unsigned threads = job->run->pool ? rql_pool_threads(job->run->pool) : 1;
	rql_text_common(d->values.data, d->count - d->has_null, common);
	prepare(d, common, !job->run->unsorted, job->root, &job->nodes);
	job->kernels = rql_text_kernels_for(job->run->simd);
	job->workers = calloc(threads, sizeof *job->workers);
	if (!job->workers)
		return rql_error_memory(err, threads * sizeof *job->workers, "an expression over a dictionary");
	pthread_mutex_init(&job->lock, NULL);
	if (job->run->pool && d->count > INLINE_ENTRIES)
		rql_pool_run(job->run->pool, vectors, run_vector, job);
	else
		for (uint32_t i = 0; i < vectors; i++)
			run_vector(job, i, 0);
	pthread_mutex_destroy(&job->lock);
	for (unsigned t = 0; t < threads; t++)
		finish(&job->workers[t], job->nodes);
	free(job->workers);
	job->run->refused = job->refused;
	job->run->unknown_count = 0;
	for (uint32_t i = 0; i < (d->count + 63) / 64; i++)
		job->run->unknown_count += (uint64_t)__builtin_popcountll(job->run->unknown[i]);
	return job->failed ? rql_error_memory(err, 0, "an expression over a dictionary") : RQL_OK;
}

rql_status rql_entry_select(struct rql_entry_run *r, struct rql_entry *e, bool negated, uint64_t *set,
                            struct rql_error *err)
{
	struct job job = {.run = r, .root = e, .set = set, .negated = negated};
	return run(&job, err);
}

rql_status rql_entry_evaluate(struct rql_entry_run *r, struct rql_entry *e, struct rql_column *out,
                              struct rql_error *err)
{
	struct job job = {.run = r, .root = e, .out = out};
	return run(&job, err);
}
