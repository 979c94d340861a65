/* test-types-damaged FILE...: CTF and BTF that is cut short or has flipped bits is read or refused,
 * never misread. Each FILE is cut at each length, and each of its bytes is changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint8_t *read_whole(const char *path, size_t *ret_size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = mem_alloc(1 << 20);
    if (!file) {
        perror(path);
        exit(1);
    }
    *ret_size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    for (int i = 1; i < argc; i++) {
        size_t size;
        uint8_t *bytes = read_whole(argv[i], &size);
        LLVMFuzzerTestOneInput(bytes, size);
        for (size_t n = 0; n < size; n++)
            LLVMFuzzerTestOneInput(bytes, n);
        for (size_t n = 0; n < size; n++)
            for (size_t f = 0; f < sizeof flips; f++) {
                bytes[n] ^= flips[f];
                LLVMFuzzerTestOneInput(bytes, size);
                bytes[n] ^= flips[f];
            }
        printf("%s: %zu bytes\n", argv[i], size);
        free(bytes);
    }
    return 0;
}
