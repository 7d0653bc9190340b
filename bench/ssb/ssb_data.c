/* The benchmark's tables, made slice by slice with progress: into a database, or into the parts of Parquet files. */
#include "bench/ssb/ssb_data.h"

#include <errno.h>
#include <math.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/threads.h"

/* Rows per statement: 16 row groups of DuckDB, a second or two of work, so that progress can be shown in between. */
#define SLICE_ROWS (16u * 122880u)

/* ---- progress ---- */

/* Rows of the table, for percentages: exact for the dimensions but approximately right for orders' lines. */
static double expected_rows(const char *table, double scale)
{
	if (!strncmp(table, "lineorder", 9))
		return 6e6 * scale;
	if (!strcmp(table, "customer"))
		return 30000 * scale;
	if (!strcmp(table, "supplier"))
		return 2000 * scale;
	if (!strcmp(table, "part"))
		return scale < 1 ? 200000 * scale : 200000 * (1 + floor(log2(scale)));
	return 2556;
}

static void show_progress(const char *table, uint64_t rows, double expected, uint64_t start)
{
	if (!isatty(STDERR_FILENO))
		return;
	double share = expected > 0 ? (double)rows / expected : 1;
	share = share > 1 ? 1 : share;
	double seconds = (double)(rql_now_ns() - start) / 1e9;
	fprintf(stderr, "\r\033[K%-15s %3.0f %%  %.1f million rows, %.0f s", table, 100 * share, (double)rows / 1e6,
	        seconds);
	if (share > 0.02 && share < 1)
		fprintf(stderr, ", about %.0f s to go", seconds / share - seconds);
	fflush(stderr);
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

/* ---- into a table ---- */

static rql_status fill_table(rayql_connection *con, const char *table, const struct rql_ssb_source *source,
                             struct rql_ssb_loaded *out, struct rql_error *err)
{
	double expected = expected_rows(table, source->scale), inserted = SLICE_ROWS;
	const char *columns = source->columns ? source->columns : "*";
	RQL_TRY(rql_client_run(con, err, "CREATE TABLE \"%s\" AS SELECT %s FROM rayql_ssb_rows('%s', %.17g, %lld, 0, 0)",
	                       table, columns, table, source->scale, (long long)source->seed));
	uint64_t start = rql_now_ns(), rows = 0;
	while (inserted == SLICE_ROWS) {
		show_progress(table, rows, expected, start);
		RQL_TRY(rql_client_number(con, &inserted, err,
		                          "INSERT INTO \"%s\" SELECT %s FROM rayql_ssb_rows('%s', %.17g, %lld, %llu, %u)", table,
		                          columns, table, source->scale, (long long)source->seed, (unsigned long long)rows, SLICE_ROWS));
		rows += (uint64_t)inserted;
	}
	out->rows = rows;
	return RQL_OK;
}

rql_status rql_ssb_load_table(rayql_connection *con, const char *table, const struct rql_ssb_source *source,
                              struct rql_ssb_loaded *out, struct rql_error *err)
{
	struct rql_ssb_loaded loaded = {0};
	uint64_t start = rql_now_ns();
	/* Rows of different threads may be stored in any order: what makes the insert parallel. */
	RQL_TRY(rql_client_run(con, err, "SET preserve_insertion_order = false"));
	RQL_TRY(rql_client_run(con, err, "BEGIN"));
	rql_status status = fill_table(con, table, source, &loaded, err);
	end_progress();
	if (status != RQL_OK) {
		(void)rql_client_run(con, NULL, "ROLLBACK");
		return status;
	}
	RQL_TRY(rql_client_run(con, err, "COMMIT"));
	loaded.seconds = (double)(rql_now_ns() - start) / 1e9;
	*out = loaded;
	return RQL_OK;
}

rql_status rql_ssb_table_exists(rayql_connection *con, const char *table, bool *out, struct rql_error *err)
{
	double count = 0;
	RQL_TRY(rql_client_number(con, &count, err,
	                          "SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database() AND "
	                          "schema_name = current_schema() AND lower(table_name) = '%s'",
	                          table));
	*out = count > 0;
	return RQL_OK;
}

/* ---- into Parquet files ---- */

rql_status rql_make_directory(const char *path, struct rql_error *err)
{
	char *copy = strdup(path);
	if (!copy)
		return rql_error_memory(err, strlen(path) + 1, "a path");
	rql_status status = RQL_OK;
	for (char *end = copy; status == RQL_OK && end; ) {
		end = strchr(end + 1, '/');
		if (end)
			*end = '\0';
		if (mkdir(copy, 0777) && errno != EEXIST)
			status = rql_error_set(err, RQL_ERROR_IO, "cannot create the folder \"%s\": %s", copy, strerror(errno));
		if (end)
			*end = '/';
	}
	free(copy);
	return status;
}

static bool is_empty_directory(const char *path)
{
	DIR *dir = opendir(path);
	if (!dir)
		return false;
	bool empty = true;
	for (struct dirent *entry; (entry = readdir(dir));)
		empty &= entry->d_name[0] == '.';
	closedir(dir);
	return empty;
}

static char *part_path(const char *folder, unsigned part)
{
	char *path;
	return asprintf(&path, "%s/part-%05u.parquet", folder, part) < 0 ? NULL : path;
}

/* A path inside '...' */
static void put_quoted(struct rql_strbuf *out, const char *path)
{
	rql_strbuf_putc(out, '\'');
	for (; *path; path++)
		rql_strbuf_put_n(out, *path == '\'' ? "''" : path, *path == '\'' ? 2 : 1);
	rql_strbuf_putc(out, '\'');
}

static rql_status write_part(rayql_connection *con, const char *table, const struct rql_ssb_source *source,
                             uint64_t first, const char *path, double *rows, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "COPY (SELECT * FROM rayql_ssb_rows('%s', %.17g, %lld, %llu, %u)) TO ", table,
	                  source->scale, (long long)source->seed, (unsigned long long)first, SLICE_ROWS);
	put_quoted(&sql, path);
	rql_strbuf_put(&sql, " (FORMAT parquet)");
	rql_status status = sql.failed ? rql_error_memory(err, 256, "a statement")
	                               : rql_client_number(con, rows, err, "%s", sql.data);
	rql_strbuf_free(&sql);
	return status;
}

