/* Keys of a drawn join of which one or more are texts of two dictionaries: drawn by a hash, and compared by their bytes on the
 * device (primitive/raster). Each dictionary goes there once a context. A run hashes its entries, and a row's key is the hash
 * of its code, or of several, and of a number beside them. So no code of one dictionary is looked for in the other one. */
#ifndef RQL_METHOD_JOIN_JOIN_TEXTS_H
#define RQL_METHOD_JOIN_JOIN_TEXTS_H

#include "method/request.h"
#include "primitive/raster/raster.h"

struct rql_join_texts;
/* Of a join that is laid: its keys become hashes. *out is closed also after an error. */
rql_status rql_join_texts_open(struct rql_device *device, const struct rql_pair *pair, struct rql_raster_join *join,
                               struct rql_join_texts **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_join_texts_close(struct rql_join_texts *texts); /* NULL: nothing */
/* What comes before the join itself. */
rql_status rql_join_texts_record(struct rql_commands *c, const struct rql_join_texts *texts,
                                 const struct rql_raster_join *join, struct rql_error *err) RQL_MUST_CHECK;
/* Of the device's memory, as far as it is known before; a run reads or writes each of them once. */
uint64_t rql_join_texts_bytes(const struct rql_pair *pair);
uint64_t rql_join_texts_moved(const struct rql_join_texts *texts);

#endif
