/* Modules of SPIR-V: a template's words with some functions' bodies exchanged. */
#include "device/spirv.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Opcodes that only this file meets. */
enum {
	OP_SOURCE_FIRST = 2, /* OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName: told to debuggers */
	OP_NAME = 5,
	OP_SOURCE_LAST = 6,
	OP_ENTRY_POINT = 15,
	OP_TYPE_VOID = 19,
	OP_TYPE_BOOL = 20,
	OP_TYPE_INT = 21,
	OP_TYPE_FLOAT = 22,
	OP_TYPE_VECTOR = 23,
	OP_TYPE_LAST = 39, /* of the core's; extensions number theirs from OP_EXTENSIONS on */
	OP_CONSTANT_TRUE = 41,
	OP_CONSTANT_FALSE = 42,
	OP_CONSTANT = 43,
	OP_FUNCTION = 54,
	OP_FUNCTION_PARAMETER = 55,
	OP_FUNCTION_END = 56,
	OP_FUNCTION_CALL = 57,
	OP_DECORATE = 71,
	OP_LABEL = 248,
	OP_RETURN = 253,
	OP_RETURN_VALUE = 254,
	OP_EXTENSIONS = 4096,
};
#define HEADER_WORDS 5u
#define DECORATION_NO_CONTRACTION 42u

static uint32_t op_of(uint32_t word)
{
	return word & 0xffff;
}
static uint32_t length_of(uint32_t word)
{
	return word >> 16 ? word >> 16 : 1;
}

/* ---- writing ---- */

static void put(struct rql_spirv *m, struct rql_spirv_words *to, uint32_t word)
{
	if (to->count == to->room) {
		uint64_t room = to->room ? 2 * to->room : 256;
		uint32_t *words = realloc(to->words, room * sizeof(*words));
		if (!words) {
			m->out_of_memory = true;
			return;
		}
		to->words = words;
		to->room = room;
	}
	to->words[to->count++] = word;
}

static void put_all(struct rql_spirv *m, struct rql_spirv_words *to, const uint32_t *words, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		put(m, to, words[i]);
}

/* ---- the template ---- */

static void note_type(struct rql_spirv *m, const uint32_t *w)
{
	switch (op_of(w[0])) {
	case OP_TYPE_VOID:
		m->types[RQL_SPIRV_VOID] = w[1];
		break;
	case OP_TYPE_BOOL:
		m->types[RQL_SPIRV_BOOL] = w[1];
		break;
	case OP_TYPE_INT:
		if (w[3] == 0 && (w[2] == 32 || w[2] == 64))
			m->types[w[2] == 32 ? RQL_SPIRV_U32 : RQL_SPIRV_U64] = w[1];
		break;
	case OP_TYPE_FLOAT:
		if (w[2] == 32 || w[2] == 64)
			m->types[w[2] == 32 ? RQL_SPIRV_F32 : RQL_SPIRV_F64] = w[1];
		break;
	case OP_TYPE_VECTOR:
		if (w[2] == m->types[RQL_SPIRV_U32] && (w[3] == 2 || w[3] == 4))
			m->types[w[3] == 2 ? RQL_SPIRV_U32X2 : RQL_SPIRV_U32X4] = w[1];
		break;
	}
}

void rql_spirv_open(struct rql_spirv *m, const uint32_t *words, uint64_t bytes)
{
	*m = (struct rql_spirv){.words = words, .count = bytes / 4, .bound = words[3]};
	for (uint64_t at = HEADER_WORDS; at < m->count; at += length_of(words[at])) {
		uint32_t op = op_of(words[at]);
		if (op >= OP_TYPE_VOID && op <= OP_TYPE_VECTOR && !m->annotations_end)
			m->annotations_end = at;
		if (op >= OP_TYPE_VOID && op <= OP_TYPE_VECTOR)
			note_type(m, words + at);
		if (op == OP_FUNCTION) {
			m->types_end = at;
			break;
		}
	}
}

