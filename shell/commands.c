/* Dot commands: one table of name, arguments, help and function. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "render.h"

enum { ARGUMENTS = 64 };

struct command {
	const char *name, *arguments, *help;
	int least, most; /* number of arguments */
	bool unsafe;     /* not in -safe mode */
	bool (*run)(struct rql_sh *sh, int argc, char **argv); /* argv[0] is the command */
};

/* on, off, yes, no, true, false or a number. */
static bool parse_switch(struct rql_sh *sh, const char *command, const char *text, bool *out)
{
	static const char *const on[] = {"on", "yes", "true"}, *const off[] = {"off", "no", "false"};
	for (size_t i = 0; i < 3; i++) {
		if (!strcasecmp(text, on[i])) {
			*out = true;
			return true;
		}
		if (!strcasecmp(text, off[i])) {
			*out = false;
			return true;
		}
	}
	if (*text && strspn(text, "0123456789") == strlen(text)) {
		*out = strtoul(text, NULL, 10) != 0;
		return true;
	}
	rql_sh_error(sh, "Error: .%s takes on or off, not \"%s\"", command, text);
	return false;
}

static bool parse_count(struct rql_sh *sh, const char *command, const char *text, uint64_t *out)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text)) {
		rql_sh_error(sh, "Error: .%s takes a number, not \"%s\"", command, text);
		return false;
	}
	*out = value;
	return true;
}

static bool cmd_bail(struct rql_sh *sh, int argc, char **argv)
{
	bool on;
	(void)argc;
	if (!strcmp(argv[1], "auto")) {
		sh->bail = RQL_SH_BAIL_AUTO;
		return true;
	}
	if (!parse_switch(sh, "bail", argv[1], &on))
		return false;
	sh->bail = on ? RQL_SH_BAIL_ON : RQL_SH_BAIL_OFF;
	return true;
}

