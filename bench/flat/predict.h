/* What cards with ray-tracing hardware should need for a query of the unit rt, from the rays, any-hit calls and bytes
 * that were counted on another device. */
#ifndef RQL_BENCH_PREDICT_H
#define RQL_BENCH_PREDICT_H

#include "bench/flat/flat.h"

/* T = launch + max(rays / ray rate, any-hit calls / call rate, bytes / bandwidth): the three run beside each other. */
struct rql_card {
	const char *name, *key; /* key: of the JSON member */
	double rt_cores, sms, ghz, gbps; /* published by the vendor */
	double clocks_per_ray;           /* of one RT core; a GUESS, see predict.c */
	double any_hit_ns;               /* of one SM for one call; a GUESS */
	double launch_us;                /* a GUESS, from the H200's */
};
#define RQL_CARDS 2u
extern const struct rql_card rql_cards[RQL_CARDS];

/* q->hits as any-hit calls. RayQL's own layout also has closest hits, one a ray at most, which cost none: for it the
 * prediction errs upwards. */
double rql_predict_us(const struct rql_card *card, const struct rql_flat_query *q);
/* Lines for people, one a unit and card; nothing where no query had rays. */
void rql_predict_report(FILE *out, const struct rql_flat_run *run);
/* Members of the query's, the group's and the file's JSON object: predictions, their means, the cards and the guesses. */
void rql_predict_json_query(struct rql_strbuf *out, const struct rql_flat_query *q);
void rql_predict_json_group(struct rql_strbuf *out, const struct rql_flat_group *group);
void rql_predict_json_cards(struct rql_strbuf *out);

#endif
