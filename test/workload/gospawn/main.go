// Starts true(1) 20 times: vfork(2) from a goroutine.
package main

import "os/exec"

func start() error { return exec.Command("/bin/true").Run() }

func main() {
	for i := 0; i < 20; i++ {
		if err := start(); err != nil {
			panic(err)
		}
	}
}
