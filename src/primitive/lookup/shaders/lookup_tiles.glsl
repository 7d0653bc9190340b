// Which probes a thread looks up, ITEMS at a time (1 or 2). Of a batch as it lies, those that follow each other. Of tiles in
// order (lookup_order.comp), a subgroup takes one partition's runs of ITEMS tiles. All of one come before the next one's, so
// that what runs at a time meets the same partition of the map. More runs to a subgroup are no faster: more of the map is met at
// a time. Needs relation.glsl, TILE (a tile's rows; 0: as they lie), look_up, and args with probes, found, runs, run_bits.

// The word of a run; 0, no rows, of a tile that is not there.
uint run_word(uint tile, uint partition_id)
{
	bool is = tile * uint64_t(TILE) < rql_rows(args.found, args.probes);
	return is ? RQL_U32(args.runs, (uint64_t(tile) << args.run_bits) + partition_id) : 0u;
}

void look_up_runs()
{
	uint shares = uint((args.probes + TILE * ITEMS - 1ul) / (TILE * ITEMS));
	uint unit = uint(rql_group()) * gl_NumSubgroups + gl_SubgroupID;
	uint partition_id = unit / shares, tile = unit % shares * ITEMS;
	if (partition_id >> args.run_bits != 0u)
		return;
	uint word = run_word(tile, partition_id), next = ITEMS > 1u ? run_word(tile + 1u, partition_id) : 0u;
	uint own_places = (word & 0xffffu) + ITEMS - 1u & ~(ITEMS - 1u); // with what pads a pair
	uint places = own_places + (next & 0xffffu);
	for (uint place = gl_SubgroupInvocationID * ITEMS; place < places; place += gl_SubgroupSize * ITEMS) {
		bool second = place >= own_places;
		uint at = second ? place - own_places : place, run = second ? next : word;
		uint64_t first = uint64_t(second ? tile + 1u : tile) * RQL_LOOKUP_PLACES(TILE, args.run_bits);
		look_up(first + (run >> 16u) * 2u + at, min((run & 0xffffu) - at, ITEMS));
	}
}

// look_up(first, count) of all probes of this thread.
void look_up_all()
{
	if (TILE != 0u) {
		look_up_runs();
		return;
	}
	uint64_t first = (rql_group() * THREADS + rql_thread()) * ITEMS, probes = rql_rows(args.found, args.probes);
	if (first < probes)
		look_up(first, uint(min(probes - first, uint64_t(ITEMS))));
}
