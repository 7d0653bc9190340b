/* Lists of DuckDB's own words: reserved words, and the names of its table functions. Each is read once for a
 * database, and once in the process for databases that cannot differ in it: to name its table functions DuckDB
 * describes all of its functions. */
#include "host/host_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/kept.h"

static bool take_chunk(struct host_words *list, duckdb_data_chunk chunk)
{
	const struct rql_string *strings = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
	uint64_t rows = duckdb_data_chunk_get_size(chunk);
	struct host_word *grown = realloc(list->words, (list->count + rows + 1) * sizeof *grown);
	if (!grown)
		return false;
	list->words = grown;
	for (uint64_t i = 0; i < rows; i++)
		if (strings[i].length < sizeof grown->text)
			snprintf(grown[list->count++].text, sizeof grown->text, "%.*s", (int)strings[i].length,
			         rql_string_data(&strings[i]));
	return true;
}

/* sql: one column of words in order, none NULL. */
static bool load(struct rql_host_db *db, struct host_words *list, const char *sql)
{
	duckdb_result result;
	memset(&result, 0, sizeof result);
	bool loaded = duckdb_query(db->service, sql, &result) == DuckDBSuccess;
	for (duckdb_data_chunk chunk; loaded && (chunk = duckdb_fetch_chunk(result)); duckdb_destroy_data_chunk(&chunk))
		loaded = take_chunk(list, chunk);
	duckdb_destroy_result(&result);
	if (!loaded)
		host_words_free(list);
	return loaded;
}

/* ---- which databases have the same functions ---- */

static const char extensions_sql[] =
	"SELECT extension_name, coalesce(extension_version, ''), coalesce(install_path, '') "
	"FROM system.main.duckdb_extensions() WHERE loaded ORDER BY ALL";

static void put_chunk(struct rql_strbuf *to, duckdb_data_chunk chunk)
{
	uint64_t rows = duckdb_data_chunk_get_size(chunk);
	for (uint64_t i = 0; i < rows; i++)
		for (idx_t c = 0; c < 3; c++) {
			const struct rql_string *text = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, c));
			rql_strbuf_printf(to, "%" PRIu32 ":", text[i].length);
			rql_strbuf_put_n(to, rql_string_data(&text[i]), text[i].length);
		}
}

/* service_lock held. */
static char *stamp_of(struct rql_host_db *db)
{
	struct rql_strbuf text = {0};
	duckdb_result result;
	if (atomic_load(&db->foreign_functions))
		return NULL;
	memset(&result, 0, sizeof result);
	bool told = duckdb_query(db->service, extensions_sql, &result) == DuckDBSuccess;
	rql_strbuf_printf(&text, "%016" PRIx64 " ", atomic_load(&db->registered));
	uint64_t extensions = 0;
	for (duckdb_data_chunk chunk; told && (chunk = duckdb_fetch_chunk(result)); duckdb_destroy_data_chunk(&chunk)) {
		extensions += duckdb_data_chunk_get_size(chunk);
		put_chunk(&text, chunk);
	}
	duckdb_destroy_result(&result);
	char *stamp = rql_strbuf_take(&text);
	if (extensions) /* core_functions is one */
		return stamp;
	free(stamp);
	return NULL;
}

char *rql_host_functions_stamp(struct rql_host_db *db)
{
	pthread_mutex_lock(&db->service_lock);
	char *stamp = stamp_of(db);
	pthread_mutex_unlock(&db->service_lock);
	return stamp;
}

void host_function_registered(struct rql_host_db *db, const char *name)
{
	atomic_fetch_add(&db->registered, rql_hash_text(RQL_HASH_START, name)); /* in any order */
}

/* Keywords are the library's own, the same for all databases. */
static struct rql_kept told_keywords = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct rql_kept told_table_functions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* service_lock held. The stamp is taken first: an extension that comes meanwhile is in the list, and nothing lacks. */
static bool load_or_copy(struct rql_host_db *db, struct host_words *list, struct rql_kept *told, const char *sql)
{
	char *stamp = told == &told_table_functions ? stamp_of(db) : strdup("");
	size_t bytes;
	list->words = rql_kept_take(told, stamp, &bytes);
	list->count = bytes / sizeof *list->words;
	const bool taken = list->words != NULL, loaded = taken || load(db, list, sql);
	if (loaded && !taken)
		rql_kept_put(told, stamp, list->words, list->count * sizeof *list->words);
	free(stamp);
	return loaded;
}

/* ---- questions ---- */

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct host_word *)a)->text, ((const struct host_word *)b)->text);
}

/* otherwise: the answer when the list cannot be read. */
static bool has(struct rql_host_db *db, struct host_words *list, struct rql_kept *told, const char *sql, const char *word,
                size_t length, bool otherwise)
{
	struct host_word key = {0};
	if (length >= sizeof key.text)
		return false;
	for (size_t i = 0; i < length; i++)
		key.text[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
	pthread_mutex_lock(&db->service_lock);
	bool found = otherwise;
	if (list->words || load_or_copy(db, list, told, sql))
		found = list->count && bsearch(&key, list->words, list->count, sizeof *list->words, compare) != NULL;
	pthread_mutex_unlock(&db->service_lock);
	return found;
}

bool rql_host_is_keyword(struct rql_host_db *db, const char *word, size_t length)
{
	/* Quoting is always right; typeof() would merely spell it shorter. */
	return has(db, &db->keywords, &told_keywords,
	           "SELECT DISTINCT keyword_name FROM system.main.duckdb_keywords() ORDER BY ALL", word, length, true);
}

bool rql_host_is_table_function(struct rql_host_db *db, const char *name, size_t length)
{
	return has(db, &db->table_functions, &told_table_functions,
	           "SELECT DISTINCT lower(function_name) FROM system.main.duckdb_functions() "
	           "WHERE function_type = 'table' AND function_name IS NOT NULL ORDER BY ALL",
	           name, length, false);
}

void host_words_free(struct host_words *list)
{
	free(list->words);
	*list = (struct host_words){0};
}
