// Calls that are counted: 1,000 goroutines, each 100 deep in descend() on a stack that grows (and so moves) on the way, while every tenth of them collects
// garbage. It prints the sum of what the calls return; seven() returns 7 from three places, 1,000 times.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

type node struct {
	next *node
	v    int
}

//go:noinline
func descend(n, d int, p *node) (int, int) {
	var pad [64]int
	pad[n%64] = d
	if d == 0 {
		return n, pad[n%64]
	}
	if n%3 == 0 {
		a, b := descend(n+1, d-1, &node{p, n})
		return a + 1, b + pad[n%64]
	}
	a, b := descend(n+1, d-1, p)
	return a, b + pad[n%64]
}

//go:noinline
func seven(n int) int {
	switch n % 3 {
	case 0:
		return 7
	case 1:
		return 7 + n - n
	}
	return 14 - 7
}

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for g := 0; g < 1000; g++ {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			a, b := descend(one(), 99, nil)
			if g%10 == 0 {
				runtime.GC()
			}
			mu.Lock()
			total += a + b + seven(a)
			mu.Unlock()
		}(g)
	}
	wg.Wait()
	fmt.Println("total", total)
}

//go:noinline
func one() int { return 1 }
