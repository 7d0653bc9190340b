/* SipHash-2-4 with 128 bits of output, as its authors describe it. */
#include "util/mac.h"

#include <string.h>

struct state {
	uint64_t v[4];
};

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void rounds(struct state *s, unsigned count)
{
	uint64_t *v = s->v;
	for (; count; count--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

/* The first `count` bytes of data as a little-endian number. */
static uint64_t number(const unsigned char *data, size_t count)
{
	uint64_t word = 0;
	for (size_t i = 0; i < count; i++)
		word |= (uint64_t)data[i] << 8 * i;
	return word;
}

static void take(struct state *s, uint64_t word)
{
	s->v[3] ^= word;
	rounds(s, 2);
	s->v[0] ^= word;
}

static uint64_t result(struct state *s)
{
	rounds(s, 4);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

void rql_mac(const struct rql_mac_key *key, const void *data, size_t size, uint64_t out[2])
{
	const unsigned char *at = data;
	struct state s = {{key->word[0] ^ UINT64_C(0x736f6d6570736575), key->word[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
	                   key->word[0] ^ UINT64_C(0x6c7967656e657261), key->word[1] ^ UINT64_C(0x7465646279746573)}};
	size_t left = size;
	for (; left >= 8; left -= 8, at += 8)
		take(&s, number(at, 8));
	take(&s, (uint64_t)size << 56 | number(at, left));
	s.v[2] ^= 0xee;
	out[0] = result(&s);
	s.v[1] ^= 0xdd;
	out[1] = result(&s);
}
