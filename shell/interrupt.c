/* Ctrl-C. SIGINT is blocked everywhere, and one thread takes it with sigwait(): no handler runs in the middle of
 * anything, and what may be done about the signal is not restricted to async-signal-safe calls. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"

/* A statement that does not stop (a device that hangs): leave after as many Ctrl-C in it. */
enum { PATIENCE = 3 };

static void *wait_for_signals(void *context)
{
	struct rql_sh_signals *signals = context;
	sigset_t set;
	int number, ignored = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	while (!sigwait(&set, &number) && !atomic_load(&signals->leaving)) {
		switch ((enum rql_sh_activity)atomic_load(&signals->activity)) {
		case RQL_SH_IDLE:
			_exit(128 + SIGINT);
		case RQL_SH_PROMPT:
			/* A full pipe means that the prompt has been told already. */
			if (write(signals->wake[1], "", 1) < 0)
				break;
			break;
		case RQL_SH_RUNNING:
			ignored = atomic_exchange(&signals->interrupted, true) ? ignored + 1 : 1;
			if (ignored >= PATIENCE)
				_exit(128 + SIGINT);
			pthread_mutex_lock(&signals->lock);
			if (signals->connection)
				rayql_interrupt(signals->connection);
			pthread_mutex_unlock(&signals->lock);
			break;
		case RQL_SH_CHILD:
			break;
		}
		atomic_fetch_add(&signals->taken, 1);
	}
	return NULL;
}

bool rql_sh_signals_start(struct rql_sh_signals *signals)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	atomic_init(&signals->activity, RQL_SH_IDLE);
	atomic_init(&signals->interrupted, false);
	atomic_init(&signals->taken, 0);
	atomic_init(&signals->leaving, false);
	if (pipe(signals->wake))
		return false;
	if (pthread_mutex_init(&signals->lock, NULL) || pthread_sigmask(SIG_BLOCK, &set, NULL))
		return false;
	/* A pipe's reader that has gone is an error of the write, which the session reports. */
	signal(SIGPIPE, SIG_IGN);
	signals->started = !pthread_create(&signals->thread, NULL, wait_for_signals, signals);
	return signals->started;
}

void rql_sh_signals_stop(struct rql_sh_signals *signals)
{
	if (!signals->started)
		return;
	atomic_store(&signals->leaving, true);
	pthread_kill(signals->thread, SIGINT);
	pthread_join(signals->thread, NULL);
	signals->started = false;
	pthread_mutex_destroy(&signals->lock);
	close(signals->wake[0]);
	close(signals->wake[1]);
}

void rql_sh_signals_connection(struct rql_sh_signals *signals, rayql_connection *con)
{
	if (!signals->started) {
		signals->connection = con;
		return;
	}
	pthread_mutex_lock(&signals->lock);
	signals->connection = con;
	pthread_mutex_unlock(&signals->lock);
}