#define SWITCH(name_, field_)                                                                                          \
	static bool cmd_##name_(struct rql_sh *sh, int argc, char **argv)                                                  \
	{                                                                                                                  \
		(void)argc;                                                                                                    \
		return parse_switch(sh, #name_, argv[1], &sh->field_);                                                         \
	}
SWITCH(changes, changes)
SWITCH(echo, echo)
SWITCH(headers, header)
SWITCH(progress_bar, progress_bar)
SWITCH(timer, timer)

static bool cmd_cd(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	if (!chdir(argv[1]))
		return true;
	rql_sh_error(sh, "Error: cannot change to directory \"%s\": %s", argv[1], strerror(errno));
	return false;
}

static bool cmd_exit(struct rql_sh *sh, int argc, char **argv)
{
	uint64_t code = 0;
	if (argc > 1 && !parse_count(sh, "exit", argv[1], &code))
		return false;
	sh->quit = true;
	sh->exit_code = (int)(code & 0xff);
	return true;
}

/* One byte, or a word for what cannot be typed. Without an argument: says what it is. */
static bool set_separator(struct rql_sh *sh, const char *name, int argc, char **argv, char *separator)
{
	if (argc == 1) {
		char shown[2] = {*separator, '\0'};
		fprintf(sh->out, "current %s separator: %s\n", name, *separator == ' ' ? "space" : *separator ? shown : "none");
		return true;
	}
	if (strcmp(argv[1], "space") && strcmp(argv[1], "none") && strlen(argv[1]) != 1) {
		rql_sh_error(sh, "Error: .%s_sep takes one byte, \"space\" or \"none\", not \"%s\"", name, argv[1]);
		return false;
	}
	*separator = !strcmp(argv[1], "space") ? ' ' : !strcmp(argv[1], "none") ? '\0' : argv[1][0];
	return true;
}

static bool cmd_decimal_sep(struct rql_sh *sh, int argc, char **argv)
{
	return set_separator(sh, "decimal", argc, argv, &sh->decimal_sep);
}

static bool cmd_thousand_sep(struct rql_sh *sh, int argc, char **argv)
{
	return set_separator(sh, "thousand", argc, argv, &sh->thousand_sep);
}

static bool cmd_large_number_rendering(struct rql_sh *sh, int argc, char **argv)
{
	bool on = false;
	(void)argc;
	if (!strcmp(argv[1], "all"))
		sh->words = RQL_SH_WORDS_ALL;
	else if (!strcmp(argv[1], "footer"))
		sh->words = RQL_SH_WORDS_FOOTER;
	else if (!parse_switch(sh, "large_number_rendering", argv[1], &on))
		return false;
	else
		sh->words = on ? RQL_SH_WORDS_AUTO : RQL_SH_WORDS_NONE;
	return true;
}

static bool cmd_columns(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	sh->columns = true;
	return true;
}

static bool cmd_rows(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	sh->columns = false;
	return true;
}

static bool cmd_last(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return rql_sh_render_last(sh);
}

static bool cmd_log(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	FILE *file = NULL;
	if (!strcmp(argv[1], "stdout"))
		file = stdout;
	else if (!strcmp(argv[1], "stderr"))
		file = stderr;
	else if (strcmp(argv[1], "off") && !(file = fopen(argv[1], "we"))) {
		rql_sh_error(sh, "Error: cannot open \"%s\": %s", argv[1], strerror(errno));
		return false;
	}
	if (sh->log && sh->log != stdout && sh->log != stderr)
		fclose(sh->log);
	sh->log = file;
	return true;
}

static bool cmd_maxrows(struct rql_sh *sh, int argc, char **argv)
{
	if (argc > 1)
		return parse_count(sh, "maxrows", argv[1], &sh->max_rows);
	fprintf(sh->out, "current max rows: %llu\n", (unsigned long long)sh->max_rows);
	return true;
}

static bool cmd_maxwidth(struct rql_sh *sh, int argc, char **argv)
{
	uint64_t width = sh->max_width;
	if (argc > 1 && !parse_count(sh, "maxwidth", argv[1], &width))
		return false;
	sh->max_width = (size_t)width;
	if (argc == 1)
		fprintf(sh->out, "current max width: %zu\n", sh->max_width);
	return true;
}

/* Each part of schema.table is a name by itself, unless the whole is quoted: "a.b". */
static bool set_insert_table(struct rql_sh *sh, const char *table)
{
	struct rql_strbuf name = {0};
	for (const char *part = table; part;) {
		size_t length = strcspn(part, ".");
		char *copy = strndup(part, length);
		if (copy)
			rql_sh_put_name(sh, &name, copy);
		name.failed = name.failed || !copy;
		free(copy);
		part = part[length] ? part + length + 1 : NULL;
		if (part)
			rql_strbuf_putc(&name, '.');
	}
	bool ok = !name.failed && rql_sh_set(sh, &sh->insert_table, rql_strbuf_text(&name));
	if (name.failed)
		rql_sh_error(sh, "Error: out of memory");
	rql_strbuf_free(&name);
	return ok;
}

bool rql_sh_set_mode(struct rql_sh *sh, const char *name, const char *table)
{
	const struct rql_sh_mode *mode = rql_sh_mode_find(name);
	if (!mode) {
		struct rql_strbuf list = {0};
		for (size_t i = 0; rql_sh_mode_at(i); i++)
			rql_strbuf_printf(&list, " %s", rql_sh_mode_at(i)->name);
		rql_sh_error(sh, "Error: mode should be one of:%s", rql_strbuf_text(&list));
		rql_strbuf_free(&list);
		return false;
	}
	if ((mode->column_sep && !rql_sh_set(sh, &sh->column_sep, mode->column_sep)) ||
	    (mode->row_sep && !rql_sh_set(sh, &sh->row_sep, mode->row_sep)))
		return false;
	if (mode == &rql_sh_mode_insert && !set_insert_table(sh, table ? table : "table"))
		return false;
	sh->mode = mode;
	return true;
}

static bool cmd_mode(struct rql_sh *sh, int argc, char **argv)
{
	if (argc > 1)
		return rql_sh_set_mode(sh, argv[1], argc > 2 ? argv[2] : NULL);
	fprintf(sh->out, "current output mode: %s\n", sh->mode->name);
	return true;
}

static bool cmd_nullvalue(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	return rql_sh_set(sh, &sh->null_value, argv[1]);
}

/* FILE, "|command", or -x (a spreadsheet) or -e (an editor); --bom puts a byte order mark first. */
static bool send_output(struct rql_sh *sh, int argc, char **argv)
{
	const char *path = NULL;
	bool sheet = false, editor = false, bom = false;
	for (int i = 1; i < argc; i++) {
		const char *flag = *argv[i] == '-' ? argv[i] + 1 + (argv[i][1] == '-') : "";
		if (!strcmp(flag, "x")) {
			sheet = true;
		} else if (!strcmp(flag, "e")) {
			editor = true;
		} else if (!strcmp(flag, "bom")) {
			bom = true;
		} else if (*flag || path) {
			rql_sh_error(sh, "Error: .%s: unknown option or second file: \"%s\"", argv[0], argv[i]);
			return false;
		} else {
			path = argv[i];
		}
	}
	if (path && (sheet || editor)) {
		rql_sh_error(sh, "Error: .%s: -x and -e make a file of their own; leave out \"%s\"", argv[0], path);
		return false;
	}
	if (sheet || editor)
		return rql_sh_view(sh, sheet, bom);
	if (!rql_sh_output(sh, path))
		return false;
	if (bom && path)
		fputs("\xef\xbb\xbf", sh->out);
	return true;
}

static bool cmd_once(struct rql_sh *sh, int argc, char **argv)
{
	if (!send_output(sh, argc, argv))
		return false;
	sh->once = argc > 1;
	return true;
}

static bool cmd_output(struct rql_sh *sh, int argc, char **argv)
{
	return send_output(sh, argc, argv);
}

static bool cmd_excel(struct rql_sh *sh, int argc, char **argv)
{
	bool bom = argc > 1 && (!strcmp(argv[1], "--bom") || !strcmp(argv[1], "-bom"));
	if (argc > 1 && !bom) {
		rql_sh_error(sh, "Error: .excel has no option \"%s\"; it has --bom", argv[1]);
		return false;
	}
	if (!rql_sh_view(sh, true, bom))
		return false;
	sh->once = true;
	return true;
}

static bool cmd_open(struct rql_sh *sh, int argc, char **argv)
{
	const char *path = NULL;
	bool read_only = false, fresh = false;
	for (int i = 1; i < argc; i++) {
		const char *flag = argv[i][0] == '-' ? argv[i] + 1 + (argv[i][1] == '-') : "";
		if (!strcmp(flag, "readonly")) {
			read_only = true;
		} else if (!strcmp(flag, "new")) {
			fresh = true;
		} else if (*flag || path) {
			rql_sh_error(sh, "Error: .open: unknown option or second file: \"%s\"", argv[i]);
			return false;
		} else {
			path = argv[i];
		}
	}
	if (fresh && path && unlink(path) && errno != ENOENT) {
		rql_sh_error(sh, "Error: cannot remove \"%s\": %s", path, strerror(errno));
		return false;
	}
	char *old_path = sh->path;
	bool old_read_only = sh->read_only;
	sh->path = NULL;
	sh->read_only = read_only;
	if (rql_sh_set(sh, &sh->path, path) && rql_sh_open(sh)) {
		free(old_path);
		return true;
	}
	free(sh->path);
	sh->path = old_path;
	sh->read_only = old_read_only;
	return false;
}

static bool cmd_print(struct rql_sh *sh, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		fprintf(sh->out, "%s%s", i > 1 ? " " : "", argv[i]);
	putc('\n', sh->out);
	return true;
}

static bool cmd_prompt(struct rql_sh *sh, int argc, char **argv)
{
	return (argc < 2 || rql_sh_set(sh, &sh->prompt, argv[1])) &&
	       (argc < 3 || rql_sh_set(sh, &sh->prompt_more, argv[2]));
}

static bool cmd_read(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	return rql_sh_process_file(sh, argv[1]);
}

static bool cmd_separator(struct rql_sh *sh, int argc, char **argv)
{
	return rql_sh_set(sh, &sh->column_sep, argv[1]) && (argc < 3 || rql_sh_set(sh, &sh->row_sep, argv[2]));
}

/* The arguments as the user grouped them, quoted for sh again; a single one is a whole command line. */
static bool cmd_shell(struct rql_sh *sh, int argc, char **argv)
{
	struct rql_strbuf line = {0};
	for (int i = 1; i < argc; i++) {
		bool plain = argc == 2 || argv[i][strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		                                                   "0123456789_-+=./,:@%*?~$|<>&;")] == '\0';
		if (i > 1)
			rql_strbuf_putc(&line, ' ');
		if (plain && *argv[i]) {
			rql_strbuf_put(&line, argv[i]);
			continue;
		}
		rql_strbuf_putc(&line, '\'');
		for (const char *p = argv[i]; *p; p++)
			rql_strbuf_put_n(&line, *p == '\'' ? "'\\''" : p, *p == '\'' ? 4 : 1);
		rql_strbuf_putc(&line, '\'');
	}
	fflush(sh->out);
	fflush(stdout);
	pid_t child = line.failed ? -1 : rql_sh_spawn(line.data, -1, -1);
	rql_strbuf_free(&line);
	if (child < 0) {
		rql_sh_error(sh, "Error: cannot start a shell: %s", strerror(errno));
		return false;
	}
	int code = rql_sh_wait(sh, child);
	if (code)
		fprintf(stderr, "System command returns %d\n", code);
	return true;
}

