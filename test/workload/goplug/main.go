// Runs Work of a plugin. goplug FILE
package main

import (
	"os"
	"plugin"
)

func main() {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	work, err := p.Lookup("Work")
	if err != nil {
		panic(err)
	}
	for {
		work.(func(int) int)(6)
	}
}
