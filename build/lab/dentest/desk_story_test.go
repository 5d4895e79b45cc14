package dentest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/launcher/desk"
)

// TestDeskStory: a working copy that changes, pushed to a device that has something else; profiles; the size of an update
// and of messages.
func TestDeskStory(t *testing.T) {
	part, big := dentest.Noise(1, 1500), dentest.Noise(2, 300_000)
	story := []map[string][]byte{
		{"a.txt": []byte("hello\n"), "empty.dat": nil, "sub/part.bin": part, "big.pak": big, "x/y/z": []byte("1")},
		{"a.txt": []byte("HELLO\n"), "sub/part.bin": part, "big.pak": flipped(big, len(big)-1), "x": []byte("now a file"), "new": nil},
	}
	c := deskAndReference(t, nil, map[string][]byte{"a.txt": []byte("jello\n"), "old.txt": []byte("x")}, dentest.ProxyOptions{})
	c.desk.until(t, "profiles", func(all []desk.DeviceInfo) bool {
		return len(all) == 1 && slices.Equal(all[0].Profiles, []string{"Default", "Low"}) && all[0].DefaultProfile == "Default"
	})
	for n, files := range story {
		entries, err := os.ReadDir(c.root)
		must(t, err)
		for _, e := range entries {
			must(t, os.RemoveAll(filepath.Join(c.root, e.Name())))
		}
		must(t, dentest.WriteTree(c.root, files))
		before := c.client.FileBytes()
		c.settled(t, time.Minute)
		if sent := c.client.FileBytes() - before; n == 1 && sent > 80_000 {
			t.Errorf("%d bytes for a change of one byte in a block of 60 KiB", sent)
		}
	}
	before := c.client.FileBytes()
	if again := c.settled(t, time.Minute).Devices[0]; again.Written+again.Deleted+again.Blocks > 0 || c.client.FileBytes() != before {
		t.Errorf("an unchanged push: %+v", again)
	}
	if c.client.Largest() > 64<<10 {
		t.Errorf("a message of %d bytes", c.client.Largest())
	}
}

// TestDeskOneFileThatCantBeWritten on a released device: it is named, and all others arrive.
func TestDeskOneFileThatCantBeWritten(t *testing.T) {
	files := map[string][]byte{}
	for n := range 60 {
		files[fmt.Sprintf("f%02d", n)] = dentest.Noise(uint64(n), n*3000)
	}
	c := deskAndReference(t, files, nil, dentest.ProxyOptions{}, func(_ *desk.Options, o *dentest.DeviceOptions) {
		must(t, os.MkdirAll(filepath.Join(o.Root, "f31", "empty"), 0o755)) // which no layout lists
	})
	result, err := c.desk.Push(within(t, time.Minute), desk.PushOptions{})
	must(t, err)
	var fault *desk.DeviceError
	if got := result.Devices[0].Err; !errors.As(got, &fault) || fault.Path != "f31" || strings.Contains(got.Error(), "\n") {
		t.Errorf("failed with %v", got)
	}
	must(t, errors.Join(os.RemoveAll(filepath.Join(c.device, "f31")), os.Remove(filepath.Join(c.root, "f31"))))
	same(t, c.root, c.device)
}
