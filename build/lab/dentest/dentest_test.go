package dentest_test

import (
	"context"
	"testing"
	"time"

	"collet/build/lab/dentest"
)

// within is a context for one step of a test.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is a temporary folder with a tree in it.
func folder(t testing.TB, tree map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	must(t, dentest.WriteTree(root, tree))
	return root
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

func server(t testing.TB, o dentest.DeskOptions) *dentest.Desk {
	t.Helper()
	s, err := dentest.NewDesk(o)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func client(t testing.TB, o dentest.DeviceOptions) *dentest.Device {
	t.Helper()
	c := dentest.NewDevice(o)
	t.Cleanup(c.Close)
	return c
}
