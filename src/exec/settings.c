/* RayQL's settings: their names, values and defaults. They are a connection's, but for the two memory limits, the
 * database's; settings_scope.c knows whose value counts. */
#include "exec/exec_internal.h"

#include "method/method.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum setting_kind {
	SETTING_FALLBACK,
	SETTING_DEVICE,
	SETTING_UNIT,
	SETTING_LAYOUT,
	SETTING_TOTALS,
	SETTING_FORCE,
	SETTING_COLUMNS,
	SETTING_TIMING,
	SETTING_MEMORY,
	SETTING_DEVICE_MEMORY,
	SETTING_THREADS,
	SETTING_COUNT
};
static const struct {
	const char *name, *description;
} fixed[SETTING_COUNT] = {
	[SETTING_FALLBACK] = {"rayql_fallback",
                          "What happens to queries that RayQL does not accelerate: 'on' DuckDB answers, "
                          "'notice' it answers and the shell says why, 'off' an error"},
	[SETTING_DEVICE] = {"rayql_device",
                        "The device that methods run on: 'auto' (the CPU and real GPUs), or an id, UUID or "
                        "PCI address of rayql_devices()"},
	[SETTING_UNIT] = {"rayql_unit",
                      "The unit that methods run on: 'auto', 'cpu', 'compute' or 'rt'; outranks what views "
                      "ask for"},
	[SETTING_LAYOUT] = {"rayql_layout", "The layout of structures in a device's memory: 'auto', or a value of a view's "
                                        "option layout, which it outranks"},
	[SETTING_TOTALS] = {"rayql_totals", "How the groups of the unit raster get their totals: 'auto' (the cheaper way), 'atomics' of "
                                        "fragments, or 'limbs' that blend units add"},
	[SETTING_TIMING] = {"rayql_device_timing",
                        "Measure each query's time on the device (rayql_last_query().device_ms)"},
	[SETTING_DEVICE_MEMORY] =
		{"rayql_device_memory_limit",
         "Memory of each GPU that structures may take: 'auto' (80 % of what is free), '8GB', '50%'"},
	[SETTING_FORCE] = {"rayql_force", "Take the best RayQL plan even when DuckDB looks cheaper ('rows': also rows of "
	                                      "indexes and sieves wherever they answer a condition; 'pairs': also joins and "
	                                      "groups of rows in host memory on a GPU wherever one can)"},
	[SETTING_COLUMNS] = {"rayql_auto_columns", "Load the columns that queries use into memory, within rayql_memory_limit"},
	[SETTING_MEMORY] = {"rayql_memory_limit", "Bytes that the structures of the database may take ('8GB', '50%')"},
	[SETTING_THREADS] = {"rayql_threads", "Threads of RayQL's own work; given when the database is opened"},
};

static uint32_t method_count(void)
{
	uint32_t n = 0;
	while (rql_methods()[n])
		n++;
	return n;
}

/* The method of rayql_enable_<method>, or -1. Several units of one family share a name and a switch. */
static bool enables(const char *setting, uint32_t method)
{
	return strncasecmp(setting, "rayql_enable_", 13) == 0 && strcasecmp(setting + 13, rql_methods()[method]->name) == 0;
}

static bool is_method_setting(const char *setting)
{
	for (uint32_t i = 0; i < method_count(); i++)
		if (enables(setting, i))
			return true;
	return false;
}

/* ---- unknown names ---- */
static size_t distance(const char *a, const char *b)
{
	size_t row[64], m = strlen(b);
	if (m >= 63)
		return 64;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t up = row[j], best = diagonal + (strncasecmp(&a[i - 1], &b[j - 1], 1) != 0);
			if (up + 1 < best)
				best = up + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = up;
			row[j] = best;
		}
	}
	return row[m];
}

