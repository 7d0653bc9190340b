/* Asking memory for a line before it is needed. */
#ifndef RQL_UTIL_TOUCH_H
#define RQL_UTIL_TOUCH_H

/* The empty statement is an effect: without one GCC takes functions that only prefetch for pure ones, and drops calls. */
static inline void rql_touch(const void *address)
{
	__builtin_prefetch(address);
	__asm__ volatile("");
}

#endif
