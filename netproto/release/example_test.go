package release_test

import (
	"crypto/sha256"
	"fmt"

	"collet/netproto/release"
)

// Names from a server or a list pass CheckPath before they reach a disk.
func ExampleCheckPath() {
	for _, name := range []string{"Resources/Core.zip", "../settings.toml", "Resources/NUL"} {
		if err := release.CheckPath(name); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("taken:", name)
	}
	// Output:
	// taken: Resources/Core.zip
	// path "../settings.toml": has an element that leaves the folder
	// path "Resources/NUL": has an element that is a device name on Windows
}

// A listing is what a set is. Its digest does not depend on the order of the files.
func ExampleNewListing() {
	file := func(path, content string) release.ListedFile {
		return release.ListedFile{
			Path: path, Use: release.UseResource, Size: int64(len(content)), Mode: release.PlainMode,
			Sum: release.SHA256Digest(sha256.Sum256([]byte(content))),
		}
	}
	core, maps := file("Core.zip", "core"), file("Maps.zip", "maps of release 2")
	one, err := release.NewListing([]release.ListedFile{core, maps}).Digest()
	if err != nil {
		fmt.Println(err)
		return
	}
	other, _ := release.NewListing([]release.ListedFile{maps, core}).Digest()
	fmt.Println(one == other)
	// Output: true
}

// Release 8 is rolled out to all installs, release 9 to no install yet, and release 7 was killed.
func ExampleChoose() {
	entry := func(number uint64, percent uint8, killed bool) release.Entry {
		return release.Entry{Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: number, Percent: percent, Killed: killed}
	}
	list := []release.Entry{entry(7, 100, true), entry(8, 100, false), entry(9, 0, false)}
	choice, err := release.Choose(list, release.Query{
		Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "an id that stays", Have: 7,
	})
	fmt.Println(choice.Number, choice.Listed, err)
	// Output: 8 true <nil>
}
