/* What the engine sees of a device: its identity, its units, its measured profile, and for the CPU its threads. Device
 * 0 is always the CPU (a real device: the one that users without a GPU get, and the oracle of the others). Vulkan's
 * physical devices follow once somebody asks for them (rql_devices_find): a process that accelerates nothing never
 * loads a driver. work.h and trace.h say what can be done on one. */
#ifndef RQL_DEVICE_DEVICE_H
#define RQL_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/simd.h"
#include "util/status.h"
#include "util/threads.h"

enum rql_unit { RQL_UNIT_CPU, RQL_UNIT_COMPUTE, RQL_UNIT_RT, RQL_UNIT_RASTER, RQL_UNIT_COUNT };
const char *rql_unit_name(enum rql_unit unit);

/* What fused scans cost (method/scan/scan_cost.c, scan_compute_price.c have the formulas), in nanoseconds. */
struct rql_scan_profile {
	/* The CPU, one thread: */
	double test_ns;   /* one packed value tested, all rows of a block */
	double value_ns;  /* one value of a column decoded and summed, all rows of a block */
	double gather_ns; /* one value fetched by row number, and summed */
	double touch_ns;  /* a column of a block of which values are fetched: once, however many */
	double probe_ns;  /* one key looked up in a map that fits the second-level cache */
	double row_ns;    /* one row added to its group: the groups fit the first-level cache */
	double group_ns;  /* one group cleared, merged and put out */
	double step_ns;   /* one step of a program for one row */
	double block_ns;  /* one block's overhead: zone maps, order of tests */
	/* A GPU, full: */
	double tested_row_ns;   /* a row through the tests of 32 rows at once, device time */
	double taken_row_ns;    /* a row that passed them through all that follows, device time */
	double compile_ns;      /* a pipeline made, when no request of the shape was run before */
	double answer_group_ns; /* a group put out by the host */
};

/* Cost constants of a device (design.md, "Cost model"): nanoseconds and bytes per nanosecond, measured by rayql
 * calibrate. */
struct rql_profile {
	bool measured;            /* false: the built-in guesses */
	double read_gbps;         /* all threads, streaming reads from memory, bytes/ns */
	double handover_ns;       /* starting a parallel loop */
	double run_ns;            /* one interval of cells: two directory lookups, first decode */
	double cell_ns;           /* one cell decoded and summed in an interval, one thread */
	double tested_cell_ns;    /* one cell whose residual codes are tested or grouped, one thread */
	double group_ns;          /* one group cleared, merged and put out */
	double statement_ns;      /* a cached statement before its method runs */
	double host_statement_ns; /* the host: least time of any aggregate query */
	double host_value_ns;     /* the host: one value of one column scanned, filtered or aggregated, all threads busy */
	/* GPUs: run_ns, cell_ns, tested_cell_ns and group_ns are then device time per item with the device full. */
	double submit_ns;       /* a submission of an empty pass until the host sees it done */
	double pass_ns;         /* one more dependent pass in it, device time */
	double upload_gbps;     /* host to device */
	double download_gbps;   /* device to host */
	double sector_ns;       /* one random read of 32 bytes from memory, device full */
	double ray_ns;          /* one ray that hits one primitive (closest hit), device full; 0: no rt unit */
	double hit_ns;          /* one any-hit call more on a ray */
	double primitive_ns;    /* one triangle built into a bottom level */
	double primitive_bytes; /* of a built and compacted triangle */
	double point_ns;        /* raster: a point of one pixel with its fragment, device full; 0: no raster unit */
	double atomic_ns;       /* and for each word of 64 bits that its fragment adds to */
	double blend_ns;        /* and for each image of 4 floats that it is blended into */
	struct rql_scan_profile scan;
};
/* The CPU's constants until they are measured. */
extern const struct rql_profile rql_profile_guess;

enum rql_device_kind { RQL_DEVICE_CPU, RQL_DEVICE_DISCRETE, RQL_DEVICE_INTEGRATED, RQL_DEVICE_VIRTUAL, RQL_DEVICE_SOFTWARE };
const char *rql_device_kind_name(enum rql_device_kind kind);

/* Limits that work.h's and trace.h's callers must plan with; 0 on the CPU. */
struct rql_gpu_limits {
	uint32_t subgroup_size;
	uint32_t shared_bytes;     /* shared memory of a workgroup */
	uint32_t group_size;       /* largest workgroup */
	uint64_t buffer_bytes;     /* largest single buffer that may be tried */
	bool float64;              /* kernels with double arithmetic run */
	uint64_t part_primitives;  /* rt: primitives of one part (trace.h) */
	uint64_t rays_per_launch;  /* rt */
	uint64_t submission_rays;  /* rt: more are cut into several submissions (rql_trace_piece) */
	uint32_t image_side;       /* raster: the greatest width and height of an image; and of its layers */
	uint32_t image_layers;
	uint32_t targets;          /* raster: images that one draw may write */
};

