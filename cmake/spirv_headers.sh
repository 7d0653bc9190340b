#!/bin/sh
# spirv_headers.sh LIST: a C header NAME.h of the words of each NAME.spv. LIST has lines NAME|SYMBOL|SOURCE|NAMES. Without
# NAMES (0) the header leaves out what is for debuggers: names, strings, lines, and what the source said of itself.
while IFS='|' read -r name symbol source names; do
	printf 'file|%s|%s|%s|%s\n' "$name" "$symbol" "$source" "$names"
	od -A n -v -t x4 "$name.spv" || exit 1
done <"$1" | awk '
	function hex4(s,   i, n) {
		for (i = 1; i <= 4; i++)
			n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
		return n
	}
	function finish() {
		if (header == "")
			return
		print line "\n};" >header
		close(header)
	}
	BEGIN {
		count = split("0002 0003 0004 0005 0006 0007 0008 013d 014a", list, " ") # OpSource to OpLine, OpNoLine, OpModuleProcessed
		for (i = 1; i <= count; i++)
			debug[list[i]] = 1
	}
	/^file\|/ {
		finish()
		split($0, field, "|")
		header = field[2] ".h"
		names = field[5] + 0
		print "/* Made from " field[4] ". */\n#include <stdint.h>\nstatic const uint32_t " field[3] "[] = {" >header
		line = "\t"
		words = 0 # the first five are the head
		left = 5
		drop = 0
		next
	}
	{
		for (i = 1; i <= NF; i++) {
			if (left == 0) {
				left = hex4($i)
				drop = !names && (substr($i, 5) in debug)
			}
			left--
			if (drop)
				continue
			if (words && words % 10 == 0) {
				print line >header
				line = "\t"
			}
			line = line "0x" $i "u,"
			words++
		}
	}
	END { finish() }'
