package delta

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestFolding: signed numbers come back, and small ones are small.
func TestFolding(t *testing.T) {
	for v, want := range map[int64]uint64{0: 0, -1: 1, 1: 2, -2: 3, 2: 4, math.MaxInt64: math.MaxUint64 - 1, math.MinInt64: math.MaxUint64} {
		if got := signed(v); got != want || unsigned(got) != v {
			t.Errorf("%d folds to %d and back to %d", v, got, unsigned(got))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if v := rapid.Int64().Draw(t, "v"); unsigned(signed(v)) != v {
			t.Errorf("%d came back as %d", v, unsigned(signed(v)))
		}
	})
}

// TestExactly: so many bytes, neither fewer nor more, and whatever the reader does at its end.
func TestExactly(t *testing.T) {
	data := []byte("exactly")
	for _, c := range []struct {
		left int64
		want string
		err  error
	}{{7, "exactly", nil}, {3, "exa", nil}, {0, "", nil}, {8, "exactly", io.ErrUnexpectedEOF}} {
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data))} {
			got, err := io.ReadAll(&exactly{r: r, left: c.left})
			if string(got) != c.want || err != c.err {
				t.Errorf("%d bytes: %q, %v", c.left, got, err)
			}
		}
	}
}

// TestStreams: a stream of each kind comes back in its code, and is refused in a smaller window, cut off or swapped.
func TestStreams(t *testing.T) {
	for name, raw := range map[string][]byte{"text": words(1, 40_000), "noise": noise(1, 40_000), "one byte": {7}, "zeros": make([]byte, 40_000)} {
		c := compressStream(t.Context(), raw, 20)
		if want := byte(codeBrotli); c.raw != len(raw) || (c.code == want) != (len(c.data) < len(raw)) {
			t.Errorf("%s: %d bytes, code %d, %d raw", name, len(c.data), c.code, c.raw)
		}
		read := func(data []byte, code byte, raw, window int) ([]byte, error) {
			r, err := decompressStream(bytes.NewReader(data), code, int64(raw), window)
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}
		if got, err := read(c.data, c.code, len(raw), 20); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := read(c.data[:len(c.data)-1], c.code, len(raw), 20); err == nil && c.code == codeStored {
			t.Errorf("%s: cut off and taken", name)
		}
		if _, err := read(c.data[:len(c.data)/2], c.code, len(raw), 20); err == nil {
			t.Errorf("%s: half of it is taken", name)
		}
		if _, err := read(c.data, c.code, len(raw)+1, 20); err == nil {
			t.Errorf("%s: a byte too few is taken", name)
		}
		if _, err := read(c.data, c.code, len(raw), 9); c.code == codeBrotli && (err == nil || err.Error() != "a decoder window above the cap") {
			t.Errorf("%s: in a small window: %v", name, err)
		}
	}
	if c := compressStream(t.Context(), nil, 20); c.raw != 0 || len(c.data) != 0 || !bytes.Equal(c.appendRow(nil), []byte{0}) {
		t.Errorf("nothing: %+v", c)
	}
}

// TestRow: what stands in a frame's header for a stream.
func TestRow(t *testing.T) {
	for _, c := range []struct {
		coded coded
		want  []byte
	}{
		{coded{raw: 0}, []byte{0}},
		{coded{raw: 5, code: codeStored, data: make([]byte, 5)}, []byte{5, 10}},
		{coded{raw: 300, code: codeBrotli, data: make([]byte, 9)}, []byte{0xac, 2, 19}},
	} {
		if got := c.coded.appendRow([]byte{}); !bytes.Equal(got, c.want) {
			t.Errorf("% x, want % x", got, c.want)
		}
	}
}

// TestDeflatedStops: compressing ends soon with its context.
func TestDeflatedStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if n := len(deflated(ctx, words(1, 2<<20), bestWindow)); n > 10_000 {
		t.Errorf("%d bytes were made without a reader", n)
	}
}

