package compat_test

import (
	"encoding/binary"
	"math/rand/v2"
	"path"
	"testing"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// stream gives values out of a fuzzer's bytes, zeros after their end.
type stream []byte

func (s *stream) u64() uint64 {
	var b [8]byte
	*s = (*s)[copy(b[:], *s):]
	return binary.LittleEndian.Uint64(b[:])
}

// below is a small value, so that different fields meet.
func (s *stream) below(n uint8) int {
	if len(*s) == 0 {
		return 0
	}
	v := (*s)[0] % n
	*s = (*s)[1:]
	return int(v)
}

func (s *stream) logic() int32 {
	if v := s.below(16); v < 12 {
		return int32(v)
	}
	return int32(s.u64())
}

func (s *stream) bit() bool { return s.below(2) == 1 }

func (s *stream) text() string {
	return []string{"", "Windows-win64", "iOS-arm64", "Windows-*", "*", "[", "game-8", compat.Derived(int32(s.below(9)), uint64(s.below(4)))}[s.below(8)]
}

// snapshot is any snapshot with or without a logic version; without one it compares strings.
func (s *stream) snapshot() *compat.Snapshot {
	snapshot := &compat.Snapshot{
		Revision: 1, Compatibility: s.text(), Custom: s.bit(), Content: s.text(), Versioned: s.bit(),
		Active: compat.Range{Min: s.logic(), Max: s.logic()}, Baselines: map[int32]uint64{}, Build: s.build(),
		Policy:      []compat.Policy{"", compat.PolicyOff, compat.PolicyWarn, compat.PolicyEnforce}[s.below(4)],
		Development: s.bit(), Maintenance: s.bit(), RetryAfter: uint32(s.below(3)), Targets: map[string]compat.Target{},
	}
	if !snapshot.Versioned {
		snapshot.Custom = true
	}
	for range s.below(5) {
		snapshot.Baselines[s.logic()] = uint64(s.below(4))
	}
	for range s.below(4) {
		snapshot.PatchRules = append(snapshot.PatchRules, compat.PatchRule{Logic: s.logic(), Target: s.text(), MinPatch: uint32(s.below(5))})
	}
	for range s.below(3) {
		snapshot.Targeted = append(snapshot.Targeted, s.text())
	}
	for range s.below(4) {
		t := compat.Target{Store: s.bit()}
		for range s.below(4) {
			t.Payloads = append(t.Payloads, compat.Payload{Logic: s.logic(), Patch: uint32(s.below(5)), Components: uint64(s.below(4)), Undeclared: s.bit()})
		}
		snapshot.Targets[s.text()] = t
	}
	if s.bit() {
		snapshot.Redirect = &compat.Endpoint{Host: "next"}
	}
	return snapshot
}

func (s *stream) build() compat.Build {
	return compat.Build{
		Logic: s.logic(), Components: uint64(s.below(4)), Time: int64(s.below(3)) * 100, Seq: uint64(s.below(4)),
		Branch: []string{"", "main"}[s.below(2)], Compatibility: s.text(),
	}
}

func (s *stream) hello() compat.Hello {
	return compat.Hello{
		Updater: compat.Updater(s.below(6) / 4), Build: s.build(), Patch: uint32(s.below(5)), Target: s.text(), Content: s.text(), Tagged: s.below(4) > 0,
		Flags: compat.Flags(s.u64()), Store: s.bit(), Floor: s.logic(), Developer: s.bit(),
	}
}

// FuzzEvaluate holds any judgement of anything to the invariants.
func FuzzEvaluate(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("any bytes make a snapshot and a hello, and more of them make a larger one that has rules, baselines and modules"))
	for i := range byte(16) {
		f.Add([]byte{0, i, 0, 1, 6, 7, i, 1, 2, 3, 1, 0, 3, i, 0, 0, 0, 2, 6, i & 3, 7, 2, 1, 6, 3, 0, 1, 1, 1, 0, 1, 2, 7, 1, 1, 0, 6, 1, 1, 0, 1, 0, 0, i, 1, 1})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := stream(data)
		s := in.snapshot()
		h := in.hello()
		j := compat.Evaluate(s, &h)
		if why := invariants(s, &h, j); why != "" {
			t.Fatalf("%s: %+v\n%+v\n%+v", why, j, s, h)
		}
	})
}

// FuzzPattern: targets are matched as path.Match does it, and what is no pattern is a name at most.
func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{"", "*", "Windows-*", "Win*s-*", "Windows-win64", "?OS-*", "[iA]*", `\*`, `Win\dows-*`, "Windows-win6", "Windows-win64x", "a/*", "[", `a\`, "**", "Linux-x64*"} {
		for _, target := range []string{"", "Windows-win64", "iOS-arm64", "Linux-x64", "a/b/c", "*", "["} {
			f.Add(pattern, target)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, target string) {
		is, err := path.Match(pattern, target)
		want := pattern == "" || err == nil && is
		s := &compat.Snapshot{Custom: true, Maintenance: true, Targeted: []string{pattern}}
		h := compat.Hello{Target: target}
		if got := compat.Evaluate(s, &h).Verdict == compat.Maintenance; got != want {
			t.Errorf("%q stands for %q: %v, want %v", pattern, target, got, want)
		}
	})
}

// TestInvariantsHoldOfAnything is the fuzz target's statement over many random worlds, so that every run makes it.
func TestInvariantsHoldOfAnything(t *testing.T) {
	worlds := 200_000 / testlevel.Stride(4, 20)
	random := rand.New(rand.NewPCG(6, 2026))
	reached := map[compat.Verdict]int{}
	data := make([]byte, 160)
	for range worlds {
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		in := stream(data)
		s := in.snapshot()
		h := in.hello()
		j := compat.Evaluate(s, &h)
		reached[j.Verdict]++
		if why := invariants(s, &h, j); why != "" {
			t.Fatalf("%s: %+v\n%+v\n%+v", why, j, s, h)
		}
	}
	for v := compat.Accept; v <= compat.Maintenance; v++ {
		if reached[v] < worlds/4_000 {
			t.Errorf("only %d of the worlds lead to %s", reached[v], v)
		}
	}
}
