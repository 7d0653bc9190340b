/* What methods' raster units share: what they keep for a run beside their images, memory for the rows that they draw, and
 * what was drawn, as the kernels count it and as the host reads it; and what a point is expected to take. */
#ifndef RQL_METHOD_DRAWING_H
#define RQL_METHOD_DRAWING_H

#include "device/work.h"

struct rql_drawing {
	struct rql_buffer *temp, *points, *seen /* READBACK: points */;
	uint64_t points_bytes;
};
/* what: "what a join draws". What was made before an error is closed by rql_drawing_close. */
rql_status rql_drawing_open(struct rql_drawing *drawing, struct rql_device *device, uint64_t temp_bytes,
                            uint64_t points_bytes, const char *what, struct rql_error *err) RQL_MUST_CHECK;
void rql_drawing_close(struct rql_drawing *drawing); /* without its images */
/* The last pass: what was drawn goes to the host. */
void rql_drawing_record_seen(const struct rql_drawing *drawing, struct rql_commands *c);
/* ns of a point of one pixel, without what its fragment adds to: the profile's point_ns, and so many bytes anywhere that it
 * reads and writes beside its row. */
double rql_drawing_point_ns(const struct rql_profile *profile, double bytes);

#endif
