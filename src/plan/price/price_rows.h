/* ROWS that a request could run under: what a method of the role "select" answers of its conditions, and at what price. */
#ifndef RQL_PLAN_PRICE_ROWS_H
#define RQL_PLAN_PRICE_ROWS_H

#include "plan/leaf.h"

/* So many keys of a join may be looked up instead of being met by a scan: an index nested loop. */
#define RQL_LOOKED_UP_KEYS 4096u

struct rql_rows_offer {
	/* Under the ROWS, without the conditions that they answer exactly. Arrays in the planning's arena; who prepares it
	 * takes under.prepared over. */
	struct rql_request request;
	const struct rql_method *method;
	struct rql_cost cost; /* of the ROWS */
	uint32_t tests;       /* conditions that it has answered, */
	uint32_t joins;       /* and lookups whose keys it looks up, */
	bool superset;        /* and some are tested again */
	const char *index;    /* that they are looked up in, in the planning's arena; NULL: not just one */
};
/* *found false: the method can answer none of the request's conditions there. Fails only for memory and interruption. */
rql_status rql_price_rows(const struct rql_planning *p, const struct rql_method *method, struct rql_device *device,
                          const struct rql_request *request, struct rql_rows_offer *out, bool *found,
                          struct rql_error *err) RQL_MUST_CHECK;

#endif
