// A Go program for go.py: goroutines whose stacks grow and move, panics, a fault that becomes a
// panic, garbage collection, and signals that preempt.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"syscall"
)

var errBottom = errors.New("bottom")
var deferred int

//go:noinline
func deep(n int) int {
	var room [64]int
	if n == 0 {
		return 0
	}
	room[n%64] = n
	return deep(n-1) + room[n%64] - n + 1
}

//go:noinline
func dive(n int) {
	defer func() { deferred++ }()
	if n == 0 {
		panic(errBottom)
	}
	dive(n - 1)
}

//go:noinline
func caught() (err error) {
	defer func() { err = recover().(error) }()
	dive(20)
	return nil
}

//go:noinline
func nilPointer() (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	var p *[4]int
	p[2] = 1
	return
}

func sums() int {
	var wait sync.WaitGroup
	found := make([]int, 50)
	for i := range found {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			found[i] = deep(1000 + i)
			runtime.Gosched()
		}(i)
	}
	wait.Wait()
	total := 0
	for _, s := range found {
		total += s
	}
	return total
}

// Loops without calls while the collector wants all threads to stop: signals preempt them.
func collected() int {
	stop := make(chan bool)
	spun := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				spun <- n
				return
			default:
				for i := 0; i < 200000; i++ {
					n += i & 1
				}
			}
		}
	}()
	total := 0
	for i := 0; i < 5; i++ {
		texts := make([]string, 0)
		for j := 0; j < 20000; j++ {
			texts = append(texts, strings.Repeat("x", j%50))
		}
		runtime.GC()
		sort.Strings(texts)
		total += len(texts[12345])
	}
	stop <- true
	if <-spun < 0 {
		return -1
	}
	return total
}

func main() {
	channel := make(chan int)
	go func() {
		for i := 0; i < 1000; i++ {
			channel <- i
		}
		close(channel)
	}()
	total := 0
	for n := range channel {
		total += n
	}
	fmt.Println(sums(), collected(), total)
	fmt.Println(caught(), deferred, nilPointer())
	fmt.Printf("%x\n", sha256.Sum256([]byte("spoor")))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-signals)
	debug.SetTraceback("none")
	panic("not caught")
}
