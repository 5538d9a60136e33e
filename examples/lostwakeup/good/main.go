// The good program reads all letters. See package lostwakeup.
package main

import (
	"fmt"

	_ "github.com/mirador-trace/mirador/auto"
	"github.com/mirador-trace/mirador/examples/lostwakeup"
)

func main() {
	read, _ := lostwakeup.Run(true)
	fmt.Println(read, "letters of 5 were read")
}
