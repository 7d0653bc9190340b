/* Packing and unpacking the rows of a block. Floor, in bytes a block that has some: what its form takes, once written and
 * once read; and its 512 bytes of bits, which are in the first cache. */
#include "method/rows.h"

#include <math.h>
#include <string.h>

#define WORDS RQL_ROWS_BLOCK_WORDS
#define BITMAP_BYTES (WORDS * sizeof(uint64_t))
#define PIECE_BYTES 16384u

const char *rql_rows_form_name(enum rql_rows_form form)
{
	static const char *const names[RQL_ROWS_FORMS] = {
		[RQL_ROWS_BITMAP] = "bitmaps", [RQL_ROWS_LIST] = "lists", [RQL_ROWS_RANGES] = "ranges"};
	return names[form];
}

/* ---- memory ---- */
/* What is left of a piece when a bitmap has no room in it is lost. */
uint64_t rql_rows_room_bytes(uint64_t blocks, unsigned threads)
{
	const uint64_t pieces = blocks * BITMAP_BYTES / (PIECE_BYTES - BITMAP_BYTES) + threads + 1;
	return pieces * PIECE_BYTES;
}

static void *take(struct rql_rows_room *room, struct rql_rows_piece *piece, uint64_t bytes)
{
	bytes = (bytes + 7) / 8 * 8;
	if ((uint64_t)(piece->end - piece->at) < bytes) {
		piece->at = room->bytes + atomic_fetch_add_explicit(&room->used, PIECE_BYTES, memory_order_relaxed);
		piece->end = piece->at + PIECE_BYTES;
	}
	void *at = piece->at;
	piece->at += bytes;
	return at;
}

/* ---- packing ---- */
/* The first rows, up to RQL_ROWS_LIST_MOST + 1. */
static uint32_t first_rows(const uint64_t *bits, uint32_t rows, uint16_t *out)
{
	uint32_t count = 0;
	for (uint32_t w = 0; w < WORDS && count <= RQL_ROWS_LIST_MOST; w++)
		for (uint64_t left = bits[w] & rql_rows_live(rows, w); left && count <= RQL_ROWS_LIST_MOST; left &= left - 1)
			out[count++] = (uint16_t)(w * 64 + (unsigned)__builtin_ctzll(left));
	return count;
}

/* Where bits differ from those before them is an end of a range: up to RQL_ROWS_RANGES_MOST ranges; 0: there are more. */
static uint32_t find_ranges(const uint64_t *bits, uint32_t rows, struct rql_rows_range *out)
{
	uint32_t ends = 0;
	uint64_t before = 0; /* the last bit */
	for (uint32_t w = 0; w < WORDS; w++) {
		const uint64_t word = bits[w] & rql_rows_live(rows, w);
		for (uint64_t left = word ^ (word << 1 | before); left; left &= left - 1, ends++) {
			const uint32_t row = w * 64 + (unsigned)__builtin_ctzll(left);
			if (ends == 2 * RQL_ROWS_RANGES_MOST)
				return 0;
			if (ends % 2)
				out[ends / 2].last = (uint16_t)(row - 1);
			else
				out[ends / 2].first = (uint16_t)row;
		}
		before = word >> 63;
	}
	if (ends % 2)
		out[ends / 2].last = (uint16_t)(rows - 1);
	return (ends + 1) / 2;
}

/* Words with some row, and words with some but not all of 64: at least so many rows there are, and so many ends of ranges.
 * Most blocks need no closer look. */
static uint32_t count_words(const uint64_t *bits, uint32_t rows, uint32_t *mixed)
{
	uint32_t some = 0, parts = 0;
	for (uint32_t w = 0; w < WORDS; w++) {
		const uint64_t word = rows == RQL_STORE_BLOCK ? bits[w] : bits[w] & rql_rows_live(rows, w);
		some += word != 0;
		parts += word + 1 > 1;
	}
	*mixed = parts;
	return some;
}

