/* The contract of methods: one algorithm that answers requests (request.h) from one kind of structure on one unit of a
 * device, prices itself, and gives a port (port.h). PostgreSQL's amapi.h is the model: methods are static const tables,
 * listed by rql_methods(). Whoever plans and runs knows them only so. */
#ifndef RQL_METHOD_METHOD_H
#define RQL_METHOD_METHOD_H

#include "device/compile.h"
#include "device/work.h"
#include "method/port.h"
#include "method/request.h"
#include "method/stage.h"
#include "util/arena.h"

/* ---- prices ---- */
struct rql_cost {
	double setup_ns, run_ns, transfer_ns;
	double compile_ns; /* what the run would wait for in the driver's compiler; not of price: plan/price/await.h fills it in */
	double prepared_ns; /* of setup_ns: what the plan's own preparation took (plan/star/scan_leaf.c) */
	double rows_out;
	bool counted;  /* rows_out is no estimate: they were counted when it was prepared */
	double groups; /* made on the way, of which not all may be wanted; 0: as many as come out */
	uint64_t device_bytes; /* of the device's memory, all in all */
	uint64_t placed_bytes; /* and so much of that is there already */
	uint64_t missing_bytes; /* of columns and maps, which a run would put there first */
	double cells, runs;    /* expected, for EXPLAIN */
	double rays, hits;     /* rt: expected */
	double bytes;          /* expected to be read */
	enum rql_rows_form rows_form; /* of ROWS: of most blocks */
};
/* Putting a structure into a device's memory pays off over the queries that follow: a query's price holds this part
 * of it. So one that is asked once still loses against the CPU, and one that is asked again and again does not lose for
 * ever because each time it alone would have to pay. What the run waits for in a driver's compiler is charged to it in full
 * (await.h): that is done in the background, while another answers. */
#define RQL_SETUP_REUSES 100.0
static inline double rql_cost_total(const struct rql_cost *c)
{
	return c->setup_ns + c->compile_ns + c->run_ns + c->transfer_ns;
}
/* What is done in one run: what comes out, and the cells that decide it, are those of `cost`. */
static inline void rql_cost_add(struct rql_cost *cost, const struct rql_cost *more)
{
	cost->setup_ns += more->setup_ns;
	cost->run_ns += more->run_ns;
	cost->transfer_ns += more->transfer_ns;
	cost->compile_ns += more->compile_ns;
	cost->device_bytes += more->device_bytes;
	cost->placed_bytes += more->placed_bytes;
	cost->missing_bytes += more->missing_bytes;
	cost->rays += more->rays;
	cost->hits += more->hits;
	cost->bytes += more->bytes;
}

/* What a method can give of a request. A superset has every row that is asked for, and perhaps more: whoever takes the
 * port tests them again. */
enum rql_offer { RQL_OFFER_NO, RQL_OFFER_SUPERSET, RQL_OFFER_FULL };

/* A join of two sides that methods of READS_PAIR are asked about before there is a request, for an order of joins. */
struct rql_pair_size {
	double rows[2], row_bytes[2]; /* of each side */
	double out_rows, out_bytes;   /* and what comes out; bytes of a row */
};

struct rql_prepared; /* a request bound to its structure by one method: everything that does not depend on the run */

