package desk

import (
	"encoding/binary"
	"testing"

	"collet/netproto/launcher/wire"
)

// script packs messages into the input of FuzzDesk: a first byte for dialect and mode, then each with its length.
func script(t testing.TB, first byte, messages ...wire.Message) []byte {
	data := []byte{first}
	for _, m := range messages {
		payload, err := wire.Encode(wire.Dialect(first&1), m)
		if err != nil {
			t.Fatal(err)
		}
		data = append(binary.LittleEndian.AppendUint16(data, uint16(len(payload))), payload...)
	}
	return data
}

// FuzzDesk lets a device send anything in any order during a push and a start: the session does not panic, stays within
// its cap, always has a next wake-up time, and ends its commands once the device is silent.
func FuzzDesk(f *testing.F) {
	greeting := &wire.ConnectRequest{SupportedFeatures: wire.FeatureCollet, Name: "d"}
	hash := wire.HashOf([]byte("x"))
	f.Add(script(f, 0, greeting, &wire.ResponseFileLayout{Files: []wire.File{{Path: "old", Size: 1, Hash: hash}, {Path: "big", Size: 5 * block, Hash: hash}}},
		&wire.ResponseFileBlockHashes{Path: "big", Hashes: []wire.Hash{hash}}, &wire.ResponseWriteFile{Path: "small"}, &wire.FileDataReceived{Path: "small"},
		&wire.ResponseFinishWriteFile{Path: "small"}, &wire.ResponseDeleteFile{Path: "old", Result: wire.Failure}, &wire.Logs{Message: "line"}))
	f.Add(script(f, 1, greeting, &wire.DraftFileLayout{Flags: wire.DraftLast, File: wire.File{Path: "big", Size: 5 * block, Hash: hash}},
		&wire.DraftFileBlockHash{Path: "big", Index: 3, Hash: hash, Flags: wire.DraftLast}, &wire.FileDataReceived{Path: "small", Result: wire.BatchDone}))
	f.Add(script(f, 2, greeting, &wire.ResponseTree{Flags: wire.TreeLast, Digest: new(wire.Layout).Digest()}, &wire.BatchReport{Batch: 1},
		&wire.BlocksWritten{File: 0, Count: 3}, &wire.FileClosed{File: 0}, &wire.RunReport{Event: wire.RunEnded}, &wire.LogLines{Lines: []wire.TimedLine{{}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 1<<16 {
			t.Skip()
		}
		z := &fuzzed{t: t, raw: newRaw(wire.Dialect(data[0]&1), data[0]&2 != 0)}
		z.keep = func(string) bool { return false }
		for data = data[1:]; len(data) >= 2; {
			n := min(int(binary.LittleEndian.Uint16(data)), len(data)-2)
			m, err := wire.Decode(z.dialect, wire.FromDevice, data[2:2+n])
			if data = data[2+n:]; err != nil {
				z.step(brokenEvent{err})
				continue
			}
			z.step(messageEvent{m})
		}
		for n := 0; z.busy(); n++ {
			if n > 1000 {
				t.Fatalf("a silent device is waited for: %+v", z.info.Push)
			}
			z.now = z.wake()
			z.step(tickEvent{})
		}
	})
}

// fuzzed is a session that does what comes of its own effects.
type fuzzed struct {
	*raw
	t    *testing.T
	left int // commands without an end
}

func (z *fuzzed) busy() bool { return z.phase != phaseClosed && z.left > 0 }

func (z *fuzzed) step(e any) {
	events := []any{e}
	for len(events) > 0 {
		effects := z.raw.step(z.now, events[0])
		events = events[1:]
		for _, effect := range effects {
			events = append(events, z.answer(effect)...)
		}
	}
	if z.phase == phaseClosed {
		return
	}
	if _, ticked := e.(tickEvent); ticked && !z.wake().IsZero() && !z.wake().After(z.now) {
		z.t.Fatalf("at %v it wants to look again at %v", z.now, z.wake())
	}
	if z.push == nil || z.push.doing == nil {
		return
	}
	switch d := z.push.doing.(type) {
	case *syncer:
		if d.under < 0 || d.under > MaxUnconfirmedReleased+2*block {
			z.t.Fatalf("%d bytes are under way", d.under)
		}
	case *bulker:
		if d.under < 0 || d.under > MaxUnconfirmed+wire.MaxBulk {
			z.t.Fatalf("%d bytes are under way", d.under)
		}
	}
}

// answer is what the world does with an effect.
func (z *fuzzed) answer(e effect) []any {
	switch e := e.(type) {
	case admitEffect:
		return []any{admittedEvent{decision: Admit, id: "d@x", doubts: new(doubts)}}
	case linkEffect:
		z.left = 2
		return []any{pushCommand{ticket: 1, task: newPushTask(PushOptions{}, z.now)}, runCommand{ticket: 2, op: &runOp{start: &StartOptions{Restart: true}}}}
	case scanEffect:
		return []any{scanEvent{run: e.run, scanned: scanned{layout: wire.NewLayout([]wire.File{
			{Path: "small", Size: 10, Hash: wire.Hash{1}}, {Path: "big", Size: 5 * block, Hash: wire.Hash{2}}, {Path: "dir/a", Hash: wire.Hash{3}}})}}}
	case hashEffect:
		return []any{hashEvent{run: e.run, path: e.file.Path, hashes: make([]wire.Hash, wire.BlockCount(e.file.Size, uint64(e.block)))}}
	case doneEffect:
		z.left--
	}
	return nil
}
