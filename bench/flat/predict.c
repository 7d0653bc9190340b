/* Cards as their vendor describes them, and a query's time on each computed from that. */
#include "bench/flat/predict.h"

#include <math.h>

#include "bench/common/json.h"
#include "bench/common/stats.h"

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

double rql_predict_us(const struct rql_card *card, const struct rql_flat_query *q)
{
	double trace = (double)q->rays * card->clocks_per_ray / (card->rt_cores * card->ghz);
	double calls = (double)q->hits * card->any_hit_ns / card->sms;
	double memory = (double)q->bytes_read / card->gbps;
	return card->launch_us + fmax(trace, fmax(calls, memory)) / 1e3;
}

/* Arithmetic, as the paper's average is, and geometric; false: no query had rays. */
static bool means(const struct rql_card *card, const struct rql_flat_group *group, double *arithmetic, double *geometric,
                  uint32_t *count)
{
	double us[RQL_SSB_QUERIES] = {0}, sum = 0;
	*count = 0;
	for (uint32_t i = 0; i < RQL_SSB_QUERIES; i++) {
		const struct rql_flat_query *q = &group->queries[i];
		if (!q->error && q->rays)
			sum += us[(*count)++] = rql_predict_us(card, q);
	}
	*arithmetic = *count ? sum / *count : 0;
	*geometric = rql_geometric_mean(us, *count);
	return *count > 0;
}

void rql_predict_report(FILE *out, const struct rql_flat_run *run)
{
	const struct rql_card *first = &rql_cards[0];
	bool any = false;
	for (uint32_t g = 0; g < run->group_count; g++)
		for (uint32_t c = 0; c < RQL_CARDS; c++) {
			const struct rql_flat_group *group = &run->groups[g];
			double arithmetic, geometric;
			uint32_t count;
			if (!means(&rql_cards[c], group, &arithmetic, &geometric, &count))
				continue;
			any = true;
			fprintf(out, "%-24s rollup %-4s predicted for %s: %.1f us a query on average (geometric mean %.1f), %u queries\n",
			        group->unit->name, rql_bench_rollup_names[group->rollup], rql_cards[c].name, arithmetic, geometric,
			        count);
		}
	if (any)
		fprintf(out,
		        "Predictions are from rays, any-hit calls and bytes counted here; %.0f clocks of an RT core a ray, %.0f ns of "
		        "an SM an any-hit call and %.0f us a launch are guesses\n(bench/predict.c). The paper measured 750 us a "
		        "query on average, at scale 20 with an RTX 4090 (section 2.4).\n",
		        first->clocks_per_ray, first->any_hit_ns, first->launch_us);
}

void rql_predict_json_query(struct rql_strbuf *out, const struct rql_flat_query *q)
{
	for (uint32_t c = 0; c < RQL_CARDS && q->rays; c++)
		rql_json_number(out, rql_cards[c].key, rql_predict_us(&rql_cards[c], q));
}

void rql_predict_json_group(struct rql_strbuf *out, const struct rql_flat_group *group)
{
	for (uint32_t c = 0; c < RQL_CARDS; c++) {
		double arithmetic, geometric;
		uint32_t count;
		if (!means(&rql_cards[c], group, &arithmetic, &geometric, &count))
			continue;
		rql_json_key(out, rql_cards[c].key);
		rql_strbuf_put(out, "{");
		rql_json_number(out, "mean", geometric);
		rql_json_number(out, "average", arithmetic);
		rql_strbuf_put(out, "}");
	}
}

void rql_predict_json_cards(struct rql_strbuf *out)
{
	rql_json_key(out, "cards");
	rql_strbuf_put(out, "[");
	for (uint32_t c = 0; c < RQL_CARDS; c++) {
		const struct rql_card *card = &rql_cards[c];
		rql_strbuf_put(out, c ? ", {" : "{");
		rql_json_string(out, "name", card->name);
		rql_json_string(out, "predictions", card->key);
		rql_json_number(out, "rt_cores", card->rt_cores);
		rql_json_number(out, "sms", card->sms);
		rql_json_number(out, "ghz", card->ghz);
		rql_json_number(out, "read_gbps", card->gbps);
		rql_json_number(out, "guess_clocks_per_ray", card->clocks_per_ray);
		rql_json_number(out, "guess_any_hit_ns", card->any_hit_ns);
		rql_json_number(out, "guess_launch_us", card->launch_us);
		rql_strbuf_put(out, "}");
	}
	rql_strbuf_put(out, "]");
}
