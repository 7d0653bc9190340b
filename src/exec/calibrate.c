/* A device's profile: the device measures its bandwidth and hand-over, cubes and scans their kernels, and for the CPU's
 * profile the host is timed here on a small database of its own: GPUs' prices are compared with its constants, too. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "exec/exec_internal.h"

#define COLUMNS 3u        /* that the timed query reads */
#define ROW_GROUP 122880u /* rows that a thread of the host takes at once */
#define MOST_ROWS 16000000u

struct timing {
	double wall_ns, processor_ns; /* the least of some runs, each */
};

static rql_status time_query(struct rql_host_con *con, const char *sql, unsigned runs, struct timing *out,
                             struct rql_error *err)
{
	struct timing least = {0};
	for (unsigned i = 0; i < runs; i++) {
		uint64_t start = rql_now_ns(), used = rql_process_ns();
		RQL_TRY(rql_host_query(con, sql, NULL, err));
		double wall = (double)(rql_now_ns() - start), processor = (double)(rql_process_ns() - used);
		least.wall_ns = i == 0 || wall < least.wall_ns ? wall : least.wall_ns;
		least.processor_ns = i == 0 || processor < least.processor_ns ? processor : least.processor_ns;
	}
	*out = least;
	return RQL_OK;
}

/* What a value takes with all threads busy. Its processor time, shared by them, says it whatever else the machine does;
 * where the rest of the process computes meanwhile, the clock may have less. Never 0: a price must stay comparable. */
static double value_ns(const struct timing *large, const struct timing *small, double values, unsigned threads)
{
	double wall = large->wall_ns - small->wall_ns, processor = (large->processor_ns - small->processor_ns) / threads;
	double least = wall < processor ? wall : processor;
	return least > values * 1e-3 ? least / values : 0.1;
}

static rql_status time_host(struct rql_host_con *con, unsigned threads, uint64_t rows, unsigned runs,
                            struct rql_profile *profile, struct rql_error *err)
{
	static const char query[] = "SELECT k, sum(v) FROM %s WHERE f < 50 GROUP BY k";
	char create[256], large[128], small[128];
	struct timing large_time, small_time;
	snprintf(create, sizeof create,
	         "CREATE TABLE large AS SELECT (i %% 100)::INTEGER AS k, (i * 7919 %% 100)::INTEGER AS f, (i * 31337 %% "
	         "1000003)::INTEGER AS v FROM range(%llu) t(i)",
	         (unsigned long long)rows);
	snprintf(large, sizeof large, query, "large");
	snprintf(small, sizeof small, query, "small");
	RQL_TRY(rql_host_query(con, create, NULL, err));
	RQL_TRY(rql_host_query(con, "CREATE TABLE small AS FROM large LIMIT 1", NULL, err));
	RQL_TRY(time_query(con, large, runs, &large_time, err));
	RQL_TRY(time_query(con, small, 2 * runs, &small_time, err));
	profile->host_statement_ns = small_time.wall_ns;
	profile->host_value_ns = value_ns(&large_time, &small_time, (double)rows * COLUMNS, threads);
	return RQL_OK;
}

/* Each thread gets row groups, when it matters. */
static uint64_t host_rows(unsigned threads, bool thorough)
{
	uint64_t rows = thorough ? 4000000 : 500000, wanted = thorough ? (uint64_t)threads * ROW_GROUP : 0;
	wanted = wanted < MOST_ROWS ? wanted : MOST_ROWS;
	return rows > wanted ? rows : wanted;
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
		status = time_host(con, rql_pool_threads(cpu->pool), host_rows(rql_pool_threads(cpu->pool), thorough), 10,
		                   &cpu->profile, err);
	rql_host_disconnect(con);
	rql_host_close(db);
	return status;
}

/* A GPU idles while its kernels are compiled. So they are made by a first measurement, which counts for what compiling
 * takes, since the second one finds them made. */
