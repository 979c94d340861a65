/* Code that links itself while it runs, as images do that mono has compiled ahead of time: each
 * stub is a jump through a word, with a number behind it. Who binds a stub finds it by the call
 * that led there, and by its bytes which word to fill and what with. */
#include "story.h"

int twice(int), next(int);
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

enum { CALL = 0xe8, CALL_BYTES = 5, JUMP_BYTES = 6, COUNT = 2 };

static int bound;

static int real_twice(int n) { return n * 2; }
static int real_next(int n) { return n + 1; }

static int32_t number_at(const uint8_t *bytes) {
    int32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* A stub was called from right before AFTER. Returns what it stands for. */
__attribute__((used)) static uintptr_t bind(const uint8_t *after) {
    static int (*const functions[COUNT])(int) = {real_twice, real_next};
    check(after[-CALL_BYTES] == CALL, "a call");
    const uint8_t *stub = after + number_at(after - sizeof(int32_t));
    check(stub[0] == 0xff && stub[1] == 0x25, "a stub");
    const uint8_t *end = stub + JUMP_BYTES;
    int32_t number = number_at(end);
    check(number >= 0 && number < COUNT, "a number");
    uintptr_t address = (uintptr_t)functions[number];
    memcpy((void *)(end + number_at(end - sizeof(int32_t))), &address, sizeof address);
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
