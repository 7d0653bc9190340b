# The differential test against the host (differential/diff.h). On the CPU script/test asks for 1,700 queries in the release
# build: 800 as `some`, which --quick runs, too, 400 at lower SIMD levels and 500 with the methods of tests. ASan asks for
# 600. script/test --all has 18,000 of other seeds beside them, and 400 for a GPU (`long`): more of what the others ask.
# A job asks each of its worlds to the end, some 200 queries: two jobs of 250 ask 800.
rql_test_wanted(wanted)
if(wanted)
	set(rql_differential
		differential/answer.c
		differential/main.c
		differential/query.c
		differential/random.c
		differential/reduce.c
		differential/schema.c
		differential/select.c
		differential/source.c
		differential/stress.c
		differential/values.c
		differential/world.c)
	add_executable(test_differential ${rql_differential})
	target_link_libraries(test_differential PRIVATE RayQL::rayql Threads::Threads m)
	if(RAYQL_SANITIZE)
		rql_add_test(differential.any COMMAND test_differential --queries 600 --seed 11 --jobs 1 --share 85
			LABELS differential slow TIMEOUT 600)
	else()
		rql_add_test(differential.any COMMAND test_differential --queries 2000 --seed 1 --jobs 1
			LABELS differential slow long TIMEOUT 600)
		rql_add_test(differential.many COMMAND test_differential --queries 16000 --seed 12 --jobs 2
			LABELS differential slow long TIMEOUT 900 PROCESSORS 2)
		rql_add_test(differential.some COMMAND test_differential --queries 800 --seed 2 --jobs 1
			LABELS differential TIMEOUT 300)
		rql_add_test(differential.stress COMMAND test_differential --stress 6 --seed 6
			LABELS differential TIMEOUT 300 PROCESSORS 2)
		foreach(level portable avx2)
			rql_add_test(differential.${level} COMMAND ${CMAKE_COMMAND} -E env RAYQL_SIMD=${level}
				$<TARGET_FILE:test_differential> --queries 200 --seed 3 --jobs 1
				LABELS differential TIMEOUT 300)
		endforeach()
	endif()
	# With methods that give ROWS to scans (toy/README.md): without sanitizers, since unit.scan_under has them.
	if(NOT RAYQL_SANITIZE)
		add_executable(test_differential_toy ${rql_differential})
		target_link_libraries(test_differential_toy PRIVATE rayql_toy Threads::Threads m)
		rql_add_test(differential.toy COMMAND test_differential_toy --queries 500 --seed 17 --jobs 1 --columns 100
			LABELS differential TIMEOUT 300)
		rql_add_test(differential.toy_compute COMMAND test_differential_toy --queries 50 --seed 8 --jobs 1 --sparse --columns 100
			--needs compute --setup "SET rayql_device = 'vulkan:0'; SET rayql_unit = 'compute'"
			LABELS differential vulkan narrow plain slow TIMEOUT 600)
		rql_add_test(differential.toy_compute_all COMMAND test_differential_toy --queries 200 --seed 9 --jobs 1 --sparse
			--columns 100 --needs compute --setup "SET rayql_device = 'vulkan:0'; SET rayql_unit = 'compute'"
			LABELS differential vulkan narrow plain slow long TIMEOUT 900)
	endif()
	# The units of a GPU, on whatever is vulkan:0 (lavapipe in CI): software is slow, so the worlds are few. The share of
	# cubes is lower: what a method of the unit cannot serve is DuckDB's. Scans are no ray tracing.
	if(NOT RAYQL_SANITIZE MATCHES "thread")
		# Each statement of a scan is a pipeline to compile: worlds with a third of their queries. ASan has them, too, and
		# toy_compute has some with ROWS.
		rql_add_test(differential.compute COMMAND test_differential --queries 100 --seed 4 --jobs 1 --sparse --share 50
			--indexes 100 --needs compute --setup "SET rayql_device = 'vulkan:0'; SET rayql_unit = 'compute'"
			LABELS differential vulkan narrow plain slow TIMEOUT 600)
		rql_add_test(differential.rt COMMAND test_differential --queries 200 --seed 4 --jobs 1 --share 50
			--columns 0 --needs rt --setup "SET rayql_device = 'vulkan:0'; SET rayql_unit = 'rt'"
			LABELS differential vulkan narrow plain slow TIMEOUT 600)
		rql_add_test(differential.many_compute COMMAND test_differential --queries 400 --seed 14 --jobs 2 --share 50
			--indexes 100 --needs compute --setup "SET rayql_device = 'vulkan:0'; SET rayql_unit = 'compute'"
			LABELS differential vulkan narrow plain slow long release TIMEOUT 900 PROCESSORS 2)
		rql_add_test(differential.rtcudb COMMAND test_differential --queries 200 --seed 5 --jobs 1 --share 30 --columns 0
			--needs rt --setup "SET rayql_device = 'vulkan:0'; SET rayql_layout = 'paper'"
			LABELS differential vulkan narrow plain slow release_first TIMEOUT 600) # ASan has .rt, and api.faults with it
	endif()
endif()
