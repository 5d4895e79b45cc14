package acquire

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	"collet/app/update"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/interrupt"
)

// filler receives all bytes of a content in order and delivers the missing ones of a want. The last one is held back until the content
// is verified, so that a wrong content can be restarted.
type filler struct {
	f    *fetching
	c    *blob
	want int // -1: not wanted
	at   int64
	next int // of the want's missing ranges
	hash hash.Hash
	last []byte // held back; empty or one byte
	some bool   // bytes were delivered
}

// fill makes a filler for the next want of a content. checked says that the writer checks the digest.
func (f *fetching) fill(c *blob, checked bool) *filler {
	w := &filler{f: f, c: c, want: -1}
	if len(c.wants) > 0 {
		w.want = c.wants[0]
	}
	if !checked {
		w.hash = release.SHA256.NewHash()
	}
	return w
}

func (w *filler) missing() []update.Range {
	if w.want < 0 {
		return nil
	}
	return w.f.wants[w.want].Missing
}

// Write implements io.Writer. Errors are those of the Delivery.
func (w *filler) Write(p []byte) (int, error) {
	if w.hash != nil {
		w.hash.Write(p)
	}
	if w.at+int64(len(p)) > w.c.size {
		return 0, fmt.Errorf("%w: more than its %d bytes", errContent, w.c.size)
	}
	for off := w.at; w.next < len(w.missing()); {
		r := w.missing()[w.next]
		from, to := max(r.Start, off), min(r.End, w.at+int64(len(p)))
		if from >= to {
			break
		}
		if err := w.hand(p[from-w.at:to-w.at], to == r.End); err != nil {
			return 0, err
		}
		if off = to; to == r.End {
			w.next++
		}
	}
	w.at += int64(len(p))
	return len(p), nil
}

// hand delivers bytes of one range, except the last byte of the want.
func (w *filler) hand(p []byte, ends bool) error {
	if ends && w.next == len(w.missing())-1 {
		w.last = append(w.last, p[len(p)-1])
		p = p[:len(p)-1]
	}
	if len(p) == 0 {
		return nil
	}
	w.some = true
	return w.f.to.Deliver(w.want, p)
}

// errContent says that bytes are not the expected content.
var errContent = errors.New("the bytes are not those of the content")

// finish checks the content and completes the want.
func (w *filler) finish() error {
	if w.at != w.c.size || w.hash != nil && release.SHA256.SumOf(w.hash) != w.c.sum {
		return fmt.Errorf("%w %v: %d of %d bytes came", errContent, w.c.sum, w.at, w.c.size)
	}
	if w.want < 0 {
		return nil
	}
	if err := w.f.to.Deliver(w.want, w.last); err != nil {
		return err
	}
	w.f.complete(w.c, w.want)
	return nil
}

// giveUp restarts the want of a content that could not be completed.
func (w *filler) giveUp() error {
	if w == nil || w.want < 0 || !w.some {
		return nil
	}
	w.some = false
	if err := w.f.to.Restart(w.want); err != nil {
		return err
	}
	file := w.f.wants[w.want].File
	w.f.wants[w.want] = update.WantFrom(file, 0)
	return nil
}

// stream fills the next want of a content by calling write. An error of the strategy is counted; an error that ends Fetch is returned.
func (f *fetching) stream(ctx context.Context, c *blob, means Strategy, write func(w io.Writer) error) error {
	w := f.fill(c, false)
	err := write(w)
	if err == nil {
		err = w.finish()
	}
	if err == nil {
		f.s.updateReport(func(r *Report) { r.Bytes[means] += c.size })
		return nil
	}
	if ends(ctx, err) {
		return err
	}
	f.failed(c, means, 1, err)
	return w.giveUp()
}

// copies copies contents from other files of the install.
func (f *fetching) copies(ctx context.Context, list []*blob) error {
	buffer := make([]byte, 1<<20)
	for _, c := range list {
		file, err := f.openLocal(ctx, c)
		if err != nil {
			return err
		}
		if file == nil {
			c.done = nil
			continue
		}
		err = f.stream(ctx, c, Copied, func(w io.Writer) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, interrupt.Reader(ctx, localReader{io.NewSectionReader(file, 0, c.size)}), buffer)
			return err
		})
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// localReader reads a local file. Its errors count as failures of the strategy.
type localReader struct{ r io.Reader }

func (l localReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %v", errContent, err)
	}
	return n, err
}

// openLocal opens a file that has a content; nil if not found.
func (f *fetching) openLocal(ctx context.Context, c *blob) (delta.SetFile, error) {
	for i := len(c.done) - 1; i >= 0; i-- {
		file, err := f.s.o.Disk.Old(ctx, c.done[i])
		if err == nil {
			return file, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, nil
}
