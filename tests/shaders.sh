#!/bin/sh
# shaders.sh SPIRV-VAL LIST: every SPIR-V file of the list is valid for Vulkan 1.2 with the scalar block layout.
validator=$1 list=$2
failed=0 count=0
while read -r file; do
	count=$((count + 1))
	if ! "$validator" --target-env vulkan1.2 --scalar-block-layout "$file"; then
		echo "invalid: $file"
		failed=1
	fi
done <"$list"
[ "$count" -gt 0 ] || { echo "there is no shader in $list"; exit 1; }
echo "$count shaders"
exit $failed
