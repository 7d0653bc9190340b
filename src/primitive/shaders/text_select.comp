#version 460
// A condition over strings (column/text/text_program.h) for a tile of entries: first the bytes of the tile are searched, all
// threads side by side, then each thread runs the condition for some of the entries.
// Floor: with a search all bytes read once; the bits written.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/text_kernels.h"
#include "primitive/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_text_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer rql_words4 {
	uvec4 v;
};

#define TILE_WORDS (RQL_TEXT_TILE / 32u)
#define NOWHERE 0xffffffffu
#define LETTER_BIT 0x20u
shared uint held[RQL_TEXT_SEARCHES * TILE_WORDS]; // entries that hold what is searched
shared uint passed[TILE_WORDS];

uint word(uint at)
{
	return RQL_U32(args.program, at);
}

uint offset_of(uint entry)
{
	return RQL_U32(args.offsets, entry);
}

// ---- searching ----

// Four letters at once: where a byte is in A..Z (of ASCII), its bit 0x20 is set.
uint small_letters(uint w)
{
	uint low = w & 0x7f7f7f7fu;
	uint from_a = low + 0x3f3f3f3fu, behind_z = low + 0x25252525u; // bit 7: >= 'A', > 'Z'
	return w | (((from_a ^ behind_z) & ~w & 0x80808080u) >> 2);
}

struct search {
	uint wanted, mask, before, behind;
	bool is_small;
};

search search_of(uint number)
{
	uint at = number * RQL_TEXT_SEARCH_WORDS;
	return search(word(at), word(at + 1u), word(at + 2u), word(at + 3u), word(at + 4u) != 0u);
}

// The wanted bytes lie at byte `at`: whose are they, and is all of the search's room there?
void found(search s, uint number, uint at, uint first, uint end)
{
	uint low = first, high = end; // offset_of(low) <= at < offset_of(high)
	while (high - low > 1u) {
		uint middle = low + (high - low) / 2u;
		if (offset_of(middle) <= at)
			low = middle;
		else
			high = middle;
	}
	if (at - offset_of(low) >= s.before && offset_of(low + 1u) - at >= s.behind)
		atomicOr(held[number * TILE_WORDS + (low - first) / 32u], 1u << (low - first) % 32u);
}

void look_at(search s, uint number, uint at, uint here, uint next, uint first, uint end, uint from, uint behind)
{
	if (s.is_small) {
		here = small_letters(here);
		next = small_letters(next);
	}
	[[unroll]] for (uint k = 0u; k < 4u; k++) {
		uint w = k == 0u ? here : here >> 8u * k | next << (32u - 8u * k);
		if ((w & s.mask) == s.wanted && at + k >= from && at + k < behind)
			found(s, number, at + k, first, end);
	}
}

void look_through(search s, uint number, uint first, uint end)
{
	uint from = offset_of(first), behind = offset_of(end);
	for (uint c = from / 16u + gl_LocalInvocationIndex; c < (behind + 15u) / 16u; c += RQL_TEXT_THREADS) {
		uvec4 here = rql_words4(args.bytes + uint64_t(c) * 16ul).v;
		uint next = RQL_U32(args.bytes, c * 4u + 4u);
		look_at(s, number, c * 16u, here.x, here.y, first, end, from, behind);
		look_at(s, number, c * 16u + 4u, here.y, here.z, first, end, from, behind);
		look_at(s, number, c * 16u + 8u, here.z, here.w, first, end, from, behind);
		look_at(s, number, c * 16u + 12u, here.w, next, first, end, from, behind);
	}
}

// ---- one text ----

uint text_from, text_end; // places among all bytes
uint text_case;           // RQL_TEXT_SMALL, RQL_TEXT_CAPITAL, else as it is
bool text_wide;           // of the entry: characters may have several bytes
uint cached_at, cached;

uint byte_at(uint at)
{
	if (at / 4u != cached_at) {
		cached_at = at / 4u;
		cached = RQL_U32(args.bytes, cached_at);
	}
	uint c = cached >> at % 4u * 8u & 0xffu;
	if (text_case == RQL_TEXT_SMALL && c - 65u < 26u)
		c |= LETTER_BIT;
	if (text_case == RQL_TEXT_CAPITAL && c - 97u < 26u)
		c &= ~LETTER_BIT;
	return c;
}

bool is_character(uint at)
{
	return (byte_at(at) & 0xc0u) != 0x80u;
}

uint constant_byte(uint at, uint i)
{
	return word(at + i / 4u) >> i % 4u * 8u & 0xffu;
}

uint characters()
{
	if (!text_wide)
		return text_end - text_from;
	uint sum = 0u;
	for (uint at = text_from; at < text_end; at++)
		sum += is_character(at) ? 1u : 0u;
	return sum;
}

// The place behind so many characters from `at`, or the end.
uint behind_characters(uint at, uint count)
{
	if (!text_wide)
		return text_end - at > count ? at + count : text_end;
	for (; at < text_end; at++) {
		if (!is_character(at))
			continue;
		if (count == 0u)
			return at;
		count--;
	}
	return at;
}

uint order_of(uint a, uint b)
{
	return a < b ? RQL_TEXT_LESS : a > b ? RQL_TEXT_GREATER : RQL_TEXT_EQUAL;
}

uint order_with(uint at)
{
	uint ours = text_end - text_from, theirs = word(at);
	for (uint i = 0u; i < min(ours, theirs); i++) {
		uint a = byte_at(text_from + i), b = constant_byte(at + 1u, i);
		if (a != b)
			return order_of(a, b);
	}
	return order_of(ours, theirs);
}

// ---- LIKE ----

