package download

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"sync"

	"collet/netproto/release"
	"collet/platform"
	"collet/platform/span"
)

// part is an object that is being fetched. Its owner has claimed its digest, and calls end. write may be called concurrently with
// itself and with all methods but end.
type part struct {
	s      *Spool
	digest release.Digest

	mu   sync.Mutex
	file platform.File
	at   int64 // position of the file; below 0 is unknown
	size int64 // of the object; below 0 is unknown
	have span.Set[int64]
	came writeLog

	proved    bool       // this process has verified it before
	recording sync.Mutex // held while a record is written
	recorded  int64      // number of bytes in the record
}

// openPart claims an object and opens its part, with the bytes of earlier calls. size below 0 is unknown. If the spool would exceed its
// limit, old parts are removed first.
func (s *Spool) openPart(ctx context.Context, d release.Digest, size int64) (*part, error) {
	if err := s.claim(ctx, d); err != nil {
		return nil, err
	}
	p := &part{s: s, digest: d, at: -1}
	err := p.openFile(size)
	if err != nil {
		s.free(d)
		return nil, s.fault(s.partName(d), size, err)
	}
	return p, nil
}

func (p *part) openFile(size int64) error {
	if _, err := p.s.Collect([]release.Digest{p.digest}, p.s.o.Limit-max(size, 0)); err != nil {
		return err
	}
	f, err := p.s.fs.OpenFile(p.s.partName(p.digest), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	known := p.s.stateOf(p.digest)
	have := slices.Clone(known.have)
	if size >= 0 && known.size >= 0 && known.size != size {
		have = nil // one of the two sizes was wrong
	}
	if size < 0 {
		size = known.size
	}
	end := info.Size()
	if size >= 0 {
		end = min(end, size)
	}
	have.Remove(span.Of(end, math.MaxInt64))
	p.file, p.size, p.have = f, size, have
	p.proved = known.proven && have.Prefix() == size
	if !known.recorded && !known.proven && len(have) > 0 { // its log starts anew
		if err := p.s.writeRecord(p.digest, size, have); err != nil {
			return errors.Join(err, f.Close())
		}
		known.recorded = true
	}
	if known.recorded {
		p.recorded = span.Total(have)
	}
	return nil
}

// write writes bytes at an offset. On a full disk it removes unused parts and tries once more.
func (p *part) write(off int64, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.writeAt(off, data)
	if err != nil && platform.IsDiskFull(err) {
		if freed, _ := p.s.Collect(nil, 0); freed > 0 {
			_, err = p.writeAt(off+int64(n), data[n:])
		}
	}
	return p.s.fault(p.s.partName(p.digest), p.missingBytes(), err)
}

// writeAt writes bytes and records their range. Consecutive writes need no seek.
func (p *part) writeAt(off int64, data []byte) (n int, err error) {
	if p.at != off {
		if p.at, err = p.file.Seek(off, io.SeekStart); err != nil {
			p.at = -1
			return 0, err
		}
	}
	n, err = p.file.Write(data)
	p.have.Add(span.Of(off, off+int64(n)))
	p.logWrite(off, data[:n])
	if p.at += int64(n); err != nil {
		p.at = -1
	}
	return n, err
}

// missingBytes is the number of missing bytes; below 0 is unknown. The caller holds mu.
func (p *part) missingBytes() int64 {
	if p.size < 0 {
		return -1
	}
	return p.size - span.Total(p.have)
}

// state returns the received ranges and the size.
func (p *part) state() (have span.Set[int64], size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.have), p.size
}

// prefix is the number of bytes before the first gap.
func (p *part) prefix() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.have.Prefix()
}

// bytes is the number of received bytes.
func (p *part) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return span.Total(p.have)
}

// setSize sets the size of the object; below 0 it is unknown again.
func (p *part) setSize(size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size = size; size >= 0 {
		p.have.Remove(span.Of(size, math.MaxInt64))
	}
}

// forget drops ranges. It updates the log and the record before it returns, so that they never describe bytes that are being replaced.
func (p *part) forget(ranges span.Set[int64]) error {
	p.mu.Lock()
	for _, r := range ranges {
		p.have.Remove(r)
	}
	p.came.tail = nil
	p.mu.Unlock()
	p.restartLog(0)
	return p.s.fault(p.s.recordName(p.digest), -1, p.checkpoint())
}

// checkpoint syncs the received bytes and writes the record, unless it is up to date.
func (p *part) checkpoint() error {
	p.recording.Lock()
	defer p.recording.Unlock()
	p.mu.Lock()
	have, size, notes := slices.Clone(p.have), p.size, len(p.came.tail)
	p.mu.Unlock()
	if span.Total(have) == p.recorded {
		return nil
	}
	if err := p.s.writeRecord(p.digest, size, have); err != nil {
		return p.s.fault(p.s.recordName(p.digest), -1, err)
	}
	p.recorded = span.Total(have)
	p.restartLog(notes)
	return nil
}

// close releases the part. A verified part is recorded when the spool is closed: mostly it is used and removed before, and never has to
// be synced. Any other part is recorded now.
func (p *part) close(verified bool) error {
	defer p.s.free(p.digest)
	var err error
	if !verified {
		err = p.checkpoint()
	}
	have, size := p.state()
	recorded := p.recorded == span.Total(have)
	p.s.remember(p.digest, partState{size: size, have: have, proven: verified, recorded: recorded})
	return both(err, p.s.fault(p.s.partName(p.digest), -1, errors.Join(p.closeLog(recorded), p.file.Close())))
}

// hashing computes the SHA-256 of a part while it grows from its first byte.
type hashing struct {
	p    *part
	h    io.Writer
	sum  func() release.Digest
	at   int64
	page []byte
}

// hashPage is how many bytes are read back at once: they were just written, and come from memory.
const hashPage = 256 << 10

func (p *part) hashing() *hashing {
	h := release.SHA256.NewHash()
	return &hashing{p: p, h: h, sum: func() release.Digest { return release.SHA256.SumOf(h) }, page: make([]byte, hashPage)}
}

// upTo hashes up to the first gap, or until ctx ends.
func (h *hashing) upTo(ctx context.Context) error {
	for {
		prefix := h.p.prefix()
		if h.at >= prefix {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		page := h.page[:min(int64(len(h.page)), prefix-h.at)]
		n, err := h.p.file.ReadAt(page, h.at)
		_, _ = h.h.Write(page[:n])
		if h.at += int64(n); n < len(page) {
			return h.p.s.fault(h.p.s.partName(h.p.digest), -1, err)
		}
	}
}
