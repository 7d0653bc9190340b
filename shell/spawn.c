/* Starting programs. Not system() and popen(): the shell blocks SIGINT in all of its threads (interrupt.c) and ignores
 * SIGPIPE, and children would inherit both. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell.h"

extern char **environ;

pid_t rql_sh_spawn(const char *command, int in_fd, int out_fd)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	pid_t child = -1;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGINT);
	if ((errno = posix_spawn_file_actions_init(&actions)))
		return -1;
	if ((errno = posix_spawnattr_init(&attributes))) {
		posix_spawn_file_actions_destroy(&actions);
		return -1;
	}
	int failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!failed)
		failed = posix_spawnattr_setsigmask(&attributes, &none);
	if (!failed)
		failed = posix_spawnattr_setsigdefault(&attributes, &defaults);
	if (!failed && in_fd >= 0)
		failed = posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
	if (!failed && out_fd >= 0)
		failed = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	if (!failed)
		failed = posix_spawn(&child, "/bin/sh", &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	errno = failed;
	return failed ? -1 : child;
}

static int wait_for(pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int rql_sh_wait(struct rql_sh *sh, pid_t child)
{
	unsigned taken = atomic_load(&sh->signals.taken);
	enum rql_sh_activity before = rql_sh_activity(sh, RQL_SH_CHILD);
	int code = wait_for(child);
	/* The Ctrl-C that ended the child came to the shell, too. Were its thread to take it only now, at the prompt, it would
	 * clear a line that the user is typing already. It comes at once unless somebody signalled the child alone. */
	for (int patience = 50; code == 128 + SIGINT && patience && atomic_load(&sh->signals.taken) == taken; patience--)
		usleep(1000);
	rql_sh_activity(sh, before);
	return code;
}