// Behind the piece where it begins at `at`; NOWHERE: it does not.
uint match_at(uint piece, uint at, uint end)
{
	uint count = word(piece), bits = word(piece + 2u);
	for (uint i = 0u; i < count; i++) {
		bool any = bits != 0u && (word(bits + i / 32u) >> i % 32u & 1u) != 0u;
		if (at == end || (!any && byte_at(at) != constant_byte(piece + RQL_TEXT_PIECE_BYTES, i)))
			return NOWHERE;
		at++;
		while (any && at < end && !is_character(at))
			at++;
	}
	return at;
}

// Behind the first place where it lies: an earlier one never ends later.
uint match_within(uint piece, uint at, uint end)
{
	if (word(piece + 2u) == 0u && end - at < word(piece))
		return NOWHERE;
	for (; at < end; at++) {
		uint behind = match_at(piece, at, end);
		if (behind != NOWHERE)
			return behind;
	}
	return NOWHERE;
}

// A piece has as many characters as what it matches.
bool match_end(uint piece, uint at, uint end)
{
	uint from = end;
	if (word(piece + 2u) == 0u)
		return end - at >= word(piece) && match_at(piece, end - word(piece), end) == end;
	for (uint left = word(piece + 1u); left != 0u; left -= is_character(from) ? 1u : 0u)
		if (from-- == at)
			return false;
	return match_at(piece, from, end) == end;
}

bool matches(uint like)
{
	uint flags = word(like), first = 0u, last = word(like + 2u), pieces = like + RQL_TEXT_LIKE_PIECES, count = last;
	uint at = text_from, end = text_end;
	if (end - at < word(like + 1u))
		return false;
	if ((flags & RQL_TEXT_OPEN_START) == 0u) {
		at = match_at(word(pieces), at, end);
		if (at == NOWHERE)
			return false;
		if (++first == count)
			return (flags & RQL_TEXT_OPEN_END) != 0u || at == end;
	}
	bool open_end = (flags & RQL_TEXT_OPEN_END) != 0u;
	if (!open_end && !match_end(word(pieces + --last), at, end))
		return false;
	// What is left of the last piece's match is no place for the others.
	bool any_last = last < count && word(word(pieces + last) + 2u) != 0u;
	if (last < count && !any_last)
		end -= word(word(pieces + last));
	for (; first < last; first++) {
		at = match_within(word(pieces + first), at, end);
		if (at == NOWHERE)
			return false;
	}
	return !any_last || match_end(word(pieces + last), at, text_end);
}

// ---- the condition ----

void take_whole(uint entry)
{
	text_from = offset_of(entry);
	text_end = offset_of(entry + 1u);
	text_case = RQL_TEXT_WHOLE;
	text_wide = (RQL_U32(args.wide, entry / 32u) >> entry % 32u & 1u) != 0u;
	cached_at = NOWHERE;
}

bool tested(uint entry, uint op, uint a, uint b)
{
	uint i = entry % RQL_TEXT_TILE;
	if (op == RQL_TEXT_LIKE && b != 0u && (held[(b - 1u) * TILE_WORDS + i / 32u] >> i % 32u & 1u) == 0u)
		return false;
	switch (op) {
	case RQL_TEXT_LIKE:
		return matches(a);
	case RQL_TEXT_BYTES:
		return (order_of(text_end - text_from, b) & a) != 0u;
	case RQL_TEXT_CHARACTERS:
		return (order_of(characters(), b) & a) != 0u;
	case RQL_TEXT_COMPARE:
		return (order_with(b) & a) != 0u;
	default:
		return a != 0u;
	}
}

bool run(uint entry)
{
	uint truths = 0u; // the last one is bit 0
	for (uint s = 0u; s < args.steps; s++) {
		uint at = args.steps_at + s * RQL_TEXT_STEP_WORDS, op = word(at), a = word(at + 1u), b = word(at + 2u);
		switch (op) {
		case RQL_TEXT_WHOLE:
			take_whole(entry);
			break;
		case RQL_TEXT_SLICE:
			text_from = behind_characters(text_from, a);
			text_end = behind_characters(text_from, b);
			break;
		case RQL_TEXT_SMALL:
		case RQL_TEXT_CAPITAL:
			text_case = op;
			break;
		case RQL_TEXT_NOT:
			truths ^= 1u;
			break;
		case RQL_TEXT_AND:
			truths = truths >> 1 & (truths | ~1u);
			break;
		case RQL_TEXT_OR:
			truths = truths >> 1 | truths & 1u;
			break;
		default:
			truths = truths << 1 | (tested(entry, op, a, b) ? 1u : 0u);
		}
	}
	return (truths & 1u) != 0u;
}

void main()
{
	uint64_t first64 = rql_group() * RQL_TEXT_TILE;
	if (first64 >= args.count)
		return;
	uint first = uint(first64), end = min(first + RQL_TEXT_TILE, args.count), t = gl_LocalInvocationIndex;
	for (uint i = t; i < RQL_TEXT_SEARCHES * TILE_WORDS; i += RQL_TEXT_THREADS)
		held[i] = 0u;
	if (t < TILE_WORDS)
		passed[t] = 0u;
	barrier();
	for (uint k = 0u; k < args.searches; k++)
		look_through(search_of(k), k, first, end);
	barrier();
	for (uint entry = first + t; entry < end; entry += RQL_TEXT_THREADS)
		if (run(entry))
			atomicOr(passed[(entry - first) / 32u], 1u << (entry - first) % 32u);
	barrier();
	if (t < TILE_WORDS)
		RQL_U32(args.set, first / 32u + t) = passed[t];
}