struct rql_compiler;   /* compile.c */
struct rql_device_ops; /* device_internal.h: src/device/vulkan, or src/device/fault around it */

struct rql_device {
	uint32_t index;
	enum rql_device_kind kind;
	bool as_real;       /* SOFTWARE: used without being named, as a real GPU is; for tests */
	const char *id;     /* "cpu", "vulkan:0": the place in the loader's order */
	const char *uuid;   /* "8a0e...": 32 hex digits, stable between boots; NULL: none */
	const char *pci;    /* "0000:3b:00.0"; NULL: none or not known */
	const char *name;   /* the processor's or adapter's own name */
	const char *driver; /* "native avx512", driver name and version */
	uint64_t memory_bytes;
	bool units[RQL_UNIT_COUNT];
	const char *missing[RQL_UNIT_COUNT]; /* why a unit is not there; NULL when it is */
	/* What kernels run on; of a GPU, what the processor does for it. */
	enum rql_simd simd;
	struct rql_pool *pool;
	const struct rql_device *host; /* a GPU's: the CPU, whose profile prices what is done there */
	struct rql_profile profile;
	struct rql_gpu_limits limits;
	const struct rql_device_ops *ops; /* NULL: the CPU */
	void *impl;                       /* of ops */
	struct rql_compiler *compiler;    /* of a GPU: compile.h; NULL: none */
	void *fault;                      /* of src/device/fault, when it stands before impl */
	_Atomic bool lost;                /* nothing runs on it any more in this process */
	_Atomic(char *) left;             /* why no rows of the host's memory go there any more: a run of such has failed; or
	                                     NULL */
	/* Of its memory, what scans' requests keep beside columns for their next run (tables, rows of groups): counted by
	 * themselves, read by whoever looks after rayql_device_memory_limit. */
	_Atomic uint64_t request_bytes;
};

#define RQL_DEVICES_MAX 17u /* the CPU and 16 others */
struct rql_devices {
	_Atomic uint32_t count;    /* grows once, by rql_devices_find */
	struct rql_device *device; /* [RQL_DEVICES_MAX], never moved; device[0] is the CPU */
	_Atomic(const char *) no_gpu; /* after rql_devices_find: why there is no Vulkan device, or NULL */
	void *vulkan;              /* of src/device/vulkan */
	struct rql_devices_lock *lock;
};

/* Devices, by bits of their index, without which others have done a run's work. */
struct rql_left_devices {
	uint32_t failed, full; /* an error of its own, which device->left is; its memory had no room */
};
/* Its work is done without it from now on; the first reason stays. */
void rql_device_leave(struct rql_device *device, const char *why);

/* Why the unit is not there; NULL: it is. */
static inline const char *rql_device_lacks(const struct rql_device *device, enum rql_unit unit)
{
	return device->units[unit] ? NULL : device->missing[unit] ? device->missing[unit] : "the device lacks the unit";
}

/* threads: as rql_pool_new. Never fails for a missing GPU. Reads the kept profile or measures the short form. */
rql_status rql_devices_open(unsigned threads, struct rql_devices **out, struct rql_error *err) RQL_MUST_CHECK;
/* Closes every device; nothing of work.h may be alive but placements that give way. */
void rql_devices_close(struct rql_devices *devices);
/* Lists Vulkan's physical devices, the first time; afterwards free. Thread-safe. A missing loader, a broken driver or a
 * lacking feature is no error: it is a reason in no_gpu or in a device's missing[]. RAYQL_VULKAN=off finds none. Each
 * found device has its kept profile, or guesses for its kind (profile.measured says which). */
void rql_devices_find(struct rql_devices *devices);
/* Have they been listed? Waits for nobody. */
bool rql_devices_found(const struct rql_devices *devices);
/* By id ("cpu", "vulkan:1"), UUID or PCI address, in any case; NULL: none. Calls rql_devices_find when the CPU is not
 * meant. */
struct rql_device *rql_devices_get(struct rql_devices *devices, const char *name);

/* Profiles are kept per device and driver in ${XDG_CACHE_HOME:-~/.cache}/rayql/profile-<device>.json; an unreadable or
 * foreign file is ignored and measured anew. Constants that an older format did not have yet stay at their guesses. */
rql_status rql_profile_save(const struct rql_device *device, struct rql_error *err);
bool rql_profile_load(struct rql_device *device);
/* The method-independent constants (bandwidth, hand-over); the methods' own are measured by them. */
void rql_device_measure(struct rql_device *device, bool thorough);
/* Does it run at a lower clock while it idles, and has it constants that are worth measuring unasked? */
static inline bool rql_device_is_real_gpu(const struct rql_device *device)
{
	return device->kind != RQL_DEVICE_CPU && device->kind != RQL_DEVICE_SOFTWARE;
}
/* Work enough for a GPU to leave the clocks that it idles at, some tenths of a second; nothing while it is awake, and on
 * other devices. A profile that is measured at such clocks is wrong by several times, and in some constants alone. */
void rql_device_wake(struct rql_device *device);

#endif
