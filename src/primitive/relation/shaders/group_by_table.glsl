// The table in device memory in which pieces of partitions meet, and rows that found no place in a workgroup's own:
// relation_kernels.h says how it lies. EMPTY marks a place without a key; that key itself has the last place.
#define EMPTY (~KEY(0))
#define TABLE_PROBES 256u

uint64_t table_word_at(uint word, uint place)
{
	return args.table_words + (uint64_t(word) * (uint64_t(args.slots) + 1ul) + place) * 8ul;
}

// NO_PLACE: the table is too full.
#define NO_PLACE 0xffffffffu
uint table_place(KEY key)
{
	if (key == EMPTY) {
		RQL_KEY(args.table_keys, args.slots) = KEY(0);
		return args.slots;
	}
	// Other bits than partitions have: rows that meet here may all be of one.
	uint place = rql_mix(rql_hash(key, false) + 0x6a09e667u) & (args.slots - 1u);
	uint probes = min(args.slots, TABLE_PROBES);
	for (uint probe = 0u; probe < probes; probe++) {
		KEY there = RQL_KEY(args.table_keys, place);
		if (there == EMPTY)
			there = atomicCompSwap(RQL_KEY(args.table_keys, place), EMPTY, key);
		if (there == EMPTY || there == key)
			return place;
		place = (place + 1u) & (args.slots - 1u);
	}
	return NO_PLACE;
}

uint64_t group_column(uint column, uint word)
{
	return RQL_U64(args.columns, column * RQL_GROUP_COLUMN_WORDS + word);
}

// Pieces that large partitions may be cut into.
uint cut_pieces()
{
	return (args.count >> args.piece_log2) + 1u;
}
