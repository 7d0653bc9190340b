/* A worker's dictionaries: values become codes in the order of their first appearance, at a few nanoseconds each.
 *
 * Integers whose range stays small (years, months, dates, quantities, enums) go through a window: one array indexed by
 * the value. Everything else is hashed with open addressing. Floats are keyed canonically: -0.0 and 0.0 are one group
 * of the host, and so are all NaNs; the value kept is the first one seen, as the host keeps it. */
#include "column/text/dict.h"

#include <math.h>

#define WINDOW_MAX UINT64_C(65536) /* entries: 256 KiB, so that it stays in a core's second-level cache */
#define FIRST_SLOT_BITS 8u
#define TEXT_FIRST 4096u
#define TEXT_LARGEST (UINT64_C(1) << 20)

/* Words: the key and 0. Wide integers: low and high half. Strings of up to 12 bytes: the 16 bytes of rql_string; longer
 * ones: length and prefix, and the hash of all bytes. */
struct rql_dict_slot {
	uint64_t a, b;
	uint32_t code; /* + 1; 0: free */
};

struct rql_dict_text {
	struct rql_dict_text *previous;
	uint64_t used, size;
	char bytes[];
};

void rql_dict_init(struct rql_dict *dict, struct rql_type type)
{
	*dict = (struct rql_dict){.type = type, .width = rql_type_bytes(type), .null_code = RQL_DICT_NO_CODE};
	/* Reals have no dense range, and 16-byte values do not fit the window's arithmetic. */
	dict->hashed = type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE || dict->width == 16;
}

void rql_dict_free(struct rql_dict *dict, struct rql_mem *mem)
{
	for (struct rql_dict_text *text = dict->text, *previous; text; text = previous) {
		previous = text->previous;
		rql_mem_free(mem, text);
	}
	rql_mem_free(mem, dict->values);
	rql_mem_free(mem, dict->window);
	rql_mem_free(mem, dict->slots);
	dict->text = NULL;
	dict->values = NULL;
	dict->window = NULL;
	dict->slots = NULL;
}

/* ---- hashing ---- */

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(a ^ UINT64_C(0xA0761D6478BD642F)) * (b ^ UINT64_C(0xE7037ED1A0B428DB));
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Only for strings that are not inlined: longer than 8 bytes, so that the last word can overlap the one before. */
static uint64_t hash_bytes(const char *data, uint64_t length)
{
	uint64_t h = length * GOLDEN, word, rest = length;
	for (; rest > 8; rest -= 8, data += 8) {
		memcpy(&word, data, 8);
		h = mix(h, word);
	}
	memcpy(&word, data + rest - 8, 8);
	return mix(h, word ^ GOLDEN);
}

static inline uint64_t slot_index(const struct rql_dict *dict, uint64_t a, uint64_t b)
{
	uint64_t h = a * UINT64_C(0xD6E8FEB86659FD93) + b;
	h = (h ^ h >> 32) * GOLDEN;
	return h >> (64 - dict->slot_bits);
}

/* ---- growing ---- */

static rql_status grow_values(struct rql_dict *dict, struct rql_mem *mem, struct rql_error *err)
{
	if (dict->count >= UINT32_MAX - 1)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "%s: a column has more than 4294967294 distinct values, which is "
		                     "more than a dimension can hold; leave it out",
		                     mem->what);
	uint64_t capacity = dict->capacity ? (uint64_t)dict->capacity * 2 : 64;
	capacity = capacity < UINT32_MAX ? capacity : UINT32_MAX;
	uint8_t *values = rql_mem_alloc(mem, capacity, dict->width, err);
	if (!values)
		return rql_mem_failure(mem);
	if (dict->count)
		memcpy(values, dict->values, (uint64_t)dict->count * dict->width);
	rql_mem_free(mem, dict->values);
	dict->values = values;
	dict->capacity = (uint32_t)capacity;
	return RQL_OK;
}

