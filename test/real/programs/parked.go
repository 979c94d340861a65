// Goroutines take turns. Each waits in the middle of work() while the others run, on stacks side by
// side. Ends with standard input.
package main

import (
	"fmt"
	"os"
)

const workers = 40

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func work(turn chan int, n int) int {
	n = leaf(n)
	n += <-turn
	return leaf(n)
}

func worker(turn, done chan int) {
	for n := 0; ; done <- n {
		n = work(turn, n)
	}
}

func main() {
	over := make(chan bool)
	turns, done := [workers]chan int{}, make(chan int)
	for i := range turns {
		turns[i] = make(chan int)
		go worker(turns[i], done)
	}
	go func() {
		os.Stdin.Read(make([]byte, 1))
		over <- true
	}()
	fmt.Println("ready")
	for rounds := 1; ; rounds++ {
		for i := range turns {
			turns[i] <- 1
			if n := <-done; n != 3*rounds {
				fmt.Println("wrong", n)
				os.Exit(1)
			}
		}
		select {
		case <-over:
			fmt.Println("right")
			return
		default:
		}
	}
}
