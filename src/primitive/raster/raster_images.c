/* The images of a join or group-by by drawing: made, checked, and their sizes. */
#include "primitive/raster/raster.h"

static bool fits(const struct rql_image *image, const struct rql_image_spec *wanted)
{
	const struct rql_image_spec *has = image ? &image->spec : NULL;
	return has && has->format == wanted->format && has->width == wanted->width && has->height >= wanted->height &&
	       has->layers == wanted->layers && (has->roles & wanted->roles) == wanted->roles;
}

bool rql_raster_images_fit(struct rql_image *const *images, const struct rql_image_spec *specs, uint32_t count)
{
	bool all = true;
	for (uint32_t i = 0; i < count; i++)
		all &= !specs[i].width || fits(images[i], &specs[i]);
	return all;
}

void rql_raster_images_free(struct rql_image **images, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (images[i])
			atomic_fetch_sub(&images[i]->device->request_bytes, images[i]->bytes);
		rql_image_free(images[i]);
		images[i] = NULL;
	}
}

rql_status rql_raster_images_new(struct rql_device *device, const struct rql_image_spec *specs, uint32_t count,
                                 const char *what, struct rql_image **out, struct rql_error *err)
{
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < count; i++)
		out[i] = NULL;
	for (uint32_t i = 0; i < count && status == RQL_OK; i++) {
		if (specs[i].width)
			status = rql_image_new(device, &specs[i], what, &out[i], err);
		if (out[i])
			atomic_fetch_add(&device->request_bytes, out[i]->bytes);
	}
	if (status != RQL_OK)
		rql_raster_images_free(out, count);
	return status;
}

uint64_t rql_raster_images_bytes(const struct rql_image_spec *specs, uint32_t count)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < count; i++)
		bytes += (uint64_t)specs[i].width * specs[i].height * specs[i].layers * rql_pixel_bytes(specs[i].format);
	return bytes;
}
