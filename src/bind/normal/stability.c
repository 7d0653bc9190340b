/* Functions that are not the same at every run: DuckDB's own list, read once in the process for all databases that have
 * the same functions, and what it leaves out. Relations that can be computed again with the same rows. */
#include "bind/normal/stability.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/kept.h"

/* Functions whose value changes although duckdb_functions() calls them consistent, or that it lists under other names
 * than the binder gives them. What the binder folds itself (getvariable, settings) is session state: SET ends cached
 * plans anyway. */
static const char *const changing_functions[] = {
	"age", "current_localtime", "current_localtimestamp", "getenv", "current_setting",
};

#define NAME_BYTES 64

struct function_name {
	char text[NAME_BYTES]; /* lower case */
	enum rql_stability stability;
};

struct rql_planner {
	pthread_mutex_t lock;
	uint32_t count; /* of functions that are not consistent, sorted; 0: not loaded yet */
	struct function_name *names;
};

rql_status rql_planner_new(struct rql_planner **out, struct rql_error *err)
{
	struct rql_planner *p = calloc(1, sizeof *p);
	if (!p)
		return rql_error_memory(err, sizeof *p, "the planner");
	pthread_mutex_init(&p->lock, NULL);
	*out = p;
	return RQL_OK;
}

void rql_planner_free(struct rql_planner *p)
{
	if (!p)
		return;
	free(p->names);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct function_name *)a)->text, ((const struct function_name *)b)->text);
}

static int compare_by_stability(const void *a, const void *b)
{
	const struct function_name *x = a, *y = b;
	int order = compare_names(a, b);
	return order ? order : (int)x->stability - (int)y->stability;
}

static bool add_name(struct rql_planner *p, const char *name, size_t length, enum rql_stability stability)
{
	if (length >= NAME_BYTES)
		return true; /* no name of DuckDB's */
	struct function_name *grown = realloc(p->names, (p->count + 1) * sizeof *grown);
	if (!grown)
		return false;
	p->names = grown;
	grown[p->count] = (struct function_name){.stability = stability};
	for (size_t i = 0; i < length; i++)
		grown[p->count].text[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
	p->count++;
	return true;
}

static rql_status take_names(struct rql_planner *p, const struct rql_batch *batch, struct rql_error *err)
{
	const struct rql_column *names = &batch->columns[0], *stabilities = &batch->columns[1];
	if (batch->column_count != 2 || names->type.id != RQL_TYPE_VARCHAR || stabilities->type.id != RQL_TYPE_VARCHAR)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB gave something else than the names of its functions");
	for (uint64_t r = 0; r < batch->rows; r++) {
		struct rql_value v = rql_column_get(names, r), s = rql_column_get(stabilities, r);
		static const char within[] = "CONSISTENT_WITHIN_QUERY";
		bool known = !s.is_null && s.string.length == sizeof within - 1 &&
		             memcmp(s.string.data, within, sizeof within - 1) == 0;
		if (!v.is_null && !add_name(p, v.string.data, v.string.length, known ? RQL_WITHIN_QUERY : RQL_VOLATILE))
			return rql_error_memory(err, 0, "the names of functions");
	}
	return RQL_OK;
}

/* The host's own judgement of its functions. On a connection of its own: the user's may be in a transaction, and have a
 * query log. Overloads come several times, which is less work here than for the host. */
static rql_status ask_names(const struct rql_plan_context *ctx, struct rql_planner *p, struct rql_error *err)
{
	struct rql_host_con *con = NULL;
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	RQL_TRY(rql_host_connect_own(ctx->host_db, &con, err));
	rql_status status = rql_host_query(con,
	                                   "SELECT function_name, stability FROM system.main.duckdb_functions() WHERE "
	                                   "stability <> 'CONSISTENT' AND function_name <> 'error'", /* it has no value */
	                                   &res, err);
	while (status == RQL_OK && (status = rql_host_fetch(res, &batch, err)) == RQL_OK && batch) {
		status = take_names(p, batch, err);
		rql_batch_release(batch);
	}
	rql_host_result_free(res);
	rql_host_disconnect(con);
	if (status == RQL_ERROR_HOST && err) /* no error of the user's connection, whose transaction goes on */
		err->status = status = RQL_ERROR_UNSUPPORTED;
	return status;
}

/* One entry for a name: the worst of its overloads, which sorts last. */
static void keep_worst(struct rql_planner *p)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		if (kept && strcmp(p->names[kept - 1].text, p->names[i].text) == 0)
			p->names[kept - 1] = p->names[i];
		else
			p->names[kept++] = p->names[i];
	}
	p->count = kept;
}

