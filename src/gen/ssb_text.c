/* The lists of words, the texts of attributes, and the benchmark's calendar. */
#include "gen/ssb_text.h"

static const char *const regions[] = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};
static const struct {
	const char *name;
	uint8_t number; /* TPC-H's N_NATIONKEY: phone numbers begin with it + 10 */
} nations[5][5] = {
	{{"ALGERIA", 0}, {"ETHIOPIA", 5}, {"KENYA", 14}, {"MOROCCO", 15}, {"MOZAMBIQUE", 16}},
	{{"ARGENTINA", 1}, {"BRAZIL", 2}, {"CANADA", 3}, {"PERU", 17}, {"UNITED STATES", 24}},
	{{"CHINA", 18}, {"INDIA", 8}, {"INDONESIA", 9}, {"JAPAN", 12}, {"VIETNAM", 21}},
	{{"FRANCE", 6}, {"GERMANY", 7}, {"ROMANIA", 19}, {"RUSSIA", 22}, {"UNITED KINGDOM", 23}},
	{{"EGYPT", 4}, {"IRAN", 10}, {"IRAQ", 11}, {"JORDAN", 13}, {"SAUDI ARABIA", 20}},
};
static const char *const segments[] = {"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"};
static const char *const priorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
static const char *const modes[] = {"AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"};
static const char *const colors[] = {
	"almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched", "blue", "blush", "brown",
	"burlywood", "burnished", "chartreuse", "chiffon", "chocolate", "coral", "cornflower", "cornsilk", "cream",
	"cyan", "dark", "deep", "dim", "dodger", "drab", "firebrick", "floral", "forest", "frosted", "gainsboro",
	"ghost", "goldenrod", "green", "grey", "honeydew", "hot", "indian", "ivory", "khaki", "lace", "lavender", "lawn",
	"lemon", "light", "lime", "linen", "magenta", "maroon", "medium", "metallic", "midnight", "mint", "misty",
	"moccasin", "navajo", "navy", "olive", "orange", "orchid", "pale", "papaya", "peach", "peru", "pink", "plum",
	"powder", "puff", "purple", "red", "rose", "rosy", "royal", "saddle", "salmon", "sandy", "seashell", "sienna",
	"sky", "slate", "smoke", "snow", "spring", "steel", "tan", "thistle", "tomato", "turquoise", "violet", "wheat",
	"white", "yellow",
};
_Static_assert(sizeof colors / sizeof *colors == 92, "rql_ssb_part draws one of 92");
static const char *const type_sizes[] = {"ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD"};
static const char *const type_finishes[] = {"ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED"};
static const char *const type_metals[] = {"BRASS", "COPPER", "NICKEL", "STEEL", "TIN"};
static const char *const container_sizes[] = {"JUMBO", "LG", "MED", "SM", "WRAP"};
static const char *const container_kinds[] = {"BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG"};
static const char *const month_names[] = {"January", "February", "March", "April", "May", "June", "July", "August",
	"September", "October", "November", "December"};
static const char *const weekdays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

static uint32_t put(char *out, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	memcpy(out, text, length);
	return length;
}

/* `number` in exactly `digits` digits */
static uint32_t put_digits(char *out, uint32_t number, uint32_t digits)
{
	for (uint32_t i = digits; i-- > 0; number /= 10)
		out[i] = (char)('0' + number % 10);
	return digits;
}

/* ---- customers and suppliers ---- */

uint32_t rql_ssb_text_name(char *out, const char *kind, uint32_t key)
{
	uint32_t n = put(out, kind);
	out[n++] = '#';
	return n + put_digits(out + n, key, 9);
}

uint32_t rql_ssb_text_address(char *out, const struct rql_ssb *ssb, enum rql_ssb_stream stream, uint32_t key)
{
	static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz, ";
	_Static_assert(sizeof letters == 64 + 1, "6 bits choose a letter");
	uint64_t random = rql_ssb_random(ssb, stream, (uint64_t)key * 4);
	uint32_t length = 10 + rql_ssb_take(&random, 16);
	for (uint32_t i = 0; i < length; i++) {
		if (i % 10 == 0)
			random = rql_ssb_random(ssb, stream, (uint64_t)key * 4 + 1 + i / 10);
		out[i] = letters[random >> (i % 10 * 6) & 63];
	}
	return length;
}

uint32_t rql_ssb_text_city(char *out, const struct rql_ssb_party *party)
{
	const char *nation = nations[party->region][party->nation].name;
	size_t length = strnlen(nation, 9);
	memset(out, ' ', 9);
	memcpy(out, nation, length);
	out[9] = (char)('0' + party->city);
	return 10;
}

uint32_t rql_ssb_text_nation(char *out, const struct rql_ssb_party *party)
{
	return put(out, nations[party->region][party->nation].name);
}

uint32_t rql_ssb_text_region(char *out, const struct rql_ssb_party *party)
{
	return put(out, regions[party->region]);
}

uint32_t rql_ssb_text_phone(char *out, const struct rql_ssb *ssb, enum rql_ssb_stream stream,
                            const struct rql_ssb_party *party)
{
	/* Addresses count up from 0, phones down from 2^64. */
	uint64_t random = rql_ssb_random(ssb, stream, ~(uint64_t)party->key);
	put_digits(out, 10u + nations[party->region][party->nation].number, 2);
	out[2] = '-';
	put_digits(out + 3, 100 + rql_ssb_take(&random, 900), 3);
	out[6] = '-';
	put_digits(out + 7, 100 + rql_ssb_take(&random, 900), 3);
	out[10] = '-';
	put_digits(out + 11, 1000 + rql_ssb_take(&random, 9000), 4);
	return 15;
}

