package delta

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"collet/netproto/delta/predict"
	"collet/netproto/predicttest"
	"collet/platform/testlevel"
)

// TestModuleMoves: when code moves, references are predicted, and the patch holds little but the move itself.
func TestModuleMoves(t *testing.T) {
	patch, stats := roundTrip(t, [][]byte{predicttest.Module(0)}, [][]byte{predicttest.Module(48)})
	if !stats.Predicted {
		t.Error("a module was patched without prediction")
	}
	if len(patch) > 400 {
		t.Errorf("%d bytes for code that only moved: %+v", len(patch), stats)
	}
	same, _ := roundTrip(t, [][]byte{predicttest.Module(0)}, [][]byte{predicttest.Module(0)})
	if len(same) > 40 {
		t.Errorf("%d bytes for an identical module", len(same))
	}
}

// TestModulesAmongOthers: modules are found wherever they stand among the contents, and each keeps its own addresses.
func TestModulesAmongOthers(t *testing.T) {
	old := [][]byte{words(1, 5000), predicttest.Module(0), predicttest.Module(16), noise(1, 777)}
	fresh := [][]byte{noise(1, 700), predicttest.Module(48), words(1, 5100), predicttest.Module(32)}
	patch, stats := roundTrip(t, old, fresh)
	if len(patch) > 600 {
		t.Errorf("%d bytes, %+v", len(patch), stats)
	}
}

// TestBrokenModules: headers that lie cost prediction at most, never correctness.
func TestBrokenModules(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	whole := predicttest.Module(0)
	r := rand.New(rand.NewPCG(3, 3))
	for range 60 / testlevel.Stride(6, 20) {
		bad := bytes.Clone(predicttest.Module(48))
		for range 4 {
			bad[r.IntN(predicttest.ELFHead)] = byte(r.Uint32())
		}
		roundTrip(t, [][]byte{whole}, [][]byte{bad})
		roundTrip(t, [][]byte{bad}, [][]byte{whole[:r.IntN(len(whole))]})
	}
}

// TestARMModuleMoves: as TestModuleMoves, for arm64.
func TestARMModuleMoves(t *testing.T) {
	patch, stats := roundTrip(t, [][]byte{predicttest.ARMModule(0)}, [][]byte{predicttest.ARMModule(64)})
	if !stats.Predicted || len(patch) > 500 {
		t.Errorf("%d bytes for code that only moved: %+v", len(patch), stats)
	}
}

// TestPredictionHelps: in each mode, what the mode is for is expected better than as plain bytes.
func TestPredictionHelps(t *testing.T) {
	for _, build := range []func(padding int) []byte{predicttest.Module, predicttest.ARMModule} {
		a, b := build(0), build(64)
		plain, _ := made(t, [][]byte{append([]byte("x"), a...)}, [][]byte{append([]byte("x"), b...)}) // no module begins at an x
		predicted, stats := made(t, [][]byte{a}, [][]byte{b})
		if !stats.Predicted || len(predicted)*4 > len(plain)*3 {
			t.Errorf("%d bytes with prediction, %d without", len(predicted), len(plain))
		}
	}
}

// TestChooseModes: each block of a module gets the mode of what lies in it, and what only copies gets none.
func TestChooseModes(t *testing.T) {
	const blocks = 6
	const off, x86, abs8 = 0, 1, 2 // modes, as in the format
	size := blocks << predict.BlockBits
	build := func(padding uint64) *predicttest.ELF {
		e := &predicttest.ELF{CodeAt: 0x400000, DataAt: 0x900000 + padding}
		calls, at := predicttest.Bodies(2*size/16), e.CodeAt+uint64(2*size)
		var targets []uint64
		for i := range size / 5 {
			targets = append(targets, e.DataAt+uint64(i*8%size))
		}
		e.Code = append(calls, loadsOf(targets, at)...)
		e.Code = append(e.Code, make([]byte, -len(e.Code)&7)...)
		for i := range size / 8 {
			target := e.DataAt + uint64(i*40%size) // moves
			if i*i%7 < 3 {
				target = e.CodeAt + uint64(i*40%size) // does not
			}
			e.Data = binary.LittleEndian.AppendUint64(e.Data, target)
		}
		return e
	}
	a, b := build(0).Bytes(), build(0x4440).Bytes()
	m, err := newMaker(olds(a), news(b), PatchOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := predict.FindModules(m.old, m.oldEnds, m.new, m.newEnds)
	f := &frame{size: len(b), matches: []predict.Match{{At: 0, Size: uint32(len(b)), Old: 0}}}
	modes, err := m.chooseModes(t.Context(), s, predict.NewOffsetMap(f.matches, int64(len(a))), f, b)
	if err != nil || len(modes) != (len(b)-1)>>predict.BlockBits+1 {
		t.Fatalf("%v, %d modes", err, len(modes))
	}
	text := strings.Repeat(string([]byte{off}), 2*blocks-1)
	if !strings.Contains(string(modes), text) {
		t.Errorf("functions without references: % d", modes)
	}
	if n := bytes.Count(modes, []byte{x86}); n < blocks {
		t.Errorf("%d blocks of Code: % d", n, modes)
	}
	if n := bytes.Count(modes, []byte{abs8}); n < blocks-1 {
		t.Errorf("%d blocks of addresses: % d", n, modes)
	}
	if _, err := m.chooseModes(stoppedContext(t), s, predict.NewOffsetMap(f.matches, int64(len(a))), f, b); err == nil {
		t.Error("modes are chosen after the end of the context")
	}
}

// loadsOf is code that loads from each of some addresses.
func loadsOf(targets []uint64, at uint64) (b []byte) {
	for _, target := range targets {
		b = append(b, 0x48, 0x8b, 0x05)
		b = binary.LittleEndian.AppendUint32(b, uint32(target-(at+uint64(len(b))+4)))
	}
	return b
}

// TestPlainWins: a small frame that prediction makes larger goes without it.
func TestPlainWins(t *testing.T) {
	a, b := predicttest.Module(0), predicttest.Module(0)
	b[len(b)-1]++
	patch, stats := roundTrip(t, [][]byte{a}, [][]byte{b})
	if stats.Predicted || len(patch) > 40 {
		t.Errorf("%d bytes for one, predicted: %v", len(patch), stats.Predicted)
	}
}
