/* The front door of unit raster: arguments are checked here, once (draw.h). */
#include "device/device_internal.h"

#define INTERNAL(err, ...) rql_error_set(err, RQL_ERROR_INTERNAL, __VA_ARGS__)
#define ALL_ROLES                                                                                                      \
	(RQL_IMAGE_TARGET | RQL_IMAGE_BLEND | RQL_IMAGE_FETCH | RQL_IMAGE_STORAGE | RQL_IMAGE_ATOMIC)

static rql_status draw_ready(struct rql_device *device, bool there, struct rql_error *err)
{
	RQL_TRY(rql_device_ready(device, err));
	if (!device->units[RQL_UNIT_RASTER])
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s (%s) has no unit raster: it %s", device->id,
		                     device->name, device->missing[RQL_UNIT_RASTER]);
	if (!there)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "device %s cannot do this with images", device->id);
	return RQL_OK;
}

uint32_t rql_pixel_bytes(enum rql_format format)
{
	static const uint8_t bytes[RQL_FORMAT_COUNT] = {
		[RQL_FORMAT_R16_UINT] = 2,    [RQL_FORMAT_RGBA16_UINT] = 8, [RQL_FORMAT_R32_UINT] = 4,
		[RQL_FORMAT_RG32_UINT] = 8,   [RQL_FORMAT_RGBA32_UINT] = 16, [RQL_FORMAT_R32_FLOAT] = 4,
		[RQL_FORMAT_RG32_FLOAT] = 8,  [RQL_FORMAT_RGBA32_FLOAT] = 16,
	};
	return (unsigned)format < RQL_FORMAT_COUNT ? bytes[format] : 0;
}

static bool is_float(enum rql_format format)
{
	return format == RQL_FORMAT_R32_FLOAT || format == RQL_FORMAT_RG32_FLOAT || format == RQL_FORMAT_RGBA32_FLOAT;
}

unsigned rql_format_roles(const struct rql_device *device, enum rql_format format)
{
	if (!device->units[RQL_UNIT_RASTER] || !device->ops->format_roles || (unsigned)format >= RQL_FORMAT_COUNT)
		return 0;
	return device->ops->format_roles(device, format);
}

bool rql_device_blends_floats(const struct rql_device *device)
{
	bool blends = true;
	for (unsigned format = 0; format < RQL_FORMAT_COUNT; format++)
		blends &= !is_float(format) || (rql_format_roles(device, format) & RQL_IMAGE_BLEND);
	return blends;
}

/* ---- images ---- */

rql_status rql_image_new(struct rql_device *device, const struct rql_image_spec *spec, const char *what,
                         struct rql_image **out, struct rql_error *err)
{
	if (!spec || !what || !out || (unsigned)spec->format >= RQL_FORMAT_COUNT || !spec->width || !spec->height ||
	    !spec->layers || !spec->roles || (spec->roles & ~(unsigned)ALL_ROLES))
		return INTERNAL(err, "rql_image_new: no name, no place for the result, or an incomplete specification");
	RQL_TRY(draw_ready(device, device->ops ? device->ops->image_new : false, err));
	const struct rql_gpu_limits *limits = &device->limits;
	if (spec->width > limits->image_side || spec->height > limits->image_side || spec->layers > limits->image_layers)
		return rql_error_set(err, RQL_ERROR_LIMIT,
		                     "%s needs an image of %u x %u pixels and %u layers; device %s allows a side of %u and %u "
		                     "layers",
		                     what, spec->width, spec->height, spec->layers, device->id, limits->image_side,
		                     limits->image_layers);
	unsigned lacks = spec->roles & ~rql_format_roles(device, spec->format);
	if (lacks)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "%s needs image format %d in roles %#x, of which device %s lacks %#x", what,
		                     (int)spec->format, spec->roles, device->id, lacks);
	return device->ops->image_new(device, spec, what, out, err);
}

void rql_image_free(struct rql_image *image)
{
	if (image)
		image->device->ops->image_free(image);
}

/* ---- pipelines ---- */

static rql_status check_state(const struct rql_device *device, const struct rql_draw_kernel *kernel,
                              const struct rql_draw_state *state, struct rql_error *err)
{
	if (state->target_count > RQL_TARGETS_MAX || state->target_count > device->limits.targets ||
	    (unsigned)state->logic > RQL_LOGIC_XOR)
		return INTERNAL(err, "kernel %s has %u targets, device %s allows %u; or logic %d", kernel->name,
		                state->target_count, device->id, device->limits.targets, (int)state->logic);
	for (uint32_t i = 0; i < state->target_count; i++) {
		enum rql_format format = state->targets[i].format;
		bool blends = state->targets[i].blend != RQL_BLEND_OVERWRITE;
		unsigned needs = RQL_IMAGE_TARGET | (blends ? RQL_IMAGE_BLEND : 0);
		if ((unsigned)format >= RQL_FORMAT_COUNT || (unsigned)state->targets[i].blend > RQL_BLEND_MAX ||
		    (state->logic && (blends || is_float(format))))
			return INTERNAL(err, "kernel %s: target %u has an unknown format or blend, or one that no logic goes with",
			                kernel->name, i);
		if (needs & ~rql_format_roles(device, format))
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
			                     "kernel %s: device %s cannot draw, or not blend, format %d", kernel->name, device->id,
			                     (int)format);
	}
	return RQL_OK;
}

