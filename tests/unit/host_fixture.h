/* A host database in memory and a connection to it: the fixture of the host layer's tests. */
#ifndef TESTS_UNIT_HOST_FIXTURE_H
#define TESTS_UNIT_HOST_FIXTURE_H

#include <stdlib.h>
#include "host/host.h"

struct fixture {
	struct rql_host_db *db;
	struct rql_host_con *con;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	const struct rql_host_option options[] = {{"threads", "2"}};
	struct rql_error err = {0};
	if (!f || rql_host_open(NULL, options, 1, &f->db, &err) != RQL_OK ||
	    rql_host_connect(f->db, &f->con, &err) != RQL_OK) {
		print_error("%s\n", rql_error_message(&err));
		return -1;
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	rql_host_disconnect(f->con);
	rql_host_close(f->db);
	free(f);
	return 0;
}

#endif
