/* Summaries of repeated measurements. */
#ifndef RQL_BENCH_STATS_H
#define RQL_BENCH_STATS_H

#include <stdint.h>

#define RQL_SAMPLES_MAX 1000u

struct rql_samples {
	uint32_t count;
	double value[RQL_SAMPLES_MAX];
};

void rql_samples_add(struct rql_samples *samples, double value); /* dropped when full */
double rql_samples_median(const struct rql_samples *samples);    /* 0 when empty */
double rql_samples_min(const struct rql_samples *samples);
double rql_geometric_mean(const double *values, uint32_t count); /* of values > 0; 0 when there is none */

#endif
