#include "predict.h"

#include <math.h>

/* Cores, clocks and bandwidths are the vendor's. The rest has not been measured on such a card:
 * - 11 RT-core clocks a ray follow from the published "10 Grays/s and more" of 68 Turing cores at 1.6 GHz, for rays of
 *   a scene with few hits. Ada's cores test twice as many triangles a clock as Ampere's, which helps where a ray tests
 *   many; ours test few, so nothing is taken off.
 * - 50 ns of a multiprocessor for an any-hit call: between the H200's 60 to 130 (1 to 2.3 G hits/s on 132, traversal in
 *   software included) and what a call costs when the traversal is not on the same multiprocessor.
 * - one launch and what it waits for: the H200's. */
const struct rql_card rql_cards[RQL_CARDS] = {
	{"RTX 4090", "predicted_rtx4090_us", 128, 128, 2.52, 1008, 11, 50, 5},
	{"L40S", "predicted_l40s_us", 142, 142, 2.52, 864, 11, 50, 5},
};

double rql_predict_us(const struct rql_card *card, double rays, double hits, double bytes)
{
	double trace = rays * card->clocks_per_ray / (card->rt_cores * card->ghz);
	double calls = hits * card->any_hit_ns / card->sms;
	double memory = bytes / card->gbps;
	return card->launch_us + fmax(trace, fmax(calls, memory)) / 1e3;
}
