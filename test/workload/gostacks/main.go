// A Go program whose stacks are known: test/workload/gostacks.py, test/unit/gopclntab_test.c, test/run/go.t.
//   serve SECONDS    an HTTP server and its clients, with stacks that grow and garbage to collect
//   callers N        calls mark(1) to mark(N) from many places; before each it asks the runtime for its own traceback, and at the end prints them all:
//                    "ID", then "name file:line" for each frame, innermost first, then ";"
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

var sink int

//go:noinline
func mark(id int) {
	sink += id
}

type trace []runtime.Frame

var traces []trace

//go:noinline
func record(limit int) {
	var pcs [256]uintptr
	if len(traces) >= limit {
		return
	}
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	var t trace
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		t = append(t, f)
	}
	traces = append(traces, t)
	mark(len(traces))
}

// small enough to be inlined, into one another
func inlinedTwice(n int) { inlinedOnce(n + 1) }
func inlinedOnce(n int)  { record(n - 1) }

type shape interface{ area(limit int) }
type square struct{ pad [3]int }
type circle struct{ r float64 }

func (s square) area(limit int)  { inlinedTwice(limit - 1 + s.pad[0] + 1) }
func (c *circle) area(limit int) { func() { defer record(limit); sink++ }() }

func generic[T any](v []T, fn func(T)) {
	for _, x := range v {
		fn(x)
	}
}

//go:noinline
func deep(n, limit int) {
	var room [700]byte // so that the stack has to grow
	room[n%len(room)] = byte(n)
	if n == 0 {
		record(limit)
	} else {
		deep(n-1, limit)
	}
	sink += int(room[n%len(room)])
}

func panics(limit int) {
	defer func() {
		recover()
		record(limit)
	}()
	var p *square
	sink += p.pad[1] // the handler of the signal makes this look like a call
}

func callers(limit int) {
	for round := 0; len(traces) < limit; round++ {
		done := make(chan bool)
		go func() {
			for _, s := range []shape{square{}, &square{}, &circle{1}} {
				s.area(limit)
			}
			deep(round%60, limit)
			generic([]int{1, 2}, func(int) { record(limit) })
			generic([]string{"a"}, func(string) { inlinedTwice(limit - 1 + 1) })
			v := []int{3, 1, 2}
			sort.Slice(v, func(i, j int) bool { inlinedOnce(limit + 1); return v[i] < v[j] })
			strings.Map(func(r rune) rune { record(limit); return r }, "xy")
			panics(limit)
			done <- true
		}()
		<-done
	}
	out := bufio.NewWriter(os.Stdout)
	for i, t := range traces {
		fmt.Fprintln(out, i+1)
		for _, f := range t {
			fmt.Fprintf(out, "%s %s:%d\n", f.Function, f.File, f.Line)
		}
		fmt.Fprintln(out, ";")
	}
	out.Flush()
}

//go:noinline
func grow(n int) int {
	var room [512]byte
	room[n%512] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	return grow(n-1) + int(room[n%512])
}

func serve(seconds float64) {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		m := map[string]int{}
		for i := 0; i < 1500; i++ {
			m[fmt.Sprint(i)] = i
		}
		fmt.Fprintln(w, grow(300), len(m), time.Now())
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, nil)
	fmt.Println("ready")
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		if r, err := http.Get("http://" + l.Addr().String()); err == nil {
			bufio.NewReader(r.Body).ReadString('\n')
			r.Body.Close()
		}
	}
}

func main() {
	n, _ := strconv.ParseFloat(os.Args[2], 64)
	if os.Args[1] == "serve" {
		serve(n)
	} else {
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n') // until probes are in place
		callers(int(n))
	}
}
