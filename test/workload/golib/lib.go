// Go code that other programs load: as a plugin (Work) of goplug, or as a C library (GoWork, GoStart).
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

//export GoStart
func GoStart(n C.long) { // runtime.newproc1 runs on the thread's own stack
	for i := C.long(0); i < n; i++ {
		go spin(1)
	}
}

func main() {}
