/*
 * Answers for many stacks what `spoor unwind` finds: walker IMAGE
 *
 * A line of input is one stack: "REGISTERS BASE BYTES", BASE and BYTES in hexadecimal. A line of
 * output has its frames: "ADDRESS:p", or "ADDRESS:r" for a return address, each with how it was
 * found. The line ends with the reason why there are no more frames.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unwind/offline.h"

static size_t read_bytes(const char *text, uint8_t *ret) {
    size_t count = 0;
    for (unsigned byte; sscanf(text + 2 * count, "%2x", &byte) == 1; count++)
        ret[count] = (uint8_t)byte;
    return count;
}

static void answer(struct offline_program *program, char *line) {
    static uint8_t bytes[1 << 16];
    char *base = strchr(line, ' '), *text = base ? strchr(base + 1, ' ') : NULL;
    struct offline_registers registers;
    offline_frames frames = {0};
    struct err end = {0};
    if (!text || strlen(text) > 2 * sizeof bytes)
        exit(2);
    *base = '\0';
    struct unwind_piece piece = {strtoull(base + 1, NULL, 16), bytes, read_bytes(text + 1, bytes)};
    if (offline_registers_read(program->machine, line, &registers, &end) < 0)
        exit(3);
    program->pieces = &piece;
    program->piece_count = 1;
    offline_unwind(program, &registers, &frames, &end);
    for (size_t i = 0; i < frames.count; i++)
        printf("%" PRIx64 ":%c:%s;", frames.at[i].addr, frames.at[i].exact ? 'p' : 'r',
               offline_how_name(frames.at[i].how));
    printf("%s\n", end.tag);
    fflush(stdout);
    ARRAY_FREE(&frames);
}

int main(int argc, char **argv) {
    struct offline_program program = {0};
    struct err err;
    if (argc != 2 || lineinfo_open(argv[1], &program.info, &err) < 0)
        return 1;
    program.machine = offline_machine(lineinfo_machine(program.info));
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    while (program.machine && getline(&line, &room, stdin) > 0)
        answer(&program, line);
    lineinfo_close(program.info);
    return 0;
}
