/* The command line. Flags are read twice, as DuckDB does: what the database needs first (readonly, safe, ...), then,
 * with the database open and the rc file run, the rest in the order given, so that `-csv -c SQL` means what it says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render.h"

enum when { FIRST, LATER, BOTH };
enum { GO_ON = -1 };

struct option {
	const char *name, *argument; /* argument: NULL when it takes none */
	enum when when;
	/* Returns GO_ON or the exit code. */
	int (*apply)(struct rql_sh *sh, const char *value);
	const char *help;
};

static int set_batch(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->interactive = false;
	return GO_ON;
}

static int set_interactive(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->interactive = true;
	return GO_ON;
}

static int set_bail(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->bail = RQL_SH_BAIL_ON;
	return GO_ON;
}

static int set_echo(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->echo = true;
	return GO_ON;
}

static int set_header(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->header = true;
	return GO_ON;
}

static int set_no_header(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->header = false;
	return GO_ON;
}

static int set_init(struct rql_sh *sh, const char *value)
{
	sh->init_file = value;
	return GO_ON;
}

static int set_no_init(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->no_init = true;
	return GO_ON;
}

static int set_no_stdin(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->no_stdin = true;
	return GO_ON;
}

static int set_readonly(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->read_only = true;
	return GO_ON;
}

static int set_safe(struct rql_sh *sh, const char *value)
{
	(void)value;
	sh->safe = true;
	return GO_ON;
}

/* NAME=VALUE: a setting of DuckDB's or RayQL's that the database is opened with. */
static int set_option(struct rql_sh *sh, const char *value)
{
	char *name = strdup(value), *equals = name ? strchr(name, '=') : NULL;
	if (!equals || equals == name || sh->option_count == RQL_SH_OPTIONS_MAX) {
		rql_sh_error(sh, !name                     ? "out of memory"
		                 : equals && equals > name ? "-set: there are too many settings"
		                                           : "-set: NAME=VALUE is expected, not \"%s\"",
		             value);
		free(name);
		return 1;
	}
	*equals = '\0';
	sh->options[2 * sh->option_count] = name;
	sh->options[2 * sh->option_count++ + 1] = equals + 1;
	return GO_ON;
}

static int set_unsigned(struct rql_sh *sh, const char *value)
{
	(void)value;
	return set_option(sh, "allow_unsigned_extensions=true");
}

static int set_null(struct rql_sh *sh, const char *value)
{
	return rql_sh_set(sh, &sh->null_value, value) ? GO_ON : 1;
}

static int set_separator(struct rql_sh *sh, const char *value)
{
	return rql_sh_set(sh, &sh->column_sep, value) ? GO_ON : 1;
}

static int set_newline(struct rql_sh *sh, const char *value)
{
	return rql_sh_set(sh, &sh->row_sep, value) ? GO_ON : 1;
}

static int run_and_go_on(struct rql_sh *sh, const char *value)
{
	bool ok = rql_sh_run_command(sh, value);
	return sh->quit ? sh->exit_code : ok ? GO_ON : 1;
}

static int run_and_leave(struct rql_sh *sh, const char *value)
{
	sh->no_stdin = true;
	return run_and_go_on(sh, value);
}

static int run_file(struct rql_sh *sh, const char *value)
{
	sh->no_stdin = true;
	bool ok = rql_sh_process_file(sh, value);
	return sh->quit ? sh->exit_code : ok ? GO_ON : 1;
}

static int print_version(struct rql_sh *sh, const char *value)
{
	(void)sh;
	(void)value;
	printf("RayQL %s (DuckDB %s)\n", rayql_version(), rayql_host_version());
	return 0;
}

static int print_help(struct rql_sh *sh, const char *value);

/* Unlike .mode, a flag leaves the row separator: -csv ends its lines for Unix, .mode csv as the format says. */
static int flag_mode(struct rql_sh *sh, const struct rql_sh_mode *mode)
{
	sh->mode = mode;
	return !mode->column_sep || rql_sh_set(sh, &sh->column_sep, mode->column_sep) ? GO_ON : 1;
}

