/* What is asked of a method, in words that all of them share: predicates, keys, values, aggregates. A request is asked of
 * a coded relation or of the rows of a column store, and wants groups or the rows themselves. It speaks of columns by
 * number, of codes where a column has a dictionary, and of stored integers elsewhere (dates as days, decimals without
 * their point): the planner has translated everything else. A code c stands for values[c]; codes ascend in the host's
 * order of the values; NULL, when there is one, is the last code. */
#ifndef RQL_METHOD_REQUEST_H
#define RQL_METHOD_REQUEST_H

#include "column/form.h"
#include "column/map/dimension.h"
#include "column/map/map.h"
#include "column/store/store.h"
#include "column/value/value.h"
#include "device/device.h"
#include "util/budget.h"

#define RQL_NONE UINT32_MAX
#define RQL_KEYED_GROUPS (UINT64_C(1) << 20)

/* ---- coded relations ---- */
/* Their columns are dictionaries, so that a predicate on a dimension is a set of codes, and a group key is a map from
 * codes. */
enum rql_measure_kind {
	RQL_MEASURE_INTEGER /* answers as int128 */,
	RQL_MEASURE_REAL /* answers as double */,
	RQL_MEASURE_CODE /* MIN and MAX only: answers are codes of `dictionary` */
};
struct rql_measure {
	struct rql_type type; /* of the argument: DECIMAL(12,2), INTEGER, DOUBLE, VARCHAR, ... */
	enum rql_measure_kind kind;
	bool sum, min, max;              /* what can be asked; COUNT always can */
	bool has_null;                   /* some row's value is NULL */
	rql_int128 least, greatest;      /* INTEGER: bounds of the single rows' values (not of sums), when any */
	struct rql_dimension dictionary; /* CODE */
};

/* A structure that answers aggregate requests: rows with dimensions and measures, grouped or not. */
struct rql_relation {
	uint32_t dimension_count;
	const struct rql_dimension *dimensions;
	uint32_t measure_count;
	const struct rql_measure *measures;
	uint64_t rows;  /* of the base relation */
	uint64_t cells; /* stored: equal to rows when rollup is off */
	bool rolled_up;
	uint64_t bytes; /* resident */
};

/* A conjunction of one set of codes per dimension; pass[d] is a bitmap over dimension d's codes, NULL: all pass. The
 * boxes of a request are disjoint: it asks for their union. No box at all: nothing qualifies. */
struct rql_box {
	const uint64_t *const *pass;
};

/* ---- rows of a store ---- */
/* What a program, a group key or an aggregate reads in every row. */
enum rql_source_kind {
	/* index: column of the store, of a coded one the code; of a relation a key's dimension, an aggregate's measure */
	RQL_SOURCE_COLUMN,
	RQL_SOURCE_LOOKUP,  /* index: lookup of the request; the payload, or what value_of_payload makes of it; NULL where
	                      a left one found nothing and has no payload for that */
	RQL_SOURCE_PROGRAM, /* index: program of the request (not as a program's input) */
};
struct rql_source {
	enum rql_source_kind kind;
	uint32_t index;
	uint32_t result;                  /* PROGRAM: which of its results */
	const int64_t *value_of_payload;  /* LOOKUP: [rql_lookup_payloads]; NULL: the payload itself */
	const uint64_t *valid_of_payload; /* LOOKUP: bitmap over payloads; NULL: all valid */
};

struct rql_program; /* expr/expr.h */
struct rql_row_program {
	const struct rql_program *program; /* verified */
	const struct rql_source *inputs;   /* one for each of the program's inputs; not PROGRAM */
};

