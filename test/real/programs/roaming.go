// A Go program for roaming.py: goroutines continue in other threads, and their stacks move while
// calls are open on them, as the stacks grow and as garbage collection shrinks them.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	roamers = 6
	rounds  = 5
	depth   = 1500
	holders = 4
	served  = 50
	visits  = 5
)

//go:noinline
func leaf(n int) int { return n + 1 }

// Begins in one thread and continues in another.
//
//go:noinline
func wander(n int) int {
	begun := syscall.Gettid()
	for tries := 0; syscall.Gettid() == begun; tries++ {
		if tries%8 == 7 {
			time.Sleep(20 * time.Microsecond)
		} else {
			runtime.Gosched()
		}
	}
	return leaf(n)
}

// Its stack grows and moves, and the calls continue there.
//
//go:noinline
func deep(n int) int {
	var room [32]int
	if n == 0 {
		return wander(0)
	}
	room[n%32] = n
	return deep(n-1) + room[n%32] - n + 1
}

//go:noinline
func roam(sum *int, wait *sync.WaitGroup) {
	for i := 0; i < rounds; i++ {
		*sum += wander(i)
	}
	*sum += deep(depth)
	wait.Done()
}

//go:noinline
func place() uintptr {
	var here int
	return uintptr(unsafe.Pointer(&here))
}

//go:noinline
func grow(n int) int {
	var room [32]int
	if n == 0 {
		return 0
	}
	room[n%32] = n
	return grow(n-1) + room[n%32] - n + 1
}

// Its stack is too large while it waits, so garbage collection moves it to a smaller one. This
// fails if the goroutine does not wait yet, so there are several.
//
//go:noinline
func hold(ready, more chan int, moved *int) {
	grow(depth)
	before := place()
	for left := visits; left > 0; left = <-more {
		ready <- 1
	}
	if place() != before {
		*moved++
	}
	ready <- 1
}

// Stays in its thread.
//
//go:noinline
func serve(questions, answers chan int) {
	runtime.LockOSThread()
	for q := range questions {
		answers <- leaf(q)
	}
	runtime.UnlockOSThread()
	close(answers)
}

//go:noinline
func ask() int {
	questions, answers := make(chan int), make(chan int)
	go serve(questions, answers)
	sum := 0
	for i := 0; i < served; i++ {
		questions <- i
		sum += <-answers
	}
	close(questions)
	<-answers
	return sum
}

//go:noinline
func shrink() int {
	ready, more, moved := make(chan int), make(chan int), make([]int, holders)
	for i := range moved {
		go hold(ready, more, &moved[i])
	}
	for left := visits; left > 0; left-- {
		for range moved {
			<-ready
		}
		runtime.GC()
		for range moved {
			more <- left - 1
		}
	}
	for range moved {
		<-ready
	}
	sum := 0
	for _, m := range moved {
		sum += m
	}
	return sum
}

func main() {
	runtime.GOMAXPROCS(4)
	var wait sync.WaitGroup
	sums := make([]int, roamers)
	for i := range sums {
		wait.Add(1)
		go roam(&sums[i], &wait)
	}
	wait.Wait()
	fmt.Println(sums, ask(), shrink())
	for runtime.NumGoroutine() > 1 { // waits until their last calls return
		runtime.Gosched()
	}
}
