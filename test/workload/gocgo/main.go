// Go calls C, which calls Go, which calls C: stacks of a thread that are on two stacks in turn. gocgo SECONDS
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#include "work.h"
*/
import "C"
import (
	"fmt"
	"os"
	"strconv"
	"time"
)

//export goBack
func goBack(n C.long) C.long {
	s := C.long(0)
	for i := C.long(0); i < n*300; i++ {
		s += i * n
	}
	if n == 7 {
		return C.cInner(20000)
	}
	return s
}

//go:noinline
func work(depth int) {
	if depth > 0 {
		work(depth - 1)
		return
	}
	C.cInner(100000)
	C.cCallback(5)
	C.cCallback(7)
	C.cSort(50)
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	fmt.Println("ready")
	for i := 0; i < 2; i++ {
		go func() {
			for {
				work(5)
			}
		}()
	}
	time.Sleep(time.Duration(seconds * 1e9))
}
