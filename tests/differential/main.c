/* test_differential [--queries N] [--seed S] [--world W] [--jobs J] [--threads T] [--share PERCENT] [--columns PERCENT]
 * [--indexes PERCENT] [--scans PERCENT] [--setup SQL] [--needs UNIT] [--sparse] [--verbose] [--keep-going]
 * [--no-reduce] [--stress SECONDS] [--planners N] [--readers N]. --stress: threads on one database instead of worlds,
 * four that plan and four that repeat what is planned. --setup: statements that our connection begins with, such as SET
 * rayql_unit. --sparse: a third of the queries between two changes. --needs: skipped (77) where vulkan:0 lacks the unit.
 * Exit status 0: every answer equal, and the shares of queries answered by cubes and by scans as high as they must be. */
#include "diff.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void usage(void)
{
	fputs(
		"test_differential [--queries N] [--seed S] [--world W] [--jobs J] [--threads T] [--share PERCENT] [--columns"
		" PERCENT] [--indexes PERCENT] [--scans PERCENT] [--setup SQL] [--needs UNIT] [--sparse] [--verbose] [--keep-going]\n"
		"  [--no-reduce] [--stress SECONDS] [--planners N] [--readers N]\n",
		stderr);
	exit(2);
}

static uint64_t number_after(int argc, char **argv, int *i)
{
	char *end;
	if (++*i >= argc)
		usage();
	uint64_t n = strtoull(argv[*i], &end, 0);
	if (*end)
		usage();
	return n;
}

static void read_options(int argc, char **argv, struct dt_options *o)
{
	*o = (struct dt_options){.seed = 1,
	                         .queries = 2000,
	                         .jobs = 2,
	                         .share = 90,
	                         .columns = 40,
	                         .indexes = 40,
	                         .scans = 40,
	                         .planners = 4,
	                         .readers = 4,
	                         .first_world = UINT64_MAX};
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--queries"))
			o->queries = number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--seed"))
			o->seed = number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--world"))
			o->first_world = number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--jobs"))
			o->jobs = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--threads"))
			o->threads = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--share"))
			o->share = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--columns"))
			o->columns = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--indexes"))
			o->indexes = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--scans"))
			o->scans = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--stress"))
			o->stress_s = number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--planners"))
			o->planners = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--readers"))
			o->readers = (uint32_t)number_after(argc, argv, &i);
		else if (!strcmp(argv[i], "--setup") && i + 1 < argc)
			o->setup = argv[++i];
		else if (!strcmp(argv[i], "--needs") && i + 1 < argc)
			o->needs = argv[++i];
		else if (!strcmp(argv[i], "--sparse"))
			o->sparse = true;
		else if (!strcmp(argv[i], "--verbose"))
			o->verbose = true;
		else if (!strcmp(argv[i], "--keep-going"))
			o->keep_going = true;
		else if (!strcmp(argv[i], "--no-reduce"))
			o->no_reduce = true;
		else
			usage();
	}
	if (!o->jobs || o->jobs > 64 || o->planners + o->readers > 32)
		usage();
}

/* Worlds job, job + jobs, ... until the job has asked its part of the queries. Who is faster decides nothing, so that
 * a seed asks the same queries, and accelerates the same share of them, in every run. */
static void run_job(const struct dt_options *o, uint32_t job, struct dt_statistics *stats)
{
	if (o->first_world != UINT64_MAX) {
		if (job == 0)
			dt_world_run(o, o->first_world, 0, stats);
		return;
	}
	uint64_t part = (o->queries + o->jobs - 1) / o->jobs;
	for (uint64_t world = job; stats->asked[job] < part && (!stats->failures || o->keep_going); world += o->jobs)
		dt_world_run(o, world, job, stats);
}

