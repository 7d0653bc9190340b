# The conformance suite (src/selftest) on the CPU and on lavapipe, and the shaders themselves.
add_executable(test_selftest selftest.c)
rql_collect_objects(rql_selftest_objects util column geometry device primitive rt method group cube selftest)
target_sources(test_selftest PRIVATE ${rql_selftest_objects})
target_link_libraries(test_selftest PRIVATE PkgConfig::JSONC Threads::Threads m ${CMAKE_DL_LIBS})
rql_add_test(selftest.cpu COMMAND test_selftest cpu LABELS threads TIMEOUT 300)
# Without a Vulkan device it is skipped (77), as with a driver that has no compute unit. ASan has the suite on the CPU,
# and the host's side of the devices' methods in api.*_devices and differential.*.
rql_add_test(selftest.vulkan COMMAND test_selftest vulkan:0 LABELS vulkan plain release TIMEOUT 600)

# Every shader that any folder compiles, as the Vulkan 1.2 environment has it.
if(RAYQL_SPIRV_VAL)
	get_property(rql_spirv_files GLOBAL PROPERTY RQL_SPIRV_FILES)
	string(REPLACE ";" "\n" rql_spirv_lines "${rql_spirv_files}")
	file(WRITE "${CMAKE_BINARY_DIR}/shaders/list.txt" "${rql_spirv_lines}\n")
	rql_add_test(shaders.validate
		COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/shaders.sh" "${RAYQL_SPIRV_VAL}" "${CMAKE_BINARY_DIR}/shaders/list.txt"
		LABELS release)
endif()