static void show_text(struct rql_sh *sh, const char *name, const char *value)
{
	fprintf(sh->out, "%12s: \"", name);
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;
		if (c == '\n')
			fputs("\\n", sh->out);
		else if (c == '\t')
			fputs("\\t", sh->out);
		else if (c < 32)
			fprintf(sh->out, "\\%03o", c);
		else
			putc(c, sh->out);
	}
	fputs("\"\n", sh->out);
}

static bool cmd_show(struct rql_sh *sh, int argc, char **argv)
{
	static const char *const bail[] = {"auto", "on", "off"};
	(void)argc;
	(void)argv;
	fprintf(sh->out, "%12s: %s\n", "bail", bail[sh->bail]);
	fprintf(sh->out, "%12s: %s\n", "changes", sh->changes ? "on" : "off");
	fprintf(sh->out, "%12s: %s\n", "echo", sh->echo ? "on" : "off");
	fprintf(sh->out, "%12s: %s\n", "headers", sh->header ? "on" : "off");
	fprintf(sh->out, "%12s: %llu\n", "maxrows", (unsigned long long)sh->max_rows);
	fprintf(sh->out, "%12s: %zu\n", "maxwidth", sh->max_width);
	fprintf(sh->out, "%12s: %s\n", "mode", sh->mode->name);
	show_text(sh, "nullvalue", sh->null_value);
	fprintf(sh->out, "%12s: %s\n", "output", sh->out_name ? sh->out_name : "stdout");
	fprintf(sh->out, "%12s: %s\n", "progress_bar", sh->progress_bar ? "on" : "off");
	show_text(sh, "colseparator", sh->column_sep);
	show_text(sh, "rowseparator", sh->row_sep);
	fprintf(sh->out, "%12s: %s\n", "timer", sh->timer ? "on" : "off");
	fprintf(sh->out, "%12s:", "width");
	for (int i = 0; i < RQL_SH_WIDTHS && sh->widths[i]; i++)
		fprintf(sh->out, " %d", sh->widths[i]);
	fprintf(sh->out, "\n%12s: %s\n", "filename", sh->path ? sh->path : ":memory:");
	return true;
}