/* Appends a value; *code is its code. NULL: value == NULL. */
static rql_status append(struct rql_dict *dict, struct rql_mem *mem, const void *value, uint32_t *code,
                         struct rql_error *err)
{
	if (dict->count == dict->capacity)
		RQL_TRY(grow_values(dict, mem, err));
	uint8_t *at = dict->values + (uint64_t)dict->count * dict->width;
	if (value)
		memcpy(at, value, dict->width);
	else
		memset(at, 0, dict->width);
	*code = dict->count++;
	return RQL_OK;
}

static rql_status copy_text(struct rql_dict *dict, struct rql_mem *mem, struct rql_string *s, struct rql_error *err)
{
	struct rql_dict_text *text = dict->text;
	if (!text || text->size - text->used < s->length) {
		uint64_t size = text ? text->size * 2 : TEXT_FIRST;
		size = size < TEXT_LARGEST ? size : TEXT_LARGEST;
		size = size > s->length ? size : s->length;
		text = rql_mem_alloc(mem, 1, sizeof(*text) + size, err);
		if (!text)
			return rql_mem_failure(mem);
		*text = (struct rql_dict_text){.previous = dict->text, .size = size};
		dict->text = text;
	}
	char *copy = text->bytes + text->used;
	memcpy(copy, s->pointer.data, s->length);
	s->pointer.data = copy;
	text->used += s->length;
	return RQL_OK;
}

static void string_key(const struct rql_string *s, uint64_t *a, uint64_t *b)
{
	memcpy(a, s, 8);
	if (s->length <= RQL_STRING_INLINE)
		memcpy(b, (const char *)s + 8, 8);
	else
		*b = hash_bytes(s->pointer.data, s->length);
}

static bool is_string(const struct rql_dict *dict)
{
	return dict->type.id == RQL_TYPE_VARCHAR || dict->type.id == RQL_TYPE_BLOB;
}

/* The key of a word: integers extended to 64 bits, reals by the bits of their canonical double. */
static inline uint64_t real_key(double value)
{
	uint64_t bits;
	if (value == 0)
		return 0;
	if (isnan(value))
		return UINT64_C(0x7FF8000000000000);
	memcpy(&bits, &value, 8);
	return bits;
}

static void load_words(struct rql_type type, uint32_t width, const void *data, uint64_t first, uint32_t count,
                       uint64_t *keys)
{
#define LOAD(ctype, expression)                                                                                        \
	do {                                                                                                               \
		const ctype *values = (const ctype *)data + first;                                                             \
		for (uint32_t i = 0; i < count; i++)                                                                           \
			keys[i] = expression;                                                                                      \
		return;                                                                                                        \
	} while (0)
	if (type.id == RQL_TYPE_FLOAT)
		LOAD(float, real_key((double)values[i]));
	if (type.id == RQL_TYPE_DOUBLE)
		LOAD(double, real_key(values[i]));
	bool is_signed = rql_type_is_signed(type);
	switch (width) {
	case 1:
		if (is_signed)
			LOAD(int8_t, (uint64_t)(int64_t)values[i]);
		LOAD(uint8_t, values[i]);
	case 2:
		if (is_signed)
			LOAD(int16_t, (uint64_t)(int64_t)values[i]);
		LOAD(uint16_t, values[i]);
	case 4:
		if (is_signed)
			LOAD(int32_t, (uint64_t)(int64_t)values[i]);
		LOAD(uint32_t, values[i]);
	default:
		LOAD(uint64_t, values[i]);
	}
#undef LOAD
}

/* The slot key of a stored value. */
static void stored_key(const struct rql_dict *dict, uint32_t code, uint64_t *a, uint64_t *b)
{
	const uint8_t *value = dict->values + (uint64_t)code * dict->width;
	if (is_string(dict)) {
		struct rql_string s;
		memcpy(&s, value, sizeof s);
		string_key(&s, a, b);
	} else if (dict->width == 16) {
		memcpy(a, value, 8);
		memcpy(b, value + 8, 8);
	} else {
		load_words(dict->type, dict->width, value, 0, 1, a);
		*b = 0;
	}
}

