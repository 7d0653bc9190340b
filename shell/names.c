/* Names in the SQL that the shell prints: quoted where DuckDB's parser would take them for something else. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"

static void add_keyword(void *context, const char *const *texts, uint32_t columns)
{
	struct rql_strbuf *keywords = context;
	if (columns && texts[0])
		rql_strbuf_printf(keywords, " %s ", texts[0]);
}

void rql_sh_names_load(struct rql_sh *sh)
{
	struct rql_strbuf list = {0};
	if (sh->keywords)
		return;
	if (rql_sh_each_row(sh, "SELECT keyword_name FROM duckdb_keywords()", true, add_keyword, &list) && list.length)
		sh->keywords = rql_strbuf_take(&list);
	rql_strbuf_free(&list);
}

bool rql_sh_needs_quotes(const struct rql_sh *sh, const char *name)
{
	char padded[80];
	size_t length = strlen(name);
	bool plain = length && !isdigit((unsigned char)*name) && sh->keywords;
	for (size_t i = 0; i < length && plain; i++)
		plain = (isalnum((unsigned char)name[i]) && (unsigned char)name[i] < 128) || name[i] == '_';
	if (!plain || length + 3 > sizeof(padded)) /* no keyword is as long */
		return !plain;
	padded[0] = padded[length + 1] = ' ';
	padded[length + 2] = '\0';
	for (size_t i = 0; i < length; i++)
		padded[i + 1] = (char)tolower((unsigned char)name[i]);
	return strstr(sh->keywords, padded);
}

void rql_sh_put_name(struct rql_sh *sh, struct rql_strbuf *out, const char *name)
{
	rql_sh_names_load(sh);
	if (rql_sh_needs_quotes(sh, name))
		rql_strbuf_put_ident(out, name);
	else
		rql_strbuf_put(out, name);
}
