// More goroutines than threads compute without calling the scheduler. Signals preempt them, so most
// are suspended in the middle of small functions. Ends with standard input; the status is 0 if all
// results are right.
package main

import (
	"fmt"
	"os"
	"sync/atomic"
)

const workers = 100

// The program is large on 32-bit Arm, so that a patch covers two instructions there.
var room [8 << 20]byte

//go:noinline
func halve(n uint64) uint64 { return n / 2 }

//go:noinline
func triple(n uint64) uint64 { return 3*n + 1 }

// compute adds up the numbers of steps of Collatz sequences, repeatedly, and returns whether each
// sum was right. It never looks whether it should yield.
func compute(over *int32) bool {
	for right := true; ; {
		sum := 0
		for first := uint64(1); first < 100; first++ {
			for n := first; n != 1; sum++ {
				if n%2 == 0 {
					n = halve(n)
				} else {
					n = triple(n)
				}
			}
		}
		right = right && sum == 3117
		if atomic.LoadInt32(over) != 0 {
			return right
		}
	}
}

func main() {
	var over int32
	done := make(chan bool)
	for i := 0; i < workers; i++ {
		go func() { done <- compute(&over) }()
	}
	fmt.Println("ready")
	os.Stdin.Read(room[:1])
	atomic.StoreInt32(&over, 1)
	for i := 0; i < workers; i++ {
		if !<-done {
			fmt.Println("wrong")
			os.Exit(1)
		}
	}
	fmt.Println("right")
}
