# How a test becomes a ctest entry. Labels that mean something:
#   threads  also runs under TSan (the TSan build holds no other tests)
#   memory   runs under ASan+UBSan only: it looks for what these see, and its other checks are the same there
#   release  runs in builds without sanitizers only: what it checks does not depend on them, or it is too long
#   asan_first     ASan+UBSan runs all of it: builds without sanitizers have it as `long`
#   release_first  a sanitizer's run of it costs twice as much and meets what others meet there: it has it as `long`
#                  ASan meets the same in: api.units (unit.cube_*), api.sieves (unit.sieve_compute), api.scan_devices and
#                  .groups_below (unit.scan_compute, .scan_expressions, .group), unit.host_join (unit.relation),
#                  api.rows_devices (unit.scan_rows_compute, api.joined_rows), api.rays, .points and .sieves
#                  (.maps_devices), api.groups_below and .first_groups (.group_devices, .group_runs), unit.raster
#                  (api.raster_devices), ssb.normalised (ssb.flat, unit.ssb_gen)
#   vulkan   needs a GPU or lavapipe; exit status 77 says that there is none, and the test counts as skipped
#   narrow   makes many pipelines, which lavapipe compiles faster for subgroups of 4; all others have those that it
#            has by itself (8 with AVX2), on which selftest.vulkan, scan.ssb.compute, ssb.gpu, bench.rx and, with
#            script/test --all, the tests api.*_native run the same kernels
#   plain    makes many pipelines and runs each over few rows: lavapipe compiles them without optimisations
#   slow     left out by script/test --quick
#   long     runs with script/test --all only: more rows or more random queries of what other tests do in every run, or
#            the same test in its second build

# The sanitizer builds' tests carry it in their names, since script/test runs all builds in one ctest.
set(rql_test_prefix "")
if(RAYQL_SANITIZE MATCHES "thread")
	set(rql_test_prefix "tsan.")
elseif(RAYQL_SANITIZE)
	set(rql_test_prefix "asan.")
endif()

# libduckdb is not instrumented, so what it does inside is not judged: its synchronisation is invisible to TSan, and
# its process-wide state is no leak of ours. A report names malloc's caller alone: whole stacks of libduckdb's allocations,
# which nobody reads, were a fifth of a test's time under ASan. tests/README.md says how to have them.
set(rql_test_environment
	"ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1:malloc_context_size=2"
	"UBSAN_OPTIONS=print_stacktrace=1"
	"LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
	"TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp"
	"RAYQL_TEST_DATA=${PROJECT_SOURCE_DIR}/tests"
)
if(RAYQL_SANITIZE MATCHES "thread")
	list(APPEND rql_test_environment "RAYQL_VULKAN=off") # nor are the drivers, with threads of their own
elseif(RAYQL_SANITIZE)
	# The release build's tests give Vulkan the same calls under its validation layer, whose own memory ASan would watch:
	# half of the time that unit.stage takes here once its kernels are there.
	list(APPEND rql_test_environment "RAYQL_VULKAN_VALIDATION=0")
endif()
# Mesa's cache of compiled kernels is one for all tests and builds, also for tests with an XDG_CACHE_HOME of their own. Narrow
# vectors have another: the width is not in Mesa's keys (25.0.7), so a test of one width got the kernels of the other, and
# crashed.
set(rql_mesa_cache "$ENV{HOME}/.cache")
foreach(variable IN ITEMS XDG_CACHE_HOME MESA_SHADER_CACHE_DIR)
	if(DEFINED ENV{${variable}})
		set(rql_mesa_cache "$ENV{${variable}}")
	endif()
endforeach()

# lavapipe compiles each pipeline with LLVM, which takes most of the time of tests that make hundreds of them. A small scan's
# takes 3.9 CPU seconds, 2.1 with vectors of 128 bits or without LLVM's optimisations, and 1.3 with both. Mesa's keys have the
# optimisations, so only tests with the same ones share pipelines. GPUs' drivers read neither.
set(rql_narrow_environment "LP_NATIVE_VECTOR_WIDTH=128")
set(rql_plain_environment "GALLIVM_PERF=nopt")