static rql_status grow_slots(struct rql_dict *dict, struct rql_mem *mem, struct rql_error *err)
{
	uint32_t bits = dict->slots ? dict->slot_bits + 1 : FIRST_SLOT_BITS;
	while ((UINT64_C(1) << bits) < (uint64_t)dict->count * 2)
		bits++;
	struct rql_dict_slot *slots;
	RQL_TRY(RQL_MEM_ZARRAY(mem, slots, UINT64_C(1) << bits, err));
	rql_mem_free(mem, dict->slots);
	dict->slots = slots;
	dict->slot_bits = bits;
	for (uint32_t code = 0; code < dict->count; code++) {
		uint64_t a, b, mask = (UINT64_C(1) << bits) - 1;
		if (code == dict->null_code)
			continue;
		stored_key(dict, code, &a, &b);
		uint64_t i = slot_index(dict, a, b);
		while (slots[i].code)
			i = (i + 1) & mask;
		slots[i] = (struct rql_dict_slot){.a = a, .b = b, .code = code + 1};
	}
	return RQL_OK;
}

/* ---- the window ---- */

/* Unsigned order of keys that is the values' order, so that a range has a smallest and a largest key. */
static inline uint64_t ordered(const struct rql_dict *dict, uint64_t key)
{
	return rql_type_is_signed(dict->type) ? key ^ (UINT64_C(1) << 63) : key;
}

/* Makes the window cover key, or gives it up for hashing when the range is too large. */
static rql_status widen_window(struct rql_dict *dict, struct rql_mem *mem, uint64_t key, struct rql_error *err)
{
	uint64_t at = ordered(dict, key), low = ordered(dict, dict->low), high = low + dict->window_size - 1;
	if (!dict->window_size)
		low = high = at;
	uint64_t new_low = at < low ? at : low, new_high = at > high ? at : high;
	if (new_high - new_low >= WINDOW_MAX) {
		dict->hashed = true;
		dict->window_size = 0;
		RQL_TRY(grow_slots(dict, mem, err));
		rql_mem_free(mem, dict->window);
		dict->window = NULL;
		return RQL_OK;
	}
	uint64_t size = 64;
	while (size <= new_high - new_low)
		size *= 2;
	if (at < low && new_high - new_low + 1 < size) /* room is left on the side that grows */
		new_low = new_high < size - 1 ? 0 : new_high - (size - 1);
	if (new_low > UINT64_MAX - (size - 1))
		new_low = UINT64_MAX - (size - 1);
	uint32_t *window;
	RQL_TRY(RQL_MEM_ZARRAY(mem, window, size, err));
	if (dict->window_size)
		memcpy(window + (low - new_low), dict->window,
		       (dict->window_size < size - (low - new_low) ? dict->window_size : size - (low - new_low)) *
		           sizeof(*window));
	rql_mem_free(mem, dict->window);
	dict->window = window;
	dict->window_size = size;
	dict->low = ordered(dict, new_low); /* its own inverse */
	return RQL_OK;
}

static rql_status window_insert(struct rql_dict *dict, struct rql_mem *mem, uint64_t key, const void *value,
                                uint32_t *code, struct rql_error *err)
{
	RQL_TRY(append(dict, mem, value, code, err));
	dict->window[key - dict->low] = *code + 1;
	return RQL_OK;
}

/* ---- lookups ---- */

/* The slot of the key, or the free one where it belongs. */
static inline uint64_t slot_of(const struct rql_dict *dict, uint64_t a, uint64_t b)
{
	uint64_t mask = (UINT64_C(1) << dict->slot_bits) - 1, i = slot_index(dict, a, b);
	while (dict->slots[i].code && (dict->slots[i].a != a || dict->slots[i].b != b))
		i = (i + 1) & mask;
	return i;
}

