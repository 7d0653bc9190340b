/* Dictionaries in the making: values become codes in the order of their first appearance (one dictionary per worker),
 * and several such dictionaries become one whose codes ascend with the values (struct rql_dimension). */
#ifndef RQL_COLUMN_DICT_H
#define RQL_COLUMN_DICT_H

#include "column/crew.h"
#include "column/map/dimension.h"
#include "column/value/value.h"

#define RQL_DICT_SLICE 2048u /* rows handled at once: what a batch of the host holds */
#define RQL_DICT_NO_CODE UINT32_MAX

struct rql_dict_slot;
struct rql_dict_text;
struct rql_dict {
	struct rql_type type;
	uint32_t width;     /* bytes of a value */
	uint32_t count;     /* codes in use, NULL's included */
	uint32_t capacity;  /* of values */
	uint32_t null_code; /* RQL_DICT_NO_CODE: no NULL yet */
	uint8_t *values;    /* [capacity * width]; strings point into text */
	/* Integers of a small range: code + 1 of value low + i, 0: not seen. */
	uint32_t *window;
	uint64_t low, window_size; /* window_size 0: hashed */
	bool hashed;
	/* Open addressing for everything else. */
	struct rql_dict_slot *slots;
	uint32_t slot_bits;
	/* Where long strings are copied to. */
	struct rql_dict_text *text;
};
void rql_dict_init(struct rql_dict *dict, struct rql_type type);
/* Codes of rows [first, first + count) of column, count <= RQL_DICT_SLICE. When it knows all the values it stays as it
 * is, so that several threads may ask at once. */
rql_status rql_dict_encode(struct rql_dict *dict, struct rql_mem *mem, const struct rql_column *column, uint64_t first,
                           uint32_t count, uint32_t *codes, struct rql_error *err) RQL_MUST_CHECK;
/* Frees what it points to; count and null_code stay. */
void rql_dict_free(struct rql_dict *dict, struct rql_mem *mem);

/* Merging. */
struct rql_dict_merge {
	const struct rql_crew *crew; /* its memory takes the remaps and what is passing */
	struct rql_type type;
	uint32_t dict_count; /* below 2^32; only type, width, count, null_code and values of each are read */
	struct rql_dict *const *dicts;
	struct rql_mem *mem;     /* takes the result's values and texts, */
	struct rql_arena *arena; /* and its type */
};
/* out: the distinct values in the host's order, NULL last. remaps[d], in crew->mem: the code in out of each code of
 * dicts[d]; it ascends when dicts[d] does. Of equal values (0.0 and -0.0) the one of the first dictionary stays. */
rql_status rql_dict_merge(const struct rql_dict_merge *merge, uint32_t **remaps, struct rql_dimension *out,
                          struct rql_error *err) RQL_MUST_CHECK;
/* The code in a dimension of the value in row `row` of column (of the same type); RQL_DICT_NO_CODE: it has none. */
uint32_t rql_dimension_find(const struct rql_dimension *dimension, const struct rql_column *column, uint64_t row);
/* ... of a value that is not NULL. */
uint32_t rql_dimension_find_value(const struct rql_dimension *dimension, const struct rql_value *value);

#endif
