// Stacks of goroutines grow as they call: each begins with a small one, and 60 frames of half a kilobyte do not fit. Where they grow the runtime copies them (runtime.copystack).
package main

import "fmt"

//go:noinline
func deep(n int) int {
	var a [64]int
	a[n%64] = n
	if n == 0 {
		return a[1]
	}
	return deep(n-1) + a[n%64]
}

//go:noinline
func grower(c chan int) { c <- deep(60) }

func main() {
	fmt.Println("ready")
	c := make(chan int)
	for i := 0; i < 20; i++ {
		go grower(c)
		<-c
	}
}
