// As deep.py.
package main

import (
	"os"
	"strconv"
)

var sum int

//go:noinline
func last() {
	for {
		sum += os.Getppid()
	}
}

//go:noinline
func down(n int) int {
	if n > 1 {
		return up(n-1) + 1
	}
	last()
	return 0
}

//go:noinline
func up(n int) int {
	if n > 1 {
		return down(n-1) - 1
	}
	last()
	return 0
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	sum += down(n)
}
