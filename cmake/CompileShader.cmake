# One shader to SPIR-V and to a header of its words (run by cmake -P, see RqlShader.cmake). glslang's own --vn header is
# not used, because it declares a non-static array under a name that two includers would both define.
separate_arguments(defines UNIX_COMMAND "${DEFINES}")
string(REPLACE ";" ";" defines "${DEFINES}")
# RQL_NAMES: functions keep their names, because code is written into the module at run time (device/spirv.h).
set(debug -g0)
if(DEFINES MATCHES "-DRQL_NAMES")
	set(debug)
endif()
execute_process(
	COMMAND ${GLSLANG} --target-env vulkan1.2 -V --quiet ${debug} -I${INCLUDE} ${defines} --depfile ${DEPFILE}.raw -o ${SPV} ${SOURCE}
	RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(failed)
	message(FATAL_ERROR "${SOURCE} did not compile:\n${text}")
endif()
file(READ "${DEPFILE}.raw" dependencies)
string(REGEX REPLACE "^[^:]*:" "${DEPTARGET}:" dependencies "${dependencies}")
file(WRITE "${DEPFILE}" "${dependencies}")
file(READ "${SPV}" words HEX)
# Bytes of little-endian words, eight hex digits each.
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1u," words "${words}")
string(REGEX REPLACE "((0x[0-9a-f]+u,){10})" "\\1\n\t" words "${words}")
file(WRITE "${HEADER}.new" "/* Made from ${SOURCE}. */\n#include <stdint.h>\nstatic const uint32_t ${SYMBOL}[] = {\n\t${words}\n};\n")
file(COPY_FILE "${HEADER}.new" "${HEADER}")
file(REMOVE "${HEADER}.new")