#define MODE(name_)                                                                                                    \
	static int mode_##name_(struct rql_sh *sh, const char *value)                                                      \
	{                                                                                                                  \
		(void)value;                                                                                                   \
		return flag_mode(sh, &rql_sh_mode_##name_);                                                                    \
	}
MODE(ascii)
MODE(box)
MODE(column)
MODE(csv)
MODE(duckbox)
MODE(html)
MODE(json)
MODE(jsonlines)
MODE(line)
MODE(list)
MODE(markdown)
MODE(quote)
MODE(table)

static const struct option options[] = {
	{"ascii", NULL, LATER, mode_ascii, "set output mode to 'ascii'"},
	{"bail", NULL, LATER, set_bail, "stop after hitting an error"},
	{"batch", NULL, BOTH, set_batch, "force batch I/O"},
	{"box", NULL, LATER, mode_box, "set output mode to 'box'"},
	{"c", "COMMAND", LATER, run_and_leave, "run COMMAND and exit"},
	{"cmd", "COMMAND", LATER, run_and_go_on, "run COMMAND before reading standard input"},
	{"column", NULL, LATER, mode_column, "set output mode to 'column'"},
	{"csv", NULL, LATER, mode_csv, "set output mode to 'csv'"},
	{"duckbox", NULL, LATER, mode_duckbox, "set output mode to 'duckbox' (the default)"},
	{"echo", NULL, LATER, set_echo, "print commands before execution"},
	{"f", "FILENAME", LATER, run_file, "read and run the file and exit"},
	{"header", NULL, LATER, set_header, "turn headers on"},
	{"help", NULL, FIRST, print_help, "show this message"},
	{"html", NULL, LATER, mode_html, "set output mode to 'html'"},
	{"init", "FILENAME", FIRST, set_init, "run FILENAME in place of ~/.rayqlrc"},
	{"interactive", NULL, BOTH, set_interactive, "force interactive I/O"},
	{"json", NULL, LATER, mode_json, "set output mode to 'json'"},
	{"jsonlines", NULL, LATER, mode_jsonlines, "set output mode to 'jsonlines'"},
	{"line", NULL, LATER, mode_line, "set output mode to 'line'"},
	{"list", NULL, LATER, mode_list, "set output mode to 'list'"},
	{"markdown", NULL, LATER, mode_markdown, "set output mode to 'markdown'"},
	{"newline", "SEP", LATER, set_newline, "set output row separator; default '\\n'"},
	{"no-init", NULL, FIRST, set_no_init, "run no init file"},
	{"no-stdin", NULL, LATER, set_no_stdin, "exit after processing the options"},
	{"noheader", NULL, LATER, set_no_header, "turn headers off"},
	{"nullvalue", "TEXT", LATER, set_null, "print TEXT for NULL values; default NULL"},
	{"quote", NULL, LATER, mode_quote, "set output mode to 'quote'"},
	{"readonly", NULL, FIRST, set_readonly, "open the database read-only"},
	{"s", "COMMAND", LATER, run_and_leave, "run COMMAND and exit"},
	{"safe", NULL, FIRST, set_safe, "no access to other files or programs"},
	{"separator", "SEP", LATER, set_separator, "set output column separator; default '|'"},
	{"set", "NAME=VALUE", FIRST, set_option, "open the database with a setting of DuckDB's or RayQL's"},
	{"table", NULL, LATER, mode_table, "set output mode to 'table'"},
	{"unsigned", NULL, FIRST, set_unsigned, "allow loading of unsigned DuckDB extensions"},
	{"version", NULL, FIRST, print_version, "show the versions of RayQL and DuckDB"},
};

enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

static int print_help(struct rql_sh *sh, const char *value)
{
	(void)value;
	printf("Usage: %s [OPTIONS] [FILENAME [SQL]]\n"
	       "       %s gen|bench|calibrate|selftest ...\n\n"
	       "FILENAME is a DuckDB database; it is created when it does not exist. Without one, the database is in memory.\n"
	       "One dash or two, as you like. OPTIONS include:\n", sh->program, sh->program);
	for (size_t i = 0; i < OPTIONS; i++) {
		char left[48];
		snprintf(left, sizeof(left), "-%s%s%s", options[i].name, options[i].argument ? " " : "",
		         options[i].argument ? options[i].argument : "");
		printf("  %-20s %s\n", left, options[i].help);
	}
	printf("\nSubcommands:\n"
	       "  gen                  write benchmark data (rayql gen --help)\n"
	       "  bench                run a benchmark (rayql bench --help)\n"
	       "  calibrate            measure this machine for the cost model and keep the result (--device ID: one device)\n"
	       "  selftest             check that this installation and its devices work (rayql selftest --help)\n");
	return 0;
}

static const struct option *find_option(const char *text)
{
	const char *name = text + (text[1] == '-' ? 2 : 1);
	if (!strcmp(name, "h"))
		name = "help";
	for (size_t i = 0; i < OPTIONS; i++) {
		const char *known = options[i].name;
		size_t at = 0;
		/* DuckDB's older spelling has underscores. */
		while (known[at] && (known[at] == name[at] || (known[at] == '-' && name[at] == '_')))
			at++;
		if (!known[at] && !name[at])
			return &options[i];
	}
	return NULL;
}

static bool is_flag(const char *text)
{
	return text[0] == '-' && text[1];
}

static const char *option_at(size_t index)
{
	return index < OPTIONS ? options[index].name : NULL;
}

/* One pass over the arguments. Positional ones are collected in the first: the file, then SQL. */
static int apply_options(struct rql_sh *sh, int argc, char **argv, enum when pass, const char **sql, int *sql_count)
{
	bool file_seen = false;
	for (int i = 1; i < argc; i++) {
		if (!is_flag(argv[i])) {
			if (pass != FIRST)
				continue;
			if (file_seen)
				sql[(*sql_count)++] = argv[i];
			else if (!rql_sh_set(sh, &sh->path, argv[i]))
				return 1;
			file_seen = true;
			continue;
		}
		const struct option *option = find_option(argv[i]);
		const char *value = NULL;
		if (!option) {
			const char *meant = rql_sh_suggest(argv[i] + 1 + (argv[i][1] == '-'), option_at);
			fprintf(stderr, "%s: Error: unknown option: %s\n%s%s%sUse -help for a list of options.\n", sh->program,
			        argv[i], meant ? "Did you mean -" : "", meant ? meant : "", meant ? "?\n" : "");
			return 1;
		}
		if (option->argument && ++i == argc) {
			fprintf(stderr, "%s: Error: missing argument to -%s: expected %s\n", sh->program, option->name,
			        option->argument);
			return 1;
		}
		value = option->argument ? argv[i] : NULL;
		/* A command to run means that nobody is asked anything. */
		if (pass == FIRST && (!strcmp(option->name, "c") || !strcmp(option->name, "s") || !strcmp(option->name, "f")))
			sh->interactive = false;
		if (option->when != pass && option->when != BOTH)
			continue;
		int code = option->apply(sh, value);
		if (code != GO_ON)
			return code;
	}
	return GO_ON;
}

static bool run_rc(struct rql_sh *sh)
{
	const char *home = getenv("HOME");
	struct rql_strbuf path = {0};
	bool ok = true;
	if (sh->no_init)
		return true;
	if (sh->init_file)
		return rql_sh_process_file(sh, sh->init_file);
	if (!home)
		return true;
	rql_strbuf_printf(&path, "%s/.rayqlrc", home);
	if (!path.failed && !access(path.data, R_OK)) {
		if (sh->interactive)
			fprintf(stderr, "-- Loading resources from %s\n", path.data);
		ok = rql_sh_process_file(sh, path.data);
	}
	rql_strbuf_free(&path);
	return ok;
}

static void greet(const struct rql_sh *sh)
{
	printf("RayQL %s (DuckDB %s)\nEnter \".help\" for usage hints.\n", rayql_version(), rayql_host_version());
	if (!sh->path || !strcmp(sh->path, ":memory:"))
		printf("Connected to a transient in-memory database.\n"
		       "Use \".open FILENAME\" to reopen on a persistent database.\n");
}

static bool read_input(struct rql_sh *sh)
{
	bool terminal = sh->interactive && isatty(STDIN_FILENO);
	struct rql_sh_input *input = terminal ? rql_sh_input_terminal(sh) : rql_sh_input_file(stdin, "standard input");
	if (!input) {
		rql_sh_error(sh, "Error: cannot read standard input: %s", strerror(errno));
		return false;
	}
	if (sh->interactive)
		greet(sh);
	bool ok = rql_sh_process(sh, input, false);
	if (terminal && !sh->quit)
		putchar('\n'); /* behind the prompt that Ctrl-D left */
	rql_sh_input_free(input);
	return ok || sh->interactive;
}

static int calibrate(struct rql_sh *sh, const char *device)
{
	rayql_error *err = NULL;
	printf("Measuring %s (about two seconds a device) ...\n", device ? device : "this machine");
	fflush(stdout);
	if (device ? rayql_calibrate_device(sh->db, device, &err) : rayql_calibrate(sh->db, &err)) {
		rql_sh_error(sh, "%s", rayql_error_message(err));
		rayql_error_free(err);
		return 1;
	}
	printf("Done: the profile is kept for later sessions.\n");
	fflush(stdout);
	return rql_sh_set_mode(sh, "line", NULL) &&
	               rql_sh_run_command(sh, "SELECT device, name, profile FROM rayql_devices() WHERE measured")
	           ? 0
	           : 1;
}

/* Everything behind the opened database. */
static int session(struct rql_sh *sh, int argc, char **argv, const char **sql, int sql_count)
{
	bool ok = true;
	run_rc(sh);
	if (sh->quit)
		return sh->exit_code;
	int code = apply_options(sh, argc, argv, LATER, NULL, NULL);
	if (code != GO_ON)
		return code;
	for (int i = 0; i < sql_count && ok && !sh->quit; i++)
		ok = rql_sh_run_command(sh, sql[i]);
	if (!sql_count && !sh->no_stdin && !sh->quit)
		ok = read_input(sh);
	return sh->quit ? sh->exit_code : ok ? 0 : 1;
}

int rql_sh_main(int argc, char **argv)
{
	struct rql_sh sh;
	const char *device = argc == 4 && !strcmp(argv[2], "--device") ? argv[3] : NULL;
	bool calibrates = (argc == 2 || device) && !strcmp(argv[1], "calibrate");
	bool tests = argc == 2 && !strcmp(argv[1], "selftest");
	int sql_count = 0, code = 1;
	const char **sql = calloc((size_t)argc + 1, sizeof(*sql));
	if (!sql || !rql_sh_init(&sh, argc ? argv[0] : "rayql")) {
		free(sql);
		fprintf(stderr, "rayql: Error: out of memory\n");
		return 1;
	}
	code = calibrates || tests ? GO_ON : apply_options(&sh, argc, argv, FIRST, sql, &sql_count);
	if (code == GO_ON) {
		if (sql_count)
			sh.interactive = false;
		if (!rql_sh_signals_start(&sh.signals))
			fprintf(stderr, "%s: Error: cannot start the signal thread: %s\n", sh.program, strerror(errno));
		code = !rql_sh_open(&sh) ? 1 : calibrates ? calibrate(&sh, device) : tests ? rql_sh_selftest(&sh)
		       : session(&sh, argc, argv, sql, sql_count);
	}
	rql_sh_free(&sh);
	rql_sh_signals_stop(&sh.signals);
	free(sql);
	if (fflush(stdout) && !code)
		code = 1;
	return code;
}
