package acquire

import (
	"errors"
	"fmt"
	"hash"
	"slices"

	"collet/app/update"
	"collet/netproto/release"
)

// delivery hands the bytes of contents to the wants, and knows which wants are complete. It is for one goroutine.
type delivery struct {
	to       update.Delivery
	wants    []update.Want
	blobs    []*blob // the contents, in the order of their first want
	byDigest map[release.Digest]*blob
}

func newDelivery(wants []update.Want, to update.Delivery) delivery {
	d := delivery{to: to, wants: slices.Clone(wants), byDigest: map[release.Digest]*blob{}}
	for i, w := range d.wants {
		b := d.byDigest[w.File.Digest]
		if b == nil {
			b = &blob{sum: w.File.Digest, size: w.File.Size}
			d.byDigest[b.sum] = b
			d.blobs = append(d.blobs, b)
		}
		b.wants = append(b.wants, i)
	}
	return d
}

// deliverComplete delivers the wants without missing ranges.
func (d *delivery) deliverComplete() error {
	for i, w := range d.wants {
		if len(w.Missing) > 0 {
			continue
		}
		if err := d.to.Deliver(i, nil); err != nil {
			return err
		}
		d.complete(d.byDigest[w.File.Digest], i)
	}
	return nil
}

// complete records a completed want.
func (d *delivery) complete(b *blob, want int) {
	for i, w := range b.wants {
		if w == want {
			b.wants = append(b.wants[:i:i], b.wants[i+1:]...)
			b.done = append(b.done, d.wants[want].File)
			return
		}
	}
}

// lacks is how many bytes the incomplete wants of a content lack. An empty file lacks its name, which counts as a byte.
func (d *delivery) lacks(b *blob) (bytes int64) {
	for _, i := range b.wants {
		bytes += max(d.wants[i].File.Size-d.wants[i].Have(), 1)
	}
	return bytes
}

// filler receives all bytes of a content in order and delivers the missing ones of a want. It delivers the last one after the content is
// verified, so that a wrong content can be restarted.
type filler struct {
	d    *delivery
	blob *blob
	want int // -1: not wanted
	at   int64
	next int // of the want's missing ranges
	hash hash.Hash
	last []byte // delivered after the check; empty or one byte
	some bool   // bytes were delivered
}

// fillNext makes a filler for the next want of a content. checked says that the writer checks the digest.
func (d *delivery) fillNext(b *blob, checked bool) *filler {
	w := &filler{d: d, blob: b, want: -1}
	if len(b.wants) > 0 {
		w.want = b.wants[0]
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
	return w.d.wants[w.want].Missing
}

// Write implements io.Writer. Errors are those of the Delivery.
func (w *filler) Write(p []byte) (int, error) {
	if w.hash == nil {
		return w.deliver(p)
	}
	return release.WriteHashed(w.deliver, w.hash, p)
}

// deliver delivers the missing bytes among the next ones of the content.
func (w *filler) deliver(p []byte) (int, error) {
	if w.at+int64(len(p)) > w.blob.size {
		return 0, fmt.Errorf("%w: more than its %d bytes", errContent, w.blob.size)
	}
	for off := w.at; w.next < len(w.missing()); {
		r := w.missing()[w.next]
		from, to := max(r.Start, off), min(r.End, w.at+int64(len(p)))
		if from >= to {
			break
		}
		if err := w.deliverMissing(p[from-w.at:to-w.at], to == r.End); err != nil {
			return 0, err
		}
		if off = to; to == r.End {
			w.next++
		}
	}
	w.at += int64(len(p))
	return len(p), nil
}

// deliverMissing delivers bytes of one range, except the last byte of the want.
func (w *filler) deliverMissing(p []byte, ends bool) error {
	if ends && w.next == len(w.missing())-1 {
		w.last = append(w.last, p[len(p)-1])
		p = p[:len(p)-1]
	}
	if len(p) == 0 {
		return nil
	}
	w.some = true
	return w.d.to.Deliver(w.want, p)
}

// errContent says that bytes are not the expected content.
var errContent = errors.New("the bytes are not those of the content")

// finish checks the content and completes the want.
func (w *filler) finish() error {
	if w.at != w.blob.size || w.hash != nil && release.SHA256.SumOf(w.hash) != w.blob.sum {
		return fmt.Errorf("%w %v: %d of %d bytes came", errContent, w.blob.sum, w.at, w.blob.size)
	}
	if w.want < 0 {
		return nil
	}
	if err := w.d.to.Deliver(w.want, w.last); err != nil {
		return err
	}
	w.d.complete(w.blob, w.want)
	return nil
}

// restart restarts the want of a content that could not be completed.
func (w *filler) restart() error {
	if w == nil || w.want < 0 || !w.some {
		return nil
	}
	w.some = false
	if err := w.d.to.Restart(w.want); err != nil {
		return err
	}
	file := w.d.wants[w.want].File
	w.d.wants[w.want] = update.WantFrom(file, 0)
	return nil
}
