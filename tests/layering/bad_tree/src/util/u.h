/* Fine: depends on nothing. */
#include <stddef.h>
