package delta_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// rawChanges puts a list of changes together that leads from one listing by some blocks.
func rawChanges(from release.Digest, blocks ...[]byte) []byte {
	mark := delta.MarkOf(from)
	out := append([]byte("CC\x01"), byte(len(blocks)))
	for _, b := range blocks {
		out = binary.AppendUvarint(append(out, mark[:]...), uint64(len(b)))
		mark[0]++
	}
	return append(out, bytes.Join(blocks, nil)...)
}

// rawBlock is a block whose body is stored.
func rawBlock(ops, text string, sums int) []byte {
	body := append(binary.AppendUvarint(nil, uint64(len(ops))), ops+text...)
	return append(append(binary.AppendUvarint(nil, uint64(len(body))<<1), body...), bytes.Repeat([]byte{7}, 32*sums)...)
}

// longBlock is a good block of 60 000 files that are gone, with paths of 226 bytes.
func longBlock(t testing.TB, first string) []byte {
	t.Helper()
	var ops, text bytes.Buffer
	for i := range 60_000 {
		ops.WriteString("\x01\x00\xe2\x01")
		fmt.Fprintf(&text, "%s%0225d", first, i)
	}
	body := append(binary.AppendUvarint(nil, uint64(ops.Len())), append(ops.Bytes(), text.Bytes()...)...)
	return packedBlock(t, len(body), body)
}

// bomb is a block that says that it unpacks to so many bytes, and unpacks to others.
func bomb(t testing.TB, says, unpacks int) []byte {
	t.Helper()
	return packedBlock(t, says, make([]byte, unpacks))
}

func packedBlock(t testing.TB, says int, body []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := brotli.NewWriterLevel(&packed, brotli.BestSpeed)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := binary.AppendUvarint(nil, uint64(packed.Len())<<1|1)
	return append(binary.AppendUvarint(out, uint64(says)), packed.Bytes()...)
}

// TestChangesThatAreNone: what no publisher writes is refused by name, before anything is made of it.
func TestChangesThatAreNone(t *testing.T) {
	t.Parallel()
	old := tree{"a": "1", "b": "2"}.listing()
	from := digestOf(t, old)
	put := func(name string, rest string) string { return "\x00\x00" + string(rune(len(name))) + rest }
	for _, bad := range []struct {
		name, reason string
		data         []byte
	}{
		{"nothing", "is no list of changes", nil},
		{"another format", "is no list of changes", []byte("CC\x02\x01")},
		{"no step", "is for no older listing", []byte("CC\x01\x00")},
		{"too many steps", "513 as number of older listings", []byte("CC\x01\x81\x04")},
		{"a table that ends", "ends too early", rawChanges(from, rawBlock("", "", 0))[:7]},
		{"a block that is too large", "as size of a block", append([]byte("CC\x01\x0112345678"), 0xff, 0xff, 0xff, 0x7f)},
		{"a block that ends in its size", "ends too early", rawChanges(from, []byte{0x80})},
		{"a body that is too large", "as size of the body", rawChanges(from, binary.AppendUvarint(nil, 1<<40))},
		{"a body that is cut off", "ends too early", rawChanges(from, []byte{20, 1, 2})},
		{"ops that are cut off", "ends too early", rawChanges(from, []byte{4, 9, 0})},
		{"bytes behind the ops", "1 of digests that nothing uses", rawChanges(from, append(rawBlock("", "", 0), 1))},
		{"text that no path uses", "1 bytes of paths", rawChanges(from, rawBlock("", "x", 0))},
		{"an op that does not exist", "128 as an op", rawChanges(from, rawBlock("\x80\x01\x00\x01", "a", 0))},
		{"a file that is gone and something else", "an op that does not exist", rawChanges(from, rawBlock("\x03\x00\x01", "a", 0))},
		{"an empty path", "paths that do not rise", rawChanges(from, rawBlock("\x01\x00\x00", "", 0))},
		{"paths that do not rise", "paths that do not rise", rawChanges(from, rawBlock("\x01\x00\x01\x01\x00\x01", "ba", 0))},
		{"a path twice", "paths that do not rise", rawChanges(from, rawBlock("\x01\x00\x01\x01\x01\x00", "a", 0))},
		{"a path in two blocks", "names \"a\", as one before it does", rawChanges(from, rawBlock("\x01\x00\x01", "a", 0), rawBlock("\x01\x00\x01", "a", 0))},
		{"a path that shares more than there is", "what a path shares", rawChanges(from, rawBlock("\x01\x01\x01", "a", 0))},
		{"a path that is too long", "the rest of a path", rawChanges(from, rawBlock("\x01\x00\x80\x02", strings.Repeat("a", 256), 0))},
		{"a path that grows too long", "has a path of 360 bytes", rawChanges(from, rawBlock("\x01\x00\xb4\x01\x01\xb4\x01\xb4\x01", strings.Repeat("a", 360), 0))},
		{"no text", "ends too early", rawChanges(from, rawBlock("\x01\x00\x01", "", 0))},
		{"no digest", "ends too early", rawChanges(from, rawBlock(put("a", "\x01"), "a", 0))},
		{"a digest too many", "32 of digests", rawChanges(from, rawBlock(put("a", "\x01"), "a", 2))},
		{"no whole object", "ends too early", rawChanges(from, rawBlock("\x10\x00\x01\x01", "a", 2))},
		{"a file that is too large", "the size of a file", rawChanges(from, rawBlock("\x00\x00\x01\xff\xff\xff\xff\xff\xff\x01", "a", 1))},
		{"a content that does not exist", "repeats a content", rawChanges(from, rawBlock("\x30\x00\x01\x00", "a", 0))},
		{"a content of another block", "repeats a content", rawChanges(from, rawBlock(put("a", "\x01"), "a", 1), rawBlock("\x30\x00\x01\x00", "b", 0))},
		{"a content again with an index", "repeats a content", rawChanges(from, rawBlock(put("a", "\x01")+"\x70\x00\x01\x00", "ab", 1))},
		{"an index that does not exist", "an object with indexes", rawChanges(from, rawBlock("\x40\x00\x01\x01\x01", "a", 2))},
		{"an entry of no index", "an entry of an index", rawChanges(from, rawBlock("\x40\x00\x01\x01\x00\x05\x80\x80\x80\x01", "a", 2))},
		{"a body that unpacks to more", "does not unpack to 10 bytes", rawChanges(from, bomb(t, 10, 1<<20))},
		{"a body that unpacks to less", "does not unpack to 100 bytes", rawChanges(from, bomb(t, 100, 99))},
		{"a body that is no brotli", "does not unpack", rawChanges(from, []byte{7, 4, 0xff, 0xff, 0xff})},
		{"bodies that are too large together", "brings the bodies to more", rawChanges(from, longBlock(t, "a"), longBlock(t, "b"))},
		{"a body that says it is too large", "decoded size of the body", rawChanges(from, bomb(t, 25<<20, 5))},
		{"another listing", "lead to another listing", rawChanges(from, rawBlock("\x01\x00\x01", "a", 0))},
		{"a set that is not allowed", "lead to another listing", rawChanges(from, rawBlock(put("..", "\x01"), "..", 1))},
	} {
		err := applyRaw(bad.data, old, from)
		if fault := formatFault(err); fault == nil || fault.Document != "changes" || !strings.Contains(fault.Reason, bad.reason) {
			t.Errorf("%s: %v, want %q", bad.name, err, bad.reason)
		}
	}
}