/* One member of the WHERE clause's conjunction. A row passes when the test is true: a comparison with NULL is not. */
enum rql_test {
	RQL_TEST_IN_CODES, /* coded column: the code's bit in `codes` is set (NULL never passes) */
	RQL_TEST_IN_RANGE, /* integer or coded column: least <= value <= greatest */
	RQL_TEST_IN_REALS, /* DOUBLE or FLOAT: real_least <= value <= real_greatest; NaN is the greatest, as with DuckDB */
	RQL_TEST_IS_NULL,
	RQL_TEST_IS_NOT_NULL,
	RQL_TEST_IS_TRUE, /* a program whose result 0 is boolean */
};
/* A list of integers that a program tests a column for. */
struct rql_value_list {
	uint32_t column, count;
	const int64_t *values; /* in any order; NULL: it is not known to be one */
};
/* Values of several columns together: what a join by all of them says. */
#define RQL_INDEX_COLUMNS_MOST 4u
struct rql_value_tuples {
	uint32_t parts, count; /* parts 0: it says no such thing */
	bool of_lookup;        /* some of its columns are a lookup's of the request, which says less */
	uint32_t columns[RQL_INDEX_COLUMNS_MOST];
	const int64_t *values[RQL_INDEX_COLUMNS_MOST]; /* [parts][count]: integers or codes; not copied */
};
/* Values of a column for which a program is true: integers, or of DOUBLE, FLOAT and UHUGEINT their places (column/value/value.h). */
struct rql_value_range {
	rql_int128 least, greatest;
};
struct rql_value_ranges {
	uint32_t column, count;
	bool nulls;                           /* it is true for NULL, too */
	const struct rql_value_range *ranges; /* ascending, disjoint; NULL: they are not known */
};
struct rql_conjunct {
	enum rql_test test;
	uint32_t index; /* column, or of IS_TRUE the program */
	bool or_null;   /* NULL passes too (column tests) */
	/* The host tests nothing but such conditions before it: what can fail need not see the rows that this one drops. */
	bool at_first;
	/* IN_RANGE, IN_CODES or IN_REALS of one value, in whose place a run may have another one: rql_run.points[point - 1].
	 * 0: none. */
	uint32_t point;
	const uint64_t *codes; /* bitmap over the column's codes */
	rql_int128 least, greatest;
	double real_least, real_greatest;
	struct rql_value_list list; /* IS_TRUE: it is true for exactly these values of a column, not copied */
	struct rql_value_ranges ranges; /* IS_TRUE: the same in another form, for more conditions; not copied */
	struct rql_value_tuples tuples; /* IS_TRUE: it is true for no other rows than those of these */
};

/* ---- indexes ---- */
/* What CREATE INDEX asks for: columns whose values are worth to be looked up, and how. A hint: whoever looks up keeps what
 * that needs by the segments of the snapshot, so it says nothing about what is there. */
enum rql_index_form {
	RQL_INDEX_SORTED,
	RQL_INDEX_BTREE,
	RQL_INDEX_HASH,
	RQL_INDEX_SIEVE,
	RQL_INDEX_RX,
	RQL_INDEX_CGRX,
	RQL_INDEX_DIRECT, /* of dense values */
	RQL_INDEX_AUTO    /* direct, hashed or sorted: by the values of each segment and by what is asked */
};
/* Bit vectors of a column: how many at most, and as digits of how many components (method/sieve). */
#define RQL_SIEVE_VECTORS_MOST 1022u
/* How the rows that vectors leave undecided are found and decided. What a device has no unit for is done by values. */
enum rql_sieve_refine {
	RQL_SIEVE_AUTO,      /* positions on the CPU; on a GPU the cheapest of the next three */
	RQL_SIEVE_VALUES,    /* the values of all rows in the boundary's bins */
	RQL_SIEVE_POSITIONS, /* rows in the order of their values, beside: only what lies between a bound and a vector */
	RQL_SIEVE_BLOCKS,    /* compute: the same by blocks: a block's rows at a bound lie side by side */
	RQL_SIEVE_DRAWN,     /* raster: those rows drawn into the bitmap */
	RQL_SIEVE_RTC1,      /* rt: a column at a time, without vectors (RTScan 2.3) */
	RQL_SIEVE_RTC3,      /* rt: three columns at once, without vectors (3.1) */
	RQL_SIEVE_MATRIX,    /* rt: short rays through cubes (4.4) */
	RQL_SIEVE_CELLS,     /* rt: rays through cells of rows */
	RQL_SIEVE_REFINES
};
/* Do the rows lie in the order of their values beside the vectors, on a GPU? */
static inline bool rql_sieve_has_order(enum rql_sieve_refine refine)
{
	return refine == RQL_SIEVE_POSITIONS || refine == RQL_SIEVE_DRAWN;
}
/* On a GPU, how ROWS are given (port.h). AUTO: as bitmaps. LISTS: so where one pass finds the rows (VALUES, BLOCKS) and the
 * unit is compute, else as bitmaps. */