static rql_status slot_find(struct rql_dict *dict, struct rql_mem *mem, uint64_t a, uint64_t b, const void *value,
                            uint32_t *code, struct rql_error *err)
{
	uint64_t i = dict->slots ? slot_of(dict, a, b) : 0;
	if (dict->slots && dict->slots[i].code) {
		*code = dict->slots[i].code - 1;
		return RQL_OK;
	}
	if (!dict->slots || (uint64_t)dict->count * 2 >= UINT64_C(1) << dict->slot_bits) {
		RQL_TRY(grow_slots(dict, mem, err));
		i = slot_of(dict, a, b);
	}
	RQL_TRY(append(dict, mem, value, code, err));
	dict->slots[i] = (struct rql_dict_slot){.a = a, .b = b, .code = *code + 1};
	return RQL_OK;
}

static rql_status encode_words(struct rql_dict *dict, struct rql_mem *mem, const void *data, uint64_t first,
                               uint32_t count, uint64_t *keys, uint32_t *codes, struct rql_error *err)
{
	load_words(dict->type, dict->width, data, first, count, keys);
	const uint8_t *values = (const uint8_t *)data + first * dict->width;
	for (uint32_t i = 0; i < count && !dict->hashed; i++) {
		uint64_t offset = keys[i] - dict->low;
		uint32_t code = offset < dict->window_size ? dict->window[offset] : 0;
		if (code) {
			codes[i] = code - 1;
			continue;
		}
		if (offset >= dict->window_size)
			RQL_TRY(widen_window(dict, mem, keys[i], err));
		if (dict->hashed) /* start over: nothing was taken twice, codes stay what they are */
			break;
		RQL_TRY(window_insert(dict, mem, keys[i], values + (uint64_t)i * dict->width, &codes[i], err));
	}
	for (uint32_t i = 0; i < count && dict->hashed; i++)
		RQL_TRY(slot_find(dict, mem, keys[i], 0, values + (uint64_t)i * dict->width, &codes[i], err));
	return RQL_OK;
}

static rql_status encode_wide(struct rql_dict *dict, struct rql_mem *mem, const struct rql_column *column,
                              uint64_t first, uint32_t count, uint32_t *codes, struct rql_error *err)
{
	const uint64_t *halves = (const uint64_t *)column->data + first * 2;
	for (uint32_t i = 0; i < count; i++) {
		if (rql_column_valid(column, first + i))
			RQL_TRY(slot_find(dict, mem, halves[i * 2], halves[i * 2 + 1], &halves[i * 2], &codes[i], err));
	}
	return RQL_OK;
}

/* A long string: equal hashes are not enough, the bytes are compared. */
static rql_status long_find(struct rql_dict *dict, struct rql_mem *mem, struct rql_string s, uint32_t *code,
                            struct rql_error *err)
{
	uint64_t a, b;
	string_key(&s, &a, &b);
	if (!dict->slots || (uint64_t)dict->count * 2 >= UINT64_C(1) << dict->slot_bits)
		RQL_TRY(grow_slots(dict, mem, err));
	uint64_t mask = (UINT64_C(1) << dict->slot_bits) - 1, i = slot_index(dict, a, b);
	for (; dict->slots[i].code; i = (i + 1) & mask) {
		if (dict->slots[i].a != a || dict->slots[i].b != b)
			continue;
		const struct rql_string *known = (const struct rql_string *)dict->values + (dict->slots[i].code - 1);
		if (memcmp(known->pointer.data, s.pointer.data, s.length) == 0) {
			*code = dict->slots[i].code - 1;
			return RQL_OK;
		}
	}
	RQL_TRY(copy_text(dict, mem, &s, err));
	RQL_TRY(append(dict, mem, &s, code, err));
	dict->slots[i] = (struct rql_dict_slot){.a = a, .b = b, .code = *code + 1};
	return RQL_OK;
}

