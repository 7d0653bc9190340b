/* Medians, minima and geometric means. */
#include "bench/common/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rql_samples_add(struct rql_samples *samples, double value)
{
	if (samples->count < RQL_SAMPLES_MAX)
		samples->value[samples->count++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double rql_samples_median(const struct rql_samples *samples)
{
	double sorted[RQL_SAMPLES_MAX];
	uint32_t n = samples->count;
	if (!n)
		return 0;
	memcpy(sorted, samples->value, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, compare);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double rql_samples_min(const struct rql_samples *samples)
{
	double least = samples->count ? samples->value[0] : 0;
	for (uint32_t i = 1; i < samples->count; i++)
		least = samples->value[i] < least ? samples->value[i] : least;
	return least;
}

double rql_geometric_mean(const double *values, uint32_t count)
{
	double sum = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (values[i] > 0) {
			sum += log(values[i]);
			n++;
		}
	}
	return n ? exp(sum / n) : 0;
}