void rql_spirv_free(struct rql_spirv *m)
{
	free(m->annotations.words);
	free(m->constants.words);
	for (uint32_t b = 0; b < m->body_count; b++)
		free(m->bodies[b].code.words);
	*m = (struct rql_spirv){0};
}

/* The id of the function that GLSL calls `name`; overloads are not told apart. */
static uint32_t function_id(struct rql_spirv *m, const char *name)
{
	size_t length = strlen(name);
	for (uint64_t at = HEADER_WORDS; at < m->annotations_end; at += length_of(m->words[at])) {
		const char *text = (const char *)(m->words + at + 2);
		if (op_of(m->words[at]) == OP_NAME && strncmp(text, name, length) == 0 && text[length] == '(')
			return m->words[at + 1];
	}
	m->missing = name;
	return 0;
}

static uint32_t type_id(struct rql_spirv *m, enum rql_spirv_type type)
{
	if (!m->types[type])
		m->missing = "a type";
	return m->types[type];
}

void rql_spirv_begin(struct rql_spirv *m, const char *function, uint32_t *params, uint32_t count)
{
	uint32_t id = function_id(m, function), found = 0;
	uint64_t at = m->types_end;
	while (at < m->count && !(op_of(m->words[at]) == OP_FUNCTION && m->words[at + 2] == id))
		at += length_of(m->words[at]);
	struct rql_spirv_body *body = &m->bodies[m->body_count < RQL_SPIRV_BODIES ? m->body_count++ : RQL_SPIRV_BODIES];
	for (; at < m->count && op_of(m->words[at]) != OP_LABEL; at += length_of(m->words[at]))
		if (op_of(m->words[at]) == OP_FUNCTION_PARAMETER && found < count)
			params[found++] = m->words[at + 2];
	if (found != count || at >= m->count)
		m->missing = function;
	at += 2; /* the label stays */
	*body = (struct rql_spirv_body){.first = at};
	while (at < m->count && op_of(m->words[at]) != OP_FUNCTION_END)
		at += length_of(m->words[at]);
	body->last = at;
	m->body = &body->code;
}

void rql_spirv_end(struct rql_spirv *m, uint32_t result)
{
	put(m, m->body, result ? 2u << 16 | OP_RETURN_VALUE : 1u << 16 | OP_RETURN);
	if (result)
		put(m, m->body, result);
	m->body = NULL;
}

/* ---- instructions ---- */

static uint32_t new_id(struct rql_spirv *m)
{
	return m->bound++;
}

uint32_t rql_spirv_op(struct rql_spirv *m, enum rql_spirv_op op, enum rql_spirv_type type, uint32_t count,
                      const uint32_t *operands)
{
	uint32_t id = new_id(m);
	put(m, m->body, (3 + count) << 16 | op);
	put(m, m->body, type_id(m, type));
	put(m, m->body, id);
	put_all(m, m->body, operands, count);
	return id;
}

uint32_t rql_spirv_op1(struct rql_spirv *m, enum rql_spirv_op op, enum rql_spirv_type type, uint32_t a)
{
	return rql_spirv_op(m, op, type, 1, &a);
}

uint32_t rql_spirv_op2(struct rql_spirv *m, enum rql_spirv_op op, enum rql_spirv_type type, uint32_t a, uint32_t b)
{
	const uint32_t operands[] = {a, b};
	return rql_spirv_op(m, op, type, 2, operands);
}

uint32_t rql_spirv_select(struct rql_spirv *m, enum rql_spirv_type type, uint32_t c, uint32_t a, uint32_t b)
{
	const uint32_t operands[] = {c, a, b};
	return rql_spirv_op(m, RQL_SPIRV_SELECT, type, 3, operands);
}

