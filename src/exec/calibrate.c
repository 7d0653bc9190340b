/* A device's profile: the device measures its bandwidth and hand-over, the cube its kernels, and for the CPU's profile
 * the host is timed here on a small database of its own: GPUs' prices are compared with its constants, too. */
#include <stdio.h>
#include <string.h>
#include "exec/exec_internal.h"

#define COLUMNS 3u /* that the timed query reads */

/* The shortest of a few runs, in nanoseconds. */
static rql_status time_query(struct rql_host_con *con, const char *sql, unsigned runs, double *out,
                             struct rql_error *err)
{
	double least = 0;
	for (unsigned i = 0; i < runs; i++) {
		uint64_t start = rql_now_ns();
		RQL_TRY(rql_host_query(con, sql, NULL, err));
		double ns = (double)(rql_now_ns() - start);
		if (i == 0 || ns < least)
			least = ns;
	}
	*out = least;
	return RQL_OK;
}

static rql_status time_host(struct rql_host_con *con, uint64_t rows, unsigned runs, struct rql_profile *profile,
                            struct rql_error *err)
{
	static const char query[] = "SELECT k, sum(v) FROM %s WHERE f < 50 GROUP BY k";
	char create[256], large[128], small[128];
	double large_ns, small_ns;
	snprintf(create, sizeof create,
	         "CREATE TABLE large AS SELECT (i %% 100)::INTEGER AS k, (i * 7919 %% 100)::INTEGER AS f, (i * 31337 %% "
	         "1000003)::INTEGER AS v "
	         "FROM range(%llu) t(i); CREATE TABLE small AS FROM large LIMIT 1",
	         (unsigned long long)rows);
	snprintf(large, sizeof large, query, "large");
	snprintf(small, sizeof small, query, "small");
	char *second = strchr(create, ';');
	*second++ = '\0';
	RQL_TRY(rql_host_query(con, create, NULL, err));
	RQL_TRY(rql_host_query(con, second, NULL, err));
	RQL_TRY(time_query(con, large, runs, &large_ns, err));
	RQL_TRY(time_query(con, small, runs, &small_ns, err));
	profile->host_statement_ns = small_ns;
	profile->host_value_ns = large_ns > small_ns ? (large_ns - small_ns) / ((double)rows * COLUMNS) : 0.1;
	return RQL_OK;
}

static rql_status calibrate_host(struct rql_device *cpu, bool thorough, struct rql_error *err)
{
	struct rql_host_db *db = NULL;
	struct rql_host_con *con = NULL;
	char threads[16];
	snprintf(threads, sizeof threads, "%u", rql_pool_threads(cpu->pool));
	const struct rql_host_option options[] = {{"threads", threads}};
	rql_status status = rql_host_open(NULL, options, 1, &db, err);
	if (status == RQL_OK)
		status = rql_host_connect(db, &con, err);
	if (status == RQL_OK)
		status = time_host(con, thorough ? 4000000 : 500000, thorough ? 7 : 3, &cpu->profile, err);
	rql_host_disconnect(con);
	rql_host_close(db);
	return status;
}

static rql_status measure_all(const struct rql_device *cpu, struct rql_device *device, bool thorough,
                              struct rql_error *err)
{
	if (device->kind != RQL_DEVICE_CPU)
		return rql_calibrate_gpu(cpu, device, thorough, err);
	if (thorough) /* opening the devices has measured the short form */
		rql_device_measure(device, true);
	RQL_TRY(rql_cube_calibrate(device, thorough, err));
	return calibrate_host(device, thorough, err);
}

rql_status rql_calibrate_device(const struct rql_device *cpu, struct rql_device *device, bool thorough,
                                struct rql_error *err)
{
	const struct rql_profile before = device->profile;
	rql_status status = measure_all(cpu, device, thorough, err);
	if (status == RQL_OK)
		device->profile.measured = true;
	else
		device->profile = before; /* half of one measurement and half of another compare with nothing */
	return status;
}

void rql_calibrate_first_start(const struct rql_device *cpu, struct rql_device *device)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)cpu, (void)device; /* a slow build must not leave its constants behind for the others */
#else
	struct rql_error ignored = {0};
	if (!device->profile.measured && rql_calibrate_device(cpu, device, false, &ignored) == RQL_OK)
		(void)rql_profile_save(device, &ignored); /* without a cache folder it is measured again next time */
	rql_error_clear(&ignored);
#endif
}
