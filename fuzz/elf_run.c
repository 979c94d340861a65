/* Runs the fuzzer's entry over files and directories: `elf-run PATH…`. Prints how many. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t run_file(const char *path) {
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    struct stat st;
    size_t size = fstat(fileno(f), &st) == 0 ? (size_t)st.st_size : 0;
    AUTO_FREE uint8_t *bytes = mem_alloc(size);
    size = fread(bytes, 1, size, f);
    fclose(f);
    LLVMFuzzerTestOneInput(bytes, size);
    return 1;
}

/* Files directly in a directory; PATH itself when it is none. */
static size_t run_path(const char *path) {
    DIR *dir = opendir(path);
    if (!dir)
        return run_file(path);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        AUTO_FREE char *file = mem_printf("%s/%s", path, entry->d_name);
        if (entry->d_type == DT_REG)
            count += run_file(file);
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv) {
    size_t count = 0;
    for (int i = 1; i < argc; i++)
        count += run_path(argv[i]);
    printf("%zu inputs\n", count);
    return count ? 0 : 1;
}
