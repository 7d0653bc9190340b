# Shaders are compiled offline to SPIR-V 1.5 (Vulkan 1.2) and embedded as words.

find_program(RAYQL_GLSLC NAMES glslc REQUIRED)
find_program(RAYQL_SPIRV_VAL NAMES spirv-val)
set(RAYQL_SHADER_CACHE "" CACHE PATH "Where builds of this tree share compiled shaders (the presets name build/shaders)")
set(rql_shader_cache "${CMAKE_BINARY_DIR}/shaders/kept")
if(RAYQL_SHADER_CACHE)
	set(rql_shader_cache "${RAYQL_SHADER_CACHE}")
endif()
file(MAKE_DIRECTORY "${rql_shader_cache}")

# rql_shaders(TARGET file... )
# Compiles shader files (stage by extension: .comp .vert .frag .rgen .rmiss .rchit .rahit .rint) of the calling folder
# into headers <build>/shaders/<folder>/<name>.<stage>.h (<folder>: src/device is "device", bench is "bench"), each declaring `static const uint32_t rql_spv_<name>_<stage>[]`
# (dots and dashes become underscores), and lets TARGET include them as "shaders/<folder>/<name>.<stage>.h". Included
# files are searched from src/. Variants: "name.comp:variant:-DX=1,-DY" compiles name.comp as name_variant.
# All files of a call are one command, which compiles those that have changed (CompileShaders.cmake).
function(rql_shaders target)
	file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
	string(REGEX REPLACE "^src/" "" folder "${folder}")
	set(out_dir "${CMAKE_BINARY_DIR}/shaders/${folder}")
	file(MAKE_DIRECTORY "${out_dir}")
	set(headers)
	set(sources)
	set(lines)
	foreach(item IN LISTS ARGN)
		string(REPLACE ":" ";" parts "${item}")
		list(GET parts 0 file)
		list(LENGTH parts count)
		get_filename_component(name "${file}" NAME_WLE)
		get_filename_component(ext "${file}" LAST_EXT)
		string(SUBSTRING "${ext}" 1 -1 stage)
		set(defines)
		if(count GREATER 1)
			list(GET parts 1 variant)
			set(name "${name}_${variant}")
			if(count GREATER 2)
				list(GET parts 2 defines)
				string(REPLACE "," " " defines "${defines}")
			endif()
		endif()
		if(stage STREQUAL "comp")
			string(APPEND defines " -DRQL_COMPUTE=1")
		elseif(stage STREQUAL "vert")
			string(APPEND defines " -DRQL_VERTEX=1")
		endif()
		string(STRIP "${defines}" defines)
		string(MAKE_C_IDENTIFIER "rql_spv_${name}_${stage}" symbol)
		set(made "${out_dir}/${name}.${stage}")
		string(APPEND lines "${CMAKE_CURRENT_SOURCE_DIR}/${file}|${defines}|${made}|${symbol}\n")
		list(APPEND sources "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
		list(APPEND headers "${made}.h")
		set_property(GLOBAL APPEND PROPERTY RQL_SPIRV_FILES "${made}.spv")
	endforeach()
	list(REMOVE_DUPLICATES sources)
	list(GET headers 0 first)
	get_filename_component(first_name "${first}" NAME)
	set(list "${out_dir}/${target}_${first_name}.list")
	file(CONFIGURE OUTPUT "${list}" CONTENT "${lines}" @ONLY)
	add_custom_command(
		OUTPUT ${headers}
		COMMAND ${CMAKE_COMMAND} -DLIST=${list} -DGLSLC=${RAYQL_GLSLC} -DINCLUDE=${PROJECT_SOURCE_DIR}/src
			-DKEEP=${rql_shader_cache} -DDEPFILE=${list}.d -DDEPTARGET=${first}
			-P ${PROJECT_SOURCE_DIR}/cmake/CompileShaders.cmake
		DEPENDS ${sources} "${list}" "${PROJECT_SOURCE_DIR}/cmake/CompileShaders.cmake"
			"${PROJECT_SOURCE_DIR}/cmake/spirv_headers.sh"
		DEPFILE "${list}.d"
		COMMENT "Compiling shaders of ${target} in ${folder}"
		VERBATIM)
	set_source_files_properties(${headers} PROPERTIES HEADER_FILE_ONLY TRUE GENERATED TRUE)
	target_sources(${target} PRIVATE ${headers})
	# Those of programs that are not built by default, too: shaders.validate looks at all.
	add_custom_target("${target}_${first_name}" ALL DEPENDS ${headers})
	target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}")
endfunction()
