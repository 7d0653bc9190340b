# Shaders are compiled offline to SPIR-V 1.5 (Vulkan 1.2) and embedded as words.

find_program(RAYQL_GLSLANG NAMES glslangValidator glslang REQUIRED)
find_program(RAYQL_SPIRV_VAL NAMES spirv-val)
set(RAYQL_SHADER_CACHE "" CACHE PATH "Where builds of this tree share compiled shaders (the presets name build/shaders)")
if(RAYQL_SHADER_CACHE)
	file(MAKE_DIRECTORY "${RAYQL_SHADER_CACHE}")
endif()

# rql_shaders(TARGET file... )
# Compiles shader files (stage by extension: .comp .vert .frag .rgen .rmiss .rchit .rahit .rint) of the calling folder
# into headers <build>/shaders/<folder>/<name>.<stage>.h (<folder>: src/device is "device", bench is "bench"), each declaring `static const uint32_t rql_spv_<name>_<stage>[]`
# (dots and dashes become underscores), and lets TARGET include them as "shaders/<folder>/<name>.<stage>.h". Included
# files are searched from src/. Variants: "name.comp:variant:-DX=1,-DY" compiles name.comp as name_variant.
function(rql_shaders target)
	file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
	string(REGEX REPLACE "^src/" "" folder "${folder}")
	set(out_dir "${CMAKE_BINARY_DIR}/shaders/${folder}")
	file(MAKE_DIRECTORY "${out_dir}")
	set(headers)
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
				string(REPLACE "," ";" defines "${defines}")
			endif()
		endif()
		if(stage STREQUAL "comp")
			list(APPEND defines -DRQL_COMPUTE=1)
		elseif(stage STREQUAL "vert")
			list(APPEND defines -DRQL_VERTEX=1)
		endif()
		string(MAKE_C_IDENTIFIER "rql_spv_${name}_${stage}" symbol)
		set(spv "${out_dir}/${name}.${stage}.spv")
		set(header "${out_dir}/${name}.${stage}.h")
		add_custom_command(
			OUTPUT "${header}"
			COMMAND ${CMAKE_COMMAND} -DGLSLANG=${RAYQL_GLSLANG} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${file}
				-DINCLUDE=${PROJECT_SOURCE_DIR}/src "-DDEFINES=${defines}" -DSPV=${spv} -DHEADER=${header}
				-DSYMBOL=${symbol} -DKEEP=${RAYQL_SHADER_CACHE} -DDEPFILE=${header}.d -DDEPTARGET=${header}
				-P ${PROJECT_SOURCE_DIR}/cmake/CompileShader.cmake
			DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}" "${PROJECT_SOURCE_DIR}/cmake/CompileShader.cmake"
			DEPFILE "${header}.d"
			COMMENT "Compiling shader ${folder}/${name}.${stage}"
			VERBATIM)
		list(APPEND headers "${header}")
		set_property(GLOBAL APPEND PROPERTY RQL_SPIRV_FILES "${spv}")
	endforeach()
	set_source_files_properties(${headers} PROPERTIES HEADER_FILE_ONLY TRUE GENERATED TRUE)
	target_sources(${target} PRIVATE ${headers})
	# Those of programs that are not built by default, too: shaders.validate looks at all.
	list(GET headers 0 first)
	get_filename_component(first "${first}" NAME)
	add_custom_target("${target}_${first}" ALL DEPENDS ${headers})
	target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}")
endfunction()
