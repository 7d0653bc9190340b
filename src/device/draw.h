/* The graphics pipeline of a GPU, as methods see it (unit raster): images, draws of points, kernels that read images.
 * The rules of work.h hold here as well: no barrier, layout, wait or free by hand. A pass names the images and the
 * buffers that it touches.
 *
 * A shader knows an image by its number (rql_image.number), as it knows a buffer by its address: both travel in the
 * pass's arguments. draw.glsl has the arrays that a number is looked up in. Vertices are pulled: a vertex shader reads
 * buffers by gl_VertexIndex and gl_InstanceIndex, and writes gl_Position and gl_PointSize = 1.
 *
 * What is promised of order: within a draw, and from draw to draw, a target's pixel sees points in the order of their
 * vertices, instance by instance (notes/vulkan.md, section 2). So the last point that is drawn to a pixel wins. Stores
 * and atomics of shaders have no such order. A vertex shader may run more than once for a vertex, so only fragment
 * shaders may count: of a point on one pixel of one layer the fragment shader runs once. */
#ifndef RQL_DEVICE_DRAW_H
#define RQL_DEVICE_DRAW_H

#include "device/work.h"

/* ---- images ---- */
enum rql_format {
	RQL_FORMAT_R16_UINT,
	RQL_FORMAT_RGBA16_UINT,
	RQL_FORMAT_R32_UINT,
	RQL_FORMAT_RG32_UINT,
	RQL_FORMAT_RGBA32_UINT,
	RQL_FORMAT_R32_FLOAT,
	RQL_FORMAT_RG32_FLOAT,
	RQL_FORMAT_RGBA32_FLOAT,
	RQL_FORMAT_COUNT
};
/* Bytes of a pixel, in images as in the buffers that they are copied to. */
uint32_t rql_pixel_bytes(enum rql_format format);

/* What an image is for. */
enum rql_image_role {
	RQL_IMAGE_TARGET = 1,  /* of draws */
	RQL_IMAGE_BLEND = 2,   /* of draws that add, or take the least or the greatest; needs TARGET */
	RQL_IMAGE_FETCH = 4,   /* read by shaders, texelFetch */
	RQL_IMAGE_STORAGE = 8, /* read and written by shaders, imageLoad and imageStore */
	RQL_IMAGE_ATOMIC = 16  /* imageAtomicAdd and its like; needs STORAGE */
};
/* The roles that this format has on this device, bits of rql_image_role; 0 without the unit. Starts nothing. */
unsigned rql_format_roles(const struct rql_device *device, enum rql_format format);
/* Are images of one, two and four floats blended? Vulkan leaves that to the driver. */
bool rql_device_blends_floats(const struct rql_device *device);

struct rql_image_spec {
	enum rql_format format;
	uint32_t width, height; /* at most device->limits.image_side */
	uint32_t layers;        /* at most device->limits.image_layers */
	unsigned roles;
};
/* Read-only for the callers. */
struct rql_image {
	struct rql_device *device;
	struct rql_image_spec spec;
	uint32_t number; /* what shaders get */
	uint64_t bytes;  /* of device memory that it takes */
};
/* Contents are undefined. `what` as in rql_buffer_new. RQL_ERROR_UNSUPPORTED when the device lacks the unit or the
 * format a role, RQL_ERROR_LIMIT when memory or numbers do not suffice. */
rql_status rql_image_new(struct rql_device *device, const struct rql_image_spec *spec, const char *what,
                         struct rql_image **out, struct rql_error *err) RQL_MUST_CHECK;
/* As rql_buffer_free: at once for the caller. NULL: nothing. */
void rql_image_free(struct rql_image *image);

struct rql_image_use {
	struct rql_image *image;
	enum rql_access access;
};

