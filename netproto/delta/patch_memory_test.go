package delta

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"collet/netproto/delta/predict"
	"collet/platform/testlevel"
)

// applyMost is what a program that applies a patch may take at its peak, in bytes: runtime, test harness and all.
const applyMost = 64 << 20

// pattern is old contents of any size that take no memory: 8 bytes for each place that is a multiple of 8.
type pattern struct{}

func (pattern) ReadAt(b []byte, at int64) (int, error) {
	for i := range b {
		p := at + int64(i)
		b[i] = byte(uint64(p>>3) * 0x9e3779b97f4a7c15 >> (8 * (p & 7)))
	}
	return len(b), nil
}

// greedy is a patch that drives everything an applier keeps in memory to its cap: as many matches as a frame may have, all
// windows full, all address maps there, held streams at their most.
func greedy(t *testing.T, matches int) (patch []byte, oldSize, newSize int64) {
	const extra, wrong, old = 40 << 20, 6 << 20, 300 << 20
	f := frame{flags: flagPredicted}
	at := uint32(0)
	for i := range matches {
		size := uint32(64)
		f.matches = append(f.matches, predict.Match{At: at, Size: size, Old: uint32(i) * 256})
		at += size
	}
	f.size = int(at) + extra
	f.encodeMatches()
	r := noise(1, 20<<20)
	for len(f.streams[streamExtra]) < extra {
		f.streams[streamExtra] = append(f.streams[streamExtra], r[:min(len(r), extra-len(f.streams[streamExtra]))]...)
	}
	for i := range wrong / 4 {
		r[i*4%(1<<23)] += byte(i >> 18)
		f.streams[streamZeros] = binary.AppendUvarint(f.streams[streamZeros], uint64(1+i%5))
		f.streams[streamWrongs] = binary.AppendUvarint(f.streams[streamWrongs], 3)
		f.streams[streamBytes] = append(f.streams[streamBytes], r[i*4%(1<<23):i*4%(1<<23)+4]...)
	}
	s := &predict.Modules{}
	for i := range uint32(1000) {
		s.Old = append(s.Old, predict.Area{At: i << 12, Size: 1 << 12, Memory: 1 << 12, Address: uint64(i) << 13, Code: i&1 != 0})
		s.New = append(s.New, predict.Area{At: i << 12, Size: 1 << 12, Memory: 1 << 12, Address: uint64(i) << 14, Code: i&1 != 0})
	}
	f.streams[streamImages] = s.Encode()
	for i := range f.size >> predict.BlockBits {
		f.streams[streamModes] = append(f.streams[streamModes], byte(1+i%5))
	}
	var streams [streamCount]coded
	for i, raw := range f.streams {
		var out bytes.Buffer
		w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: 4, LGWin: window(i, matches)})
		_, _ = w.Write(raw)
		_ = w.Close()
		streams[i] = coded{raw: len(raw), code: codeBrotli, data: out.Bytes()}
	}
	body, held := f.encodeSeparate(&streams)
	if held > maxHeld || held < maxHeld/2 {
		t.Fatalf("the patch holds %d bytes, meant to be near %d", held, maxHeld)
	}
	patch = append([]byte(patchMagic), binary.AppendUvarint(nil, old)...)
	patch = binary.AppendUvarint(patch, uint64(f.size))
	return binary.LittleEndian.AppendUint32(append(patch, body...), 0), old, int64(f.size)
}

// TestApplyMemory applies the greedy patch in a process of its own and reads that process's peak.
func TestApplyMemory(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system does not tell the peak memory of a process")
	}
	if os.Getenv("CHUNK_APPLY") != "" {
		applyAlone(t)
		return
	}
	testlevel.Lab(t) // makes a patch of 40 MB, and measures a process
	for _, matches := range []int{manyMatches, maxMatches} {
		applyApart(t, matches)
	}
}

// applyApart applies the greedy patch in a process of its own.
func applyApart(t *testing.T, matches int) {
	t.Helper()
	patch, old, fresh := greedy(t, matches)
	name := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(name, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestApplyMemory$", "-test.v")
	cmd.Env = append(os.Environ(), "CHUNK_APPLY="+name+" "+strconv.FormatInt(old, 10)+" "+strconv.FormatInt(fresh, 10), "GODEBUG=madvdontneed=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), "peak ")
	number, _, _ := strings.Cut(rest, " ")
	most, err := strconv.ParseInt(number, 10, 64)
	if err != nil || most > applyMost {
		t.Errorf("the peak is %d bytes, the most is %d (%v)\n%s", most, applyMost, err, out)
	}
	t.Logf("peak %.1f MB for %.1f MB of patch and %.1f MB of new contents", float64(most)/1e6, float64(len(patch))/1e6, float64(fresh)/1e6)
}

// applyAlone is what the process of TestApplyMemory does.
func applyAlone(t *testing.T) {
	var old, fresh int64
	words := strings.Fields(os.Getenv("CHUNK_APPLY"))
	old, _ = strconv.ParseInt(words[1], 10, 64)
	fresh, _ = strconv.ParseInt(words[2], 10, 64)
	file, err := os.Open(words[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h := crc32.New(castagnoli)
	err = ApplyPatch(t.Context(), file, []Old{{pattern{}, old}}, []int64{fresh}, func(int) (io.Writer, error) { return h, nil })
	fault, is := err.(*PatchError)
	if !is || !strings.Contains(fault.What, "checksum") {
		t.Fatalf("want the wrong checksum at the end: %v", err)
	}
	t.Logf("peak %d bytes", peak())
}
