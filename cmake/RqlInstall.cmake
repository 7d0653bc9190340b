# What `cmake --install` writes: library, program, headers, the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

set(rql_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/RayQL")
set(rql_doc_dir "${CMAKE_INSTALL_DATADIR}/doc/rayql")

# What is installed has no symbols for debuggers, which are five times the code. A packager that splits them off asks for
# them: -DRAYQL_INSTALL_STRIP=OFF.
option(RAYQL_INSTALL_STRIP "Strip the libraries and the program when they are installed" ON)
if(RAYQL_INSTALL_STRIP)
	install(CODE "set(CMAKE_INSTALL_DO_STRIP ON)") # as `cmake --install --strip` does
endif()

install(TARGETS librayql EXPORT RayQLTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS rayql RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/rayql" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
	FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${rql_doc_dir}")
if(DuckDBHost_CACHED)
	install(FILES "${DuckDBHost_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/rayql")
	install(FILES "${DuckDBHost_LICENSE}" DESTINATION "${rql_doc_dir}" RENAME LICENSE.duckdb)
	if(RAYQL_INSTALL_STRIP)
		get_filename_component(rql_host_name "${DuckDBHost_LIBRARY}" NAME)
		install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded
			\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/rayql/${rql_host_name}\" COMMAND_ERROR_IS_FATAL ANY)")
	endif()
endif()

# volk is compiled in, from a header that carries its licence at its end.
find_path(rql_volk_dir volk.h REQUIRED)
file(READ "${rql_volk_dir}/volk.h" rql_volk_header)
string(FIND "${rql_volk_header}" "Copyright (c)" rql_volk_start REVERSE)
if(rql_volk_start GREATER -1)
	string(SUBSTRING "${rql_volk_header}" ${rql_volk_start} -1 rql_volk_license)
endif()
if(NOT rql_volk_license MATCHES "Permission is hereby granted")
	message(FATAL_ERROR "${rql_volk_dir}/volk.h has no licence at its end, which has to be installed beside RayQL's")
endif()
string(REGEX REPLACE "\n\\*/.*" "" rql_volk_license "${rql_volk_license}")
string(REGEX REPLACE "\n \\* ?" "\n" rql_volk_license "${rql_volk_license}")
file(WRITE "${CMAKE_BINARY_DIR}/LICENSE.volk" "${rql_volk_license}\n")
install(FILES "${CMAKE_BINARY_DIR}/LICENSE.volk" DESTINATION "${rql_doc_dir}")

install(EXPORT RayQLTargets NAMESPACE RayQL:: DESTINATION "${rql_package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/RayQLConfig.cmake.in"
	"${CMAKE_BINARY_DIR}/RayQLConfig.cmake" INSTALL_DESTINATION "${rql_package_dir}")
# Before 1.0 a minor version may change the API.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/RayQLConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/RayQLConfig.cmake" "${CMAKE_BINARY_DIR}/RayQLConfigVersion.cmake"
	DESTINATION "${rql_package_dir}")

# An absolute folder given by the packager stays as it is; a relative one follows the prefix, which can be moved.
foreach(kind IN ITEMS LIBDIR INCLUDEDIR)
	if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
		set(rql_pc_${kind} "${CMAKE_INSTALL_${kind}}")
	else()
		set(rql_pc_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
	endif()
endforeach()
# The file says where it lies itself, so that an installation is found by pkg-config wherever it was put or moved.
set(rql_pc_prefix "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
	file(RELATIVE_PATH rql_pc_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
	string(REGEX REPLACE "/$" "" rql_pc_prefix "\${pcfiledir}/${rql_pc_prefix}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/rayql.pc.in" "${CMAKE_BINARY_DIR}/rayql.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/rayql.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# By this file ADBC's driver managers find the driver as "rayql". They take absolute paths only.
install(CODE "
	set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
	cmake_path(ABSOLUTE_PATH prefix)
	file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SYSCONFDIR}/adbc/drivers/rayql.toml\"
\"manifest_version = 1
name = \\\"RayQL\\\"
version = \\\"${PROJECT_VERSION}\\\"
license = \\\"Apache-2.0\\\"

[ADBC]
version = \\\"1.1.0\\\"

[Driver]
entrypoint = \\\"AdbcRayqlInit\\\"
shared = \\\"\${prefix}/${CMAKE_INSTALL_LIBDIR}/librayql.so\\\"
\")
")
