// Functions of many signatures, each called a few times with values that differ.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
)

type Kind uint8

const (
	Small Kind = iota
	Large
)

type Point struct{ X, Y int32 }
type Rect struct {
	Min, Max Point
	Name     string
}
type Mixed struct {
	A int8
	F float64
	B bool
	G float32
	C int16
}
type Order struct {
	ID    int
	Price float64
	Kind  Kind
	Name  string
	Next  *Order
}
type Wide struct{ A, B, C, D, E, F, G, H, I, J int }
type One struct{ V [1]int }
type Two struct{ V [2]int32 }
type Empty struct{}
type Holder struct {
	E Empty
	P Point
	S []byte
}
type Shape interface{ Area() float64 }

func (r Rect) Area() float64 { return float64((r.Max.X - r.Min.X) * (r.Max.Y - r.Min.Y)) }

//go:noinline
func integers(a int8, b int16, c int32, d int64, e uint8, f uint16, g uint32, h uint64) int64 {
	return int64(a) + int64(b) + int64(c) + d + int64(e) + int64(f) + int64(g) + int64(h)
}

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j, k int) int { return a + b + c + d + e + f + g + h + i + j + k }

//go:noinline
func floats(a float32, b float64, c float32, d float64) float64 { return float64(a) + b*float64(c) - d }

//go:noinline
func mixed(a int, f float64, b bool, g float32, r rune, s string) (string, bool) {
	return fmt.Sprint(a, f, g, r, s), b
}

//go:noinline
func complexes(a complex64, b complex128) complex128 { return complex128(a) * b }

//go:noinline
func text(s string) string { return s + "!" }

//go:noinline
func texts(a, b string, n int) (string, int) { return a + b, n + len(a) }

//go:noinline
func slices(a []int, b []byte, n int) []int { return append(a, len(b)+n) }

//go:noinline
func byKind(k Kind, on bool) Kind {
	if on {
		return Large
	}
	return k
}

//go:noinline
func point(p Point) Point { return Point{p.Y, p.X} }

//go:noinline
func rect(r Rect, by int32) Rect {
	r.Min.X += by
	return r
}

//go:noinline
func mixedStruct(m Mixed, n int) Mixed {
	m.C += int16(n)
	return m
}

//go:noinline
func wide(w Wide, n int) Wide {
	w.A += n
	return w
}

//go:noinline
func arrays(a [1]int, b [3]int32, n int) [3]int32 {
	b[0] += int32(a[0] + n)
	return b
}

//go:noinline
func oneElement(o One, t Two, n int) One {
	o.V[0] += n + int(t.V[1])
	return o
}

//go:noinline
func holder(e Empty, h Holder, n int) int { return int(h.P.X) + len(h.S) + n }

//go:noinline
func pointer(o *Order) *Order {
	if o == nil {
		return nil
	}
	return o.Next
}

//go:noinline
func order(o Order) Order {
	o.ID++
	return o
}

//go:noinline
func maps(m map[string]int, c chan int, key string) int { return m[key] + cap(c) }

//go:noinline
func shape(s Shape, n int) float64 { return s.Area() + float64(n) }

//go:noinline
func anything(v interface{}, n int) interface{} { return v }

//go:noinline
func fails(n int) (int, error) {
	if n%2 == 0 {
		return n, nil
	}
	return 0, errors.New("odd")
}

//go:noinline
func named(n int) (sum int, name string, err error) {
	for i := 0; i < n; i++ {
		sum += i
	}
	name = strings.Repeat("n", n)
	return
}

//go:noinline
func variadic(first int, rest ...int) int { return first + len(rest) }

//go:noinline
func apply(f func(int) int, n int) int { return f(n) }

//go:noinline
func (o *Order) Total(n int, scale float64) float64 { return o.Price * float64(n) * scale }

//go:noinline
func (p Point) Moved(by Point) Point { return Point{p.X + by.X, p.Y + by.Y} }

//go:noinline
func generic[T int | string | float64](v, w T) T { return w }

//go:noinline
func deferred(n int) (r int) {
	defer func() {
		if recover() != nil {
			r = -n
		}
	}()
	if n%2 == 1 {
		panic("odd")
	}
	return n
}

//go:noinline
func deep(n int, s string) int {
	var room [128]int
	room[n%128] = n
	if n == 0 {
		return len(s)
	}
	return deep(n-1, s) + room[n%128] - n
}

// A stack that is large enough does not move: functions that find it full begin twice.
//
//go:noinline
func grow(n int) byte {
	var room [512 << 10]byte
	room[n] = 1
	return room[n/2]
}

func init() { runtime.LockOSThread() } // in the program's first thread

func main() {
	grow(7)
	orders := []*Order{nil}
	for i := 0; i < 3; i++ {
		orders = append(orders, &Order{i, float64(i) * 1.5, Kind(i % 2), fmt.Sprint("o", i), orders[len(orders)-1]})
	}
	out := 0
	for i := 0; i < 4; i++ {
		s, o, f := strings.Repeat("ab", i), orders[i], float64(i)*0.75-1
		out += int(integers(int8(-i), int16(-300*i), int32(-70000*i), -int64(i)<<40, uint8(200+i), uint16(60000+i), 4e9+uint32(i), 1<<63+uint64(i)))
		out += many(i, i+1, i+2, i+3, i+4, i+5, i+6, i+7, i+8, i+9, i+10)
		out += int(floats(float32(i)+0.5, f, -2.25, 1e300*f))
		t, b := mixed(i, f, i%2 == 0, float32(f), 'ä'+rune(i), s)
		c := complexes(complex(float32(f), 2), complex(f, -f))
		u, n := texts(s, t, i)
		out += len(text(s)) + len(u) + n + int(real(c))
		out += len(slices([]int{i, i + 1}, []byte(s), i)) + int(byKind(Kind(i%2), b))
		p := point(Point{int32(i), int32(-i)})
		r := rect(Rect{p, Point{100, int32(200 + i)}, s}, int32(i))
		m := mixedStruct(Mixed{int8(i), f, b, float32(i), int16(-i)}, i)
		w := wide(Wide{i, 2, 3, 4, 5, 6, 7, 8, 9, i}, i)
		a := arrays([1]int{i}, [3]int32{1, int32(i), 3}, i)
		e := oneElement(One{[1]int{i}}, Two{[2]int32{7, int32(i)}}, i)
		out += int(p.X+r.Min.X) + int(m.C) + w.A + int(a[0]) + e.V[0]
		out += holder(Empty{}, Holder{Empty{}, p, []byte(s)}, i)
		if q := pointer(o); q != nil {
			out += q.ID + int(q.Total(i, f))
		}
		out += order(Order{i, f, Large, s, o}).ID + maps(map[string]int{s: i}, make(chan int, i), s)
		out += int(shape(r, i)) + len(fmt.Sprint(anything(i, i))) + int(p.Moved(Point{1, int32(i)}).X)
		if v, err := fails(i); err == nil {
			out += v
		}
		sum, name, _ := named(i)
		out += sum + len(name) + variadic(i, make([]int, i)...) + apply(func(n int) int { return n + i }, i)
		out += generic(i, i+1) + len(generic(s, t)) + int(generic(f, f+1)) + deferred(i) + deep(40*i, s)
		order := []string{t, s, u}
		sort.Strings(order)
	}
	fmt.Fprintln(os.Stdout, out)
}
