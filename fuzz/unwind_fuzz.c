/*
 * Fuzzes what `spoor unwind` and `spoor symbolize` read besides the image: dumps of memory, lists
 * of registers, logs; and walks over stacks of any content, with the fuzzer's own program as image.
 *
 *   clang -g -O1 -D_GNU_SOURCE -Isrc -Ibuild/src/agent -fsanitize=fuzzer,address,undefined \
 *       fuzz/unwind_fuzz.c -Ibacktrace backtrace/spoor_backtrace.c \
 *       src/unwind/{code,dump,offline,offline_code,offline_machine,rows,evaluate}.c \
 *       $(find src/arch src/elf -name '*.c' |
 *         grep -vE '/(aarch64|arm)/(regs|bridge|branch|agent)\.c|/no_rest\.c') \
 *       src/cmd/{scan,values}.c src/base/{err,mem,log,wide}.c \
 *       -ldw -lelf -lZydis -liberty -lz -lzstd -llzma -o unwind-fuzz && ./unwind-fuzz CORPUS
 *
 * With elf_run.c instead of libFuzzer it replays files: an ordinary test.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/log_words.h"
#include "unwind/dump.h"
#include "unwind/offline.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const uint64_t SP = 0x7fff0000;

static void read_log(const uint8_t *bytes, size_t size) {
    struct scan scan = {0};
    struct scan_hit hit;
    for (size_t i = 0; i < size; i++)
        scan_byte(&scan, bytes[i], &hit);
}

static void read_registers(const uint8_t *bytes, size_t size) {
    static const uint16_t machines[] = {40, 183, 62}; /* EM_ARM, EM_AARCH64, EM_X86_64 */
    AUTO_FREE char *text = mem_alloc(size + 1);
    memcpy(text, bytes, size);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct offline_registers registers;
        struct err err = {0};
        int rc = offline_registers_read(offline_machine(machines[i]), text, &registers, &err);
        if (rc < 0 && (!err.tag[0] || !err.text[0]))
            abort();
    }
}

static void read_dump(const uint8_t *bytes, size_t size, struct dump *ret) {
    struct dump_place place = {.word = 8, .sp = SP};
    struct err err = {0};
    int rc = dump_read(bytes, size, &place, ret, &err);
    if (rc < 0 && (rc != -err.code || !err.tag[0] || !err.text[0]))
        abort();
}

/* From the fuzzer's entry, with the input's first words as registers. */
static void walk(struct lineinfo *info, const uint8_t *bytes, size_t size, struct dump *dump) {
    struct offline_program program = {.info = info,
                                      .machine = offline_machine(lineinfo_machine(info)),
                                      .pieces = dump->pieces.at,
                                      .piece_count = dump->pieces.count};
    struct offline_registers registers = {.known = UINT64_MAX};
    offline_frames frames = {0};
    struct err end = {0};
    size_t most = sizeof registers.value;
    memcpy(registers.value, bytes, size < most ? size : most);
    registers.value[7] = SP; /* rsp */
    registers.value[16] = lineinfo_lowest_page(info) + registers.value[16] % (1 << 20);
    offline_unwind(&program, &registers, &frames, &end);
    if (!end.tag[0] || !end.text[0])
        abort();
    for (size_t i = 0; i < frames.count && i < 4; i++) {
        struct line_place place;
        if (!frames.at[i].is_code)
            continue;
        lineinfo_find(info, frames.at[i].addr, !frames.at[i].exact, &place);
        line_place_done(&place);
    }
    ARRAY_FREE(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static struct lineinfo *info;
    struct dump dump = {0};
    if (!info && lineinfo_open("/proc/self/exe", &info, NULL) < 0)
        abort();
    read_log(bytes, size);
    read_registers(bytes, size);
    read_dump(bytes, size, &dump);
    walk(info, bytes, size, &dump);
    dump_done(&dump);
    return 0;
}