# A time limit ends what hangs and judges no speed, but what hangs must not hold CI for long. What a test says itself is
# about six times what it takes in the release build on a busy machine of two cores, and a sanitizer has twice that.
set(RAYQL_TEST_TIMEOUT_FACTOR 1 CACHE STRING "The tests' time limits are multiplied by this")
set(rql_test_least_timeout 300) # in every build, what a test gets that says nothing
set(rql_test_most_timeout 900)
set(rql_test_slowdown 1)
if(RAYQL_SANITIZE)
	set(rql_test_slowdown 2)
endif()

# Whether a test with these labels belongs into this build.
function(rql_test_wanted out)
	set(wanted TRUE)
	if(RAYQL_SANITIZE MATCHES "thread" AND NOT "threads" IN_LIST ARGN)
		set(wanted FALSE)
	elseif(RAYQL_SANITIZE AND "release" IN_LIST ARGN)
		set(wanted FALSE)
	elseif("memory" IN_LIST ARGN AND NOT RAYQL_SANITIZE)
		set(wanted FALSE)
	endif()
	set(${out} ${wanted} PARENT_SCOPE)
endfunction()

# These labels, with `long` where this build is the second one of the test.
function(rql_test_labels out)
	set(labels ${ARGN})
	if(("asan_first" IN_LIST ARGN AND NOT RAYQL_SANITIZE) OR ("release_first" IN_LIST ARGN AND RAYQL_SANITIZE MATCHES "address"))
		list(APPEND labels long)
	endif()
	set(${out} "${labels}" PARENT_SCOPE)
endfunction()

# A program whose test is `long` in this build is made by the target long_tests, which script/test --all asks for, not by all.
if(NOT TARGET long_tests)
	add_custom_target(long_tests)
endif()
function(rql_test_program target)
	rql_test_labels(labels ${ARGN})
	if("long" IN_LIST labels)
		set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
		add_dependencies(long_tests ${target})
	endif()
endfunction()

# ... but another test of each run needs it.
function(rql_test_program_needed target)
	set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL FALSE)
endfunction()

