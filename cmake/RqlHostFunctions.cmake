# host_functions.h from host_functions.txt: a table with a pointer to each function of DuckDB's that src/host calls, and a
# macro by the function's own name that calls through it. So the library needs no libduckdb when it is loaded, and takes
# the one that the process has (src/host/host_library.c).
function(rql_host_functions list header)
	file(STRINGS "${list}" names REGEX "^duckdb_")
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
	set(all "")
	set(members "")
	set(macros "")
	foreach(name IN LISTS names)
		string(APPEND all " \\\n\tF(${name})")
		string(APPEND members "\t__typeof__(${name}) *${name};\n")
		string(APPEND macros "#define ${name} (*host_api.${name})\n")
	endforeach()
	file(CONFIGURE OUTPUT "${header}" @ONLY CONTENT
"/* Made from host_functions.txt by cmake/RqlHostFunctions.cmake. */
#define HOST_FUNCTIONS(F)@all@

struct host_api {
@members@};
extern struct host_api host_api;

@macros@")
endfunction()
