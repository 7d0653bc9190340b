/* What the cases of cubes share (selftest_cube.c). */
#ifndef RQL_SELFTEST_SELFTEST_CUBE_H
#define RQL_SELFTEST_SELFTEST_CUBE_H

#include "method/cube/cube.h"
#include "selftest/selftest_case.h"

/* The method's answer, in arena. *ran is false, and nothing was done, when the method refuses the request or would need
 * more than `most_rays` rays for it. */
rql_status rql_selftest_cube_answer(const struct rql_method *method, double most_rays,
                                    const struct rql_request *request, struct rql_device *device,
                                    struct rql_arena *arena, struct rql_port *out, bool *ran,
                                    struct rql_error *err) RQL_MUST_CHECK;
/* Two answers to request `number` (for the message), whose groups may come in any order. Keys: at most 2^21 of each. */
rql_status rql_selftest_cube_compare(struct rql_selftest *t, const struct rql_request *request,
                                     const struct rql_port *got, const struct rql_port *wanted, uint32_t number,
                                     struct rql_error *err) RQL_MUST_CHECK;

#endif
