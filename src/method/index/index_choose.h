/* Which conditions of a request are looked up, and by which of its indexes, the others being tested where something was
 * found. The same for all units: runs on the CPU, where they are there, say how many rows a look-up finds. */
#ifndef RQL_METHOD_INDEX_INDEX_CHOOSE_H
#define RQL_METHOD_INDEX_INDEX_CHOOSE_H

#include "method/index/index_run.h"
#include "method/index/index_tests.h"
#include "method/method.h"

/* Forms that a unit looks up in, a bit each. */
#define RQL_INDEX_FORMS_COMPUTE                                                                                        \
	(1u << RQL_INDEX_SORTED | 1u << RQL_INDEX_BTREE | 1u << RQL_INDEX_HASH | 1u << RQL_INDEX_AUTO)
#define RQL_INDEX_FORMS_CPU (RQL_INDEX_FORMS_COMPUTE | 1u << RQL_INDEX_RX | 1u << RQL_INDEX_CGRX)

struct rql_index_choice {
	unsigned forms;                            /* that may be chosen */
	const struct rql_store_snapshot *snapshot; /* one reference */
	struct rql_index_of of;
	bool sorted; /* all rows in the order of its column are wanted: there are no tests */
	bool points; /* single values of all its columns alone are looked up */
	uint32_t test_count;
	/* The first `covered` are looked up, of as many key columns; all of them but the last are single values. The others are
	 * tested; so are these where a segment's keys are prefixes. */
	struct rql_index_test *tests;
	uint32_t covered;
	uint32_t tuple; /* some of these are its parts, whose values are looked up together; 0: of none */
	/* of what was there when it was prepared */
	double found;        /* rows that the look-ups give */
	double missing_rows; /* of segments without a run */
	uint32_t missing;    /* so many segments */
	bool prefix;         /* of some run keys are prefixes: what it finds is tested */
	double look_ups;
};

/* Of several forms of one column's index the greatest is taken for points. */
unsigned rql_index_rank(enum rql_index_form form);
/* Is some column of the conjunct one of an index of these forms? */
bool rql_index_answers(unsigned forms, const struct rql_request *request, const struct rql_conjunct *c);
/* One condition of one column, whose keys are its values: an index of several columns may have prefixes, but where the
 * column is not its first one it is not looked up. */
bool rql_index_is_exact(const struct rql_request *request);
/* *out is zeros before, and to be cleared after an error, too. RQL_ERROR_UNSUPPORTED: no index can. */
rql_status rql_index_choose(unsigned forms, const struct rql_request *request, struct rql_device *cpu,
                            struct rql_index_choice *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_index_choice_clear(struct rql_index_choice *choice);
uint64_t rql_index_choice_bytes(const struct rql_index_choice *choice); /* what it owns */
/* Rows of one value, or of ranges among evenly spread ones, in so many rows. */
double rql_index_guess(const struct rql_store_column *column, const struct rql_index_test *test, double rows);

/* How many look-ups in a run: one for each value of the tuple, or range of the last column. order: whose tests; NULL: the
 * first ones. */
uint32_t rql_index_look_ups(const struct rql_index_test *tests, const uint32_t *order, uint32_t count, uint32_t tuple);
/* The i-th of them: a range of each of the first `count` columns of the index. */
void rql_index_sought(const struct rql_index_test *tests, const uint32_t *order, uint32_t count, uint32_t tuple, uint32_t i,
                      struct rql_index_range *out);
#endif