rql_status rql_draw_pipeline_get(struct rql_device *device, const struct rql_draw_kernel *kernel,
                                 const struct rql_draw_state *state, const uint32_t *constants, uint32_t count,
                                 const struct rql_pipeline **out, struct rql_error *err)
{
	if (!kernel || !kernel->name || !kernel->vertex.spirv || !kernel->fragment.spirv || !state || !out)
		return INTERNAL(err, "rql_draw_pipeline_get: no kernel, a shader missing, no state or no place for the result");
	if (kernel->args_bytes > RQL_ARGS_MAX || kernel->args_bytes % 4 != 0 || count > RQL_DRAW_CONSTANTS_MAX ||
	    (count && !constants))
		return INTERNAL(err, "kernel %s has arguments of %u bytes (whole words, up to %u) or %u constants (up to %u)",
		                kernel->name, kernel->args_bytes, RQL_ARGS_MAX, count, RQL_DRAW_CONSTANTS_MAX);
	RQL_TRY(draw_ready(device, device->ops ? device->ops->draw_pipeline : false, err));
	RQL_TRY(check_state(device, kernel, state, err));
	return device->ops->draw_pipeline(device, kernel, state, constants, count, out, err);
}

rql_status rql_image_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                                  uint32_t count, const struct rql_pipeline **out, struct rql_error *err)
{
	RQL_TRY(rql_kernel_check(device, kernel, constants, count, out != NULL, err));
	RQL_TRY(draw_ready(device, device->ops->image_pipeline, err));
	return device->ops->image_pipeline(device, kernel, constants, count, out, err);
}

/* ---- recording ---- */

static bool has_role(struct rql_commands *c, const char *what, const struct rql_image *image, unsigned roles)
{
	if (!image || image->device != c->device)
		rql_record_misuse(c, "%s: no image, or one of another device", what);
	else if (!(image->spec.roles & roles))
		rql_record_misuse(c, "%s: an image of roles %#x, where one of %#x is needed", what, image->spec.roles, roles);
	return c->misuse.status == RQL_OK;
}

static bool images_are_good(struct rql_commands *c, const char *pass, const struct rql_image_use *images,
                            uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!has_role(c, pass, images[i].image, RQL_IMAGE_FETCH | RQL_IMAGE_STORAGE))
			return false;
		bool writes = images[i].access & RQL_WRITE;
		if (images[i].access < RQL_READ || images[i].access > RQL_READ_WRITE ||
		    (writes && !(images[i].image->spec.roles & RQL_IMAGE_STORAGE)))
			rql_record_misuse(c, "pass %s: image %u has no access, or is written and no storage image", pass, i);
	}
	return c->misuse.status == RQL_OK;
}

static bool layer_is_good(const struct rql_draw *draw, const struct rql_image_spec *spec, uint32_t i)
{
	const struct rql_image_spec *first = &draw->targets[0].image->spec;
	bool all = draw->targets[i].layer == RQL_ALL_LAYERS, first_all = draw->targets[0].layer == RQL_ALL_LAYERS;
	return all == first_all && (all ? spec->layers == first->layers : draw->targets[i].layer < spec->layers);
}

static bool targets_are_good(struct rql_commands *c, const struct rql_draw *draw)
{
	const struct rql_draw_state *state = &draw->pipeline->state;
	if (draw->target_count != state->target_count) {
		rql_record_misuse(c, "pass %s: %u targets, the pipeline has %u", draw->pass, draw->target_count,
		                  state->target_count);
		return false;
	}
	uint32_t side = c->device->limits.image_side;
	if (!draw->target_count && (!draw->width || !draw->height || draw->width > side || draw->height > side))
		rql_record_misuse(c, "pass %s: no target, and no size or one beyond %u", draw->pass, side);
	for (uint32_t i = 0; i < draw->target_count; i++) {
		struct rql_image *image = draw->targets[i].image;
		if (!has_role(c, draw->pass, image, RQL_IMAGE_TARGET))
			return false;
		const struct rql_image_spec *spec = &image->spec, *first = &draw->targets[0].image->spec;
		bool blends = state->targets[i].blend != RQL_BLEND_OVERWRITE;
		if (spec->format != state->targets[i].format || spec->width != first->width || spec->height != first->height ||
		    (blends && !(spec->roles & RQL_IMAGE_BLEND)) || !layer_is_good(draw, spec, i))
			rql_record_misuse(c, "pass %s: target %u has another format, size, role or layer than it must", draw->pass,
			                  i);
		for (uint32_t k = 0; k < i; k++)
			if (draw->targets[k].image == image)
				rql_record_misuse(c, "pass %s: targets %u and %u are one image", draw->pass, k, i);
		for (uint32_t k = 0; k < draw->image_count; k++)
			if (draw->images[k].image == image)
				rql_record_misuse(c, "pass %s: target %u is looked up in the same pass", draw->pass, i);
	}
	return c->misuse.status == RQL_OK;
}

