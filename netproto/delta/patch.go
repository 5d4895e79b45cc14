package delta

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"

	"collet/netproto/delta/predict"
)

// PatchOptions tune MakePatch. The zero value is right for a publisher.
type PatchOptions struct {
	// Workers is how many cores to use; 0 means all.
	Workers int
	// Progress, if not nil, is called from one goroutine at a time with the completed fraction, 0 to 1, which never
	// falls. It must not call back into the package.
	Progress func(done float64)
}

// PatchStats describes a patch.
type PatchStats struct {
	OldBytes, NewBytes, PatchBytes int64
	Matches                        int   // matches with old contents
	ExtraBytes                     int64 // extra bytes: new bytes without a match, before compression
	WrongBytes                     int64 // mismatched bytes inside matches
	Predicted                      bool  // references between addresses were predicted

	Matched []int64 // of each new content: its bytes inside matches
}

// Memory is an upper estimate of MakePatch's memory for contents of these sizes, in bytes. It was fitted to measured
// peaks, which are mostly the suffix array and garbage not yet collected: 0.15 GB for a module of 11 MB, 0.27 GB for one
// of 19 MB, 1.31 GB for one of 101 MB and 1.43 GB for one of 110 MB.
func (o PatchOptions) Memory(oldBytes, newBytes int64) int64 {
	return 60<<20 + 7*(oldBytes+newBytes)
}

// MakePatch writes a patch that turns the old contents into the new ones with ApplyPatch. It tries several encodings and
// keeps the smallest. It holds the contents in memory: see PatchOptions.Memory. Old contents may have 2 GiB together. It
// stops soon after ctx ends. Errors are those of ctx, of reading the contents and of writing the patch.
func MakePatch(ctx context.Context, out io.Writer, old []Old, fresh []New, o PatchOptions) (PatchStats, error) {
	m, err := newMaker(old, fresh, o)
	if err != nil {
		return PatchStats{}, err
	}
	if err := m.encode(ctx); err != nil {
		return PatchStats{}, err
	}
	n, err := out.Write(m.out)
	m.stats.PatchBytes = int64(n)
	return m.stats, err
}

// maker is the state of one MakePatch.
type maker struct {
	old, new []byte
	oldEnds  []int64
	newEnds  []int64
	modules  *predict.Modules
	options  PatchOptions
	progress progress
	stats    PatchStats
	out      []byte
}

var errTooLarge = errors.New("old contents of a patch are 2 GiB at most: cut the group")

func newMaker(old []Old, fresh []New, o PatchOptions) (*maker, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	targets := make([]Old, len(fresh))
	for i, n := range fresh {
		targets[i] = Old{ReaderAt: n.ReaderAt, Size: n.Size}
	}
	a, b := newContents(old), newContents(targets)
	if a.size() > maxOld {
		return nil, errTooLarge
	}
	m := &maker{options: o, progress: progress{report: o.Progress}}
	var err error
	if m.old, err = a.readAll(); err != nil {
		return nil, err
	}
	if m.new, err = b.readAll(); err != nil {
		return nil, fmt.Errorf("of the new contents: %w", err)
	}
	m.oldEnds, m.newEnds = a.ends, b.ends
	m.stats = PatchStats{OldBytes: a.size(), NewBytes: b.size()}
	return m, nil
}

func (m *maker) encode(ctx context.Context) error {
	m.out = append(m.out, patchMagic...)
	m.out = binary.AppendUvarint(m.out, uint64(len(m.old)))
	m.out = binary.AppendUvarint(m.out, uint64(len(m.new)))
	m.modules = predict.FindModules(m.old, m.oldEnds, m.new, m.newEnds)
	matches, err := m.findMatches(ctx)
	if err != nil {
		return err
	}
	if len(m.old) > largeText {
		runtime.GC() // the suffix array takes most of the memory and is no longer used
	}
	m.stats.Matched = matchedBytes(matches, m.newEnds)
	for from := 0; from < len(m.new); from += maxFrame {
		to := min(from+maxFrame, len(m.new))
		if err := m.encodeFrames(ctx, from, to, clipMatches(matches, from, to)); err != nil {
			return err
		}
	}
	m.out = binary.LittleEndian.AppendUint32(m.out, crc32.Checksum(m.new, castagnoli))
	if err := ctx.Err(); err != nil {
		return err
	}
	m.progress.add(1)
	return nil
}

// matchedBytes sums the bytes inside matches for each of the contents that end at ends.
func matchedBytes(matches []predict.Match, ends []int64) []int64 {
	sums, content := make([]int64, len(ends)), 0
	for _, x := range matches {
		for at := int64(x.At); at < int64(x.End()); {
			for ends[content] <= at {
				content++
			}
			n := min(ends[content], int64(x.End())) - at
			sums[content] += n
			at += n
		}
	}
	return sums
}

