package faultfs_test

import (
	"fmt"
	"os"

	"collet/platform"
	"collet/platform/faultfs"
)

// careless replaces a settings file as many programs do: without a sync, and in place.
func careless(fsys platform.FS) error {
	f, err := fsys.OpenFile("settings", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write([]byte("new"))
	return err
}

// careful replaces it as this project does.
func careful(fsys platform.FS) error { return platform.WriteFile(fsys, "settings", []byte("new")) }

// violations runs the work with every stop and every share, and counts the starts that find neither old nor new settings.
func violations(work func(platform.FS) error) (points, bad int) {
	before := faultfs.New(faultfs.Config{})
	if err := before.Plant("settings", "old"); err != nil {
		panic(err)
	}
	whole := before.Clone().Open(faultfs.Options{})
	if err := work(whole); err != nil {
		panic(err)
	}
	for k := 1; k <= whole.Count(); k++ {
		for _, stop := range []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter} {
			fsys := before.Clone().Open(faultfs.Options{})
			stop(fsys, k)
			work(fsys) // ends with faultfs.ErrStopped
			for _, percent := range []int{0, 50, 100} {
				for seed := range uint64(8) {
					points++
					after := fsys.Disk().Crash(faultfs.Keep(percent, seed))
					if got := after.Files()["settings"]; got != "old" && got != "new" {
						bad++
					}
				}
			}
		}
	}
	return points, bad
}

// Every crash point of two ways to replace a file.
func Example() {
	points, bad := violations(careless)
	fmt.Println("careless:", points, "points,", bad > 0, "violations")
	points, bad = violations(careful)
	fmt.Println("careful:", points, "points,", bad, "violations")
	// Output:
	// careless: 144 points, true violations
	// careful: 360 points, 0 violations
}
