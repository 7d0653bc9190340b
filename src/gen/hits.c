/* The columns of `hits`: how each is written from the rows that hits_row.c makes. */
#include "gen/hits.h"

#include "gen/hits_row.h"
#include "gen/hits_text.h"

#define HITS_CHUNK 256u /* rows made before they become columns: a buffer that stays in the first cache */

struct fill {
	const struct rql_hits *hits;
	const struct rql_hit *rows;
	struct rql_batch *out;
	uint32_t first, count; /* rows of out */
	rql_gen_put_fn *put;
};

/* DRAW and CHANCE: uniform in [0, n), and 1 in `p` of a million rows. V, U: the same value in all rows of a visit or
 * of a user. Tags are unique, so that columns are independent. */
#define DRAW(tag, n) rql_hits_draw(h->hit_bits, tag, n)
#define CHANCE(tag, p) rql_hits_chance(h->hit_bits, tag, p)
#define V_DRAW(tag, n) rql_hits_draw(h->visit_bits, tag, n)
#define U_DRAW(tag, n) rql_hits_draw(h->user_bits, tag, n)
#define U_CHANCE(tag, p) rql_hits_chance(h->user_bits, tag, p)
#define U_RANK(tag, n) rank_of(h->user_bits, tag, n)
#define TIMING(tag) (CHANCE(tag, 400000) ? (int32_t)rank_of(h->hit_bits, tag + 500, 30000) : 0)
#define TAG(tag, p, n) rql_hits_text_tag(t, h->visit_bits, tag, p, n)
#define DAY_SECONDS 86400

static uint32_t rank_of(uint64_t bits, uint32_t tag, uint32_t n)
{
	uint64_t random = rql_random_mix(bits + tag * RQL_RANDOM_GOLDEN);
	return (uint32_t)rql_random_rank(&random, n);
}

static uint32_t width_of(const struct rql_hit *h)
{
	static const uint16_t widths[] = {1366, 1280, 1024, 1920, 1440, 1600, 1680, 768, 320, 0, 1152, 1360, 800, 2560};
	return widths[U_RANK(10, sizeof widths / sizeof *widths)];
}

static int32_t region_of(const struct rql_hit *h)
{
	uint32_t rank = U_RANK(11, 9040);
	return rank == 0 ? 229 : rank == 1 ? 2 : (int32_t)(3 + (rank * 7u) % 70000);
}

/* ---- the columns: one line each, in the order of the public schema. SMALL: SMALLINT; INT: INTEGER; BIG: BIGINT;
 * TIME: TIMESTAMP in seconds; DAY: DATE; TEXT(name, length of the text written to t): VARCHAR ---- */