uint32_t rql_spirv_call(struct rql_spirv *m, const char *function, enum rql_spirv_type type, uint32_t count,
                        const uint32_t *args)
{
	uint32_t id = new_id(m);
	put(m, m->body, (4 + count) << 16 | OP_FUNCTION_CALL);
	put(m, m->body, type_id(m, type));
	put(m, m->body, id);
	put(m, m->body, function_id(m, function));
	put_all(m, m->body, args, count);
	return id;
}

void rql_spirv_no_contraction(struct rql_spirv *m, uint32_t id)
{
	const uint32_t words[] = {3u << 16 | OP_DECORATE, id, DECORATION_NO_CONTRACTION};
	put_all(m, &m->annotations, words, 3);
}

/* The constant with these words after its id, made when it is new. */
static uint32_t constant(struct rql_spirv *m, uint32_t op, enum rql_spirv_type type, const uint32_t *value,
                         uint32_t count)
{
	const struct rql_spirv_words *c = &m->constants;
	uint32_t head = (3 + count) << 16 | op, wanted = type_id(m, type);
	for (uint64_t at = 0; at < c->count; at += length_of(c->words[at]))
		if (c->words[at] == head && c->words[at + 1] == wanted &&
		    (!count || memcmp(c->words + at + 3, value, count * sizeof(*value)) == 0))
			return c->words[at + 2];
	uint32_t id = new_id(m);
	put(m, &m->constants, head);
	put(m, &m->constants, wanted);
	put(m, &m->constants, id);
	put_all(m, &m->constants, value, count);
	return id;
}

uint32_t rql_spirv_u32(struct rql_spirv *m, uint32_t value)
{
	return constant(m, OP_CONSTANT, RQL_SPIRV_U32, &value, 1);
}

uint32_t rql_spirv_u64(struct rql_spirv *m, uint64_t value)
{
	const uint32_t words[] = {(uint32_t)value, (uint32_t)(value >> 32)};
	return constant(m, OP_CONSTANT, RQL_SPIRV_U64, words, 2);
}

uint32_t rql_spirv_bool(struct rql_spirv *m, bool value)
{
	return constant(m, value ? OP_CONSTANT_TRUE : OP_CONSTANT_FALSE, RQL_SPIRV_BOOL, NULL, 0);
}

/* ---- what the entry point does not reach ---- */

struct reach {
	uint64_t annotations, functions; /* where the types begin, and the functions */
	uint32_t bound;
	uint64_t *begins; /* by a function's id: the place of its first word, 0: no function's id, or seen already */
	bool *kept;       /* by id: defined in what stays */
	uint32_t *next;   /* functions that are reached and not looked at yet */
	uint32_t next_count;
};

static void reach_function(struct reach *r, uint32_t id)
{
	if (id < r->bound && !r->kept[id] && r->begins[id]) {
		r->kept[id] = true;
		r->next[r->next_count++] = id;
	}
}

/* Of types the id comes first, of all other things outside functions, and of what can be decorated inside, second. */
static void keep_ids(struct reach *r, const uint32_t *w, uint64_t from, uint64_t end)
{
	for (uint64_t at = from; at < end; at += length_of(w[at])) {
		uint32_t op = op_of(w[at]), place = (op >= OP_TYPE_VOID && op <= OP_TYPE_LAST) || op >= OP_EXTENSIONS ? 1 : 2;
		if (length_of(w[at]) > place && w[at + place] < r->bound && !r->begins[w[at + place]])
			r->kept[w[at + place]] = true;
	}
}

static void reach_all(struct reach *r, const uint32_t *w, uint64_t count)
{
	for (uint64_t at = r->functions; at < count; at += length_of(w[at]))
		if (op_of(w[at]) == OP_FUNCTION)
			r->begins[w[at + 2]] = at;
	keep_ids(r, w, r->annotations, r->functions);
	for (uint64_t at = HEADER_WORDS; at < r->annotations; at += length_of(w[at]))
		if (op_of(w[at]) == OP_ENTRY_POINT)
			reach_function(r, w[at + 2]);
	while (r->next_count) {
		uint64_t at = r->begins[r->next[--r->next_count]], first = at;
		for (; at < count && op_of(w[at]) != OP_FUNCTION_END; at += length_of(w[at]))
			if (op_of(w[at]) == OP_FUNCTION_CALL)
				reach_function(r, w[at + 3]);
		keep_ids(r, w, first, at);
	}
}

