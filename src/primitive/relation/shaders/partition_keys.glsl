// Keys of ROWS rows a thread, all of which are there, in no particular order among the threads.
#define ROWS 8u
#define KEY_BYTES (KEY_BITS / 8u)
#define VECTOR_KEYS (16u / KEY_BYTES)

void load_vectors(uint64_t keys_at, out KEY keys[ROWS])
{
	[[unroll]] for (uint v = 0u; v < ROWS / VECTOR_KEYS; v++) {
		uvec4 words = RQL_U128(keys_at + (v * THREADS + rql_thread()) * 16u);
#if KEY_BITS == 64
		keys[2u * v] = packUint2x32(words.xy);
		keys[2u * v + 1u] = packUint2x32(words.zw);
#else
		[[unroll]] for (uint i = 0u; i < 4u; i++)
			keys[4u * v + i] = words[i];
#endif
	}
}

void load_all(uint64_t keys_at, out KEY keys[ROWS])
{
	if ((keys_at & 15ul) == 0ul) {
		load_vectors(keys_at, keys);
		return;
	}
	[[unroll]] for (uint r = 0u; r < ROWS; r++)
		keys[r] = RQL_KEY(keys_at, r * THREADS + rql_thread());
}