#define HITS_COLUMNS(SMALL, INT, BIG, TIME, DAY, TEXT)                                                                 \
	BIG(WatchID, (int64_t)(h->hit_bits >> 1))                                                                          \
	SMALL(JavaEnable, U_CHANCE(20, 600000))                                                                            \
	TEXT(Title, rql_hits_text_title(t, h->page))                                                                       \
	SMALL(GoodEvent, 1)                                                                                                \
	TIME(EventTime, h->time)                                                                                           \
	DAY(EventDate, h->time / DAY_SECONDS)                                                                              \
	INT(CounterID, rql_hits_counter_id(h->counter))                                                                    \
	INT(ClientIP, rql_random_mix(h->user % hits->addresses + 3))                                                       \
	INT(RegionID, region_of(h))                                                                                        \
	BIG(UserID, rql_hits_user_id(hits, h->user))                                                                       \
	SMALL(CounterClass, h->counter % 9 == 0 ? -1 : (int)(h->counter % 3))                                              \
	SMALL(OS, h->is_mobile ? 100 + U_DRAW(21, 8) : U_RANK(22, 60))                                                     \
	SMALL(UserAgent, U_RANK(23, 80))                                                                                   \
	TEXT(URL, rql_hits_text_url(t, h->page))                                                                           \
	TEXT(Referer, rql_hits_text_referer(t, h))                                                                         \
	SMALL(IsRefresh, CHANCE(24, 140000))                                                                               \
	SMALL(RefererCategoryID, CHANCE(25, 300000) ? 1 + rank_of(h->hit_bits, 26, 160) * 97 : 0)                          \
	INT(RefererRegionID, CHANCE(27, 400000) ? rank_of(h->hit_bits, 28, 4000) : 0)                                      \
	SMALL(URLCategoryID, h->counter % 2 ? h->counter * 13 % 16000 : 0)                                                 \
	INT(URLRegionID, h->counter % 3 ? h->counter * 5 % 12000 : 0)                                                      \
	SMALL(ResolutionWidth, width_of(h))                                                                                \
	SMALL(ResolutionHeight, width_of(h) * (2 + U_DRAW(30, 2)) / 4)                                                     \
	SMALL(ResolutionDepth, U_CHANCE(31, 800000) ? 32 : 24)                                                             \
	SMALL(FlashMajor, U_CHANCE(32, 800000) ? 11 : U_DRAW(33, 12))                                                      \
	SMALL(FlashMinor, U_RANK(34, 10))                                                                                  \
	TEXT(FlashMinor2, rql_hits_text_version(t, U_RANK(35, 300)))                                                       \
	SMALL(NetMajor, U_RANK(36, 5))                                                                                     \
	SMALL(NetMinor, U_DRAW(37, 10))                                                                                    \
	SMALL(UserAgentMajor, U_RANK(38, 60))                                                                              \
	TEXT(UserAgentMinor, rql_hits_text_version(t, U_RANK(39, 90)))                                                     \
	SMALL(CookieEnable, U_CHANCE(40, 970000))                                                                          \
	SMALL(JavascriptEnable, U_CHANCE(41, 990000))                                                                      \
	SMALL(IsMobile, h->is_mobile)                                                                                      \
	SMALL(MobilePhone, h->is_mobile ? 1 + U_RANK(42, 80) : 0)                                                          \
	TEXT(MobilePhoneModel, h->is_mobile ? rql_hits_text_phone_model(t, U_RANK(43, 160)) : 0)                           \
	TEXT(Params, TAG(44, 150000, 900))                                                                                 \
	INT(IPNetworkID, U_RANK(45, 60000) * 61)                                                                           \
	SMALL(TraficSourceID, h->traffic)                                                                                  \
	SMALL(SearchEngineID, h->search_engine)                                                                            \
	TEXT(SearchPhrase, rql_hits_text_phrase(t, h->phrase))                                                             \
	SMALL(AdvEngineID, h->adv_engine)                                                                                  \
	SMALL(IsArtifical, CHANCE(46, 6000))                                                                               \
	SMALL(WindowClientWidth, width_of(h) * (8 + U_DRAW(47, 8)) / 16)                                                   \
	SMALL(WindowClientHeight, width_of(h) * (4 + U_DRAW(48, 60)) / 128)                                                \
	SMALL(ClientTimeZone, U_CHANCE(49, 700000) ? 135 : (int32_t)U_DRAW(50, 24) * 60 - 720)                             \
	TIME(ClientEventTime, h->time + U_DRAW(51, 7200) - 3600)                                                           \
	SMALL(SilverlightVersion1, U_CHANCE(52, 300000) * 5)                                                               \
	SMALL(SilverlightVersion2, U_DRAW(53, 2))                                                                          \
	INT(SilverlightVersion3, U_CHANCE(52, 300000) * 20125)                                                             \
	SMALL(SilverlightVersion4, 0)                                                                                      \
	TEXT(PageCharset, rql_hits_text_charset(t, h->counter))                                                            \
	INT(CodeVersion, 100 + h->counter % 700)                                                                           \
	SMALL(IsLink, CHANCE(54, 20000))                                                                                   \
	SMALL(IsDownload, CHANCE(55, 2000))                                                                                \
	SMALL(IsNotBounce, V_DRAW(56, 4) == 0)                                                                             \
	BIG(FUniqID, U_CHANCE(57, 700000) ? (int64_t)(rql_random_mix(h->user_bits) >> 1) : 0)                              \
	TEXT(OriginalURL, rql_hits_text_original(t, h))                                                                    \
	INT(HID, rql_random_mix(h->hit_bits))                                                                              \
	SMALL(IsOldCounter, 0)                                                                                             \
	SMALL(IsEvent, CHANCE(58, 30000))                                                                                  \
	SMALL(IsParameter, CHANCE(59, 10000))                                                                              \
	SMALL(DontCountHits, CHANCE(60, 30000))                                                                            \
	SMALL(WithHash, CHANCE(61, 20000))                                                                                 \
	TEXT(HitColor, (*t = "FEDC5"[rank_of(h->hit_bits, 62, 5)], 1u))                                                    \
	TIME(LocalEventTime, h->time + U_DRAW(63, 5) * 3600)                                                               \
	SMALL(Age, U_CHANCE(64, 400000) ? 16 + U_DRAW(65, 45) : 0)                                                         \
	SMALL(Sex, U_DRAW(66, 3))                                                                                          \
	SMALL(Income, U_DRAW(67, 4))                                                                                       \
	SMALL(Interests, U_RANK(68, 16384))                                                                                \
	SMALL(Robotness, U_RANK(69, 50))                                                                                   \
	INT(RemoteIP, rql_random_mix(h->user % hits->addresses + 5))                                                       \
	INT(WindowName, CHANCE(70, 500000) ? rql_random_mix(h->visit_bits) : 0xffffffffu)                                  \
	INT(OpenerName, CHANCE(71, 200000) ? rql_random_mix(h->visit_bits + 1) : 0xffffffffu)                              \
	SMALL(HistoryLength, rank_of(h->hit_bits, 72, 50))                                                                 \
	TEXT(BrowserLanguage, rql_hits_text_language(t, U_RANK(73, 15)))                                                   \
	TEXT(BrowserCountry, rql_hits_text_country(t, U_RANK(74, 15)))                                                     \
	TEXT(SocialNetwork, TAG(75, 1000, 12))                                                                             \
	TEXT(SocialAction, TAG(76, 1000, 4))                                                                               \
	SMALL(HTTPError, CHANCE(77, 1000) * 404)                                                                           \
	INT(SendTiming, TIMING(78))                                                                                        \
	INT(DNSTiming, TIMING(79))                                                                                         \
	INT(ConnectTiming, TIMING(80))                                                                                     \
	INT(ResponseStartTiming, TIMING(81))                                                                               \
	INT(ResponseEndTiming, TIMING(82))                                                                                 \
	INT(FetchTiming, TIMING(83))                                                                                       \
	SMALL(SocialSourceNetworkID, CHANCE(84, 10000) ? 1 + rank_of(h->hit_bits, 85, 12) : 0)                             \
	TEXT(SocialSourcePage, TAG(86, 5000, 4000))                                                                        \
	BIG(ParamPrice, CHANCE(87, 1000) ? 100 * (int64_t)rank_of(h->hit_bits, 88, 100000) : 0)                            \
	TEXT(ParamOrderID, TAG(89, 500, 100000))                                                                           \
	TEXT(ParamCurrency, CHANCE(104, 1000) ? (memcpy(t, "RUB", 3), 3u) : 0)                                             \
	SMALL(ParamCurrencyID, CHANCE(90, 1000))                                                                           \
	TEXT(OpenstatServiceName, TAG(91, 8000, 8))                                                                        \
	TEXT(OpenstatCampaignID, TAG(92, 8000, 500))                                                                       \
	TEXT(OpenstatAdID, TAG(93, 8000, 2000))                                                                            \
	TEXT(OpenstatSourceID, TAG(94, 8000, 300))                                                                         \
	TEXT(UTMSource, TAG(95, 50000, 60))                                                                                \
	TEXT(UTMMedium, TAG(96, 50000, 12))                                                                                \
	TEXT(UTMCampaign, TAG(97, 50000, 900))                                                                             \
	TEXT(UTMContent, TAG(98, 20000, 2000))                                                                             \
	TEXT(UTMTerm, TAG(99, 10000, 5000))                                                                                \
	TEXT(FromTag, TAG(100, 20000, 300))                                                                                \
	SMALL(HasGCLID, CHANCE(101, 10000))                                                                                \
	BIG(RefererHash, rql_hits_referer_hash(h->referer))                                                                \
	BIG(URLHash, rql_hits_page_hash(h->page))                                                                          \
	INT(CLID, CHANCE(102, 100000) ? rank_of(h->hit_bits, 103, 9000) : 0)

