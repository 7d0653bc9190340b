// Entries of a sorted map's directory. Needs key_words.glsl, and args with base, shift, last.

// A key's entry. Never descends as keys ascend. Keys beyond the bounds go to the first and the last entry.
uint entry_of(KEY key)
{
	uint64_t wide = uint64_t(key);
	return wide <= args.base ? 0u : uint(min((wide - args.base) >> args.shift, uint64_t(args.last)));
}