static rql_status calibrate_method(const struct rql_method *method, struct rql_device *device, bool thorough,
                                   struct rql_error *err)
{
	if (!rql_device_is_real_gpu(device))
		return method->calibrate(device, thorough, err);
	RQL_TRY(method->calibrate(device, false, err));
	const double compile_ns = device->profile.scan.compile_ns;
	rql_device_wake(device);
	RQL_TRY(method->calibrate(device, thorough, err));
	device->profile.scan.compile_ns = fmax(compile_ns, device->profile.scan.compile_ns);
	return RQL_OK;
}

/* guesses: a driver that fails at one method has guesses for that, and the constants of the others all the same. */
static rql_status calibrate_methods(struct rql_device *device, bool thorough, bool guesses, const _Atomic bool *stop,
                                    struct rql_error *err)
{
	for (const struct rql_method *const *m = rql_methods(); *m; m++) {
		if (!(*m)->calibrate || !device->units[(*m)->unit])
			continue;
		if (stop && atomic_load(stop))
			return RQL_ERROR_INTERRUPTED;
		rql_status status = calibrate_method(*m, device, thorough, err);
		if (status != RQL_OK && !guesses)
			return status;
		if (status != RQL_OK && err)
			rql_error_clear(err);
	}
	return RQL_OK;
}

static rql_status measure_all(struct rql_device *device, bool thorough, bool guesses, const _Atomic bool *stop,
                              struct rql_error *err)
{
	bool gpu = device->kind != RQL_DEVICE_CPU;
	if (gpu)
		RQL_TRY(rql_device_start(device, err));
	rql_device_wake(device);
	if (gpu || thorough) /* opening the devices has measured the CPU's short form */
		rql_device_measure(device, thorough);
	RQL_TRY(calibrate_methods(device, thorough, guesses, stop, err));
	return gpu ? RQL_OK : calibrate_host(device, thorough, err);
}

static rql_status calibrate(struct rql_device *device, bool thorough, bool guesses, const _Atomic bool *stop,
                            struct rql_error *err)
{
	const struct rql_profile before = device->profile;
	rql_status status = measure_all(device, thorough, guesses, stop, err);
	if (status == RQL_OK)
		device->profile.measured = true;
	else
		device->profile = before; /* half of one measurement and half of another compare with nothing */
	return status;
}

rql_status rql_calibrate_device(struct rql_device *device, bool thorough, struct rql_error *err)
{
	return calibrate(device, thorough, false, NULL, err);
}

void rql_calibrate_first_start(struct rql_device *device, const _Atomic bool *stop)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)device, (void)stop; /* a slow build must not leave its constants behind for the others */
#else
	struct rql_error ignored = {0};
	if (!device->profile.measured && calibrate(device, false, device->kind != RQL_DEVICE_CPU, stop, &ignored) == RQL_OK)
		(void)rql_profile_save(device, &ignored); /* without a cache folder it is measured again next time */
	rql_error_clear(&ignored);
#endif
}

static struct rql_database *database_of(void *state)
{
	return ((struct rql_session *)((struct rql_build_context *)state)->session)->db;
}

void rql_database_measure(struct rql_database *db, struct rql_device *device)
{
	uint32_t bit = 1u << device->index;
	if (atomic_load(&db->devices_ready) & bit)
		return;
	pthread_mutex_lock(&db->devices_lock);
	if (!(atomic_load(&db->devices_ready) & bit)) {
		/* A driver in software has no constants worth a second of everybody's time: rayql calibrate measures it. */
		if (rql_device_is_real_gpu(device))
			rql_calibrate_first_start(device, &db->opening.stopping);
		atomic_fetch_or(&db->devices_ready, bit);
	}
	pthread_mutex_unlock(&db->devices_lock);
}

bool rql_device_first_use(void *state, struct rql_device *device, bool wait)
{
	struct rql_database *db = database_of(state);
	if (wait)
		rql_database_measure(db, device);
	return atomic_load(&db->devices_ready) >> device->index & 1;
}

bool rql_devices_opened(void *state, struct rql_awaited *awaited)
{
	return rql_opening_is_over(database_of(state), awaited);
}