static rql_status unknown(const char *name, struct rql_error *err)
{
	char best[64] = "";
	size_t least = SIZE_MAX;
	for (uint32_t i = 0; i < SETTING_COUNT + method_count(); i++) {
		char candidate[64];
		if (i < SETTING_COUNT)
			snprintf(candidate, sizeof candidate, "%s", fixed[i].name);
		else
			snprintf(candidate, sizeof candidate, "rayql_enable_%s", rql_methods()[i - SETTING_COUNT]->name);
		size_t d = distance(name, candidate);
		if (d < least) {
			least = d;
			memcpy(best, candidate, sizeof best);
		}
	}
	return rql_error_set(err, RQL_ERROR_STATEMENT,
	                     "Catalog Error: unrecognized configuration parameter \"%s\"\n\nDid you mean: \"%s\"", name,
	                     best);
}

static rql_status bad_value(const char *setting, const char *value, const char *expected, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_STATEMENT,
	                     "Invalid Input Error: Unrecognized parameter for option %s \"%s\", expected %s", setting,
	                     value, expected);
}

/* ---- values ---- */
static bool parse_bool(const char *value, bool *out)
{
	static const char *const yes[] = {"on", "true", "1", "yes", "t"}, *const no[] = {"off", "false", "0", "no", "f"};
	for (size_t i = 0; i < 5; i++) {
		if (strcasecmp(value, yes[i]) == 0 || strcasecmp(value, no[i]) == 0) {
			*out = strcasecmp(value, yes[i]) == 0;
			return true;
		}
	}
	return false;
}

static rql_status set_fallback(struct rql_session *s, const char *value, struct rql_error *err)
{
	static const char *const names[] = {"on", "notice", "off"};
	bool flag;
	for (unsigned i = 0; i < 3; i++) {
		if (strcasecmp(value, names[i]) == 0) {
			s->settings.fallback = (enum rql_fallback)i;
			return RQL_OK;
		}
	}
	if (!parse_bool(value, &flag))
		return bad_value("rayql_fallback", value, "'on', 'notice' or 'off'", err);
	s->settings.fallback = flag ? RQL_FALLBACK_ON : RQL_FALLBACK_OFF;
	return RQL_OK;
}

static rql_status unknown_device(struct rql_session *s, const char *value, struct rql_error *err)
{
	struct rql_strbuf known = {0};
	struct rql_devices *devices = s->db->devices;
	rql_devices_find(devices);
	rql_strbuf_put(&known, "'auto'");
	for (uint32_t i = 0; i < atomic_load(&devices->count); i++) {
		const struct rql_device *d = &devices->device[i];
		rql_strbuf_printf(&known, ", '%s' (%s)", d->id, d->name);
	}
	if (devices->no_gpu)
		rql_strbuf_printf(&known, "; there is no GPU: %s", devices->no_gpu);
	rql_status status = bad_value("rayql_device", value, rql_strbuf_text(&known), err);
	rql_strbuf_free(&known);
	return status;
}

static rql_status set_device(struct rql_session *s, const char *value, struct rql_error *err)
{
	struct rql_device *only = NULL;
	if (strcasecmp(value, "auto") != 0 && !(only = rql_devices_get(s->db->devices, value)))
		return unknown_device(s, value, err);
	s->settings.only = only;
	snprintf(s->settings.device, sizeof s->settings.device, "%s", only ? only->id : "auto");
	return RQL_OK;
}

static rql_status set_unit(struct rql_session *s, const char *value, struct rql_error *err)
{
	if (strcasecmp(value, "auto") == 0) {
		s->settings.unit_forced = false;
		return RQL_OK;
	}
	for (int u = 0; u < RQL_UNIT_COUNT; u++) {
		if (strcasecmp(value, rql_unit_name((enum rql_unit)u)) != 0)
			continue;
		s->settings.unit_forced = true;
		s->settings.unit = (enum rql_unit)u;
		return RQL_OK;
	}
	return bad_value("rayql_unit", value, "'auto', 'cpu', 'compute', 'rt' or 'raster'", err);
}

