package deflate

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"collet/platform/testlevel"
)

var update = flag.Bool("update", false, "write testdata/zlib.txt by python3's zlib and Info-ZIP's zip")

// goldenSizes cover empty streams, one block, one window, and more than two windows.
var goldenSizes = []int{0, 1, 2, 300, 40_000, 150_000}

// goldenLine is a line of testdata/zlib.txt without the digest.
func goldenLine(kind string, size int, p Params) string {
	return fmt.Sprintf("%s %d %d %d %v", kind, size, p.Level, p.MemLevel, p.Filtered)
}

// TestGolden compares streams with those of zlib 1.2.13 and of Info-ZIP's zip 3.0, by digest. With -update they are made again by python3
// and zip.
func TestGolden(t *testing.T) {
	if *update {
		writeGolden(t)
	}
	data, err := os.ReadFile("testdata/zlib.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		at := strings.LastIndexByte(line, ' ')
		want[line[:at]] = strings.TrimSpace(line[at:])
	}
	n := 0
	for _, kind := range []string{"text", "numbers", "noise", "zeros", "mixture"} {
		for _, size := range goldenSizes {
			in := sample(kind, 7, size)
			for _, p := range every() {
				line := goldenLine(kind, size, p)
				digest, there := want[line]
				if !there {
					continue
				}
				n++
				if got := fmt.Sprintf("%x", sha256.Sum256(compress(t, p, in))); got != digest {
					t.Errorf("%s: %s instead of %s", line, got, digest)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d streams were compared", n)
	}
}

// writeGolden makes testdata/zlib.txt.
func writeGolden(t *testing.T) {
	z := startZlib(t)
	var b strings.Builder
	for _, kind := range []string{"text", "numbers", "noise", "zeros", "mixture"} {
		for _, size := range goldenSizes {
			in := sample(kind, 7, size)
			for _, p := range candidates() {
				var packed []byte
				if p.MemLevel > 0 {
					packed = z.compress(t, p, in)
				} else if packed = infoZIP(t, p.Level, in); packed == nil {
					continue // it stores the file
				}
				fmt.Fprintf(&b, "%s %x\n", goldenLine(kind, size, p), sha256.Sum256(packed))
			}
		}
	}
	if err := os.WriteFile("testdata/zlib.txt", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// infoZIP is the stream that zip makes of a file; nil if it stores the file.
func infoZIP(t *testing.T, level uint8, data []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", data, 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("zip", "-q", "-X", fmt.Sprintf("-%d", level), "archive.zip", "file")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("zip: %v: %s", err, out)
	}
	file, err := os.ReadFile(dir + "/archive.zip")
	if err != nil {
		t.Fatal(err)
	}
	list, err := scan(bytes.NewReader(file), int64(len(file)), int64(len(file)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return nil
	}
	return file[list[0].start:][:list[0].size]
}

// zlibProgram compresses what it reads: level, memory level and strategy as bytes, the size in 4 bytes, the content. It answers with the
// size in 4 bytes and the stream.
const zlibProgram = `
import sys, zlib, struct
while True:
    head = sys.stdin.buffer.read(7)
    if len(head) < 7: break
    level, mem, strategy, size = struct.unpack('<BBBI', head)
    z = zlib.compressobj(level, zlib.DEFLATED, -15, mem, strategy)
    out = z.compress(sys.stdin.buffer.read(size)) + z.flush()
    sys.stdout.buffer.write(struct.pack('<I', len(out)) + out)
    sys.stdout.buffer.flush()
`

// systemZlib is the system's zlib, by python3.
type systemZlib struct {
	in  io.Writer
	out *bufio.Reader
}

func startZlib(t testing.TB) *systemZlib {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not there")
	}
	command := exec.Command(python, "-c", zlibProgram)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skip("python3 does not start: ", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &systemZlib{in, bufio.NewReaderSize(out, 1<<20)}
}

func (z *systemZlib) compress(t testing.TB, p Params, data []byte) []byte {
	t.Helper()
	strategy := byte(0)
	if p.Filtered {
		strategy = 1
	}
	request := binary.LittleEndian.AppendUint32([]byte{p.Level, p.MemLevel, strategy}, uint32(len(data)))
	if _, err := z.in.Write(append(request, data...)); err != nil {
		t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(z.out, size[:]); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(z.out, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// zlibs are all parameters of zlib.
func zlibs() []Params {
	return slices.DeleteFunc(candidates(), func(p Params) bool { return p.MemLevel == 0 })
}

// TestSystemZlib compares with the system's zlib: 10,080 streams in make test-all, some of them in make test.
func TestSystemZlib(t *testing.T) {
	testlevel.Slow(t)
	z := startZlib(t)
	r := rand.New(rand.NewPCG(2, 3))
	for round := range 280 {
		kind := []string{"text", "numbers", "noise", "zeros", "mixture"}[round%5]
		size := 1 << r.IntN(19)
		in := sample(kind, r.Uint64(), size+r.IntN(size))
		if round%testlevel.Stride(20, 20) != 0 {
			continue
		}
		for _, p := range zlibs() {
			if !bytes.Equal(compress(t, p, in), z.compress(t, p, in)) {
				t.Fatalf("round %d: %s, %d bytes, %+v: another stream", round, kind, len(in), p)
			}
		}
	}
}

// TestSystemZlibCorpus compares with the system's zlib on the files of this repository's documents and code.
func TestSystemZlibCorpus(t *testing.T) {
	testlevel.Lab(t)
	z := startZlib(t)
	for _, folder := range []string{"../../docs", "../delta", "../chunk", "."} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			in, err := os.ReadFile(folder + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range zlibs() {
				if !bytes.Equal(compress(t, p, in), z.compress(t, p, in)) {
					t.Fatalf("%s, %+v: another stream", e.Name(), p)
				}
			}
		}
	}
}

// TestEncoderReuse compresses different streams with one encoder: none leaves a trace.
func TestEncoderReuse(t *testing.T) {
	e := newEncoder()
	for i, p := range every() {
		in := sample("mixture", uint64(i), 150_000)
		var out bytes.Buffer
		if err := e.encode(p, bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), compress(t, p, in)) {
			t.Fatalf("%+v: another stream than from a new encoder", p)
		}
		if got := readAll(t, flate.NewReader(&out)); !bytes.Equal(got, in) {
			t.Fatalf("%+v: the stream inflates to other bytes", p)
		}
	}
}

// failing fails after some bytes, as a reader and as a writer.
type failing struct{ left int }

var errFailing = errors.New("it fails")

func (f *failing) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, errFailing
	}
	n := min(f.left, len(b))
	f.left -= n
	return n, nil
}

func (f *failing) Write(b []byte) (int, error) {
	n, err := f.Read(b)
	if n < len(b) {
		err = errFailing
	}
	return n, err
}

func TestEncoderErrors(t *testing.T) {
	for _, level := range []uint8{1, 6} {
		p := Params{Level: level, MemLevel: 8}
		if err := newEncoder().encode(p, &failing{left: 100_000}, io.Discard); err != errFailing {
			t.Errorf("level %d: a failing reader gives %v", level, err)
		}
		noise := bytes.NewReader(sample("noise", 1, 300_000))
		if err := newEncoder().encode(p, noise, &failing{left: 20_000}); err != errFailing {
			t.Errorf("level %d: a failing writer gives %v", level, err)
		}
	}
}

// FuzzEncode inflates what the encoder makes, and compares it with the system's zlib if python3 is there.
func FuzzEncode(f *testing.F) {
	f.Add(uint8(6), []byte("the same text, the same text"))
	f.Add(uint8(40), sample("mixture", 5, 100_000))
	all := candidates()
	var zlib *systemZlib
	if _, err := exec.LookPath("python3"); err == nil {
		zlib = startZlib(f)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		p := all[int(which)%len(all)]
		packed := compress(t, p, data)
		if got := readAll(t, flate.NewReader(bytes.NewReader(packed))); !bytes.Equal(got, data) {
			t.Fatalf("%+v: the stream inflates to other bytes", p)
		}
		if zlib != nil && p.MemLevel > 0 && !bytes.Equal(packed, zlib.compress(t, p, data)) {
			t.Fatalf("%+v: another stream than zlib's", p)
		}
	})
}

// BenchmarkEncode compresses text; the rate is in plain bytes.
func BenchmarkEncode(b *testing.B) {
	in := sample("text", 1, 4<<20)
	for _, level := range []uint8{1, 6, 9} {
		b.Run(fmt.Sprintf("level=%d", level), func(b *testing.B) {
			e := newEncoder()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if err := e.encode(Params{Level: level, MemLevel: 8}, bytes.NewReader(in), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