static rql_status encode_strings(struct rql_dict *dict, struct rql_mem *mem, const struct rql_column *column,
                                 uint64_t first, uint32_t count, uint32_t *codes, struct rql_error *err)
{
	const struct rql_string *values = (const struct rql_string *)column->data + first;
	for (uint32_t i = 0; i < count; i++) {
		const struct rql_string *s = &values[i];
		if (!rql_column_valid(column, first + i))
			continue;
		if (s->length > RQL_STRING_INLINE) {
			RQL_TRY(long_find(dict, mem, *s, &codes[i], err));
			continue;
		}
		uint64_t a, b;
		memcpy(&a, s, 8);
		memcpy(&b, (const char *)s + 8, 8);
		const struct rql_dict_slot *slot = dict->slots ? &dict->slots[slot_index(dict, a, b)] : NULL;
		if (slot && slot->a == a && slot->b == b && slot->code) /* nearly always: no call */
			codes[i] = slot->code - 1;
		else
			RQL_TRY(slot_find(dict, mem, a, b, s, &codes[i], err));
	}
	return RQL_OK;
}

/* Codes of a slice of words in which some rows are NULL: what lies under a NULL must not enter the dictionary, so the
 * valid values are taken together first. */
static rql_status encode_some_words(struct rql_dict *dict, struct rql_mem *mem, const struct rql_column *column,
                                    uint64_t first, uint32_t count, uint64_t *keys, uint32_t *codes,
                                    struct rql_error *err)
{
	_Alignas(8) uint8_t packed[RQL_DICT_SLICE * 8] = {0};
	uint32_t valid = 0, width = dict->width;
	const uint8_t *values = (const uint8_t *)column->data + first * width;
	for (uint32_t i = 0; i < count; i++) {
		if (rql_column_valid(column, first + i))
			memcpy(packed + (uint64_t)valid++ * width, values + (uint64_t)i * width, width);
	}
	RQL_TRY(encode_words(dict, mem, packed, 0, valid, keys, codes, err));
	for (uint32_t i = count; i-- > 0;) { /* spread out again, from the end: source and target are the same array */
		if (rql_column_valid(column, first + i))
			codes[i] = codes[--valid];
	}
	return RQL_OK;
}

static bool any_null(const struct rql_column *column, uint64_t first, uint32_t count)
{
	if (!column->validity)
		return false;
	for (uint32_t i = 0; i < count;) {
		uint64_t row = first + i;
		if ((row & 63) == 0 && count - i >= 64) {
			if (column->validity[row >> 6] != UINT64_MAX)
				return true;
			i += 64;
		} else if (!rql_column_valid(column, row)) {
			return true;
		} else {
			i++;
		}
	}
	return false;
}

rql_status rql_dict_encode(struct rql_dict *dict, struct rql_mem *mem, const struct rql_column *column, uint64_t first,
                           uint32_t count, uint32_t *codes, struct rql_error *err)
{
	uint64_t keys[RQL_DICT_SLICE];
	bool nulls = any_null(column, first, count);
	if (is_string(dict))
		RQL_TRY(encode_strings(dict, mem, column, first, count, codes, err));
	else if (dict->width == 16)
		RQL_TRY(encode_wide(dict, mem, column, first, count, codes, err));
	else if (nulls)
		RQL_TRY(encode_some_words(dict, mem, column, first, count, keys, codes, err));
	else
		RQL_TRY(encode_words(dict, mem, column->data, first, count, keys, codes, err));
	if (!nulls)
		return RQL_OK;
	if (dict->null_code == RQL_DICT_NO_CODE) {
		uint32_t code;
		RQL_TRY(append(dict, mem, NULL, &code, err));
		dict->null_code = code;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!rql_column_valid(column, first + i))
			codes[i] = dict->null_code;
	}
	return RQL_OK;
}