// clipMatches clips matches to new[from:to].
func clipMatches(matches []predict.Match, from, to int) []predict.Match {
	var cut []predict.Match
	for _, m := range matches {
		a, b := max(int(m.At), from), min(int(m.End()), to)
		if a < b {
			cut = append(cut, predict.Match{At: uint32(a - from), Size: uint32(b - a), Old: m.Old + uint32(a-int(m.At))})
		}
	}
	return cut
}

// encodeFrames writes new[from:to] as one frame, or as several to stay within the applier's caps.
func (m *maker) encodeFrames(ctx context.Context, from, to int, matches []predict.Match) error {
	if len(matches) <= maxMatches {
		b, err := m.bestFrame(ctx, from, to, matches)
		if err != nil {
			return err
		}
		if b.held <= maxHeld {
			m.appendFrame(b)
			return nil
		}
	}
	middle := (to - from) / 2
	if err := m.encodeFrames(ctx, from, from+middle, clipMatches(matches, 0, middle)); err != nil {
		return err
	}
	return m.encodeFrames(ctx, from+middle, to, clipMatches(matches, middle, to-from))
}

// built is one encoded frame.
type built struct {
	frame *frame
	data  []byte
	held  int // bytes of it that an applier keeps in memory
}

// appendFrame makes b the result.
func (m *maker) appendFrame(b built) {
	m.out = append(m.out, b.data...)
	m.stats.Predicted = m.stats.Predicted || b.frame.flags&flagPredicted != 0
	m.stats.Matches += len(b.frame.matches)
	m.stats.ExtraBytes += int64(len(b.frame.streams[streamExtra]))
	m.stats.WrongBytes += int64(len(b.frame.streams[streamBytes]))
}

// mapsMatter is the size in bytes below which a frame's address maps may cost more than prediction saves.
const mapsMatter = 16 << 10

// bestFrame tries the encodings of new[from:to] and returns the smallest.
func (m *maker) bestFrame(ctx context.Context, from, to int, matches []predict.Match) (built, error) {
	if m.modules == nil {
		return m.encodeFrame(ctx, m.new[from:to], matches, nil)
	}
	b, err := m.encodeFrame(ctx, m.new[from:to], matches, m.modules.Within(from, to))
	if err != nil || len(b.data) > mapsMatter {
		return b, err
	}
	plain, err := m.encodeFrame(ctx, m.new[from:to], matches, nil)
	if len(plain.data) < len(b.data) {
		b = plain
	}
	return b, err
}

// encodeFrame encodes one frame, with its streams joined or separate, whichever is smaller; s is nil for a frame without prediction.
func (m *maker) encodeFrame(ctx context.Context, fresh []byte, matches []predict.Match, s *predict.Modules) (built, error) {
	f := &frame{size: len(fresh), matches: matches}
	f.encodeMatches()
	p, err := m.encodePrediction(ctx, f, fresh, s)
	if err != nil {
		return built{}, err
	}
	m.encodeDifferences(f, fresh, p)
	var streams [streamCount]coded
	err = m.parallel(ctx, streamCount, func(i int) {
		i = streamCount - 1 - i // the largest first
		streams[i] = compressStream(ctx, f.streams[i], window(i, len(matches)))
		m.progress.add(partCode * float64(len(fresh)) / float64(len(m.new)) * float64(len(f.streams[i])) / float64(f.rawSize()))
	})
	b := built{frame: f}
	if err != nil {
		return b, err
	}
	b.data, b.held = f.encodeSeparate(&streams)
	if j := f.encodeJoined(ctx); j != nil && len(j) < len(b.data) {
		b.data, b.held = j, 0
	}
	return b, ctx.Err()
}

// encodeDifferences fills the streams of differences and of extra bytes.
func (m *maker) encodeDifferences(f *frame, fresh []byte, p *predict.Predictor) {
	var d diffWriter
	piece := make([]byte, 0, pieceSize)
	var extra []byte
	at := uint32(0)
	for _, x := range f.matches {
		extra = append(extra, fresh[at:x.At]...)
		for done := uint32(0); done < x.Size; done += uint32(len(piece)) {
			piece = append(piece[:0], m.old[x.Old+done:x.Old+min(x.Size, done+pieceSize)]...)
			c := &diffRecorder{d: &d, real: fresh[x.At+done:]}
			if p == nil {
				_ = c.Correct(piece)
			} else {
				_ = p.Predict(piece, x.Old+done, x.At+done, c)
			}
		}
		at = x.End()
	}
	d.endRun()
	f.streams[streamExtra] = append(extra, fresh[at:]...)
	f.streams[streamZeros], f.streams[streamWrongs], f.streams[streamBytes] = d.zeros, d.wrongs, d.bytes
}

// diffRecorder is the maker's corrector: it encodes the difference between expected and real bytes.
type diffRecorder struct {
	d    *diffWriter
	real []byte
}

func (n *diffRecorder) Correct(b []byte) error {
	n.d.encode(b, n.real[:len(b)])
	n.real = n.real[copy(b, n.real):]
	return nil
}
