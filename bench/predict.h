/* What cards with ray-tracing hardware should need for a query of the unit rt, from the rays, any-hit calls and bytes
 * that were counted on another device. */
#ifndef RQL_BENCH_PREDICT_H
#define RQL_BENCH_PREDICT_H

#include "flat.h"

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

double rql_predict_us(const struct rql_card *card, double rays, double hits, double bytes);

#endif
