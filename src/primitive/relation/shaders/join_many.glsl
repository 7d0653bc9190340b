// Of a join whose build rows often have the same key: rows of a key lie side by side in the table, so that a look-up gives
// where they begin and how many they are, and the k-th match is found by adding k.
shared uint mixed[(BUCKETS + 31u) / 32u]; // a bit for each bucket that has several keys

bool is_mixed(uint bucket)
{
	return (mixed[bucket >> 5u] >> (bucket & 31u) & 1u) != 0u;
}

// Where a row of a mixed bucket goes, so that its rows ascend by their keys.
uint ordered_slot(KEY key, uint bucket, uint slot)
{
	uint end = ends[bucket + 1u], to = ends[bucket];
	for (uint s = ends[bucket]; s < end; s++) {
		KEY other = keys[s];
		to += other < key || (other == key && s < slot) ? 1u : 0u;
	}
	return to;
}

// Number of matches << 16 | the first one's slot.
uint look_up(KEY key, uint row, bool one)
{
	uint b = bucket_of(key);
	uint slot = ends[b], end = ends[b + 1u];
	if (is_mixed(b)) {
		while (slot < end && keys[slot] < key)
			slot++;
		uint first = slot;
		while (slot < end && keys[slot] == key)
			slot++;
		end = slot;
		slot = first;
	} else if (slot < end && keys[slot] != key) {
		end = slot;
	}
	return slot < end ? end - slot << 16u | slot : 0u;
}

uint nth_match(KEY key, uint row, uint hit, uint marks, uint k)
{
	return (hit & 0xffffu) + k; // MISS has no second match
}
