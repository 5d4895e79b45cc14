package wire_test

import (
	"bytes"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
)

// fuzzFactor is how many bytes of memory one byte of a message may cost: a hash of no digits takes 1 and becomes 32, and a
// growing slice is up to three times as large meanwhile; fuzzBase is for the first items and small things.
const (
	fuzzFactor = 128
	fuzzBase   = 256 << 10
)

// FuzzDecode: no panic, bounded memory, and what was read is written as what was read again.
func FuzzDecode(f *testing.F) {
	for _, v := range launchertest.Vectors(f, filepath.Join("testdata", "vectors")) {
		f.Add(uint8(v.Dialect(f)), uint8(v.From()), v.Data)
	}
	f.Fuzz(func(t *testing.T, dialect, from uint8, data []byte) {
		d, side := wire.Dialect(dialect%2), wire.Side(from%3)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := wire.Decode(d, side, data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(fuzzFactor*len(data)+fuzzBase) {
			t.Fatalf("%d bytes of memory for a message of %d", used, len(data))
		}
		if err != nil {
			return
		}
		written, err := wire.Encode(d, m)
		if err != nil {
			t.Fatalf("%T was read and can't be written: %v", m, err)
		}
		again, err := wire.Decode(d, side, written)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
		if size, _ := wire.Size(d, m); size != len(written) {
			t.Fatalf("Size is %d, Encode made %d", size, len(written))
		}
		if !bytes.HasPrefix(written, data[:1]) {
			t.Fatalf("code %d became %d", data[0], written[0])
		}
	})
}

// FuzzCheckPath: an accepted path stays below the root by any reading of it.
func FuzzCheckPath(f *testing.F) {
	for _, seed := range []string{"a/b.txt", "../x", "/etc/passwd", "C:/x", `a\b`, "a//b", "con.txt", ".collet-remote/x", "a/./b", "ü/ß"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if wire.CheckPath(path) != nil {
			return
		}
		if why := escapes(path); why != "" {
			t.Fatalf("%q is taken, but %s", path, why)
		}
	})
}