uint32_t rql_ssb_text_segment(char *out, uint32_t segment)
{
	return put(out, segments[segment]);
}

/* ---- orders ---- */

uint32_t rql_ssb_text_priority(char *out, uint32_t priority)
{
	return put(out, priorities[priority]);
}

uint32_t rql_ssb_text_mode(char *out, uint32_t mode)
{
	return put(out, modes[mode]);
}

/* ---- parts ---- */

uint32_t rql_ssb_text_part_name(char *out, const struct rql_ssb_part_row *part)
{
	uint32_t n = put(out, colors[part->color]);
	out[n++] = ' ';
	return n + put(out + n, colors[part->second_color]);
}

uint32_t rql_ssb_text_color(char *out, const struct rql_ssb_part_row *part)
{
	return put(out, colors[part->color]);
}

uint32_t rql_ssb_text_mfgr(char *out, const struct rql_ssb_part_row *part)
{
	memcpy(out, "MFGR#", 5);
	out[5] = (char)('0' + part->manufacturer);
	return 6;
}

uint32_t rql_ssb_text_category(char *out, const struct rql_ssb_part_row *part)
{
	uint32_t n = rql_ssb_text_mfgr(out, part);
	out[n] = (char)('0' + part->category);
	return n + 1;
}

uint32_t rql_ssb_text_brand(char *out, const struct rql_ssb_part_row *part)
{
	uint32_t n = rql_ssb_text_category(out, part);
	return n + put_digits(out + n, part->brand, part->brand < 10 ? 1 : 2);
}

uint32_t rql_ssb_text_type(char *out, const struct rql_ssb_part_row *part)
{
	uint32_t n = put(out, type_sizes[part->type / 25]);
	out[n++] = ' ';
	n += put(out + n, type_finishes[part->type / 5 % 5]);
	out[n++] = ' ';
	return n + put(out + n, type_metals[part->type % 5]);
}

uint32_t rql_ssb_text_container(char *out, const struct rql_ssb_part_row *part)
{
	uint32_t n = put(out, container_sizes[part->container / 8]);
	out[n++] = ' ';
	return n + put(out + n, container_kinds[part->container % 8]);
}

/* ---- dates ---- */

static bool is_leap(int32_t year)
{
	return year % 4 == 0; /* 1901 to 2099 */
}

/* Counts on from 1992-01-01, a Wednesday: the benchmark has seven years. */
struct rql_ssb_day rql_ssb_day_of(int32_t day)
{
	static const uint8_t month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct rql_ssb_day out = {.day = day, .year = 1992};
	int32_t rest = day - RQL_SSB_FIRST_DAY;
	out.weekday = (uint8_t)((rest + 3) % 7 + 1);
	for (int32_t length; rest >= (length = 365 + is_leap(out.year)); out.year++)
		rest -= length;
	out.day_of_year = (uint16_t)(rest + 1);
	for (unsigned m = 0; m < 12; m++) {
		int32_t length = month_days[m] + (m == 1 && is_leap(out.year));
		if (rest < length) {
			out.month = (uint8_t)(m + 1);
			out.day_of_month = (uint8_t)(rest + 1);
			out.last_of_month = rest + 1 == length;
			break;
		}
		rest -= length;
	}
	return out;
}

int32_t rql_ssb_day_key(int32_t day)
{
	struct rql_ssb_day d = rql_ssb_day_of(day);
	return d.year * 10000 + d.month * 100 + d.day_of_month;
}

uint32_t rql_ssb_text_weekday(char *out, const struct rql_ssb_day *day)
{
	return put(out, weekdays[day->weekday - 1]);
}

uint32_t rql_ssb_text_month(char *out, const struct rql_ssb_day *day)
{
	return put(out, month_names[day->month - 1]);
}

uint32_t rql_ssb_text_date(char *out, const struct rql_ssb_day *day)
{
	uint32_t n = rql_ssb_text_month(out, day);
	out[n++] = ' ';
	n += put_digits(out + n, day->day_of_month, day->day_of_month < 10 ? 1 : 2);
	out[n++] = ',';
	out[n++] = ' ';
	return n + put_digits(out + n, (uint32_t)day->year, 4);
}

uint32_t rql_ssb_text_year_month(char *out, const struct rql_ssb_day *day)
{
	memcpy(out, month_names[day->month - 1], 3);
	return 3 + put_digits(out + 3, (uint32_t)day->year, 4);
}

uint32_t rql_ssb_text_season(char *out, const struct rql_ssb_day *day)
{
	/* The specification gives "Christmas" as an example and no rule. */
	static const char *const seasons[12] = {"Winter", "Winter", "Winter", "Spring", "Spring",    "Summer",
	                                        "Summer", "Summer", "Fall",   "Fall",   "Christmas", "Christmas"};
	return put(out, seasons[day->month - 1]);
}

bool rql_ssb_is_holiday(const struct rql_ssb_day *day)
{
	static const uint16_t holidays[] = {101, 214, 501, 704, 1031, 1111, 1224, 1225, 1231};
	for (unsigned i = 0; i < sizeof holidays / sizeof *holidays; i++)
		if (holidays[i] == day->month * 100 + day->day_of_month)
			return true;
	return false;
}
