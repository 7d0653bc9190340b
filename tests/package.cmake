# Tests of the source tree and of what is installed from it.

rql_add_test(tree.layering COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/layering/check.sh" "${PROJECT_SOURCE_DIR}"
	LABELS tree release)
rql_add_test(tree.layering_finds_faults COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/layering/self_test.sh"
	LABELS tree release)

find_program(rql_cxx NAMES c++ g++ clang++ REQUIRED)
set(rql_third_party_flags "-I${DuckDBHost_INCLUDE_DIR} -I${CMAKE_BINARY_DIR}/src ${JSONC_CFLAGS_OTHER}")
foreach(folder IN LISTS JSONC_INCLUDE_DIRS LIBEDIT_INCLUDE_DIRS)
	string(APPEND rql_third_party_flags " -I${folder}")
endforeach()
rql_add_test(tree.headers
	COMMAND "${CMAKE_COMMAND}" -E env "CFLAGS=${rql_third_party_flags}"
		sh "${CMAKE_CURRENT_SOURCE_DIR}/install/headers.sh" "${CMAKE_C_COMPILER}" "${rql_cxx}" "${PROJECT_SOURCE_DIR}"
	LABELS tree release)

if(TARGET rql_api)
	rql_add_test(package.symbols
		COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/install/symbols.sh" "$<TARGET_FILE:librayql>" "${PROJECT_SOURCE_DIR}"
		LABELS package release)
	rql_add_test(package.install
		COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/install/install.sh" "${CMAKE_COMMAND}" "${CMAKE_C_COMPILER}" "${rql_cxx}"
			"${CMAKE_BINARY_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/install/consumer" "${PROJECT_SOURCE_DIR}/docs/c.md"
		LABELS package release)
endif()