static bool wait_for_jobs(const struct dt_options *o, const pid_t *jobs, const struct dt_statistics *stats)
{
	bool ok = true;
	for (uint32_t j = 0; j < o->jobs; j++) {
		int status;
		if (jobs[j] < 0 || waitpid(jobs[j], &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
			printf("\n==== a job crashed: --seed %llu --world %llu\n-- at the statement:\n%s\n====\n",
			       (unsigned long long)o->seed, (unsigned long long)stats->now_world[j], stats->now_sql[j]);
			ok = false;
		}
	}
	return ok;
}

static bool report(const struct dt_options *o, const struct dt_statistics *s, double seconds)
{
	double share = s->eligible ? 100.0 * (double)s->accelerated_eligible / (double)s->eligible : 100.0;
	printf("seed %llu: %llu queries in %llu worlds, %.1f s; %llu views (%llu refused); %llu answered by RayQL, %llu "
	       "errors alike; %llu pages; %llu with other values, %llu planned from a plan; of %llu eligible queries %.1f %% were accelerated; %llu differences\n",
	       (unsigned long long)o->seed, (unsigned long long)s->queries, (unsigned long long)s->worlds, seconds,
	       (unsigned long long)s->views, (unsigned long long)s->views_refused, (unsigned long long)s->accelerated,
	       (unsigned long long)s->errors, (unsigned long long)s->pages, (unsigned long long)s->others,
	       (unsigned long long)s->bound, (unsigned long long)s->eligible, share,
	       (unsigned long long)s->failures);
	printf("%llu columns structures; of %llu queries over columns that hold all, %llu were scans; %llu sieves and indexes; "
	       "of %llu plans looked at, %llu were under their rows\n",
	       (unsigned long long)s->columns, (unsigned long long)s->scannable, (unsigned long long)s->scanned,
	       (unsigned long long)s->indexes, (unsigned long long)s->explained, (unsigned long long)s->looked_up);
	if (o->first_world == UINT64_MAX && (share < o->share || (o->queries > 500 && s->eligible < (s->queries - s->others - s->pages) / 4))) {
		printf("at least %u %% of the eligible queries must be accelerated, and a quarter of all but pages and other values be "
		       "eligible\n",
		       o->share);
		return false;
	}
	if (o->first_world == UINT64_MAX && s->scannable > 100 && s->scanned * 100 < s->scannable * o->scans) {
		printf("at least %u %% of them must be\n", o->scans);
		return false;
	}
	return s->failures == 0;
}

/* In a process of its own, so that a crash or a hang says what the threads were at. */
static bool run_stress(const struct dt_options *o, struct dt_statistics *stats)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		dt_stress(o, stats);
		fflush(stdout);
		exit(0);
	}
	bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (!ended) {
		printf("\n==== %s: --stress --seed %llu, database %llu; the threads were at\n",
		       child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "a thread waits for ever" : "a crash",
		       (unsigned long long)o->seed, (unsigned long long)stats->worlds);
		for (uint32_t i = 0; i < o->planners + o->readers; i++)
			printf("%u: %s\n", i, stats->now_sql[i]);
	}
	printf("stress, seed %llu: %llu statements planned and %llu repeated in %llu databases; %llu answered by RayQL, "
	       "%llu errors alike; %llu differences\n",
	       (unsigned long long)o->seed, (unsigned long long)stats->queries, (unsigned long long)stats->repeated,
	       (unsigned long long)stats->worlds + 1, (unsigned long long)stats->accelerated,
	       (unsigned long long)stats->errors, (unsigned long long)stats->failures);
	return ended && !stats->failures && stats->accelerated;
}

/* An exit status: 0 it is there, 77 it is not, anything else an error. */
static int look_for_unit(const char *unit)
{
	char sql[256], *error = NULL;
	struct dt_session s;
	if (!dt_session_open(&s, NULL, 1, NULL))
		return 1;
	snprintf(sql, sizeof sql,
	         "SELECT CASE WHEN count(*) = 0 THEN error('vulkan:0 is not there, or lacks the unit') END FROM rayql_devices()"
	         " WHERE device = 'vulkan:0' AND units LIKE '%%%s%%'",
	         unit);
	bool there = dt_session_run(&s, sql, &error);
	int status = there ? 0 : error && strstr(error, "vulkan:0 is not there") ? 77 : 1;
	if (!there)
		printf("%s: %s\n", unit, error ? error : "?");
	free(error);
	dt_session_close(&s);
	return status;
}

/* Asked in a process of its own: the jobs are forked from one that has no threads. */
static int without_unit(const char *unit)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		exit(look_for_unit(unit));
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct dt_options options;
	pid_t jobs[64];
	struct timespec start, end;
	read_options(argc, argv, &options);
	int missing = options.needs ? without_unit(options.needs) : 0;
	if (missing)
		return missing;
	struct dt_statistics *stats = mmap(NULL, sizeof *stats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stats == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	if (options.stress_s)
		return run_stress(&options, stats) ? 0 : 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (options.first_world != UINT64_MAX)
		options.jobs = 1;
	for (uint32_t j = 0; j < options.jobs; j++) {
		fflush(stdout);
		jobs[j] = fork();
		if (jobs[j] == 0) {
			run_job(&options, j, stats);
			fflush(stdout);
			exit(0); /* not _exit: LeakSanitizer looks at the end */
		}
	}
	bool ok = wait_for_jobs(&options, jobs, stats);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ok &= report(&options, stats, (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
	munmap(stats, sizeof *stats);
	return ok ? 0 : 1;
}