bool rql_rows_pack(struct rql_rows_room *room, struct rql_rows_piece *piece, const uint64_t *bits, uint32_t rows,
                   struct rql_rows_part *out)
{
	uint16_t list[RQL_ROWS_LIST_MOST + 1];
	struct rql_rows_range ranges[RQL_ROWS_RANGES_MOST];
	uint32_t mixed;
	const uint32_t some = count_words(bits, rows, &mixed);
	if (!some)
		return false;
	const uint32_t listed = some > RQL_ROWS_LIST_MOST ? some : first_rows(bits, rows, list);
	const bool few_ends = listed > RQL_ROWS_LIST_MOST && mixed <= 2 * RQL_ROWS_RANGES_MOST;
	const uint32_t ranged = few_ends ? find_ranges(bits, rows, ranges) : 0;
	const uint64_t bytes = listed <= RQL_ROWS_LIST_MOST ? listed * sizeof(*list)
	                       : ranged                     ? ranged * sizeof(*ranges)
	                                                    : BITMAP_BYTES;
	void *to = take(room, piece, bytes);
	memcpy(to, listed <= RQL_ROWS_LIST_MOST ? (const void *)list : ranged ? (const void *)ranges : bits, bytes);
	if (listed <= RQL_ROWS_LIST_MOST)
		*out = (struct rql_rows_part){.form = RQL_ROWS_LIST, .count = listed, .list = to};
	else if (ranged)
		*out = (struct rql_rows_part){.form = RQL_ROWS_RANGES, .count = ranged, .ranges = to};
	else
		*out = rql_rows_part_of_bits(to);
	return true;
}

void rql_rows_pack_all(struct rql_rows_room *room, struct rql_rows_piece *piece, uint32_t rows,
                       struct rql_rows_part *out)
{
	struct rql_rows_range *to = take(room, piece, sizeof(*to));
	*to = (struct rql_rows_range){0, (uint16_t)(rows - 1)};
	*out = (struct rql_rows_part){.form = RQL_ROWS_RANGES, .count = 1, .ranges = to};
}

/* ---- unpacking ---- */
static void set_range(uint64_t *mask, uint32_t first, uint32_t last)
{
	const uint32_t from = first / 64, to = last / 64;
	const uint64_t low = UINT64_MAX << first % 64, high = UINT64_MAX >> (63 - last % 64);
	if (from == to) {
		mask[from] |= low & high;
		return;
	}
	mask[from] |= low;
	for (uint32_t w = from + 1; w < to; w++)
		mask[w] = UINT64_MAX;
	mask[to] |= high;
}

uint32_t rql_rows_unpack(const struct rql_rows_part *part, uint32_t rows, uint64_t *mask)
{
	uint32_t count = 0;
	if (part->form == RQL_ROWS_BITMAP) {
		for (uint32_t w = 0; w < WORDS; w++)
			mask[w] = part->bits[w] & rql_rows_live(rows, w);
		return UINT32_MAX;
	}
	memset(mask, 0, BITMAP_BYTES);
	for (uint32_t i = 0; i < part->count && part->form == RQL_ROWS_LIST; i++)
		rql_bit_set(mask, part->list[i]);
	if (part->form == RQL_ROWS_LIST)
		return part->count;
	for (uint32_t i = 0; i < part->count; i++) {
		set_range(mask, part->ranges[i].first, part->ranges[i].last);
		count += part->ranges[i].last - part->ranges[i].first + 1u;
	}
	return count;
}

/* ---- sizes ---- */
uint64_t rql_rows_part_bytes(const struct rql_rows_part *part)
{
	return part->form == RQL_ROWS_LIST     ? part->count * sizeof(*part->list)
	       : part->form == RQL_ROWS_RANGES ? part->count * sizeof(*part->ranges)
	                                       : BITMAP_BYTES;
}

enum rql_rows_form rql_rows_form_expected(double share, bool together)
{
	const double each = share * RQL_STORE_BLOCK, some = -expm1(-each);
	if (together)
		return RQL_ROWS_RANGES;
	return some > 0 && each / some > RQL_ROWS_LIST_MOST ? RQL_ROWS_BITMAP : RQL_ROWS_LIST;
}

double rql_rows_bytes_expected(enum rql_rows_form form, double rows, double blocks)
{
	return 2 * (form == RQL_ROWS_BITMAP ? blocks * (double)BITMAP_BYTES
	            : form == RQL_ROWS_LIST ? rows * sizeof(uint16_t)
	                                    : blocks * sizeof(struct rql_rows_range));
}
