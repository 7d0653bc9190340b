# Finds libduckdb and duckdb.h: the imported target DuckDBHost::DuckDBHost.
#
# Searched in this order: DUCKDB_ROOT (variable or environment), the system's folders, then the download that
# script/setup keeps in the cache folder: RAYQL_CACHE, else XDG_CACHE_HOME/rayql, else HOME/.cache/rayql.
# An installed library is taken only when it is of a fitting version (it is asked by running it), since RayQL reads
# plan JSON whose form is internal to DuckDB.
#
# Sets DuckDBHost_FOUND, DuckDBHost_VERSION, and DuckDBHost_CACHED (true when it is the download, which is then
# installed along with RayQL) with DuckDBHost_LICENSE.

set(RAYQL_CACHE "$ENV{RAYQL_CACHE}" CACHE PATH "Where script/setup keeps its downloads")
set(_cache "${RAYQL_CACHE}")
if(NOT _cache)
	if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
		set(_cache "$ENV{XDG_CACHE_HOME}/rayql")
	else()
		set(_cache "$ENV{HOME}/.cache/rayql")
	endif()
endif()
set(_cached_root "${_cache}/duckdb-${DuckDBHost_FIND_VERSION}")

# Asks a library for its version; empty when it cannot be linked and run.
function(_duckdbhost_version include library out)
	file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/duckdb_version.c"
		"#include <duckdb.h>\n#include <stdio.h>\nint main(void) { return puts(duckdb_library_version()) < 0; }\n")
	try_run(_run _compiled "${CMAKE_BINARY_DIR}/CMakeFiles/duckdb_version"
		"${CMAKE_BINARY_DIR}/CMakeFiles/duckdb_version.c"
		CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${include}"
		LINK_LIBRARIES "${library}"
		RUN_OUTPUT_VARIABLE _text)
	set(_version "")
	if(_compiled AND _run EQUAL 0 AND _text MATCHES "v([0-9]+\\.[0-9]+\\.[0-9]+)")
		set(_version "${CMAKE_MATCH_1}")
	endif()
	set(${out} "${_version}" PARENT_SCOPE)
endfunction()

# One try: takes include and library when the version is in [wanted, next major).
macro(_duckdbhost_try include library)
	if(NOT DuckDBHost_LIBRARY AND EXISTS "${include}/duckdb.h" AND EXISTS "${library}")
		_duckdbhost_version("${include}" "${library}" _version)
		if(_version VERSION_GREATER_EQUAL "${DuckDBHost_FIND_VERSION}" AND _version VERSION_LESS 2)
			set(DuckDBHost_LIBRARY "${library}" CACHE FILEPATH "libduckdb")
			set(DuckDBHost_INCLUDE_DIR "${include}" CACHE PATH "The folder of duckdb.h")
			set(DuckDBHost_VERSION "${_version}" CACHE INTERNAL "")
		else()
			message(STATUS "Passing over ${library}: version '${_version}', "
				"wanted at least ${DuckDBHost_FIND_VERSION} and below 2")
		endif()
	endif()
endmacro()

# The cache is asked again when it moved; a configured path that has gone is forgotten.
if(DuckDBHost_LIBRARY AND NOT EXISTS "${DuckDBHost_LIBRARY}")
	unset(DuckDBHost_LIBRARY CACHE)
	unset(DuckDBHost_INCLUDE_DIR CACHE)
endif()
if(NOT DuckDBHost_LIBRARY)
	foreach(_root IN ITEMS "${DUCKDB_ROOT}" "$ENV{DUCKDB_ROOT}")
		if(_root)
			find_path(_root_include duckdb.h PATHS "${_root}" PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
			find_library(_root_library duckdb PATHS "${_root}" PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH NO_CACHE)
			_duckdbhost_try("${_root_include}" "${_root_library}")
		endif()
	endforeach()
	find_path(_system_include duckdb.h NO_CACHE)
	find_library(_system_library duckdb NO_CACHE)
	_duckdbhost_try("${_system_include}" "${_system_library}")
	_duckdbhost_try("${_cached_root}/include" "${_cached_root}/lib/libduckdb.so")
endif()
set(DuckDBHost_CACHED FALSE)
if(DuckDBHost_LIBRARY STREQUAL "${_cached_root}/lib/libduckdb.so")
	set(DuckDBHost_CACHED TRUE)
	set(DuckDBHost_LICENSE "${_cached_root}/LICENSE")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DuckDBHost
	REQUIRED_VARS DuckDBHost_LIBRARY DuckDBHost_INCLUDE_DIR
	VERSION_VAR DuckDBHost_VERSION
	REASON_FAILURE_MESSAGE "Run script/setup (it downloads it to ${_cached_root}), or set DUCKDB_ROOT to an installation")

if(DuckDBHost_FOUND AND NOT TARGET DuckDBHost::DuckDBHost)
	add_library(DuckDBHost::DuckDBHost SHARED IMPORTED)
	set_target_properties(DuckDBHost::DuckDBHost PROPERTIES
		IMPORTED_LOCATION "${DuckDBHost_LIBRARY}"
		INTERFACE_INCLUDE_DIRECTORIES "${DuckDBHost_INCLUDE_DIR}")
endif()
mark_as_advanced(DuckDBHost_LIBRARY DuckDBHost_INCLUDE_DIR)
