#include "plan/stability.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Functions whose value changes although duckdb_functions() calls them consistent, or that it lists under other names
 * than the binder gives them. What the binder folds itself (getvariable, settings) is session state: SET ends cached
 * plans anyway. */
static const char *const changing_functions[] = {
	"age", "current_localtime", "current_localtimestamp", "getenv", "current_setting",
};

struct rql_planner {
	pthread_mutex_t lock;
	uint32_t count; /* lower case, sorted */
	char **unstable;
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

static void forget_names(struct rql_planner *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->unstable[i]);
	free(p->unstable);
	p->unstable = NULL;
	p->count = 0;
}

void rql_planner_free(struct rql_planner *p)
{
	if (!p)
		return;
	forget_names(p);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(struct rql_planner *p, const char *name, size_t length)
{
	char **grown = realloc(p->unstable, (p->count + 1) * sizeof *grown);
	if (!grown)
		return false;
	p->unstable = grown;
	p->unstable[p->count] = strndup(name, length);
	return p->unstable[p->count] && ++p->count;
}

/* One text of names separated by newlines: the host's own judgement of its functions. */
static rql_status load_names(const struct rql_plan_context *ctx, struct rql_planner *p, struct rql_error *err)
{
	char *text = NULL;
	RQL_TRY(rql_host_query_text(
		ctx->host,
		"SELECT string_agg(DISTINCT lower(function_name), chr(10)) FROM duckdb_functions() "
		"WHERE stability <> 'CONSISTENT' AND function_name <> 'error'", /* it has no value to change */
		&text, err));
	bool ok = true;
	for (char *at = text; ok && at && *at;) {
		size_t length = strcspn(at, "\n");
		ok = add_name(p, at, length);
		at += length + (at[length] != '\0');
	}
	free(text);
	for (size_t i = 0; ok && i < sizeof changing_functions / sizeof *changing_functions; i++)
		ok = add_name(p, changing_functions[i], strlen(changing_functions[i]));
	if (!ok) {
		forget_names(p);
		return rql_error_memory(err, 0, "the names of functions");
	}
	qsort(p->unstable, p->count, sizeof *p->unstable, compare_names);
	return RQL_OK;
}

static const char *find_name(const struct rql_planner *p, const char *word, size_t length)
{
	char lower[64];
	if (length >= sizeof lower)
		return NULL;
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
	lower[length] = '\0';
	const char *key = lower;
	char **found = p->count ? bsearch(&key, p->unstable, p->count, sizeof *p->unstable, compare_names) : NULL;
	return found ? *found : NULL;
}

/* What the binder saw, before anything was folded. */
static rql_status check_bound_plan(const struct rql_plan_context *ctx, const struct rql_planner *p,
                                   struct rql_arena *arena, const char *sql, bool *stable, const char **name,
                                   char **bound, struct rql_error *err)
{
	char *json = NULL;
	struct rql_error ignored = {0};
	rql_status status = rql_host_plan(ctx->host, sql, false, &json, &ignored);
	rql_error_clear(&ignored);
	if (status == RQL_ERROR_MEMORY || status == RQL_ERROR_INTERRUPTED)
		return rql_error_set(err, status, "planning was stopped");
	*stable = status == RQL_OK;
	for (uint32_t i = 0; *stable && i < p->count; i++) {
		const char *needle = rql_arena_printf(arena, "\"name\":\"%s\"", p->unstable[i]);
		if (!needle || strstr(json, needle)) {
			*stable = false;
			*name = rql_arena_strdup(arena, p->unstable[i]);
		}
	}
	if (bound)
		*bound = json;
	else
		free(json);
	return RQL_OK;
}

/* The JSON string at *at, behind its opening quote; *at moves behind the closing one. NULL: broken, or out of memory.
 */
static const char *take_string(struct rql_arena *arena, const char **at)
{
	size_t length = 0;
	while ((*at)[length] && (*at)[length] != '"')
		length += (*at)[length] == '\\' && (*at)[length + 1] ? 2 : 1;
	char *text = (*at)[length] ? rql_arena_strndup(arena, *at, length) : NULL;
	if (!text)
		return NULL;
	*at += length + 1;
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		const char *escape = strchr("n\nt\tr\rb\bf\f", *++from);
		if (*from == 'u')
			return NULL; /* a control character in a name */
		*to++ = escape ? escape[1] : *from;
	}
	*to = '\0';
	return text;
}

int rql_bound_plan_table(struct rql_arena *arena, const char **at, struct rql_table_ref *out)
{
	/* Quotes inside a JSON string are escaped, so this is never a part of one. */
	static const char *const keys[] = {"\"function_data\":{\"catalog\":\"", ",\"schema\":\"", ",\"table\":\""};
	const char *values[3], *found = strstr(*at, keys[0]);
	if (!found)
		return 0;
	*at = found;
	for (size_t i = 0; i < 3; i++) {
		if (strncmp(*at, keys[i], strlen(keys[i])) != 0)
			return -1;
		*at += strlen(keys[i]);
		if (!(values[i] = take_string(arena, at)))
			return -1;
	}
	*out = (struct rql_table_ref){.catalog = values[0], .schema = values[1], .table = values[2]};
	return 1;
}

rql_status rql_statement_stable(const struct rql_plan_context *ctx, struct rql_arena *arena, const char *sql,
                                bool *stable, const char **unstable_name, char **bound, struct rql_error *err)
{
	struct rql_planner *p = ctx->planner;
	const char *name = NULL;
	pthread_mutex_lock(&p->lock);
	rql_status status = p->count ? RQL_OK : load_names(ctx, p, err);
	pthread_mutex_unlock(&p->lock);
	if (status == RQL_OK) /* the names stay as they are from now on */
		status = check_bound_plan(ctx, p, arena, sql, stable, &name, bound, err);
	if (unstable_name)
		*unstable_name = name;
	return status;
}

bool rql_function_is_unstable(struct rql_planner *p, const char *name)
{
	pthread_mutex_lock(&p->lock);
	bool unstable = !p->count || find_name(p, name, strlen(name));
	pthread_mutex_unlock(&p->lock);
	return unstable;
}
