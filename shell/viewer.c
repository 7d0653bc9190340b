/* Output that another program shows: .excel, .once -x (a spreadsheet), .once -e (a text editor). It goes to a file in
 * the temporary folder, which stays there, for nobody knows when that program has read it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render.h"

/* Opens the file and sends output to it. */
static bool open_file(struct rql_sh *sh, bool sheet)
{
	const char *folder = getenv("TMPDIR");
	struct rql_strbuf path = {0};
	rql_strbuf_printf(&path, "%s/rayql-XXXXXX%s", folder && *folder ? folder : "/tmp", sheet ? ".csv" : ".txt");
	char *name = rql_strbuf_take(&path);
	int fd = name ? mkostemps(name, 4, O_CLOEXEC) : -1;
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool ok = file && rql_sh_set(sh, &sh->out_name, name);
	if (ok) {
		sh->out = file;
		sh->view.file = name;
		return true;
	}
	rql_sh_error(sh, "Error: cannot make a file in \"%s\": %s", folder && *folder ? folder : "/tmp", strerror(errno));
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	free(name);
	return false;
}

bool rql_sh_view(struct rql_sh *sh, bool sheet, bool bom)
{
	if (!rql_sh_output(sh, NULL) || !open_file(sh, sheet))
		return false;
	struct rql_sh_view *view = &sh->view;
	view->mode = sh->mode;
	view->column_sep = sheet ? strdup(sh->column_sep) : NULL;
	view->row_sep = sheet ? strdup(sh->row_sep) : NULL;
	if (bom)
		fputs("\xef\xbb\xbf", sh->out);
	return !sheet || rql_sh_set_mode(sh, "csv", NULL);
}

bool rql_sh_view_end(struct rql_sh *sh)
{
	struct rql_sh_view *view = &sh->view;
	if (!view->file)
		return true;
	struct rql_strbuf command = {0};
	rql_strbuf_put(&command, "xdg-open '");
	for (const char *p = view->file; *p; p++)
		rql_strbuf_put_n(&command, *p == '\'' ? "'\\''" : p, *p == '\'' ? 4 : 1);
	rql_strbuf_put(&command, "'");
	pid_t child = command.failed ? -1 : rql_sh_spawn(command.data, -1, -1);
	int code = child > 0 ? rql_sh_wait(sh, child) : 127;
	if (code)
		rql_sh_error(sh, "Error: xdg-open did not show \"%s\" (exit status %d)", view->file, code);
	sh->mode = view->mode;
	if (view->column_sep && view->row_sep) {
		free(sh->column_sep);
		free(sh->row_sep);
		sh->column_sep = view->column_sep;
		sh->row_sep = view->row_sep;
	}
	free(view->file);
	rql_strbuf_free(&command);
	*view = (struct rql_sh_view){0};
	return !code;
}