/* Takes out the functions that nothing calls, and the decorations of what is in them: a request calls a few of its
 * template's, and drivers read, check and inline all. */
static bool drop_unreached(uint32_t *w, uint64_t *count, uint64_t annotations, uint64_t functions)
{
	struct reach r = {.annotations = annotations, .functions = functions, .bound = w[3]};
	r.begins = calloc(r.bound, sizeof(*r.begins));
	r.kept = calloc(r.bound, sizeof(*r.kept));
	r.next = calloc(r.bound, sizeof(*r.next));
	bool made = r.begins && r.kept && r.next, drop = false;
	uint64_t to = HEADER_WORDS;
	if (made)
		reach_all(&r, w, *count);
	for (uint64_t at = HEADER_WORDS, length; made && at < *count; at += length) {
		uint32_t op = op_of(w[at]);
		length = length_of(w[at]);
		if (at >= functions && op == OP_FUNCTION)
			drop = !r.kept[w[at + 2]];
		if (drop || (at < annotations && op == OP_DECORATE && !r.kept[w[at + 1]]))
			continue;
		memmove(w + to, w + at, length * sizeof(*w));
		to += length;
	}
	if (made)
		*count = to;
	free(r.begins);
	free(r.kept);
	free(r.next);
	return made;
}

/* ---- the whole ---- */

/* Copies the template's words [from, to) without names. */
static void put_unnamed(struct rql_spirv *m, struct rql_spirv_words *to, uint64_t from, uint64_t end)
{
	for (uint64_t at = from; at < end; at += length_of(m->words[at])) {
		uint32_t op = op_of(m->words[at]);
		if (op < OP_SOURCE_FIRST || op > OP_SOURCE_LAST)
			put_all(m, to, m->words + at, length_of(m->words[at]));
	}
}

static void put_functions(struct rql_spirv *m, struct rql_spirv_words *all)
{
	uint64_t at = m->types_end;
	while (at < m->count) {
		const struct rql_spirv_body *next = NULL;
		for (uint32_t b = 0; b < m->body_count; b++)
			if (m->bodies[b].first >= at && (!next || m->bodies[b].first < next->first))
				next = &m->bodies[b];
		uint64_t end = next ? next->first : m->count;
		put_all(m, all, m->words + at, end - at);
		if (next)
			put_all(m, all, next->code.words, next->code.count);
		at = next ? next->last : m->count;
	}
}

rql_status rql_spirv_finish(struct rql_spirv *m, uint32_t **words, uint64_t *bytes, struct rql_error *err)
{
	struct rql_spirv_words all = {0};
	put_all(m, &all, m->words, HEADER_WORDS);
	put_unnamed(m, &all, HEADER_WORDS, m->annotations_end);
	put_all(m, &all, m->annotations.words, m->annotations.count);
	uint64_t annotations = all.count;
	put_all(m, &all, m->words + m->annotations_end, m->types_end - m->annotations_end);
	put_all(m, &all, m->constants.words, m->constants.count);
	uint64_t functions = all.count;
	put_functions(m, &all);
	if (!m->out_of_memory && !m->missing) {
		all.words[3] = m->bound;
		m->out_of_memory = !drop_unreached(all.words, &all.count, annotations, functions);
	}
	if (m->out_of_memory || m->missing) {
		free(all.words);
		if (m->out_of_memory)
			return rql_error_memory(err, all.count * 4, "a kernel's code");
		return rql_error_set(err, RQL_ERROR_INTERNAL, "the kernel's template lacks %s", m->missing);
	}
	*words = all.words;
	*bytes = all.count * 4;
	return RQL_OK;
}
