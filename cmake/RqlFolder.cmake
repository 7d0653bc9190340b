# One OBJECT library per folder, so that the shared library, the test archive and single tests share the objects.

# rql_folder(NAME SOURCES file... [LINK target...])
# Defines OBJECT library rql_NAME from the sources of the calling folder. LINK names what its compilation needs (include
# folders of third parties).
function(rql_folder name)
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
	add_library(rql_${name} OBJECT ${arg_SOURCES})
	string(FIND "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src/" at)
	if(at EQUAL 0)
		target_compile_options(rql_${name} PRIVATE ${rql_frame_limit})
	endif()
	if(arg_LINK)
		target_link_libraries(rql_${name} PRIVATE ${arg_LINK})
	endif()
endfunction()

# rql_collect_objects(OUT folder...): the objects of those src/ folders. method/cube is rql_cube; method/group, beside
# group, is rql_method_group.
function(rql_collect_objects out)
	set(objects)
	foreach(folder IN LISTS ARGN)
		string(REPLACE "/" "_" name "${folder}")
		if(NOT TARGET rql_${name})
			get_filename_component(name "${folder}" NAME)
		endif()
		list(APPEND objects "$<TARGET_OBJECTS:rql_${name}>")
	endforeach()
	set(${out} "${objects}" PARENT_SCOPE)
endfunction()