enum rql_sieve_rows { RQL_SIEVE_ROWS_AUTO, RQL_SIEVE_ROWS_BITMAPS, RQL_SIEVE_ROWS_LISTS, RQL_SIEVE_ROWS_FORMS };
struct rql_sieve_form {
	uint32_t vectors, components;
	enum rql_sieve_refine refine;
	enum rql_sieve_rows rows;
	/* MATRIX: how far rays are apart, and how far one's end is from the next one's start, in hundredths of a cube's
	 * width (4.4.3). */
	uint32_t interval, spacing;
	bool by_value; /* MATRIX: places in space are values, not ranks (without Uniform Encoding, 5.7) */
};
/* RX and cgRX on a unit rt: RTIndeX's dimensions of design (papers/003, section 3). Zeros are the defaults. */
enum rql_ray_keys {
	RQL_RAY_KEYS_AUTO, /* 3D, by as few bits as a part's keys need */
	RQL_RAY_KEYS_NAIVE,
	RQL_RAY_KEYS_EXTENDED,
	RQL_RAY_KEYS_3D,
	RQL_RAY_KEYS_MODES
};
enum rql_ray_primitive { RQL_RAY_TRIANGLE, RQL_RAY_SPHERE, RQL_RAY_AABB, RQL_RAY_PRIMITIVES };
enum rql_ray_form {
	RQL_RAY_AUTO, /* from offset; extended keys: from zero */
	RQL_RAY_OFFSET,
	RQL_RAY_ZERO,
	RQL_RAY_PERPENDICULAR, /* of single keys; of ranges as AUTO */
	RQL_RAY_FORMS
};
struct rql_ray_design {
	enum rql_ray_keys keys;           /* RX, as primitive and rays are */
	enum rql_ray_primitive primitive;
	enum rql_ray_form rays;
	uint32_t bits[3]; /* of x, y and z; zeros: whatever the keys need */
	uint32_t bucket;  /* cgRX: keys of one, a power of two; 0: 32 */
	bool loose;       /* not compacted */
};
struct rql_index_of {
	uint32_t column; /* of the snapshot */
	/* Its key has these, too, behind that one: of all forms but SIEVE. */
	uint32_t more_count, more[RQL_INDEX_COLUMNS_MOST - 1];
	enum rql_index_form form;
	struct rql_sieve_form sieve; /* SIEVE */
	struct rql_ray_design rays;  /* RX and CGRX */
	/* Of a request's: its place there, and how CREATE INDEX called it, and its options, for as long as the request lives. */
	uint32_t number;
	const char *name, *options; /* options may be NULL */
};

enum rql_lookup_kind {
	RQL_LOOKUP_INNER, /* rows without a match are dropped */
	RQL_LOOKUP_SEMI,  /* the same, without a payload */
	RQL_LOOKUP_ANTI,  /* rows with a match are dropped; a NULL key has none (NOT EXISTS, not NOT IN) */
	RQL_LOOKUP_LEFT,  /* no row is dropped; without a match the payload is the lookup's `absent` */
};
struct rql_lookup {
	enum rql_lookup_kind kind;
	uint32_t column; /* integer or coded (its codes), up to 64 bits */
	const struct rql_map *map;
	/* A key of two columns: the number of the other one plus 1; 0: there is none. The map's keys are then
	 * rql_pair_key of both. Both columns' values must lie in the spans. */
	uint32_t second;
	struct rql_key_pair {
		int64_t least, second_least;
		uint64_t second_span; /* values of the second column; times those of the first below 2^62 */
	} pair;
	uint32_t absent; /* LEFT: the payload of rows without a match, plus 1, up to 2^31; 0: it is NULL */
};
/* One more than the greatest payload that the lookup gives. */
static inline uint32_t rql_lookup_payloads(const struct rql_map *map, uint32_t absent)
{
	uint32_t payloads = rql_map_payloads(map);
	return payloads > absent ? payloads : absent;
}
static inline int64_t rql_pair_key(const struct rql_key_pair *pair, int64_t value, int64_t second)
{
	return (int64_t)(((uint64_t)value - (uint64_t)pair->least) * pair->second_span +
	                 ((uint64_t)second - (uint64_t)pair->second_least));
}
static inline void rql_pair_split(const struct rql_key_pair *pair, int64_t key, int64_t *value, int64_t *second)
{
	*value = (int64_t)((uint64_t)pair->least + (uint64_t)key / pair->second_span);
	*second = (int64_t)((uint64_t)pair->second_least + (uint64_t)key % pair->second_span);
}

