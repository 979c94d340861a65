// An HTTP server for server_go.py. Its goroutines also compute without calling the scheduler, so
// signals preempt them and they stay suspended at any instruction for a while. With the second
// argument "steady" it only serves.
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"time"
)

const (
	computing = 4
	atOnce    = 100
	rest      = 50 * time.Millisecond
)

//go:noinline
func halve(n uint64) uint64 { return n / 2 }

//go:noinline
func triple(n uint64) uint64 { return 3*n + 1 }

// steps counts the steps of a Collatz sequence.
func steps(n uint64) int {
	count := 0
	for ; n != 1; count++ {
		if n%2 == 0 {
			n = halve(n)
		} else {
			n = triple(n)
		}
	}
	return count
}

func compute() {
	for i := 1; ; i++ {
		sum := 0
		for n := uint64(1); n < 3000; n++ {
			sum += steps(n)
		}
		if sum != 215015 {
			fmt.Fprintln(os.Stderr, "wrong sum:", sum)
			os.Exit(1)
		}
		if i%atOnce == 0 {
			time.Sleep(rest)
		}
	}
}

func main() {
	for i := 0; i < computing && !(len(os.Args) > 2 && os.Args[2] == "steady"); i++ {
		go compute()
	}
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(answer, "%s %x %d\n", request.URL.Path,
			sha256.Sum256([]byte(request.URL.Path)), steps(27))
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], nil))
	os.Exit(1)
}