static bool cmd_version(struct rql_sh *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fprintf(sh->out, "RayQL %s (DuckDB %s)\n", rayql_version(), rayql_host_version());
	return true;
}

static bool cmd_width(struct rql_sh *sh, int argc, char **argv)
{
	int widths[RQL_SH_WIDTHS] = {0};
	for (int i = 1; i < argc && i <= RQL_SH_WIDTHS; i++) {
		char *end;
		long width = strtol(argv[i], &end, 10);
		if (*end || end == argv[i] || width < -10000 || width > 10000) {
			rql_sh_error(sh, "Error: .width takes numbers between -10000 and 10000, not \"%s\"", argv[i]);
			return false;
		}
		widths[i - 1] = (int)width;
	}
	memcpy(sh->widths, widths, sizeof(widths));
	return true;
}

static bool cmd_help(struct rql_sh *sh, int argc, char **argv);

static const struct command commands[] = {
	{"bail", "on|off|auto", "Stop after hitting an error", 1, 1, false, cmd_bail},
	{"cd", "DIRECTORY", "Change the working directory to DIRECTORY", 1, 1, true, cmd_cd},
	{"changes", "on|off", "Show number of rows changed by SQL", 1, 1, false, cmd_changes},
	{"columns", "", "Show a line for each column of a result; only for duckbox mode", 0, 0, false, cmd_columns},
	{"databases", "", "List names and files of attached databases", 0, 0, false, rql_sh_cmd_databases},
	{"decimal_sep", "?SEP?", "Set the decimal separator, one byte, \"space\" or \"none\"; only for duckbox mode", 0, 1,
		false, cmd_decimal_sep},
	{"dump", "?--newlines? ?PATTERN...?", "Print the database, or the tables like PATTERN, as SQL", 0, ARGUMENTS, false,
		rql_sh_cmd_dump},
	{"echo", "on|off", "Turn command echo on or off", 1, 1, false, cmd_echo},
	{"excel", "?--bom?", "Show the result of the next SQL command in a spreadsheet", 0, 1, true, cmd_excel},
	{"exit", "?CODE?", "Exit this program with return-code CODE", 0, 1, false, cmd_exit},
	{"headers", "on|off", "Turn display of headers on or off", 1, 1, false, cmd_headers},
	{"help", "?PATTERN?", "Show help text for commands that match PATTERN", 0, 2, false, cmd_help},
	{"import", "FILE TABLE", "Import data from FILE into TABLE (--csv --json --parquet --skip N)", 2, ARGUMENTS, true,
		rql_sh_cmd_import},
	{"indexes", "?TABLE?", "Show names of indexes", 0, 1, false, rql_sh_cmd_indexes},
	{"indices", "?TABLE?", "Show names of indexes", 0, 1, false, rql_sh_cmd_indexes},
	{"large_number_rendering", "all|footer|on|off", "Tell large numbers in words; only for duckbox mode", 1, 1, false,
		cmd_large_number_rendering},
	{"last", "", "Show the last result once more, without limits of rows and width", 0, 0, false, cmd_last},
	{"log", "FILE|off", "Turn logging of statements on or off; FILE can be stderr or stdout", 1, 1, true, cmd_log},
	{"maxrows", "?COUNT?", "Set the maximum number of rows for display (default 40); only for duckbox mode", 0, 1, false,
		cmd_maxrows},
	{"maxwidth", "?COUNT?", "Set the maximum width in characters, 0 for the terminal's; only for duckbox mode", 0, 1,
		false, cmd_maxwidth},
	{"mode", "?MODE? ?TABLE?", "Set output mode", 0, 2, false, cmd_mode},
	{"nullvalue", "STRING", "Use STRING in place of NULL values", 1, 1, false, cmd_nullvalue},
	{"once", "?FILE?", "Output for the next SQL command only to FILE, to a program (\"|command\"), -x, -e (--bom)",
		0, 2, true, cmd_once},
	{"open", "?OPTIONS? ?FILE?", "Close existing database and reopen FILE (--readonly --new)", 0, 3, true, cmd_open},
	{"output", "?FILE?", "Send output to FILE, a program (\"|command\"), a spreadsheet (-x), an editor (-e), or stdout",
		0, 2, true, cmd_output},
	{"print", "STRING...", "Print literal STRING", 0, ARGUMENTS, false, cmd_print},
	{"progress_bar", "on|off", "Turn the progress bar on or off", 1, 1, false, cmd_progress_bar},
	{"prompt", "MAIN CONTINUE", "Replace the standard prompts", 1, 2, false, cmd_prompt},
	{"quit", "", "Exit this program", 0, 0, false, cmd_exit},
	{"read", "FILE", "Read input from FILE or from a program (\"|command\")", 1, 1, true, cmd_read},
	{"rows", "", "Show a line for each row of a result (default)", 0, 0, false, cmd_rows},
	{"schema", "?PATTERN?", "Show the CREATE statements matching PATTERN", 0, 1, false, rql_sh_cmd_schema},
	{"separator", "COL ?ROW?", "Change the column and row separators", 1, 2, false, cmd_separator},
	{"shell", "CMD ARGS...", "Run CMD ARGS... in a system shell", 1, ARGUMENTS, true, cmd_shell},
	{"show", "", "Show the current values for various settings", 0, 0, false, cmd_show},
	{"system", "CMD ARGS...", "Run CMD ARGS... in a system shell", 1, ARGUMENTS, true, cmd_shell},
	{"tables", "?TABLE?", "List names of tables and views matching LIKE pattern TABLE", 0, 1, false, rql_sh_cmd_tables},
	{"thousand_sep", "?SEP?", "Set the thousand separator, one byte, \"space\" or \"none\"; only for duckbox mode",
		0, 1, false, cmd_thousand_sep},
	{"timer", "on|off", "Turn SQL timer on or off", 1, 1, false, cmd_timer},
	{"version", "", "Show the versions of RayQL and DuckDB", 0, 0, false, cmd_version},
	{"why", "", "Say who answered the last statement, what it read, and what that would have cost elsewhere", 0, 0,
		false, rql_sh_cmd_why},
	{"width", "NUM1 NUM2 ...", "Set minimum column widths for columnar output; negative: right-justify", 0, ARGUMENTS,
		false, cmd_width},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

const char *rql_sh_command_name(const char *prefix, size_t index)
{
	size_t length = strlen(prefix);
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strncmp(commands[i].name, prefix, length) && !index--)
			return commands[i].name;
	return NULL;
}

