/* FNV-1a: tells texts and states apart, or finds damage, where nobody attacks. Hashes of tables that must be fast are
 * their own. */
#ifndef RQL_UTIL_HASH_H
#define RQL_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

#define RQL_HASH_START UINT64_C(0xcbf29ce484222325)
#define RQL_HASH_PRIME UINT64_C(0x100000001b3)

static inline uint64_t rql_hash_bytes(uint64_t hash, const void *data, size_t length)
{
	for (const uint8_t *at = data; length--; at++)
		hash = (hash ^ *at) * RQL_HASH_PRIME;
	return hash;
}

/* With the byte that ends it, so that texts in a row are told from others. */
static inline uint64_t rql_hash_text(uint64_t hash, const char *text)
{
	do
		hash = rql_hash_bytes(hash, text, 1);
	while (*text++);
	return hash;
}

/* FNV-1a and a second mix beside it: 128 bits. */
static inline void rql_hash_wide(const void *data, size_t length, uint64_t hash[2])
{
	hash[0] = rql_hash_bytes(RQL_HASH_START, data, length);
	hash[1] = 0x9ae16a3b2f90404fu;
	for (const uint8_t *at = data; length--; at++) {
		hash[1] = (hash[1] ^ *at) * 0xff51afd7ed558ccdu;
		hash[1] ^= hash[1] >> 29;
	}
}

#endif
