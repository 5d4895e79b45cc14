// Command program says what its own areas hold, one line each.
package main

import (
	"fmt"
	"os"

	"collet/runtime/area"
)

func main() {
	c, packaged, err := area.ReadOwn()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("packaged %v\nname %s\nconfig %q\nresources %q\n", packaged, c.Name, c.Config, c.Resources)
}