/* ---- keys and values ---- */
/* A part of the group number: a row's key code in [0, key_count). NULL is a key like others. */
struct rql_group_key {
	struct rql_source source;
	/* Dimensions and coded columns (NULL is one of the codes, null_key is not used) and lookups (without value_of_payload
	 * and valid_of_payload): key code of the code or payload, entries below key_count. NULL: value - least. */
	const uint32_t *key_of_code;
	int64_t least;      /* without key_of_code: the value of key code 0; all values are below least + key_count */
	uint32_t key_count; /* NULL's included */
	uint32_t null_key;  /* below key_count, or RQL_NONE: the source is never NULL */
	/* Instead of key_count, when it would be more: the port has the key's codes in wide_keys. A null_key other than
	 * RQL_NONE stands for wide_count - 1. Not with key_of_code. */
	uint64_t wide_count;
	/* The source is a DOUBLE or FLOAT: its value is rql_real_code (column/value/value.h), `least` one of these modulo 2^64. Not
	 * with key_of_code. Two codes may be of values that the host calls equal: whoever takes the groups puts them together. */
	bool real;
};

enum rql_agg_kind { RQL_AGG_COUNT_STAR, RQL_AGG_COUNT, RQL_AGG_SUM, RQL_AGG_MIN, RQL_AGG_MAX };
struct rql_agg {
	enum rql_agg_kind kind;
	struct rql_source source; /* not for COUNT_STAR */
	uint32_t filter; /* FILTER clause: the number of a program whose result 0 is boolean, plus 1; 0: every row */
};

/* Which of the groups are wanted: those that pass every test, and of these the first ones of an order, with all others
 * that are equal in it to the last of them, or as many of these as complete their number. Whoever takes the groups does the same once more, exactly, so that a method may
 * give more of them; it is for what they cost to be handed on. */
#define RQL_GROUP_TESTS 4u
struct rql_group_test {
	uint32_t agg; /* integers or codes; NULL does not pass */
	rql_int128 least, greatest;
};
struct rql_wanted_groups {
	uint32_t test_count; /* up to RQL_GROUP_TESTS */
	struct rql_group_test tests[RQL_GROUP_TESTS];
	uint64_t first; /* 0: all that pass */
	bool any;       /* there is no order: whichever so many */
	bool ties_free; /* ... nor one of those that are equal to the last of them */
	bool of_key;    /* ordered by key codes of a group key that ascend as its values do, else by an aggregate */
	uint32_t index; /* of the group key, or of the aggregate */
	uint64_t null_key; /* a group key's: its greatest code; UINT64_MAX: it is never NULL */
	bool descending, nulls_first;
};

/* Of an integer that is two columns of a form (column/form.h). */
enum rql_half { RQL_HALF_NONE, RQL_HALF_UPPER, RQL_HALF_LOWER };

/* A column of the form that groups are given in, where COLUMNS of groups are wanted. NULL is a key's null_key, and of an
 * aggregate other than a count what no value was in. An average is the quotient of two aggregates as C computes it: of a sum
 * of reals in double, of integers in long double, `narrow` ones in double, too. */
struct rql_group_output {
	bool of_key;
	uint32_t index; /* of the group key, or of the aggregate */
	bool average;   /* a REAL column: the aggregate, a SUM, by `count`, which counts its values, and by 10^scale */
	bool narrow;
	uint8_t scale; /* up to 18 */
	uint32_t count;
	/* A half of a sum of integers (column/form.h), of `index` alone, or as the upper half of `lower`, plus 1: both are
	 * NULL in the same groups. */
	enum rql_half half;
	uint32_t lower;
	/* A key: the form's code for each key code, or of integers the distance from the column's least; NULL: the key code. */
	const uint32_t *number_of_key;
	uint64_t null_key; /* UINT64_MAX: there is none */
};