static rql_status set_layout(struct rql_session *s, const char *value, struct rql_error *err)
{
	char lower[sizeof s->settings.layout];
	size_t length = strlen(value);
	bool automatic = strcasecmp(value, "auto") == 0;
	for (size_t i = 0; i <= length && length < sizeof lower; i++) /* as WITH (layout = ...) does */
		lower[i] = (char)tolower((unsigned char)value[i]);
	if (!automatic && !(length < sizeof lower && rql_layout_method(lower))) {
		struct rql_strbuf known = {0};
		rql_strbuf_put(&known, "one of: ");
		rql_put_layouts(&known);
		rql_status status = bad_value("rayql_layout", value, rql_strbuf_text(&known), err);
		rql_strbuf_free(&known);
		return status;
	}
	snprintf(s->settings.layout, sizeof s->settings.layout, "%s", automatic ? "" : lower);
	return RQL_OK;
}

static const char *const totals_names[] = {"auto", "atomics", "limbs"};

static rql_status set_totals(struct rql_session *s, const char *value, struct rql_error *err)
{
	for (unsigned i = 0; i < sizeof totals_names / sizeof *totals_names; i++) {
		if (strcasecmp(value, totals_names[i]) == 0) {
			s->settings.totals = (enum rql_totals)i;
			return RQL_OK;
		}
	}
	return bad_value("rayql_totals", value, "'auto', 'atomics' or 'limbs'", err);
}

/* "50%" to thousandths of a percent. */
static bool parse_percent(const char *value, uint64_t *out)
{
	char *end = NULL;
	/* strtod alone would also take "inf", "nan", hexadecimals and signs. */
	if (!strspn(value, "0123456789.") || strpbrk(value, "xX"))
		return false;
	double percent = strtod(value, &end);
	if (end == value || strcmp(end + strspn(end, " "), "%") != 0 || !(percent >= 0 && percent <= 100))
		return false;
	*out = (uint64_t)(percent * 1000);
	return true;
}

static rql_status set_device_memory(struct rql_session *s, const char *value, struct rql_error *err)
{
	struct rql_device_limit *limit = &s->db->structures.device_limit;
	enum rql_device_limit_kind kind = RQL_LIMIT_BYTES;
	uint64_t number = 0;
	if (strcasecmp(value, "auto") == 0)
		kind = RQL_LIMIT_AUTO;
	else if (parse_percent(value, &number))
		kind = RQL_LIMIT_PERCENT;
	/* 0: nothing (more) is put on a GPU. "120%" would be one of the machine's memory to rql_parse_bytes. */
	else if (strcmp(value, "0") != 0 && (strchr(value, '%') || !rql_parse_bytes(value, &number)))
		return bad_value("rayql_device_memory_limit", value, "'auto', a size such as '8GB', or '50%'", err);
	atomic_store(&limit->kind, kind);
	atomic_store(&limit->value, number);
	atomic_fetch_add(&s->db->settings_epoch, 1); /* plans were made under the old one */
	return RQL_OK;
}

static rql_status set_memory(struct rql_session *s, const char *value, struct rql_error *err)
{
	uint64_t bytes;
	if (!rql_parse_bytes(value, &bytes))
		return bad_value("rayql_memory_limit", value, "a size such as '8GB', '512MiB' or '50%'", err);
	atomic_store(&s->db->budget.limit, bytes);
	atomic_fetch_add(&s->db->settings_epoch, 1); /* what did not fit may fit now */
	return RQL_OK;
}

static const char *forced(const struct rql_settings *settings)
{
	if (settings->force_order)
		return "order";
	if (settings->force_rows)
		return "rows";
	return settings->force_pairs ? "pairs" : settings->force ? "on" : "off";
}

