/* Rows of a store in an order, put in it on a GPU: a request for them as columns there, and one that fetches these. */
#ifndef RQL_PLAN_PRICE_ORDER_H
#define RQL_PLAN_PRICE_ORDER_H

#include "plan/price/price_rows.h"

struct rql_order_offer {
	struct rql_request request; /* over the columns: from.prepared is the caller's, until a method has it */
	const struct rql_method *by; /* gives these */
	struct rql_rows_offer under; /* the ROWS that it runs under; method NULL: none */
};
/* The cheapest on the device. *reason: why there is none, in the planning's arena, or NULL. Fails only for memory and
 * interruption. */
rql_status rql_price_order(const struct rql_planning *p, struct rql_device *device, const struct rql_request *request,
                           struct rql_order_offer *out, const char **reason, struct rql_error *err) RQL_MUST_CHECK;
/* What nobody has taken over. */
void rql_order_offer_drop(struct rql_order_offer *offer);

#endif