/* ---- rows that are wanted themselves ---- */
/* A column of the result, in the host's layout. */
struct rql_output {
	struct rql_source source;
	struct rql_type type; /* integral, FLOAT or DOUBLE as the source is; with values: theirs */
	/* The source counts entries of these: a lookup's payload, a code that a program made. Columns with a dictionary have
	 * theirs by themselves. NULL: the source's value is meant. Entries must outlive the prepared selection, not the rows
	 * that it gives. */
	const struct rql_column *values;
	uint32_t value_count;
	/* COLUMNS: instead of a source the number that these keys make together, as groups are numbered: a join's key. NULL
	 * where one of them is NULL and has no key code for it. Not NULL, without any: the number is 0 in every row. */
	uint32_t part_count;
	const struct rql_group_key *parts;
	enum rql_half half; /* COLUMNS, of integers of 64 bits: this half of the source is meant */
	/* COLUMNS, of reals: values that the host calls equal have one field, -0 that of 0 and every NaN that of one: a join's
	 * key. */
	bool canonical;
	uint32_t filter; /* COLUMNS, with a source: the number of a program whose result 0 is boolean, plus 1: where it is not TRUE,
	                    the value is NULL. 0: none */
	bool null_value; /* canonical: NULL is a value like others, too: it has a field that no value has, and that is not NULL's */
};

/* Integers and reals as the host orders them; coded columns by their codes, which ascend as the values do; payloads by
 * value_of_payload (their rank) or by themselves. */
struct rql_row_order {
	struct rql_source source;
	bool descending, nulls_first;
};

/* What a sample of the rows says about a request over its snapshot. All zero: not taken yet. */
#define RQL_SAMPLED_STEPS 64u
struct rql_sample {
	bool taken;
	/* In, before it is taken: what passes everything was counted, as a share of all rows. So no row need be drawn. */
	bool counted;
	double counted_share;
	double read_share; /* of blocks: what the zone maps leave */
	double pass;       /* of the rows in those: what passes everything */
	uint32_t step_count;
	/* Of each conjunct, then each lookup but left ones: of the rows in those blocks, what passes it; nanoseconds a row on one
	 * thread, negative where it was not timed. */
	double steps[RQL_SAMPLED_STEPS], costs[RQL_SAMPLED_STEPS];
	/* How many rows that pass it lie together: 1 when each lies anywhere, 4 of orders with four lines. */
	double runs[RQL_SAMPLED_STEPS];
};

/* ---- the request ---- */
enum rql_reads {
	RQL_READS_RELATION,
	RQL_READS_STORE,
	RQL_READS_COLUMNS,
	RQL_READS_PAIR,
	RQL_READS_APPEND,
	RQL_READS_SIDES,
	RQL_READS_KEYS,
	RQL_READS_GROUPING,
	RQL_READS_INDEX, /* of structures only: requests over other ones' stores have it in `indexes` */
};
/* What is wanted, and what a method gives: port.h has the forms. */
enum rql_port_kind {
	RQL_PORT_GROUPS, /* keys and states of aggregates */
	RQL_PORT_BATCH,  /* rows in the host's layout */
	RQL_PORT_ROWS,   /* which rows of the snapshot pass the conjuncts; nothing else is asked for */
	RQL_PORT_MAP,    /* the rows' keys and what belongs to them as a map: in a device's memory and in the host's */
	RQL_PORT_SORTED, /* all rows that have a value of one column, in its order: nothing else is asked for */
	RQL_PORT_PAIRS,  /* rows of one side beside rows of the other, in the host's memory, as they are found */
	RQL_PORT_COLUMNS, /* rows of a form (column/form.h), in no order, in a device's memory for whoever comes next there */
};

/* ROWS that come in: what a method gives of a request for them. */
struct rql_method;
struct rql_prepared;
struct rql_rows_source {
	const struct rql_method *method;
	struct rql_prepared *prepared; /* of the same snapshot, on the same device */
	double share;                  /* of the snapshot's rows: expected to be among them */
	double blocks;                 /* that are expected to have some */
	bool lists;                    /* GPU: they come as lists (port.h), whatever the run finds */
};
/* COLUMNS that come in. */
struct rql_columns_source {
	const struct rql_method *method; /* NULL: none */
	struct rql_prepared *prepared;   /* on the same device */
	const struct rql_store_snapshot *form;
	double rows; /* expected */
};
/* ROWS of a store, by an index: all whose values are the key of a row that comes in, on the same device. There may be others
 * among them, which the join drops. */
