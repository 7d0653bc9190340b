/* What WITH (...) of an index USING rx | cgrx says (struct rql_ray_design), as what primitive/rt takes. */
#ifndef RQL_METHOD_INDEX_RX_DESIGN_H
#define RQL_METHOD_INDEX_RX_DESIGN_H

#include "method/request.h"
#include "primitive/rt/rx.h"

#define RQL_RX_LOG2_BUCKET 5u /* of cgRX, where nothing is said (papers/002, table 5.4) */

/* 3D, by as few bits as such keys need; and by these bits. */
struct rql_key_space rql_rx_lattice(uint64_t greatest);
struct rql_key_space rql_rx_cut(const uint32_t bits[3]);
/* RX's places of a segment's keys: bound is the greatest that there may be (rql_index_key_bound), greatest the greatest
 * that there is, or bound where it is not known. False: the design does not hold the bound, and it is the lattice that
 * holds the keys. So what is said of a segment before it is placed, is true afterwards. */
bool rql_rx_space(const struct rql_ray_design *design, uint64_t bound, uint64_t greatest, struct rql_key_space *out);
enum rql_rx_primitive rql_rx_primitive_of(const struct rql_ray_design *design);
/* points: all that is looked up is a single key. */
enum rql_key_form rql_rx_form_of(const struct rql_ray_design *design, const struct rql_key_space *space, bool points);
uint32_t rql_rx_log2_bucket(const struct rql_ray_design *design);

#endif
