/* The user's key: 16 random bytes in ${XDG_CACHE_HOME:-~/.cache}/rayql/key, made when it is first wanted. Who does not
 * have it cannot write a manifest that is believed, so what came with a database from elsewhere is built again. Nothing
 * is lost with the key but side files. */
#include "structure/side_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static rql_status read_key(int folder, struct rql_mac_key *out, bool *there, struct rql_error *err)
{
	const struct rql_file_place place = {.folder = folder, .name = "key", .path = "the user's key of side files"};
	char *data = NULL;
	uint64_t size = 0;
	RQL_TRY(rql_file_get(&place, sizeof *out, &data, &size, err));
	*there = data && size == sizeof *out; /* another size: a disk was full */
	if (*there)
		memcpy(out, data, sizeof *out);
	free(data);
	return RQL_OK;
}

/* Several processes may make it at once: the first one's stays, for the name is only ever linked. */
static rql_status make_key(int folder, struct rql_error *err)
{
	struct rql_mac_key key;
	char name[48];
	snprintf(name, sizeof name, "key.%ld.tmp", (long)getpid());
	const struct rql_file_place place = {.folder = folder, .name = name, .path = name, .mode = 0600};
	const struct iovec part = {&key, sizeof key};
	if (getrandom(&key, sizeof key, 0) != (ssize_t)sizeof key)
		return rql_error_set(err, RQL_ERROR_IO, "there is no random key: %s", strerror(errno));
	RQL_TRY(rql_file_put(&place, "new", &part, 1, err));
	(void)linkat(folder, name, folder, "key", 0);
	(void)unlinkat(folder, name, 0);
	return RQL_OK;
}

rql_status rql_side_key(bool make, struct rql_mac_key *out, struct rql_error *err)
{
	int folder = -1;
	bool there = false;
	RQL_TRY(rql_cache_open(make, &folder, err));
	rql_status status = folder >= 0 ? read_key(folder, out, &there, err) : RQL_OK;
	if (status == RQL_OK && !there && make) {
		(void)unlinkat(folder, "key", 0); /* one of another size */
		status = make_key(folder, err);
		if (status == RQL_OK)
			status = read_key(folder, out, &there, err);
	}
	if (folder >= 0)
		close(folder);
	if (status == RQL_OK && !there)
		status = rql_error_set(err, RQL_ERROR_IO, "this user has no key to check it with");
	return status;
}
