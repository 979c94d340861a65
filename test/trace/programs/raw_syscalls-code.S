# System calls that make tasks, without the C library. Each function returns the call's result. The
# child calls FUNCTION(N) and exits with its result.

.macro function name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
.endm

.macro finish name
    syscall
    test %eax, %eax
    nopw 0(%rax)
    jz child
    nopw 0(%rax)
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

    .text
# raw_clone(long flags, void *stack, int *child_tid, int (*function)(int), int n)
function raw_clone
    mov %rcx, %r9
    mov %rdx, %r10
    mov $56, %eax
finish raw_clone

# raw_clone3(struct clone_args *, size_t size, int *, int (*function)(int), int n)
function raw_clone3
    mov %rcx, %r9
    mov $435, %eax
finish raw_clone3

# raw_fork(long, void *, int *, int (*function)(int), int n)
function raw_fork
    mov %rcx, %r9
    mov $57, %eax
finish raw_fork

# raw_vfork(long, void *, int *, int (*function)(int), int n): the child is on its parent's stack.
function raw_vfork
    mov %rcx, %r9
    mov $58, %eax
finish raw_vfork

child:
    .cfi_startproc
    .cfi_undefined %rip
    xor %ebp, %ebp
    and $-16, %rsp
    mov %r8d, %edi
    call *%r9
    mov %eax, %edi
    mov $60, %eax
    syscall
    ud2
    .cfi_endproc
    .section .note.GNU-stack, "", @progbits