static bool cmd_help(struct rql_sh *sh, int argc, char **argv)
{
	const char *pattern = argc > 1 && strcmp(argv[1], "-all") && strcmp(argv[1], "--all") ? argv[1] : "";
	size_t found = 0;
	pattern += *pattern == '.';
	for (size_t i = 0; i < COMMANDS; i++) {
		char left[48];
		if (strncmp(commands[i].name, pattern, strlen(pattern)))
			continue;
		found++;
		snprintf(left, sizeof(left), ".%s %s", commands[i].name, commands[i].arguments);
		fprintf(sh->out, "%-28s %s\n", left, commands[i].help);
		if (commands[i].run != cmd_mode || !*pattern)
			continue;
		fputs("     MODE is one of:\n", sh->out);
		for (size_t m = 0; rql_sh_mode_at(m); m++)
			fprintf(sh->out, "       %-11s %s\n", rql_sh_mode_at(m)->name, rql_sh_mode_at(m)->help);
	}
	if (!found)
		fprintf(sh->out, "Nothing matches '%s'\n", pattern);
	return true;
}

static const struct command *find_command(const char *name)
{
	size_t length = strlen(name);
	const struct command *found = NULL;
	for (size_t i = 0; i < COMMANDS && length; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
		/* The first of the list wins: .e is .echo, .h is .headers, .s is .schema, as in sqlite and DuckDB. */
		if (!found && !strncmp(commands[i].name, name, length))
			found = &commands[i];
	}
	return found ? found : !strcmp(name, "sh") ? find_command("shell") : NULL;
}

