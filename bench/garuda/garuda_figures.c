/* The figures of GARUDA (papers/004, section 6) that rayql bench garuda runs: what the paper found, and --figure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/json.h"
#include "bench/garuda/garuda.h"

/* As the section's text says it; what only a drawing shows is not here. */
static const struct figure {
	const char *title, *found;
} figures[RQL_GARUDA_LAST + 1] = {
	[8] = {"6.3.1, joins",
	       "at least 2 times as fast as HCJoin, a join in CUDA, on narrow tables and on JO1 to JO4 of 1 TB; 3 times as "
	       "fast as the CPU on narrow tables, around 3 times on JO1 to JO4"},
	[9] = {"6.3.1, what a join's time is made of",
	       "2 to 2.5 times as fast as with blocking transfers, since transfers run beside the GPU's work"},
	[10] = {"6.3.2, selectivity and skew of 512M x 512M rows",
	        "time grows linearly with the pairs that come out, less steeply than HCJoin's, which could not do 1600 %; "
	        "self-joins of skewed keys, Zipf 0.5 at most, stay faster than HCJoin's; skew on one side does not matter"},
	[11] = {"6.3.3, the side that is built",
	        "the wrong order of JO1 to JO4 takes up to 4 times as long; the snake join takes marginally longer than "
	        "the ideal order, and is significantly faster than either order on JO5"},
	[12] = {"6.4.1, group-bys by one key",
	        "SGO1 to SGO3: perceptibly faster than TGB, a tuned group-by in OpenCL, and both significantly faster than "
	        "the CPU; for SGO2 and SGO3 TGB's memory did not suffice, so that it was given partitions"},
	[13] = {"6.4.2, group-bys by several keys",
	        "SGO2, MGO1 and MGO2 take around 10 s each; SUM takes marginally longer than COUNT, for the transfer of "
	        "its values"},
};

bool rql_garuda_figures_parse(const char *text, uint32_t *out)
{
	uint32_t all = 0;
	for (const char *at = text;; at++) {
		char *end;
		const unsigned long first = strtoul(at, &end, 10);
		unsigned long last = first;
		if (end != at && strncmp(end, "..", 2) == 0) {
			at = end + 2;
			last = strtoul(at, &end, 10);
		}
		if (end == at || first < RQL_GARUDA_FIRST || last > RQL_GARUDA_LAST || first > last)
			return false;
		for (; last >= first; last--)
			all |= 1u << last;
		at = end;
		if (!*at)
			break;
		if (*at != ',')
			return false;
	}
	*out = all;
	return true;
}

void rql_garuda_figure_begin(struct rql_relation_bench *b, uint32_t number)
{
	const struct figure *f = &figures[number];
	struct rql_strbuf *j = &b->figures;
	printf("figure %u, section %s\n  the paper, RTX 3080, from host memory to host memory: %s\n", number, f->title,
	       f->found);
	b->figure = number;
	rql_strbuf_put(j, j->length ? ",\n  {" : "\n  {");
	rql_json_count(j, "figure", number);
	rql_json_string(j, "title", f->title);
	rql_json_string(j, "paper_found", f->found);
	rql_strbuf_put(j, "}");
}
