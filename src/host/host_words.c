/* Lists of DuckDB's own words, each read once: reserved words, and the names of its table functions. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

static bool take_chunk(struct host_words *list, duckdb_data_chunk chunk)
{
	const struct rql_string *strings = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
	uint64_t rows = duckdb_data_chunk_get_size(chunk);
	char **grown = realloc(list->words, (list->count + rows + 1) * sizeof *grown);
	if (!grown)
		return false;
	list->words = grown;
	for (uint64_t i = 0; i < rows; i++) {
		char *word = strndup(rql_string_data(&strings[i]), strings[i].length);
		if (!word)
			return false;
		list->words[list->count++] = word;
	}
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

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* otherwise: the answer when the list cannot be read. */
static bool has(struct rql_host_db *db, struct host_words *list, const char *sql, const char *word, size_t length,
                bool otherwise)
{
	char lower[64];
	if (length >= sizeof lower) /* none is longer */
		return false;
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
	lower[length] = '\0';
	const char *key = lower;
	pthread_mutex_lock(&db->service_lock);
	bool found = otherwise;
	if (list->words || load(db, list, sql))
		found = list->count && bsearch(&key, list->words, list->count, sizeof *list->words, compare) != NULL;
	pthread_mutex_unlock(&db->service_lock);
	return found;
}

bool rql_host_is_keyword(struct rql_host_db *db, const char *word, size_t length)
{
	/* Quoting is always right; typeof() would merely spell it shorter. */
	return has(db, &db->keywords, "SELECT DISTINCT keyword_name FROM system.main.duckdb_keywords() ORDER BY ALL", word,
	           length, true);
}

bool rql_host_is_table_function(struct rql_host_db *db, const char *name, size_t length)
{
	return has(db, &db->table_functions,
	           "SELECT DISTINCT lower(function_name) FROM system.main.duckdb_functions() "
	           "WHERE function_type = 'table' AND function_name IS NOT NULL ORDER BY ALL",
	           name, length, false);
}

void host_words_free(struct host_words *list)
{
	for (uint64_t i = 0; i < list->count; i++)
		free(list->words[i]);
	free(list->words);
	*list = (struct host_words){0};
}
