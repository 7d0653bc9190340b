/* A folder of a test's process under /tmp, which goes when the process ends. */
#ifndef RQL_TESTS_SCRATCH_H
#define RQL_TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch_folder[64];
static pid_t scratch_owner;

/* A child that was forked leaves it. The process fails where it cannot be removed. */
static inline void remove_scratch(void)
{
	char command[128];
	if (getpid() != scratch_owner)
		return;
	snprintf(command, sizeof command, "rm -rf '%s'", scratch_folder);
	if (system(command) == 0)
		return;
	fprintf(stderr, "%s was not removed\n", scratch_folder);
	_exit(EXIT_FAILURE);
}

static inline const char *scratch(void)
{
	if (!scratch_folder[0]) {
		snprintf(scratch_folder, sizeof scratch_folder, "/tmp/rayql-test-XXXXXX");
		scratch_owner = getpid();
		if (!mkdtemp(scratch_folder) || atexit(remove_scratch))
			abort();
	}
	return scratch_folder;
}

/* out: 256 bytes */
static inline char *scratch_path(char *out, const char *name)
{
	snprintf(out, 256, "%s/%s", scratch(), name);
	return out;
}

#endif