/* ---- one function per column ---- */

#define WITH_ROW                                                                                                       \
	const struct rql_hits *hits = f->hits;                                                                             \
	const struct rql_hit *h = &f->rows[i];                                                                             \
	(void)hits, (void)h

#define WRITER(name, ctype, value)                                                                                     \
	static void write_##name(const struct fill *f, uint32_t column)                                                    \
	{                                                                                                                  \
		ctype *to = (ctype *)f->out->columns[column].data + f->first;                                                  \
		for (uint32_t i = 0; i < f->count; i++) {                                                                      \
			WITH_ROW;                                                                                                  \
			to[i] = (ctype)(value);                                                                                    \
		}                                                                                                              \
	}
#define SMALL_WRITER(name, value) WRITER(name, int16_t, value)
#define INT_WRITER(name, value) WRITER(name, int32_t, value)
#define BIG_WRITER(name, value) WRITER(name, int64_t, value)
#define TIME_WRITER(name, value) WRITER(name, int64_t, (value)*1000000)

#define TEXT_WRITER(name, make)                                                                                        \
	static void write_##name(const struct fill *f, uint32_t column)                                                    \
	{                                                                                                                  \
		char t[RQL_HITS_TEXT];                                                                                         \
		for (uint32_t i = 0; i < f->count; i++) {                                                                      \
			WITH_ROW;                                                                                                  \
			uint32_t length = make;                                                                                    \
			rql_gen_put_text(f->put, f->out, column, f->first + i, t, length);                                         \
		}                                                                                                              \
	}

