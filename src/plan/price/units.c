/* Which devices a session may use for a unit, and how that is said. */
#include <string.h>
#include "plan/plan.h"

void rql_put_device(struct rql_strbuf *out, const struct rql_device *device)
{
	rql_strbuf_printf(out, "%s, %s", device->name, device->id);
}

void rql_put_left_device(struct rql_strbuf *out, const struct rql_left_devices *left, const struct rql_device *device)
{
	const char *why = atomic_load(&device->left);
	if (left->failed >> device->index & 1)
		rql_strbuf_printf(out, "; without %s, which failed: %s", device->id, why ? why : "");
	else if (left->full >> device->index & 1)
		rql_strbuf_printf(out, "; without %s, whose memory had no room", device->id);
}

bool rql_unit_available(const struct rql_devices *devices, const struct rql_settings *settings, enum rql_unit unit,
                        struct rql_strbuf *why)
{
	struct rql_strbuf text = {0};
	bool found = false;
	uint32_t count = atomic_load(&devices->count);
	for (uint32_t i = 0; i < count && !found; i++) {
		const struct rql_device *device = &devices->device[i];
		const char *reason = rql_device_refused(settings, device, unit);
		found = !reason;
		/* That the CPU has no GPU's units goes without saying, once there is a GPU to speak of. */
		if (!found && (device->kind != RQL_DEVICE_CPU || count == 1))
			rql_strbuf_printf(&text, "%s%s (%s): %s", text.length ? "; " : "", device->id, device->name, reason);
	}
	if (!found && devices->no_gpu) {
		rql_strbuf_clear(&text);
		rql_strbuf_printf(&text, "there is no GPU: %s", devices->no_gpu);
	}
	if (!found && why)
		rql_strbuf_put(why, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return found;
}

/* ---- layouts ---- */
bool rql_method_has_layout(const struct rql_method *method, const char *layout)
{
	for (const char *const *l = method->layouts; l && *l && layout; l++) {
		size_t n = strlen(*l);
		if (strncmp(*l, layout, n) == 0 &&
		    (!layout[n] || ((layout[n] == ',' || layout[n] == ':') && method->layout_ok && method->layout_ok(layout))))
			return true;
	}
	return !method->layouts && !layout;
}

const struct rql_method *rql_layout_method(const char *layout)
{
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (rql_method_has_layout(rql_methods()[m], layout))
			return rql_methods()[m];
	return NULL;
}

void rql_put_layouts(struct rql_strbuf *out)
{
	rql_strbuf_put(out, "auto");
	for (uint32_t m = 0; rql_methods()[m]; m++)
		for (const char *const *l = rql_methods()[m]->layouts; l && *l; l++)
			rql_strbuf_printf(out, ", %s", *l);
}
