# What `cmake --install` writes: library, program, headers, the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

set(rql_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/RayQL")
set(rql_doc_dir "${CMAKE_INSTALL_DATADIR}/doc/rayql")

install(TARGETS librayql EXPORT RayQLTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS rayql RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/rayql" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
	FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${rql_doc_dir}")
if(DuckDBHost_CACHED)
	install(FILES "${DuckDBHost_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/rayql")
	install(FILES "${DuckDBHost_LICENSE}" DESTINATION "${rql_doc_dir}" RENAME LICENSE.duckdb)
endif()

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
configure_file("${PROJECT_SOURCE_DIR}/cmake/rayql.pc.in" "${CMAKE_BINARY_DIR}/rayql.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/rayql.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