# rql_add_test(NAME COMMAND command... [LABELS label...] [TIMEOUT seconds] [PROCESSORS n])
# add_test with the settings above; nothing when the labels say that this build has no use for it. seconds: the limit of
# the release build, for a test that needs more than rql_test_least_timeout.
function(rql_add_test name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;PROCESSORS" "COMMAND;LABELS")
	rql_test_wanted(wanted ${arg_LABELS})
	if(NOT wanted)
		return()
	endif()
	rql_test_labels(arg_LABELS ${arg_LABELS})
	if(NOT arg_PROCESSORS)
		set(arg_PROCESSORS 1)
	endif()
	# The longest start first, and the release build's before the same with a sanitizer, which then find its pipelines in
	# the cache that Mesa keeps on disk: two at a time would compile the same ones. The last are short.
	if(arg_TIMEOUT)
		math(EXPR cost "${arg_TIMEOUT} / ${rql_test_slowdown} / ${rql_test_slowdown}")
		math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${rql_test_slowdown}")
	else()
		math(EXPR cost "100 / ${rql_test_slowdown} / ${rql_test_slowdown}")
		set(arg_TIMEOUT "${rql_test_least_timeout}")
	endif()
	if(arg_TIMEOUT GREATER rql_test_most_timeout)
		set(arg_TIMEOUT "${rql_test_most_timeout}")
	endif()
	math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${RAYQL_TEST_TIMEOUT_FACTOR}")
	set(environment "${rql_test_environment}")
	if("narrow" IN_LIST arg_LABELS)
		list(APPEND environment "MESA_SHADER_CACHE_DIR=${rql_mesa_cache}/mesa_narrow_vectors")
	else()
		list(APPEND environment "MESA_SHADER_CACHE_DIR=${rql_mesa_cache}")
	endif()
	foreach(label narrow plain)
		if("${label}" IN_LIST arg_LABELS)
			list(APPEND environment "${rql_${label}_environment}")
		endif()
	endforeach()
	# Half a second of ASan's, each time that a test opens a device which it does not ask: other tests open it.
	if(RAYQL_SANITIZE MATCHES "address" AND NOT "vulkan" IN_LIST arg_LABELS AND NOT "narrow" IN_LIST arg_LABELS)
		list(APPEND environment "RAYQL_VULKAN=off")
	endif()
	set(name "${rql_test_prefix}${name}")
	add_test(NAME "${name}" COMMAND ${arg_COMMAND})
	set_tests_properties("${name}" PROPERTIES
		ENVIRONMENT "${environment}"
		LABELS "${arg_LABELS}"
		TIMEOUT "${arg_TIMEOUT}"
		COST "${cost}"
		PROCESSORS "${arg_PROCESSORS}")
	if("vulkan" IN_LIST arg_LABELS)
		set_tests_properties("${name}" PROPERTIES SKIP_RETURN_CODE 77)
	endif()
endfunction()

# rql_unit_test(NAME [FOLDERS folder...] [LABELS label...] [TIMEOUT seconds] [ARGS arg...])
# unit/test_NAME.c with cmocka over the engine's internal symbols. FOLDERS names the folders whose objects it is
# linked with, which proves that they need no others; without it the whole engine is linked.
function(rql_unit_test name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "FOLDERS;LABELS;ARGS")
	rql_test_wanted(wanted ${arg_LABELS})
	if(NOT wanted)
		return()
	endif()
	add_executable(test_${name} "unit/test_${name}.c")
	rql_test_program(test_${name} ${arg_LABELS})
	if(arg_FOLDERS)
		rql_collect_objects(objects ${arg_FOLDERS})
		target_sources(test_${name} PRIVATE ${objects})
		target_link_libraries(test_${name}
			PRIVATE PkgConfig::JSONC Threads::Threads m ${CMAKE_DL_LIBS})
	else()
		target_link_libraries(test_${name} PRIVATE rayql_internal)
	endif()
	target_link_libraries(test_${name} PRIVATE PkgConfig::CMOCKA)
	rql_add_test("unit.${name}" COMMAND test_${name} ${arg_ARGS} LABELS unit ${arg_LABELS} TIMEOUT "${arg_TIMEOUT}")
endfunction()

# rql_public_test(NAME [LABELS label...] [TIMEOUT seconds] [ARGS arg...])
# api/test_NAME.c with cmocka over the shared library and its public headers alone: what a user's program can do.
function(rql_public_test name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS;ARGS")
	rql_test_wanted(wanted ${arg_LABELS})
	if(NOT wanted)
		return()
	endif()
	add_executable(test_api_${name} "api/test_${name}.c")
	rql_test_program(test_api_${name} ${arg_LABELS})
	# Their own code does little but ask: without optimisations it compiles in half of the time.
	target_compile_options(test_api_${name} PRIVATE -O0)
	target_link_libraries(test_api_${name} PRIVATE RayQL::rayql PkgConfig::CMOCKA Threads::Threads m)
	rql_add_test("api.${name}" COMMAND test_api_${name} ${arg_ARGS} LABELS api ${arg_LABELS} TIMEOUT "${arg_TIMEOUT}")
endfunction()

# rql_fuzz_target(NAME [FOLDERS folder...] [TIMEOUT seconds])
# fuzz/NAME.c has LLVMFuzzerTestOneInput. With RAYQL_FUZZ it becomes a libFuzzer program; in every other build a plain
# one that replays fuzz/corpus/NAME, as a test.
function(rql_fuzz_target name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "FOLDERS")
	rql_test_wanted(wanted)
	if(NOT wanted)
		return()
	endif()
	add_executable(fuzz_${name} "fuzz/${name}.c")
	if(arg_FOLDERS)
		rql_collect_objects(objects ${arg_FOLDERS})
		target_sources(fuzz_${name} PRIVATE ${objects})
		target_link_libraries(fuzz_${name}
			PRIVATE PkgConfig::JSONC Threads::Threads m ${CMAKE_DL_LIBS})
	else()
		target_link_libraries(fuzz_${name} PRIVATE rayql_internal)
	endif()
	if(RAYQL_FUZZ)
		target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
	else()
		target_sources(fuzz_${name} PRIVATE fuzz/replay.c)
		rql_add_test("fuzz.${name}" COMMAND fuzz_${name} "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name}"
			LABELS fuzz TIMEOUT "${arg_TIMEOUT}")
	endif()
endfunction()
