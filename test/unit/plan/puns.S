/* Short functions right before others: the puns at their entries borrow bytes of the jumps that are
 * written over the functions behind them. */
	.text
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \name, . - \name
	.endm

	.altmacro
	.macro pair number
	function two_bytes_\number
	nop
	ret
	end two_bytes_\number
	function behind_two_bytes_\number
	movl $\number, %eax
	ret
	end behind_two_bytes_\number
	function three_bytes_\number
	movl %edi, %eax
	ret
	end three_bytes_\number
	function behind_three_bytes_\number
	movl $\number, %eax
	ret
	end behind_three_bytes_\number
	function four_bytes_\number
	leal (%rdi,%rsi), %eax
	ret
	end four_bytes_\number
	function behind_four_bytes_\number
	movl $\number, %eax
	ret
	end behind_four_bytes_\number
	.endm

	.set number, 0
	.rept 24
	pair %number
	.set number, number + 1
	.endr
	.section .note.GNU-stack, "", @progbits