// applyRaw applies all blocks of changes, whatever listing they are from, and reads all of their paths.
func applyRaw(data []byte, old release.Listing, from release.Digest) error {
	c, err := delta.ReadChangesTable(data[:min(len(data), delta.MaxChangesTable)])
	if err != nil {
		return err
	}
	if _, err := c.Steps(data); err != nil {
		return err
	}
	_, _, err = c.Apply(data, old, from, sha("absent content"))
	return err
}

// TestBombsTakeLittle: what unpacks to more than it says takes no memory beyond that.
func TestBombsTakeLittle(t *testing.T) { // not parallel: it counts memory
	testlevel.Slow(t)
	old := tree{"a": "1"}.listing()
	data := rawChanges(digestOf(t, old), bomb(t, 1000, 64<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := applyRaw(data, old, digestOf(t, old)); formatFault(err) == nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("%d bytes of memory for %d", n, len(data))
	}
}

// FuzzChanges reads anything as changes. What is taken is within the caps, and made again it says the same.
func FuzzChanges(f *testing.F) {
	releases := vectorHistory()
	old, from := releases[0].listing(), digestOf(f, releases[0].listing())
	f.Add(history(f, release.MaxChanges, releases...))
	f.Add(history(f, release.MaxChanges, releases[1:]...))
	f.Add(rawChanges(from, rawBlock("\x01\x00\x01", "a", 0), nil, rawBlock("\x40\x00\x01\x01\x00\x05\x03", "b", 2)))
	f.Add(rawChanges(from, bomb(f, 100, 100)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		c, err := delta.ReadChangesTable(data[:min(len(data), delta.MaxChangesTable)])
		if err == nil {
			var steps []delta.ChangeStep
			if steps, err = c.Steps(data); err == nil {
				checkSteps(t, steps)
			}
		}
		if err == nil && c.Reach(from) > int64(len(data)) {
			t.Fatalf("%d of %d bytes are to be read", c.Reach(from), len(data))
		}
		if err == nil && c.Reach(from) > 0 {
			_, _, err = c.Apply(data, old, from, sha("elsewhere"))
		}
		if err != nil && formatFault(err) == nil {
			t.Fatalf("%T %v", err, err)
		}
	})
}

// checkSteps: paths that were read make changes that say the same.
func checkSteps(t *testing.T, steps []delta.ChangeStep) {
	files := tree{}
	for _, s := range steps {
		for i, p := range s.Paths {
			if len(p) > release.MaxPath || i > 0 && p <= s.Paths[i-1] {
				t.Fatalf("path %q", p)
			}
			if release.CheckPath(p) == nil && i%2 == 0 {
				files[p] = p
			}
		}
	}
	object, err := delta.EncodeChanges(steps, files.listing(), files.sources(), release.MaxChanges)
	if err != nil || object == nil {
		t.Fatalf("%d bytes, %v", len(object), err)
	}
	again, err := tableOf(t, object).Steps(object)
	if err != nil || len(again) != len(steps) {
		t.Fatalf("%d steps, %v", len(again), err)
	}
	for i := range steps {
		if steps[i].From != again[i].From || strings.Join(steps[i].Paths, "\n") != strings.Join(again[i].Paths, "\n") {
			t.Fatalf("%v, want %v", again[i], steps[i])
		}
	}
}