struct rql_keys_in {
	struct rql_columns_source from; /* borrowed: whoever reads the rows that are found reads these, too, and frees both */
	uint32_t key;                   /* their column */
	uint32_t count;
	struct rql_keys_part { /* what the key says of a column of the store */
		uint32_t column;
		/* 0: its fields are those of the store's column, from another least value on. Else they are numbers that several
		 * columns make together, as groups are numbered: this one's key codes, below `span`, times `stride`. */
		uint64_t span, stride;
		int64_t least;               /* as in struct rql_group_key */
		const uint32_t *key_of_code; /* as there */
	} parts[RQL_INDEX_COLUMNS_MOST];
};
/* Several such, whose fields say the same: the rows of all of them, as UNION ALL has them. */
#define RQL_APPEND_MOST 8u
struct rql_append {
	uint32_t count;
	struct rql_columns_source of[RQL_APPEND_MOST];
};
/* A join of two such by one column of each, whose fields say the same on both sides. A row whose key is NULL has no match.
 * Either key may come any number of times. */
#define RQL_PAIR_CONDITIONS 4u
#define RQL_PAIR_MARK (UINT32_MAX - 1) /* as a column of the build side: what IN says of the row, a BOOLEAN */
#define RQL_PAIR_TRUE (UINT32_MAX - 2) /* as a condition's column of the build side: TRUE itself */
enum rql_pair_test { RQL_PAIR_EQ, RQL_PAIR_NE, RQL_PAIR_LT, RQL_PAIR_LE, RQL_PAIR_GT, RQL_PAIR_GE };
/* What a join by ranges says of a probe row's matches, as a column: none of them is a row itself. Sums are of 64 bits, as the
 * column's bounds in the form say, and NULL without a value. */
#define RQL_PAIR_SUMS 16u
enum rql_pair_sum_kind {
	RQL_PAIR_SUM_PAIRS,  /* how many rows the join has for the probe row; of a LEFT one 1 without a match */
	RQL_PAIR_SUM_VALUES, /* ... of which so many have a value of the column */
	RQL_PAIR_SUM_SUM,    /* what the column adds up to in them */
};
struct rql_pair_sum {
	enum rql_pair_sum_kind kind;
	bool of_build;
	uint32_t column;
};
struct rql_pair {
	enum rql_lookup_kind kind; /* SEMI, ANTI: no columns of the build side */
	bool not_in;               /* ANTI: of IN by SQL's rules of NULL: rows of which it is FALSE. No conditions */
	bool mark;                 /* LEFT: a row stays once, and of the build side there is only RQL_PAIR_MARK. No conditions */
	bool full;                 /* LEFT: and so do rows of the build side without a match */
	bool single;               /* LEFT: a row with several matches is an error, which the host raises */
	/* INNER, LEFT: of a row's matches the one whose value is nearest, or of several equally near any. The only condition is the
	 * order of the two values. keyless: then there may be no key. null_fails: a probe row without key or value is an error. */
	bool nearest, keyless, null_fails;
	/* INNER, LEFT: there is no key, and the conditions are one bound or two, a least and a greatest one, of one column of the
	 * build side. A probe row that stays comes once; behind the columns, all of its own, are these. */
	bool ranges;
	uint32_t sum_count;
	const struct rql_pair_sum *sums;
	uint32_t condition_count;  /* two rows with one key are a match only where all hold: NULL does not */
	struct rql_pair_condition {
		enum rql_pair_test test; /* probe <test> build */
		bool canonical;          /* reals: fields of equal values are the same (rql_output) */
		uint32_t probe, build;   /* columns whose fields say the same */
		/* Of `texts`. of_key: EQ, and one more key beside the first, so that it goes into the hash, too. text: of two
		 * dictionaries, as the first one is. */
		bool of_key, text;
		uint64_t probe_bytes, build_bytes;
	} conditions[RQL_PAIR_CONDITIONS];
	struct rql_columns_source probe, build;
	uint32_t probe_key, build_key;
	double values; /* of the key, on the side that has more, as far as is known; 0: it is not */
	/* The keys are texts of two dictionaries: rows match where their bytes are equal. These are the texts' bytes, of either
	 * side UINT32_MAX at most. */
	bool texts;
	uint64_t probe_bytes, build_bytes;
	uint32_t column_count;
	const struct rql_pair_column { /* in the order of the form that it gives */
		bool of_build;
		uint32_t column;
	} *columns;
};