void rql_record_draw(struct rql_commands *c, const struct rql_draw *draw)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (!rql_record_may(c, "rql_record_draw", ops->draw) ||
	    !rql_record_pass(c, draw->pass, draw->pipeline, RQL_PIPELINE_DRAW, draw->args, draw->uses, draw->use_count) ||
	    !images_are_good(c, draw->pass, draw->images, draw->image_count) || !targets_are_good(c, draw))
		return;
	if (draw->counts && !rql_record_range(c, draw->pass, draw->counts, draw->counts_offset, 4 * sizeof(uint32_t)))
		return;
	if (draw->counts || (draw->vertices && draw->instances))
		ops->draw(c, draw);
}

void rql_record_dispatch_images(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                                const void *args, uint64_t groups, const struct rql_use *uses, uint32_t use_count,
                                const struct rql_image_use *images, uint32_t image_count)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (rql_record_may(c, "rql_record_dispatch_images", ops->dispatch_images) &&
	    rql_record_pass(c, pass, pipeline, RQL_PIPELINE_IMAGES, args, uses, use_count) &&
	    images_are_good(c, pass, images, image_count))
		ops->dispatch_images(c, pass, pipeline, args, groups, uses, use_count, images, image_count);
}

void rql_record_dispatch_images_indirect(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                                         const void *args, struct rql_buffer *counts, uint64_t offset,
                                         const struct rql_use *uses, uint32_t use_count,
                                         const struct rql_image_use *images, uint32_t image_count)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (rql_record_may(c, "rql_record_dispatch_images_indirect", ops->dispatch_images_indirect) &&
	    rql_record_pass(c, pass, pipeline, RQL_PIPELINE_IMAGES, args, uses, use_count) &&
	    rql_record_range(c, "rql_record_dispatch_images_indirect", counts, offset, 3 * sizeof(uint32_t)) &&
	    images_are_good(c, pass, images, image_count))
		ops->dispatch_images_indirect(c, pass, pipeline, args, counts, offset, uses, use_count, images, image_count);
}

static bool layers_are_good(struct rql_commands *c, const char *what, const struct rql_image *image, uint32_t first,
                            uint32_t layers)
{
	if (!image || image->device != c->device)
		rql_record_misuse(c, "%s: no image, or one of another device", what);
	else if (first > image->spec.layers || layers > image->spec.layers - first)
		rql_record_misuse(c, "%s: %u layers from %u on of an image of %u", what, layers, first, image->spec.layers);
	return c->misuse.status == RQL_OK;
}

void rql_record_clear(struct rql_commands *c, struct rql_image *image, uint32_t first_layer, uint32_t layers,
                      const uint32_t word[4])
{
	const struct rql_device_ops *ops = c->device->ops;
	if (rql_record_may(c, "rql_record_clear", ops->clear) &&
	    layers_are_good(c, "rql_record_clear", image, first_layer, layers) && layers > 0)
		ops->clear(c, image, first_layer, layers, word);
}

static void copy_rows(struct rql_commands *c, const char *what, const struct rql_image_rows *rows,
                      struct rql_buffer *buffer, uint64_t offset, bool read)
{
	const struct rql_device_ops *ops = c->device->ops;
	if (!rql_record_may(c, what, ops->image_copy) ||
	    !layers_are_good(c, what, rows->image, rows->first_layer, rows->layers))
		return;
	const struct rql_image_spec *spec = &rows->image->spec;
	if (rows->first_row > spec->height || rows->rows > spec->height - rows->first_row || offset % 16 != 0) {
		rql_record_misuse(c, "%s: %u rows from %u on of an image of %u, or offset %llu is no multiple of 16", what,
		                  rows->rows, rows->first_row, spec->height, (unsigned long long)offset);
		return;
	}
	uint64_t bytes = (uint64_t)rows->rows * rows->layers * spec->width * rql_pixel_bytes(spec->format);
	/* Pixels of two bytes may end within a word. */
	if (rql_record_range(c, what, buffer, offset, (bytes + 3) / 4 * 4) && bytes > 0)
		ops->image_copy(c, rows, buffer, offset, read);
}

void rql_record_image_read(struct rql_commands *c, const struct rql_image_rows *from, struct rql_buffer *to,
                           uint64_t offset)
{
	copy_rows(c, "rql_record_image_read", from, to, offset, true);
}

void rql_record_image_write(struct rql_commands *c, const struct rql_image_rows *to, struct rql_buffer *from,
                            uint64_t offset)
{
	copy_rows(c, "rql_record_image_write", to, from, offset, false);
}
