/* Memory of what the raster unit draws, and what a point takes. */
#include "method/drawing.h"

#include "method/stage.h"

#define SECTOR 32.0

rql_status rql_drawing_open(struct rql_drawing *drawing, struct rql_device *device, uint64_t temp_bytes,
                            uint64_t points_bytes, const char *what, struct rql_error *err)
{
	drawing->points_bytes = points_bytes;
	RQL_TRY(rql_stage_buffer_new(device, points_bytes, RQL_MEMORY_DEVICE, what, &drawing->points, err));
	RQL_TRY(rql_stage_buffer_new(device, points_bytes, RQL_MEMORY_READBACK, what, &drawing->seen, err));
	return rql_stage_buffer_new(device, temp_bytes, RQL_MEMORY_DEVICE, what, &drawing->temp, err);
}

void rql_drawing_close(struct rql_drawing *drawing)
{
	rql_stage_buffer_free(drawing->temp);
	rql_stage_buffer_free(drawing->points);
	rql_stage_buffer_free(drawing->seen);
}

void rql_drawing_record_seen(const struct rql_drawing *drawing, struct rql_commands *c)
{
	rql_record_copy(c, drawing->points, 0, drawing->seen, 0, drawing->points_bytes);
}

double rql_drawing_point_ns(const struct rql_profile *profile, double bytes)
{
	return profile->point_ns + bytes / SECTOR * profile->sector_ns + bytes / profile->read_gbps;
}
