/* Short functions right before others: the puns at their entries borrow bytes of the jumps that are
 * written over the functions behind them. One shares its end with another function: if its pun is
 * lost, code is emitted again without it. */
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

	function jumps_into_another
	nop
	jmp .Lshared_end
	end jumps_into_another
	function has_a_shared_end
	movl $1, %eax
.Lshared_end:
	addl $1, %eax
	imull $3, %eax
	ret
	end has_a_shared_end

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
