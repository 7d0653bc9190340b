/* The words of `hits`, and URLs, titles and search phrases made from them. */
#include "gen/hits_text.h"

#include <string.h>

static const char *const words[] = {
	"новости",  "погода",  "купить", "скачать",    "бесплатно", "онлайн",  "фото",    "видео",    "работа",
	"квартиры", "отзывы",  "цена",   "москва",     "игры",      "музыка",  "рецепты", "авто",     "форум",
	"смотреть", "фильмы",  "карта",  "расписание", "магазин",   "одежда",  "ремонт",  "билеты",   "отдых",
	"телефон",  "детские", "кухня",  "недорого",   "своими",    "руками",  "продажа", "аренда",   "услуги",
	"доставка", "каталог", "сериал", "серия",      "сезон",     "торрент", "реферат", "гороскоп", "здоровье",
	"стихи",    "песни",   "диета",  "windows",    "android",   "samsung", "nokia",   "iphone",   "driver",
	"news",     "hotel",   "shop",   "forum",      "game",      "photo",
};
static const char *const latin[] = {
	"news", "auto", "shop",  "forum",  "photo",  "video", "catalog", "search", "item", "topic",
	"user", "page", "index", "view",   "list",   "tag",   "archive", "offer",  "job",  "map",
	"game", "film", "music", "recipe", "travel", "kino",  "foto",    "tovar",
};
static const char *const syllables[] = {"ba", "ko",  "lin", "mar", "vo",  "ter", "sa",  "dom",
                                        "ru", "net", "gor", "pol", "mir", "zak", "tel", "fin"};
static const char *const tlds[] = {"ru", "com", "net", "ua", "org", "by", "kz", "info"};
#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

static uint32_t put(char *out, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	memcpy(out, text, length);
	return length;
}

