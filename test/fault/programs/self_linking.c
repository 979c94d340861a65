/*
 * Code that links itself while it runs, as mono's images that are compiled ahead of time do. Each
 * stub is a jump through a word, followed by a number. The binder finds a stub by the call that led
 * to it. The stub's bytes tell which word to fill with which address.
 */
#include "self_check.h"

int twice(int), next(int);
#if defined __x86_64__
__asm__("    .data\n"
        "    .p2align 3\n"
        "word_of_twice: .quad unbound\n"
        "word_of_next: .quad unbound\n"
        "    .text\n"
        "    .macro STUB name, number\n"
        "    .type \\name, @function\n"
        "\\name:\n"
        "    jmp *word_of_\\name(%rip)\n"
        "    .long \\number\n"
        "    .size \\name, . - \\name\n"
        "    .endm\n"
        "    STUB twice, 0\n"
        "    STUB next, 1\n"
        "    .p2align 4\n"
        "    .type unbound, @function\n"
        "unbound:\n"
        "    .cfi_startproc\n"
        "    push %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    mov 8(%rsp), %rdi\n"
        "    sub $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call bind\n"
        "    add $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    pop %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    jmp *%rax\n"
        "    .cfi_endproc\n"
        "    .size unbound, . - unbound\n");

enum { CALL = 0xe8, CALL_BYTES = 5, JUMP_BYTES = 6 };

static int32_t number_at(const uint8_t *bytes) {
    int32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

static void read_stub(const uint8_t *after, int32_t *ret_number, uint8_t **ret_word) {
    check(after[-CALL_BYTES] == CALL, "a call");
    const uint8_t *stub = after + number_at(after - sizeof(int32_t));
    check(stub[0] == 0xff && stub[1] == 0x25, "a stub");
    const uint8_t *end = stub + JUMP_BYTES;
    *ret_number = number_at(end);
    *ret_word = (uint8_t *)(uintptr_t)(end + number_at(end - sizeof(int32_t)));
}
#elif defined __aarch64__
__asm__("    .data\n"
        "    .p2align 3\n"
        "word_of_twice: .quad unbound\n"
        "word_of_next: .quad unbound\n"
        "    .text\n"
        "    .macro STUB name, number\n"
        "    .type \\name, @function\n"
        "\\name:\n"
        "    adrp x16, word_of_\\name\n"
        "    add x16, x16, :lo12:word_of_\\name\n"
        "    ldr x16, [x16]\n"
        "    br x16\n"
        "    .word \\number\n"
        "    .size \\name, . - \\name\n"
        "    .endm\n"
        "    STUB twice, 0\n"
        "    STUB next, 1\n"
        "    .p2align 4\n"
        "    .type unbound, @function\n"
        "unbound:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset 29, -32\n"
        "    .cfi_offset 30, -24\n"
        "    str x0, [sp, #16]\n"
        "    mov x0, x30\n"
        "    bl bind\n"
        "    mov x16, x0\n"
        "    ldr x0, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    .cfi_def_cfa_offset 0\n"
        "    br x16\n"
        "    .cfi_endproc\n"
        "    .size unbound, . - unbound\n");

static void read_stub(const uint8_t *after, int32_t *ret_number, uint8_t **ret_word) {
    enum { ADRP, ADD, LOAD, JUMP, NUMBER, WORDS };
    uint32_t call, words[WORDS];
    memcpy(&call, after - sizeof call, sizeof call);
    check(call >> 26 == 0x25, "a call");
    const uint8_t *stub = after - sizeof call + ((int64_t)((uint64_t)call << 38) >> 36);
    memcpy(words, stub, sizeof words);
    check((words[ADRP] & 0x9f00001f) == 0x90000010 && (words[ADD] & 0xffc003ff) == 0x91000210 &&
              words[LOAD] == 0xf9400210 && words[JUMP] == 0xd61f0200,
          "a stub");
    int64_t pages = (int64_t)((uint64_t)words[ADRP] << 40) >> 45 << 2 | (words[ADRP] >> 29 & 3);
    *ret_number = (int32_t)words[NUMBER];
    *ret_word = (uint8_t *)(((uintptr_t)stub & ~(uintptr_t)4095) + (uintptr_t)pages * 4096 +
                            (words[ADD] >> 10 & 4095));
}
#else
__asm__("    .data\n"
        "    .p2align 2\n"
        "word_of_twice: .word unbound\n"
        "word_of_next: .word unbound\n"
        "    .text\n"
        "    .arm\n"
        "    .macro STUB name, number\n"
        "    .type \\name, %function\n"
        "\\name:\n"
        "    ldr ip, 2f\n"
        "1:  add ip, pc, ip\n"
        "    ldr pc, [ip]\n"
        "2:  .word word_of_\\name - 1b - 8\n"
        "    .word \\number\n"
        "    .size \\name, . - \\name\n"
        "    .endm\n"
        "    STUB twice, 0\n"
        "    STUB next, 1\n"
        "    .type unbound, %function\n"
        "unbound:\n"
        "    .fnstart\n"
        "    push {r0, lr}\n"
        "    .save {r0, lr}\n"
        "    mov r0, lr\n"
        "    bl bind\n"
        "    mov ip, r0\n"
        "    pop {r0, lr}\n"
        "    bx ip\n"
        "    .fnend\n"
        "    .size unbound, . - unbound\n");

static void read_stub(const uint8_t *after, int32_t *ret_number, uint8_t **ret_word) {
    enum { LITERAL, SUM, JUMP, OFFSET, NUMBER, WORDS, SUM_AT = 12 };
    uint32_t call, words[WORDS];
    memcpy(&call, after - sizeof call, sizeof call);
    check(call >> 24 == 0xeb, "a call");
    const uint8_t *stub = after + 4 + ((int32_t)(call << 8) >> 6);
    memcpy(words, stub, sizeof words);
    check(words[LITERAL] == 0xe59fc004 && words[SUM] == 0xe08fc00c && words[JUMP] == 0xe59cf000,
          "a stub");
    *ret_number = (int32_t)words[NUMBER];
    *ret_word = (uint8_t *)(uintptr_t)(stub + SUM_AT + (int32_t)words[OFFSET]);
}
#endif

enum { COUNT = 2 };

static int bound;

static int real_twice(int n) { return n * 2; }
static int real_next(int n) { return n + 1; }

/* Binds the stub that was called from right before AFTER. Returns the stub's target. */
__attribute__((used)) static uintptr_t bind(const uint8_t *after) {
    static int (*const functions[COUNT])(int) = {real_twice, real_next};
    int32_t number;
    uint8_t *word;
    read_stub(after, &number, &word);
    check(number >= 0 && number < COUNT, "a number");
    uintptr_t address = (uintptr_t)functions[number];
    memcpy(word, &address, sizeof address);
    bound++;
    return address;
}

int main(void) {
    int n = 1;
    for (int i = 0; i < WORK_N; i++)
        n = twice(n) - next(n) + 2; /* n + 1 */
    check(n == WORK_N + 1, "what the functions return");
    check(bound == COUNT, "each is bound once");
    check_work();
    return right();
}