static rql_status write_parts(rayql_connection *con, const char *table, const struct rql_ssb_source *source,
                              const char *folder, unsigned *parts, uint64_t *out_rows, uint64_t *bytes,
                              struct rql_error *err)
{
	double expected = expected_rows(table, source->scale), written = SLICE_ROWS;
	uint64_t start = rql_now_ns(), rows = 0;
	while (written == SLICE_ROWS) {
		show_progress(table, rows, expected, start);
		char *path = part_path(folder, *parts);
		if (!path)
			return rql_error_memory(err, strlen(folder), "a path");
		++*parts;
		rql_status status = write_part(con, table, source, rows, path, &written, err);
		struct stat st;
		if (status == RQL_OK && written == 0 && rows) {
			unlink(path); /* the rows had ended with the part before */
			--*parts;
		} else if (status == RQL_OK && stat(path, &st) == 0) {
			*bytes += (uint64_t)st.st_size;
		}
		free(path);
		if (status != RQL_OK)
			return status;
		rows += (uint64_t)written;
	}
	*out_rows = rows;
	return RQL_OK;
}

static void remove_parts(const char *folder, unsigned parts)
{
	for (unsigned i = 0; i < parts; i++) {
		char *path = part_path(folder, i);
		if (path)
			unlink(path);
		free(path);
	}
	rmdir(folder);
}

rql_status rql_ssb_write_parquet(rayql_connection *con, const char *table, const struct rql_ssb_source *source,
                                 const char *directory, struct rql_ssb_loaded *out, uint64_t *bytes,
                                 struct rql_error *err)
{
	char *folder;
	if (asprintf(&folder, "%s/%s", directory, table) < 0)
		return rql_error_memory(err, strlen(directory), "a path");
	unsigned parts = 0;
	uint64_t start = rql_now_ns(), written = 0;
	struct rql_ssb_loaded loaded = {0};
	rql_status status = rql_make_directory(folder, err);
	if (status == RQL_OK && !is_empty_directory(folder)) {
		status = rql_error_set(err, RQL_ERROR_IO, "the folder \"%s\" is not empty: remove it, or choose another folder",
		                       folder);
	} else if (status == RQL_OK) {
		status = rql_client_run(con, err, "SET preserve_insertion_order = false");
		if (status == RQL_OK)
			status = write_parts(con, table, source, folder, &parts, &loaded.rows, &written, err);
		end_progress();
		if (status != RQL_OK)
			remove_parts(folder, parts);
	}
	free(folder);
	if (status != RQL_OK)
		return status;
	loaded.seconds = (double)(rql_now_ns() - start) / 1e9;
	*out = loaded;
	*bytes = written;
	return RQL_OK;
}