/* Devices that share the partitions of rows in the host's memory: the first is the one that the request is prepared for. */
struct rql_sharers {
	uint32_t count;
	struct rql_device *device[RQL_DEVICES_MAX];
};

/* A join of two sides whose keys lie in the host's memory, as words that say by being equal that the keys are. The rows come
 * with the run (method/stage.h): this is what is expected of them. */
struct rql_sides {
	double rows[2]; /* of the build side, of the probe side */
	double pairs;
	bool hits;             /* only which probe rows have a partner is asked for: pairs are these */
	uint32_t key_bits;     /* of the words, 32 or 64 */
	struct rql_sharers on;
	uint64_t device_bytes; /* of each device's memory that it may have */
	uint64_t host_bytes;   /* of the host's, for partitions; 0: any number */
};

/* Groups of rows that lie in the host's memory, by words that say by being equal that the keys are. As of sides, the rows
 * come with the run. */
struct rql_grouping {
	double rows, groups;
	uint32_t value_count; /* columns that are aggregated, of 64 bits each */
	struct rql_sharers on;
	uint64_t device_bytes, host_bytes;
};
#define RQL_GROUPING_VALUES 7u

/* A map to make: the first column, or the first two, are its key: integers, or what `places` says of their fields. What the columns behind them say together
 * is the payload: a number, ranked among those that there are. */
struct rql_map_keys {
	uint32_t count; /* of columns: 1 or 2 */
	int64_t least[2];
	uint64_t span[2]; /* of the column: only keys of [least, least + span) are entries; 1 and more */
	struct rql_key_pair pair; /* two: as in struct rql_lookup */
	bool hashed;
	/* NULL: the column has the keys. Else for each of its fields (column/form.h) the key's distance from `least`, plus 1:
	 * codes of another dictionary, and the like. */
	const uint32_t *places[2];
	uint32_t place_count[2];
};
#define RQL_MAP_NO_PLACE 0u            /* no such key is looked for */
#define RQL_MAP_NULL_PLACE UINT32_MAX /* it is NULL */
/* Places that a key may have. */
static inline uint64_t rql_map_places(const struct rql_map_keys *k)
{
	return k->count > 1 ? (k->span[0] - 1) * k->pair.second_span + k->span[1] : k->span[0];
}
/* Numbers that payloads may have: the number of a row's payload is the sum of its fields, each times the fields of the
 * columns before. Those that there are become ranks: up to RQL_KEYED_GROUPS by bits, more by a hash table. */
#define RQL_MAP_NUMBERS (UINT64_C(1) << 62)
/* Fields that the column can have, with NULL's; 0: more than there may be numbers, or it is no column of numbers. */
static inline uint64_t rql_map_fields(const struct rql_store_column *c)
{
	const rql_int128 values = c->kind == RQL_STORE_CODED     ? c->dimension->count
	                          : c->kind == RQL_STORE_INTEGER ? c->greatest - c->least + 1
	                                                         : (rql_int128)RQL_MAP_NUMBERS;
	return values >= 0 && values < (rql_int128)RQL_MAP_NUMBERS && !c->low ? (uint64_t)values + 1 : 0;
}
/* Numbers of all columns behind the keys; 1: there are none; 0: they are more than there may be. */
static inline uint64_t rql_map_numbers(const struct rql_store_snapshot *form, uint32_t keys)
{
	uint64_t numbers = 1;
	for (uint32_t c = keys; c < form->column_count && numbers; c++)
		if (__builtin_mul_overflow(numbers, rql_map_fields(&form->columns[c]), &numbers) || numbers > RQL_MAP_NUMBERS)
			numbers = 0;
	return numbers;
}
#define RQL_MAP_NO_NUMBERS "what belongs to the keys is no number, or may have more than 2^62 values together"

/* How groups that are drawn get their totals. AUTO: as is cheaper. */
enum rql_totals { RQL_TOTALS_AUTO, RQL_TOTALS_ATOMICS, RQL_TOTALS_LIMBS };

/* The CPU orders fewer rows sooner than a GPU is asked to. */
#define RQL_ORDERED_ROWS_LEAST 32768.0