// TestDiffProperty: what any two contents differ by makes one of the other, with the runs cut as the format wants them.
func TestDiffProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 300).Draw(t, "want")
		got := bytes.Clone(want)
		for range rapid.IntRange(0, 60).Draw(t, "edits") {
			if len(got) > 0 {
				got[rapid.IntRange(0, len(got)-1).Draw(t, "at")] += rapid.Byte().Draw(t, "by")
			}
		}
		var d diffWriter
		for i := 0; i < len(got); {
			n := rapid.IntRange(1, len(got)-i).Draw(t, "piece")
			d.encode(want[i:i+n], got[i:i+n])
			i += n
		}
		d.endRun()
		r := newDiffReader(bytes.NewReader(d.zeros), bytes.NewReader(d.wrongs), bytes.NewReader(d.bytes))
		b := bytes.Clone(want)
		for i := 0; i < len(b); {
			n := rapid.IntRange(1, len(b)-i).Draw(t, "part")
			if err := r.Correct(b[i : i+n]); err != nil {
				t.Fatal(err)
			}
			i += n
		}
		if !bytes.Equal(b, got) {
			t.Fatalf("% x became % x, want % x", want, b, got)
		}
		if err := r.Correct(make([]byte, 100)); err != nil {
			t.Fatalf("behind the last difference: %v", err)
		}
	})
}

// TestDiffGolden: the streams of a difference, byte by byte.
func TestDiffGolden(t *testing.T) {
	for _, c := range []struct{ want, got, zeros, wrongs, bytes string }{
		{"abcdef", "abcdef", "", "", ""},
		{"abcdef", "abddef", "\x02", "\x00", "\x01"},
		{"abcdef", "bbcdef", "\x00", "\x00", "\x01"},
		{"abcdef", "bcdefg", "\x00", "\x05", "\x01\x01\x01\x01\x01\x01"},
		{"abcdef", "bbddef", "\x00", "\x02", "\x01\x00\x01"},             // one right byte does not end a run
		{"abcdef", "bbceef", "\x00\x02", "\x00\x00", "\x01\x01"},         // two do
		{"aaaaaaaa", "abaabaaa", "\x01\x02", "\x00\x00", "\x01\x01"},     // what follows the last is right
		{"\x00\xff\x00", "\xff\x00\x01", "\x00", "\x02", "\xff\x01\x01"}, // modulo 256
	} {
		var d diffWriter
		d.encode([]byte(c.want), []byte(c.got))
		d.endRun()
		if string(d.zeros) != c.zeros || string(d.wrongs) != c.wrongs || string(d.bytes) != c.bytes {
			t.Errorf("%q to %q: %q, %q, %q", c.want, c.got, d.zeros, d.wrongs, d.bytes)
		}
	}
}

// TestDiffRefuses: streams that end where they should not.
func TestDiffRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		zeros, wrongs, bytes string
		ok                   bool
	}{
		"no difference":       {"", "", "", true},
		"right":               {"\x02", "\x00", "\x01", true},
		"no length of wrongs": {"\x02", "", "\x01", false},
		"no bytes":            {"\x02", "\x00", "", false},
		"too few bytes":       {"\x02", "\x04", "\x01\x01", false},
		"half a number":       {"\x82", "\x00", "\x01", false},
		"unused wrongs":       {"\xff\x7f", "\xff\x7f", "", true},
	} {
		r := newDiffReader(bytes.NewReader([]byte(c.zeros)), bytes.NewReader([]byte(c.wrongs)), bytes.NewReader([]byte(c.bytes)))
		if err := r.Correct(make([]byte, 50)); (err == nil) != c.ok || err == io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("broken")
	r := newDiffReader(bytes.NewReader([]byte{0}), bytes.NewReader([]byte{0}), iotest.ErrReader(broken))
	if err := r.Correct(make([]byte, 5)); err != broken {
		t.Errorf("a broken reader: %v", err)
	}
}

// TestDiff: what the writer notes the reader makes good, wherever it is cut.
func TestDiff(t *testing.T) {
	want, got := words(1, 3000), words(1, 3000)
	for i := 10; i < len(got); i += 1 + i%37 {
		got[i] ^= byte(i)
	}
	for _, cut := range []int{1, 2, 7, 1000, 3000} {
		var d diffWriter
		for i := 0; i < len(want); i += cut {
			end := min(i+cut, len(want))
			d.encode(want[i:end], got[i:end])
		}
		d.endRun()
		r := newDiffReader(bytes.NewReader(d.zeros), bytes.NewReader(d.wrongs), bytes.NewReader(d.bytes))
		b := bytes.Clone(want)
		for i := 0; i < len(b); i += 13 {
			if err := r.Correct(b[i:min(i+13, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(b, got) {
			t.Errorf("cut at %d: the bytes differ", cut)
		}
	}
}