/* \n, \t, \\, \ooo and the like inside "...". */
static char *unescape(char *from, char *to)
{
	static const char named[] = "abtnvfr", codes[] = "\a\b\t\n\v\f\r";
	const char *name = *from ? strchr(named, *from) : NULL;
	if (name) {
		*to = codes[name - named];
		return from + 1;
	}
	if (*from >= '0' && *from <= '7') {
		int value = 0;
		for (int digits = 0; digits < 3 && *from >= '0' && *from <= '7'; digits++)
			value = value * 8 + (*from++ - '0');
		*to = (char)(value & 0xff ? value : ' '); /* an argument ends at NUL */
		return from;
	}
	*to = *from;
	return *from ? from + 1 : from;
}

/* Words separated by spaces; 'as it is', "with \escapes", and bare words with them, too. In place; -1 when there are
 * too many. */
static int split(char *line, char **argv)
{
	int argc = 0;
	while (*(line += strspn(line, " \t\r\n"))) {
		char quote = *line == '\'' || *line == '"' ? *line++ : 0;
		char *to = line;
		if (argc == ARGUMENTS)
			return -1;
		argv[argc++] = line;
		while (*line && (quote ? *line != quote : !strchr(" \t\r\n", *line))) {
			if (quote != '\'' && *line == '\\')
				line = unescape(line + 1, to++);
			else
				*to++ = *line++;
		}
		bool more = *line;
		*to = '\0';
		if (!more)
			break;
		line++;
	}
	return argc;
}

static const char *name_at(size_t index)
{
	return index < COMMANDS ? commands[index].name : NULL;
}

bool rql_sh_command(struct rql_sh *sh, const char *line)
{
	char *argv[ARGUMENTS + 1] = {NULL};
	char *copy = strdup(line + 1);
	bool ok = false;
	int argc = copy ? split(copy, argv) : -1;
	const struct command *command = argc > 0 ? find_command(argv[0]) : NULL;
	if (argc < 0) {
		rql_sh_error(sh, "Error: too many arguments, or out of memory: a dot command takes up to %d", ARGUMENTS - 1);
	} else if (!command) {
		const char *meant = argc ? rql_sh_suggest(argv[0], name_at) : NULL;
		rql_sh_error(sh, "Error: unknown command \".%s\". %s%s%sEnter \".help\" for help", argc ? argv[0] : "",
		             meant ? "Did you mean \"." : "", meant ? meant : "", meant ? "\"? " : "");
	} else if (argc - 1 < command->least || argc - 1 > command->most) {
		rql_sh_error(sh, "Error: unknown command or invalid arguments:  \"%s\". Usage: .%s %s", argv[0], command->name,
		             command->arguments);
	} else if (command->unsafe && sh->safe) {
		rql_sh_error(sh, "Error: .%s cannot be used in -safe mode", command->name);
	} else {
		ok = command->run(sh, argc, argv);
	}
	free(copy);
	return ok;
}
