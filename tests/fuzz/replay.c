/* Stands in for libFuzzer's main: gives every file of the folders and files named as arguments to the target, so that the
 * corpus is replayed with any compiler. A folder that holds nothing is a mistake in the call and fails. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly as many bytes as the file has are allocated, so that ASan sees a target that reads past its input. */
static bool replay_file(const char *path)
{
	bool ok = false;
	uint8_t *data = NULL;
	struct stat info;
	FILE *file = fopen(path, "rb");
	if (!file || fstat(fileno(file), &info) != 0)
		goto done;
	size_t size = (size_t)info.st_size;
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size)
		goto done;
	LLVMFuzzerTestOneInput(data, size);
	ok = true;
done:
	if (!ok)
		fprintf(stderr, "replay: cannot read %s\n", path);
	free(data);
	if (file)
		fclose(file);
	return ok;
}

static bool replay_folder(const char *path, unsigned *count)
{
	struct dirent **entries;
	int entry_count = scandir(path, &entries, NULL, alphasort);
	if (entry_count < 0) {
		fprintf(stderr, "replay: cannot open folder %s\n", path);
		return false;
	}
	bool ok = true;
	for (int i = 0; i < entry_count; i++) {
		char *file;
		if (ok && entries[i]->d_name[0] != '.' && asprintf(&file, "%s/%s", path, entries[i]->d_name) > 0) {
			ok = replay_file(file);
			free(file);
			++*count;
		}
		free(entries[i]);
	}
	free(entries);
	return ok;
}

int main(int argc, char **argv)
{
	unsigned count = 0;
	for (int i = 1; i < argc; i++) {
		struct stat info;
		if (stat(argv[i], &info) == 0 && S_ISREG(info.st_mode)) {
			if (!replay_file(argv[i]))
				return EXIT_FAILURE;
			count++;
		} else if (!replay_folder(argv[i], &count)) {
			return EXIT_FAILURE;
		}
	}
	printf("replayed %u inputs\n", count);
	return count ? EXIT_SUCCESS : EXIT_FAILURE;
}