struct rql_method {
	const char *name;        /* "cube": what rayql_methods() and rayql_enable_<name> call it */
	const char *variant;     /* what EXPLAIN calls it beside others of this name on this unit; NULL: the name */
	const char *description; /* one line */
	const char *paper;       /* the source */
	enum rql_unit unit;
	enum rql_reads reads; /* READS_STORE with takes_columns: READS_COLUMNS, too */
	bool takes_columns;
	unsigned gives;  /* bit k: ports of kind k */
	bool takes_rows; /* requests under ROWS */
	/* The values of WITH (layout = ...) that it is for, NULL-terminated ("paper", "paper:split-scan"): it is priced for
	 * requests with one of them only. NULL: for requests without a layout. */
	const char *const *layouts;
	/* May one of them be followed by these options ("paper:x=10", "paper:split-scan,y=8")? NULL: by none. */
	bool (*layout_ok)(const char *layout);
	/* What it can give of a request that it takes (rql_method_takes) on this device. On NO, *reason (which may be NULL) is
	 * a text that lives as long as the structure. */
	enum rql_offer (*offer)(const struct rql_request *request, const struct rql_device *device, const char **reason);
	/* Binds the request, which may be freed afterwards; what of it must live on, request.h says. The result is immutable:
	 * several threads may run it at once. */
	rql_status (*prepare)(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
	                      struct rql_error *err);
	void (*price)(const struct rql_prepared *prepared, const struct rql_device *device, struct rql_cost *out);
	/* What `price` says of such a join alone, without its sides. NULL: not of READS_PAIR. */
	double (*pair_ns)(const struct rql_profile *profile, const struct rql_pair_size *size);
	/* Unit raster: what a run is expected to draw, without its inputs. Adds. NULL: nothing. */
	void (*draws)(const struct rql_prepared *prepared, struct rql_drawn *out);
	/* GPUs: shows every compute kernel that a run records, generated or not, and so may have to wait for until the
	 * driver has compiled it. The words live until `see` returns. NULL: it has none. */
	rql_status (*kernels)(const struct rql_prepared *prepared, rql_see_kernel *see, void *state, struct rql_error *err);
	/* GPUs: its work, to be recorded before that of whoever reads what it gives, or started with others. NULL, or giving
	 * NULL: neither can be done. */
	struct rql_stage *(*stage)(const struct rql_prepared *prepared);
	/* Gives the port that the request wants; of ROWS on a GPU there is only the stage. What must be in the device's memory
	 * and is not yet is put there first (a price counts that as setup). RQL_ERROR_DEVICE, LIMIT or MEMORY: nothing is lost,
	 * the host can answer. */
	rql_status (*run)(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *run,
	                  struct rql_port *out, struct rql_error *err);
	/* Bit i: a run takes a value for the request's point i + 1. It may refuse one with many more rows than the request's
	 * own, by RQL_ERROR_UNSUPPORTED. NULL: none. */
	uint32_t (*points)(const struct rql_prepared *prepared);
	/* The one of the request's indexes in which it looks up. NULL: it looks up in none, or not just in one. A planner asks for
	 * few rows by their keys where some method has this. */
	uint32_t (*index)(const struct rql_prepared *prepared);
	/* Of EXPLAIN a line's text, what the method has chosen within itself; it lives as long as what is prepared. NULL, or giving
	 * NULL: there is no choice. */
	const char *(*way)(const struct rql_prepared *prepared);
	/* Measures what its prices read of the device's profile; on failure that stays as it is. NULL: it reads nothing that is
	 * measured by a method. */
	rql_status (*calibrate)(struct rql_device *device, bool thorough, struct rql_error *err);
	void (*free)(struct rql_prepared *prepared); /* NULL accepted */
	uint64_t (*bytes)(const struct rql_prepared *prepared);
};

static inline const char *rql_method_called(const struct rql_method *method)
{
	return method->variant ? method->variant : method->name;
}

/* Is the request one of the method's kind at all: of what it reads, for a port that it gives? */
static inline bool rql_method_takes(const struct rql_method *method, const struct rql_request *request)
{
	enum rql_reads reads = rql_request_reads(request);
	return (method->reads == reads || (reads == RQL_READS_COLUMNS && method->takes_columns)) &&
	       (method->gives >> request->wants & 1) &&
	       (!request->under.method || method->takes_rows);
}

/* What `offer` says: all, or nothing for this reason. */
static inline enum rql_offer rql_offer_unless(const char *why, const char **reason)
{
	if (why && reason)
		*reason = why;
	return why ? RQL_OFFER_NO : RQL_OFFER_FULL;
}

/* The kernels of what rows come from, where the method has any that are looked for. */
static inline rql_status rql_columns_kernels(const struct rql_columns_source *from, rql_see_kernel *see, void *state,
                                             struct rql_error *err)
{
	return from->method->kernels ? from->method->kernels(from->prepared, see, state, err) : RQL_OK;
}

/* NULL-terminated list of every method compiled in. */
const struct rql_method *const *rql_methods(void);

/* COLUMNS that are read by several requests while one of them is chosen, on one thread. The source that it gives owns
 * `of` for its holders: the caller, and whoever is prepared over it, for whom the caller holds it once more before. */
rql_status rql_columns_share(const struct rql_columns_source *of, struct rql_columns_source *out,
                             struct rql_error *err) RQL_MUST_CHECK;
void rql_columns_hold(const struct rql_columns_source *source);
/* The caller holds it no longer. give_back: nobody else does, and what it owned is the caller's again. */
void rql_columns_unshare(struct rql_columns_source *source, bool give_back);

#endif