static rql_status set_force(struct rql_session *s, const char *value, struct rql_error *err)
{
	bool on = true, rows = strcasecmp(value, "rows") == 0, pairs = strcasecmp(value, "pairs") == 0;
	bool order = strcasecmp(value, "order") == 0;
	if (!rows && !pairs && !order && !parse_bool(value, &on))
		return bad_value("rayql_force", value, "on, off, rows, pairs or order", err);
	s->settings.force = on;
	s->settings.force_rows = rows || order;
	s->settings.force_pairs = pairs;
	s->settings.force_order = order;
	return RQL_OK;
}

static rql_status set_flag(struct rql_session *s, const char *name, const char *value, struct rql_error *err)
{
	bool on;
	if (strcasecmp(name, fixed[SETTING_FORCE].name) == 0)
		return set_force(s, value, err);
	if (!parse_bool(value, &on))
		return bad_value(name, value, "on or off", err);
	if (strcasecmp(name, fixed[SETTING_TIMING].name) == 0) {
		s->settings.timing = on;
		return RQL_OK;
	}
	if (strcasecmp(name, fixed[SETTING_COLUMNS].name) == 0) {
		s->settings.auto_columns = on;
		return RQL_OK;
	}
	for (uint32_t i = 0; i < method_count(); i++) {
		if (!enables(name, i))
			continue;
		if (on)
			s->settings.disabled_methods &= ~(UINT64_C(1) << i);
		else
			s->settings.disabled_methods |= UINT64_C(1) << i;
	}
	return RQL_OK;
}

static bool is_flag(const char *name)
{
	return strcasecmp(name, fixed[SETTING_FORCE].name) == 0 || strcasecmp(name, fixed[SETTING_TIMING].name) == 0 ||
	       strcasecmp(name, fixed[SETTING_COLUMNS].name) == 0 || is_method_setting(name);
}

rql_status rql_setting_apply(struct rql_session *s, const char *name, const char *value, struct rql_error *err)
{
	rql_status status;
	if (strcasecmp(name, fixed[SETTING_FALLBACK].name) == 0)
		status = set_fallback(s, value, err);
	else if (strcasecmp(name, fixed[SETTING_DEVICE].name) == 0)
		status = set_device(s, value, err);
	else if (strcasecmp(name, fixed[SETTING_UNIT].name) == 0)
		status = set_unit(s, value, err);
	else if (strcasecmp(name, fixed[SETTING_LAYOUT].name) == 0)
		status = set_layout(s, value, err);
	else if (strcasecmp(name, fixed[SETTING_TOTALS].name) == 0)
		status = set_totals(s, value, err);
	else if (strcasecmp(name, fixed[SETTING_MEMORY].name) == 0)
		status = set_memory(s, value, err);
	else if (strcasecmp(name, fixed[SETTING_DEVICE_MEMORY].name) == 0)
		status = set_device_memory(s, value, err);
	else if (is_flag(name))
		status = set_flag(s, name, value, err);
	else if (strcasecmp(name, fixed[SETTING_THREADS].name) == 0)
		status = rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Invalid Input Error: rayql_threads cannot be changed while the database is open; it is given when "
			"it is opened (rayql_config.threads)");
	else
		status = unknown(name, err);
	if (status == RQL_OK)
		s->epoch++;
	return status;
}

const char *rql_setting_default(const char *name, char *room, size_t size)
{
	if (strcasecmp(name, fixed[SETTING_FALLBACK].name) == 0 || is_method_setting(name))
		return "on";
	static const enum setting_kind automatic[] = {SETTING_DEVICE, SETTING_UNIT, SETTING_LAYOUT, SETTING_TOTALS,
	                                              SETTING_DEVICE_MEMORY};
	for (size_t i = 0; i < sizeof automatic / sizeof *automatic; i++)
		if (strcasecmp(name, fixed[automatic[i]].name) == 0)
			return "auto";
	if (is_flag(name))
		return "off";
	snprintf(room, size, "%llu", (unsigned long long)(rql_machine_memory() / 2));
	return room;
}

