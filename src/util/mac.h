/* Keyed checksums that cannot be made without the key: SipHash-2-4 with 128 bits of output (Aumasson and Bernstein,
 * "SipHash: a fast short-input PRF", INDOCRYPT 2012). For short texts; a gigabyte takes about half a second. */
#ifndef RQL_UTIL_MAC_H
#define RQL_UTIL_MAC_H

#include <stddef.h>
#include <stdint.h>

struct rql_mac_key {
	uint64_t word[2];
};
void rql_mac(const struct rql_mac_key *key, const void *data, size_t size, uint64_t out[2]);

#endif