struct rql_request {
	/* Of what it is asked: one of them. */
	const struct rql_relation *relation;       /* must outlive what is prepared from the request */
	const struct rql_store_snapshot *snapshot; /* retained by that */
	uint32_t index_count;                      /* of its columns */
	const struct rql_index_of *indexes;
	/* ... the rows of the form `snapshot` that come in here; or a join alone, or what is appended alone: its rows are all
	 * that is asked for. What is prepared takes them over, when it succeeds. */
	struct rql_columns_source from;
	const struct rql_pair *pair;
	const struct rql_append *append;
	const struct rql_sides *sides; /* PAIRS; copied */
	const struct rql_keys_in *keys; /* of `snapshot`, whose `indexes` there are; copied. No condition is tested */
	const struct rql_grouping *grouping; /* GROUPS; copied */
	/* Which rows. Of a relation those of all boxes: */
	uint32_t box_count;
	const struct rql_box *boxes;
	/* of a store those that pass every conjunct and lookup. Programs and maps must outlive what is prepared,
	 * everything else is copied. */
	uint32_t program_count;
	const struct rql_row_program *programs;
	uint32_t conjunct_count;
	const struct rql_conjunct *conjuncts;
	uint32_t lookup_count;
	const struct rql_lookup *lookups;
	/* Rows that are of no tuple of one of these may be dropped, and need not be. */
	uint32_t tuple_count;
	const struct rql_value_tuples *tuples;
	/* ... and are among these; method NULL: all are. What is prepared from the request takes them over, when it succeeds.
	 * Programs then cannot fail. */
	struct rql_rows_source under;
	/* What of them. */
	enum rql_port_kind wants;
	/* GROUPS */
	uint32_t group_count;
	const struct rql_group_key *groups;
	uint32_t agg_count;
	const struct rql_agg *aggs;
	struct rql_wanted_groups wanted; /* of zeros: all */
	/* The sink is a map to build: columns of the store by number plus 1, integers of up to 64 bits or coded; 0: none. Of
	 * every row that passes the port has their values (of coded columns the codes) and the row's group in its `keyed`,
	 * so that the groups become payloads. No aggregates then, on the CPU only, and groups with at most
	 * RQL_KEYED_GROUPS numbers. */
	uint32_t keyed, keyed_second;
	uint32_t sorted_by; /* SORTED: the column */
	struct rql_map_keys map_keys; /* MAP, of COLUMNS */
	/* COLUMNS: their form, retained by what is prepared; output i is its column i. And how many are expected. Of groups
	 * (there is no output then, and at least one group key) group output i is column i. */
	const struct rql_store_snapshot *gives;
	uint32_t group_output_count;
	const struct rql_group_output *group_outputs;
	double expected;
	/* BATCH, of a store only; COLUMNS, not of a pair */
	uint32_t output_count;
	const struct rql_output *outputs;
	uint32_t order_count; /* 0: as they stand in the snapshot: table order, if that is `ordered` */
	const struct rql_row_order *orders;
	bool order_there; /* a device that has the rows is to put them in order, however few they are */
	uint64_t limit, offset; /* limit UINT64_MAX: none */
	struct rql_budget
		*budget; /* of the rows, charged until they are released, and of what sorting needs; may be NULL */
	/* What the structure's WITH (layout = ...) asks for ("paper"); NULL: auto. */
	const char *layout;
	enum rql_totals totals;
	/* In when it was taken, else out, so that the candidates that are prepared from one request sample once. NULL: each
	 * samples for itself. */
	struct rql_sample *sample;
};
static inline enum rql_reads rql_request_reads(const struct rql_request *request)
{
	return request->relation      ? RQL_READS_RELATION
	       : request->pair        ? RQL_READS_PAIR
	       : request->append      ? RQL_READS_APPEND
	       : request->sides       ? RQL_READS_SIDES
	       : request->keys        ? RQL_READS_KEYS
	       : request->grouping    ? RQL_READS_GROUPING
	       : request->from.method ? RQL_READS_COLUMNS
	                              : RQL_READS_STORE;
}

/* What is known of a source's values in every row, as a column of a form. Gives why they have no field; NULL: they have. */
const char *rql_request_describe(const struct rql_request *request, const struct rql_source *source,
                                 struct rql_form_column *out);

#endif
