# Flags that hold for every folder. SIMD is chosen at run time with function target attributes, so there is no -march.
add_compile_options(-Wall -Wextra -Wpedantic)
if(RAYQL_WERROR)
	add_compile_options(-Werror)
endif()
# The answers are the host's answers: no folder may fuse a multiply and an add behind our back.
add_compile_options(-ffp-contract=off)
# Callers' threads may have stacks of 128 KB: what is larger than a block's values lies in memory that is asked for. What
# sanitizers put around each array is their own.
if(NOT RAYQL_SANITIZE)
	set(rql_frame_limit -Wframe-larger-than=36864)
endif()
# -std=c17 hides POSIX; the engine is written for POSIX and glibc.
add_compile_definitions(_GNU_SOURCE)
include_directories("${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")

# Release keeps line numbers for stack traces and drops assert(): a library must not abort its host process over a
# check that the ASan and TSan builds, which run the same tests, make with assert() on.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O3 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")

# A library with sanitized objects has undefined symbols until the program brings the run time along.
set(rql_no_undefined "-Wl,--no-undefined")
if(RAYQL_SANITIZE)
	# -g1: reports name lines, not variables. Objects are half as large, and a fifth less time goes into them.
	add_compile_options(-fsanitize=${RAYQL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
	add_link_options(-fsanitize=${RAYQL_SANITIZE})
	include(CheckLinkerFlag)
	check_linker_flag(C "-fuse-ld=gold" RAYQL_GOLD) # half of the time, a hundred times
	if(RAYQL_GOLD)
		add_link_options(-fuse-ld=gold)
	endif()
	set(rql_no_undefined "")
endif()
if(RAYQL_FUZZ)
	if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
		message(FATAL_ERROR "RAYQL_FUZZ needs clang (libFuzzer); this is ${CMAKE_C_COMPILER_ID}. "
			"Use the preset: cmake --preset fuzz")
	endif()
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()
