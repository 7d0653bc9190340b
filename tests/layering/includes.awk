# awk -v rules=FILE -f includes.awk FILE source...: prints one line for each #include that the rules do not allow. Run in the
# root of the tree; the sources' names start with src/, shell/ or bench/.
# The folder that a path (src/ cut off) belongs to: method/cube/x.c -> method/cube, device/cpu/x.c -> device.
function folder_of(path,  part, n) {
	n = split(path, part, "/")
	return part[1] == "method" && n > 2 ? part[1] "/" part[2] : part[1]
}
function allowed(folder, target, header,  rule, item, i, n) {
	rule = folder in may ? may[folder] : folder ~ /^method\// ? may["method/*"] : "?"
	if (rule == "?") return 0
	n = split(rule, item, " ")
	for (i = 1; i <= n; i++)
		if (item[i] == target || item[i] == header) return 1
	return 0
}
function fault(text) { print FILENAME ":" FNR ": " text }
FILENAME == rules {
	if ($0 !~ /^#/ && split($0, side, ":") == 2) may[side[1]] = side[2]
	next
}
FNR == 1 {
	path = FILENAME; sub(/^src\//, "", path); folder = folder_of(path)
	if (!(folder in may) && folder !~ /^method\//) fault("folder " folder " has no rule in rules.txt")
}
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
	header = $0; sub(/^[^<"]*/, "", header); quote = substr(header, 1, 1)
	header = substr(header, 2); sub(/[>"].*/, "", header)
	n = split(may["guarded"], guard, " ")
	for (i = 1; i <= n; i++) {
		name = substr(guard[i], 2); sub(/>$/, "", name)
		if (index(header, name) == 1 && !allowed(folder, "", guard[i]) && FILENAME !~ /^src\/device\/vulkan\//)
			fault(folder " must not include <" header ">")
	}
	if (header ~ /^shaders\//) { # made from a folder's own shaders (cmake/RqlShader.cmake)
		made = header; sub(/^shaders\//, "", made)
		if (folder_of(made) != folder) fault("shaders of another folder: " header)
		next
	}
	made = header; sub(/\.h$/, ".txt", made) # made from a list of that name (cmake/RqlHostFunctions.cmake)
	known = is_file("src/" header) || is_file("src/" made) || is_file("include/" header) ||
		(folder ~ /^(shell|bench)$/ && is_file(header))
	if (quote == "\"" && header !~ /\// && header != "duckdb.h") {
		# The programs' own folders lie outside src/; their headers are named as they lie.
		if (folder != "shell" && folder != "bench")
			fault("write \"" folder "/" header "\": includes start at src/")
		next
	}
	if (quote == "\"" && !known && header != "duckdb.h") { fault("no such header: " header); next }
	if (!known) next
	target = folder_of(header)
	if (target == folder) next
	if (header ~ /_internal\.h$/) fault("internal header of another folder: " header)
	else if (!allowed(folder, target, header)) fault(folder " must not include " header)
}
function is_file(file,  line, got) {
	if (!(file in exists)) { got = (getline line < file); close(file); exists[file] = got >= 0 }
	return exists[file]
}
