package platform_test

import (
	"fmt"
	"os"

	"collet/platform"
)

// A folder is opened once; nothing leads out of it, and files are replaced whole.
func ExampleFS() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	dir, err := platform.OpenDir(folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dir.Close()
	var fsys platform.FS = dir // package faultfs has one in memory that fails on demand

	fmt.Println(platform.WriteFile(fsys, "settings", []byte("volume = 3")))
	data, err := platform.ReadFile(fsys, "settings", 1<<10)
	fmt.Println(string(data), err)
	_, err = fsys.Stat("../settings")
	fmt.Println("outside:", err != nil)
	// Output:
	// <nil>
	// volume = 3 <nil>
	// outside: true
}