/* The list that the host gave: asking takes as long as opening a database. */
static struct rql_kept told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static rql_status load_names(const struct rql_plan_context *ctx, struct rql_planner *p, struct rql_error *err)
{
	rql_status status = ask_names(ctx, p, err);
	for (size_t i = 0; status == RQL_OK && i < sizeof changing_functions / sizeof *changing_functions; i++)
		if (!add_name(p, changing_functions[i], strlen(changing_functions[i]), RQL_WITHIN_QUERY))
			status = rql_error_memory(err, 0, "the names of functions");
	if (status == RQL_OK && !add_name(p, "txid_current", strlen("txid_current"), RQL_VOLATILE))
		status = rql_error_memory(err, 0, "the names of functions"); /* asked apart, it is of another transaction */
	if (status != RQL_OK) {
		free(p->names);
		p->names = NULL;
		p->count = 0;
		return status;
	}
	qsort(p->names, p->count, sizeof *p->names, compare_by_stability);
	keep_worst(p);
	return RQL_OK;
}

/* The stamp is taken first: an extension that comes meanwhile is in the list, and nothing is missing. */
static rql_status load_or_copy(const struct rql_plan_context *ctx, struct rql_planner *p, struct rql_error *err)
{
	char *stamp = rql_host_functions_stamp(ctx->host_db);
	size_t bytes;
	p->names = rql_kept_take(&told, stamp, &bytes);
	p->count = (uint32_t)(bytes / sizeof *p->names);
	rql_status status = RQL_OK;
	if (!p->names && (status = load_names(ctx, p, err)) == RQL_OK)
		rql_kept_put(&told, stamp, p->names, p->count * sizeof *p->names);
	free(stamp);
	return status;
}

static const struct function_name *find_name(const struct rql_planner *p, const char *word)
{
	struct function_name key;
	size_t length = strlen(word);
	if (length >= sizeof key.text)
		return NULL;
	for (size_t i = 0; i <= length; i++)
		key.text[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
	return bsearch(&key, p->names, p->count, sizeof *p->names, compare_names);
}

rql_status rql_stability_load(const struct rql_plan_context *ctx, struct rql_error *err)
{
	struct rql_planner *p = ctx->planner;
	pthread_mutex_lock(&p->lock);
	rql_status status = p->count ? RQL_OK : load_or_copy(ctx, p, err);
	pthread_mutex_unlock(&p->lock);
	return status;
}

/* Once loaded, the names stay as they are. */
enum rql_stability rql_function_stability(struct rql_planner *p, const char *name)
{
	pthread_mutex_lock(&p->lock);
	bool known = p->count != 0;
	pthread_mutex_unlock(&p->lock);
	const struct function_name *found = known ? find_name(p, name) : NULL;
	return !known ? RQL_VOLATILE : found ? found->stability : RQL_CONSISTENT;
}

enum rql_stability rql_plan_stability(struct rql_planner *p, const struct rql_plan_facts *facts, const char **name)
{
	enum rql_stability worst = RQL_CONSISTENT;
	for (uint32_t i = 0; i < facts->function_count; i++) {
		enum rql_stability s = rql_function_stability(p, facts->functions[i]);
		if (s <= worst)
			continue;
		worst = s;
		*name = facts->functions[i];
	}
	return worst;
}

/* ---- relations ---- */

static bool is_repeatable(const struct rql_expr *e)
{
	const bool aggregate = e->kind == RQL_EXPR_AGGREGATE;
	bool same = aggregate ? rql_expr_is_plain_aggregate(e) : e->kind != RQL_EXPR_WINDOW;
	for (uint32_t i = 0; i < e->child_count && same; i++)
		same = is_repeatable(e->children[i]) && !(aggregate && rql_type_is_real(e->children[i]->type));
	return same;
}

bool rql_rel_is_repeatable(const struct rql_rel *rel)
{
	bool same = rel->kind == RQL_REL_GET || rel->kind == RQL_REL_FILTER || rel->kind == RQL_REL_PROJECT ||
	            rel->kind == RQL_REL_AGGREGATE || rel->kind == RQL_REL_DISTINCT || rel->kind == RQL_REL_VALUES ||
	            (rel->kind == RQL_REL_JOIN && rel->join != RQL_JOIN_ASOF && rel->join != RQL_JOIN_ASOF_LEFT &&
	             rel->join != RQL_JOIN_SINGLE);
	for (uint32_t i = 0; i < rel->expr_count && same; i++)
		same = is_repeatable(rel->exprs[i]);
	for (uint32_t i = 0; i < rel->child_count && same; i++)
		same = rql_rel_is_repeatable(rel->children[i]);
	return same;
}
