/* A program of its own: this test's program, run anew to play a role beside the test. A mere fork would not do, as the
 * child of a process with threads may use nothing that one of them held: ASan's allocator waits there for ever. */
#ifndef RQL_TESTS_API_ROLE_H
#define RQL_TESTS_API_ROLE_H

#include "check.h"

#include <sys/wait.h>

enum { ROLE_HEARS = 3, ROLE_TELLS = 4 }; /* the role's ends of two pipes */

struct role {
	const char *name;
	int (*play)(const char *path); /* gives the exit status */
};

struct player {
	pid_t process;
	int tells, hears; /* the test's ends */
};

/* For main: the exit status where this program was started to play a role, -1 where it is the test itself. */
static inline int play_role(int argc, char **argv, const struct role *roles, int n)
{
	for (int i = 0; argc == 3 && i < n; i++)
		if (strcmp(argv[1], roles[i].name) == 0)
			return roles[i].play(argv[2]);
	return argc > 1 ? 99 : -1;
}

/* The role's program has nothing open but its standard streams and the pipes, and ends after ten minutes at most. */
static inline struct player start_role(const char *name, const char *path)
{
	int to[2], from[2];
	char *const argv[] = {(char[]){"role"}, (char *)name, (char *)path, NULL};
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		int hears = dup2(to[0], 20), tells = dup2(from[1], 21);
		dup2(hears, ROLE_HEARS);
		dup2(tells, ROLE_TELLS);
		close_range(ROLE_TELLS + 1, ~0u, 0);
		alarm(600);
		execv("/proc/self/exe", argv);
		_exit(98);
	}
	assert_true(child > 0);
	close(to[0]);
	close(from[1]);
	return (struct player){child, from[0], to[1]};
}

static inline int end_role(struct player player)
{
	int status;
	assert_int_equal(waitpid(player.process, &status, 0), player.process);
	close(player.tells);
	close(player.hears);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* From its start to its end: it must exit with 0. */
static inline void role_succeeds(const char *name, const char *path)
{
	assert_int_equal(end_role(start_role(name, path)), 0);
}

/* ---- one byte tells the other side to go on ---- */
static inline bool told(int fd)
{
	char byte;
	return read(fd, &byte, 1) == 1;
}

static inline bool tell(int fd)
{
	return write(fd, "x", 1) == 1;
}

#endif