static uint32_t put_number(char *out, uint64_t number)
{
	char digits[20];
	uint32_t n = 0;
	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	for (uint32_t i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

/* ---- addresses ---- */

static uint32_t put_host(char *out, uint32_t site)
{
	uint64_t random = rql_random_mix(site + 77);
	if (site == 301) /* 0.03 % of the rows: Google itself is a small site in this data set */
		return put(out, "www.google.ru");
	uint32_t n = rql_random_take(&random, 3) == 0 ? put(out, "www.") : 0;
	for (uint64_t i = 2 + rql_random_take(&random, 3); i > 0; i--)
		n += put(out + n, syllables[rql_random_take(&random, COUNT(syllables))]);
	if (site >= 256)
		n += put_number(out + n, site % 97);
	out[n++] = '.';
	return n + put(out + n, tlds[rql_random_rank(&random, COUNT(tlds))]);
}

uint32_t rql_hits_text_url(char *out, uint64_t page)
{
	uint64_t random = rql_random_mix(page + 1234567);
	uint32_t n = put(out, rql_random_take(&random, 20) ? "http://" : "https://");
	n += put_host(out + n, rql_hits_site(page));
	out[n++] = '/';
	if (page < (uint64_t)RQL_HITS_COUNTERS * RQL_HITS_SITE_PAGES && page % RQL_HITS_SITE_PAGES == 0)
		return n;
	for (uint64_t i = 1 + rql_random_take(&random, 3); i > 0; i--) {
		n += put(out + n, latin[rql_random_take(&random, COUNT(latin))]);
		out[n++] = '/';
	}
	n += put(out + n, latin[rql_random_take(&random, COUNT(latin))]);
	n += put_number(out + n, page & 0xfffffff);
	n += put(out + n, rql_random_take(&random, 3) ? ".html" : ".php");
	if (rql_random_take(&random, 4) == 0) {
		n += put(out + n, "?id=");
		n += put_number(out + n, random >> 40);
		n += put(out + n, rql_random_take(&random, 128) ? "&lang=ru&sort=price" : "&from=google&ref=cpc");
	}
	return n;
}

uint32_t rql_hits_text_referer(char *out, const struct rql_hit *hit)
{
	if (hit->referer == RQL_HITS_NONE)
		return 0;
	if (hit->referer == RQL_HITS_SPECIAL_REFERER)
		return put(out, "http://yandex.ru/");
	if (hit->phrase == RQL_HITS_NONE)
		return rql_hits_text_url(out, hit->referer);
	uint32_t n =
		put(out, hit->search_engine == 3 ? "http://www.google.ru/search?q=" : "http://yandex.ru/yandsearch?text=");
	return n + rql_hits_text_phrase(out + n, hit->phrase);
}

uint32_t rql_hits_text_original(char *out, const struct rql_hit *hit)
{
	if (!rql_hits_chance(hit->hit_bits, 920, 200000))
		return 0;
	uint32_t n = rql_hits_text_url(out, hit->page);
	return n + put(out + n, "#top");
}

/* ---- words ---- */

static uint32_t put_words(char *out, uint64_t random, uint64_t count)
{
	uint32_t n = 0;
	for (uint64_t i = 0; i < count; i++) {
		if (i)
			out[n++] = ' ';
		if (rql_random_take(&random, 4) == 0) { /* a rarer word */
			for (unsigned k = 0; k < 3; k++)
				n += put(out + n, syllables[rql_random_take(&random, COUNT(syllables))]);
		} else {
			n += put(out + n, words[rql_random_rank(&random, COUNT(words))]);
		}
		random = rql_random_mix(random + i);
	}
	return n;
}

uint32_t rql_hits_text_title(char *out, uint64_t page)
{
	uint64_t random = rql_random_mix(page + 7654321);
	if (rql_random_take(&random, 10) == 0)
		return 0;
	uint32_t n = put_words(out, random, 2 + rql_random_take(&random, 6));
	if (rql_random_take(&random, 1024) == 0)
		n += put(out + n, " - Google");
	n += put(out + n, " — ");
	return n + put_host(out + n, rql_hits_site(page));
}

uint32_t rql_hits_text_phrase(char *out, uint64_t phrase)
{
	if (phrase == RQL_HITS_NONE)
		return 0;
	uint64_t random = rql_random_mix(phrase + 31);
	uint32_t n = put_words(out, random, 1 + rql_random_take(&random, 4));
	if (phrase >= 1000000 && rql_random_take(&random, 2) == 0) { /* keeps most phrases of the tail apart */
		out[n++] = ' ';
		n += put_number(out + n, phrase % 100000);
	}
	return n;
}

/* ---- small lists ---- */

static uint32_t put_listed(char *out, const char *const *list, uint32_t count, uint32_t rank)
{
	return put(out, list[rank % count]);
}

uint32_t rql_hits_text_phone_model(char *out, uint32_t rank)
{
	static const char *const models[] = {"iPad", "iPhone",  "GT-I9300",   "A500",
	                                     "N8",   "Nexus 7", "HTC Desire", "LG Optimus"};
	if (rank < COUNT(models))
		return put(out, models[rank]);
	uint32_t n = put(out, rank % 2 ? "GT-" : "Lumia ");
	return n + put_number(out + n, 100 + rank * 10);
}

uint32_t rql_hits_text_version(char *out, uint32_t number)
{
	uint32_t n = put_number(out, number / 10);
	out[n++] = '.';
	return n + put_number(out + n, number % 10);
}

uint32_t rql_hits_text_language(char *out, uint32_t rank)
{
	static const char *const languages[] = {"ru", "en", "uk", "be", "kk", "de", "tr", "fr",
	                                        "es", "pl", "it", "zh", "az", "hy", "ka"};
	return put_listed(out, languages, COUNT(languages), rank);
}

uint32_t rql_hits_text_country(char *out, uint32_t rank)
{
	static const char *const countries[] = {"RU", "UA", "BY", "KZ", "US", "DE", "TR", "IL",
	                                        "LV", "LT", "EE", "MD", "AZ", "GB", "FR"};
	return put_listed(out, countries, COUNT(countries), rank);
}

uint32_t rql_hits_text_charset(char *out, uint32_t rank)
{
	static const char *const charsets[] = {"utf-8", "windows", "koi8-r", ""};
	return put_listed(out, charsets, COUNT(charsets), rank);
}

uint32_t rql_hits_text_tag(char *out, uint64_t bits, uint32_t tag, uint32_t per_million, uint32_t n)
{
	if (!rql_hits_chance(bits, tag, per_million))
		return 0;
	uint64_t random = rql_random_mix(bits + tag);
	uint64_t rank = rql_random_rank(&random, n);
	uint32_t length = put(out, latin[(rank + tag) % COUNT(latin)]);
	out[length++] = '_';
	return length + put_number(out + length, rank);
}