/* ---- pipelines ---- */
/* Two shaders; static const data, as struct rql_kernel is. */
struct rql_draw_kernel {
	const char *name;
	struct rql_shader vertex, fragment;
	uint32_t args_bytes; /* <= RQL_ARGS_MAX; both shaders see them */
};
#define RQL_TARGETS_MAX 8u /* device->limits.targets says how many a draw may have */
enum rql_blend { RQL_BLEND_OVERWRITE, RQL_BLEND_ADD, RQL_BLEND_MIN, RQL_BLEND_MAX };
enum rql_logic { RQL_LOGIC_NONE, RQL_LOGIC_AND, RQL_LOGIC_OR, RQL_LOGIC_XOR }; /* bits of unsigned targets */
struct rql_draw_state {
	uint32_t target_count; /* 0: shaders store what there is */
	struct {
		enum rql_format format;
		enum rql_blend blend;
	} targets[RQL_TARGETS_MAX];
	enum rql_logic logic; /* of all targets; then no blend */
};
#define RQL_DRAW_CONSTANTS_MAX (RQL_CONSTANTS_MAX - 3u)
/* As rql_trace_pipeline_get: constants go to both shaders, none has a fixed meaning. */
rql_status rql_draw_pipeline_get(struct rql_device *device, const struct rql_draw_kernel *kernel,
                                 const struct rql_draw_state *state, const uint32_t *constants, uint32_t count,
                                 const struct rql_pipeline **out, struct rql_error *err) RQL_MUST_CHECK;
/* As rql_pipeline_get, of a kernel that looks images up by number: for rql_record_dispatch_images. */
rql_status rql_image_pipeline_get(struct rql_device *device, const struct rql_kernel *kernel, const uint32_t *constants,
                                  uint32_t count, const struct rql_pipeline **out,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* ---- recording ---- */
#define RQL_ALL_LAYERS UINT32_MAX
struct rql_target {
	struct rql_image *image;
	uint32_t layer; /* or RQL_ALL_LAYERS: the vertex shader chooses by gl_Layer; the same of all targets of a draw */
};
/* Points drawn: `vertices` times `instances`. */
struct rql_draw {
	const char *pass; /* a static text, the name in timings */
	const struct rql_pipeline *pipeline;
	const void *args; /* copied now */
	struct rql_target targets[RQL_TARGETS_MAX]; /* as many as the pipeline's state has, all of one size */
	uint32_t target_count;
	uint32_t width, height; /* of the drawing where there is no target */
	uint32_t vertices, instances;
	/* Given: the four words {vertices, instances, first vertex, first instance} lie there, at a multiple of 4. */
	struct rql_buffer *counts;
	uint64_t counts_offset;
	const struct rql_use *uses; /* every buffer that the shaders touch */
	uint32_t use_count;
	const struct rql_image_use *images; /* every image that they look up; none of the targets */
	uint32_t image_count;
};
void rql_record_draw(struct rql_commands *c, const struct rql_draw *draw);
/* As rql_record_dispatch; images: every one that the shader looks up. */
void rql_record_dispatch_images(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                                const void *args, uint64_t groups, const struct rql_use *uses, uint32_t use_count,
                                const struct rql_image_use *images, uint32_t image_count);
/* As rql_record_dispatch_indirect. */
void rql_record_dispatch_images_indirect(struct rql_commands *c, const char *pass, const struct rql_pipeline *pipeline,
                                         const void *args, struct rql_buffer *counts, uint64_t offset,
                                         const struct rql_use *uses, uint32_t use_count,
                                         const struct rql_image_use *images, uint32_t image_count);

/* Sets every pixel of some layers. word: the bits of each component, as many as the format has. */
void rql_record_clear(struct rql_commands *c, struct rql_image *image, uint32_t first_layer, uint32_t layers,
                      const uint32_t word[4]);
/* Whole rows of some layers. In the buffer pixels lie close together, row after row and layer after layer; offset is a
 * multiple of 16. */
struct rql_image_rows {
	struct rql_image *image;
	uint32_t first_layer, layers, first_row, rows;
};
void rql_record_image_read(struct rql_commands *c, const struct rql_image_rows *from, struct rql_buffer *to,
                           uint64_t offset);
void rql_record_image_write(struct rql_commands *c, const struct rql_image_rows *to, struct rql_buffer *from,
                            uint64_t offset);

#endif
