// Go code that other programs load: as a plugin (Work) of goplug, or as a C library (GoWork).
package main

import "C"

//go:noinline
func spin(n int) (s int) {
	for i := 0; i < n; i++ {
		s += i * i
	}
	return
}

//go:noinline
func Work(depth int) int {
	if depth > 0 {
		return Work(depth-1) + 1
	}
	return spin(100000)
}

//export GoWork
func GoWork(depth C.long) C.long { return C.long(Work(int(depth))) }

func main() {}