bool rql_setting_is_shared(const char *name)
{
	static const enum setting_kind shared[] = {SETTING_MEMORY, SETTING_DEVICE_MEMORY, SETTING_THREADS};
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (strcasecmp(name, fixed[shared[i]].name) == 0)
			return true;
	return false;
}

/* ---- rayql_settings() ---- */
static void print_device_limit(const struct rql_database *db, char *out, size_t size)
{
	char text[32];
	uint64_t value = atomic_load(&db->structures.device_limit.value);
	switch ((enum rql_device_limit_kind)atomic_load(&db->structures.device_limit.kind)) {
	case RQL_LIMIT_AUTO:
		snprintf(out, size, "auto");
		break;
	case RQL_LIMIT_PERCENT:
		snprintf(out, size, "%g%%", (double)value / 1000);
		break;
	case RQL_LIMIT_BYTES:
		snprintf(out, size, "%s", rql_format_bytes(text, value));
		break;
	}
}

static void fixed_row(const struct rql_session *s, uint32_t i, struct rql_setting_row *out)
{
	static const char *const fallback[] = {"on", "notice", "off"};
	snprintf(out->name, sizeof out->name, "%s", fixed[i].name);
	out->description = fixed[i].description;
	switch ((enum setting_kind)i) {
	case SETTING_FALLBACK:
		snprintf(out->value, sizeof out->value, "%s", fallback[s->settings.fallback]);
		break;
	case SETTING_DEVICE:
		snprintf(out->value, sizeof out->value, "%s", s->settings.device);
		break;
	case SETTING_UNIT:
		snprintf(out->value, sizeof out->value, "%s",
		         s->settings.unit_forced ? rql_unit_name(s->settings.unit) : "auto");
		break;
	case SETTING_LAYOUT:
		snprintf(out->value, sizeof out->value, "%s", s->settings.layout[0] ? s->settings.layout : "auto");
		break;
	case SETTING_TOTALS:
		snprintf(out->value, sizeof out->value, "%s", totals_names[s->settings.totals]);
		break;
	case SETTING_TIMING:
		snprintf(out->value, sizeof out->value, "%s", s->settings.timing ? "on" : "off");
		break;
	case SETTING_DEVICE_MEMORY:
		print_device_limit(s->db, out->value, sizeof out->value);
		break;
	case SETTING_COLUMNS:
		snprintf(out->value, sizeof out->value, "%s", s->settings.auto_columns ? "on" : "off");
		break;
	case SETTING_FORCE:
		snprintf(out->value, sizeof out->value, "%s", forced(&s->settings));
		break;
	case SETTING_MEMORY: {
		char text[32];
		snprintf(out->value, sizeof out->value, "%s", rql_format_bytes(text, atomic_load(&s->db->budget.limit)));
		break;
	}
	case SETTING_THREADS:
	case SETTING_COUNT:
		snprintf(out->value, sizeof out->value, "%u", s->db->threads);
		break;
	}
}

bool rql_settings_row(const struct rql_session *s, uint32_t i, struct rql_setting_row *out)
{
	if (i < SETTING_COUNT) {
		fixed_row(s, i, out);
		return true;
	}
	/* One row a name: methods of one family on several units share it. */
	uint32_t left = i - SETTING_COUNT;
	for (uint32_t m = 0; m < method_count(); m++) {
		bool again = false;
		for (uint32_t k = 0; k < m; k++)
			again = again || strcmp(rql_methods()[k]->name, rql_methods()[m]->name) == 0;
		if (again || left-- > 0)
			continue;
		snprintf(out->name, sizeof out->name, "rayql_enable_%s", rql_methods()[m]->name);
		out->description = rql_methods()[m]->description;
		snprintf(out->value, sizeof out->value, "%s", s->settings.disabled_methods >> m & 1 ? "off" : "on");
		return true;
	}
	return false;
}
