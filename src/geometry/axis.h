/* Integer keys as float32 coordinates: exactness lives here (design.md, "Exactness"). */
#ifndef RQL_GEOMETRY_AXIS_H
#define RQL_GEOMETRY_AXIS_H

#include <stdint.h>

/* Integers that every device distinguishes on an axis: 2^22 of them (notes/vulkan.md 1.3, notes/h200.md). */
#define RQL_AXIS_BITS 22u

#endif