HITS_COLUMNS(SMALL_WRITER, INT_WRITER, BIG_WRITER, TIME_WRITER, INT_WRITER, TEXT_WRITER)

#define WRITER_OF(name, value) write_##name,
#define SMALL_COLUMN(name, value) {#name, RQL_TYPE_SMALLINT},
#define INT_COLUMN(name, value) {#name, RQL_TYPE_INTEGER},
#define BIG_COLUMN(name, value) {#name, RQL_TYPE_BIGINT},
#define TIME_COLUMN(name, value) {#name, RQL_TYPE_TIMESTAMP},
#define DAY_COLUMN(name, value) {#name, RQL_TYPE_DATE},
#define TEXT_COLUMN(name, value) {#name, RQL_TYPE_VARCHAR},

static void (*const writers[])(const struct fill *f, uint32_t column) = {
	HITS_COLUMNS(WRITER_OF, WRITER_OF, WRITER_OF, WRITER_OF, WRITER_OF, WRITER_OF)};
static const struct rql_gen_column columns[] = {
	HITS_COLUMNS(SMALL_COLUMN, INT_COLUMN, BIG_COLUMN, TIME_COLUMN, DAY_COLUMN, TEXT_COLUMN)};
#define COLUMN_COUNT (sizeof columns / sizeof *columns)
_Static_assert(COLUMN_COUNT == 105, "the public schema's columns");

const struct rql_gen_column *rql_hits_columns(uint32_t *count)
{
	*count = COLUMN_COUNT;
	return columns;
}

void rql_hits_fill(const struct rql_hits *hits, uint64_t first, uint32_t count, struct rql_batch *out,
                   rql_gen_put_fn *put)
{
	struct rql_hit rows[HITS_CHUNK];
	for (uint32_t done = 0; done < count;) {
		uint32_t n = count - done < HITS_CHUNK ? count - done : HITS_CHUNK;
		for (uint32_t i = 0; i < n; i++)
			rql_hits_row(hits, first + done + i, &rows[i]);
		struct fill f = {.hits = hits, .rows = rows, .out = out, .first = done, .count = n, .put = put};
		for (uint32_t column = 0; column < COLUMN_COUNT; column++)
			writers[column](&f, column);
		done += n;
	}
	out->rows = count;
}
