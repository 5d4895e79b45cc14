package solid

import (
	"io"
	"sync"
)

// Window is how many bytes of a group's contents a client holds in memory. Older ones are in its scratch file; few matches reach so far back.
// So a client takes at most 160 MiB: these, 20 for the decoder, 8 while that grows, 10 for rebuilding a deflated pack, and the rest of the
// program, half of which is its code. Without a scratch file it took 174 for a group of 107 MiB.
const Window = 64 << 20

// Scratch has the bytes of a group that left memory, from its beginning on. It is written in order, and safe for concurrent use as a file is.
type Scratch interface {
	io.Writer
	io.ReaderAt
}

// history has the contents of a group as far as they are unpacked: matches copy from it.
//
//	0 ────── scratch ────── gone ────── buffer ────── done      in the buffer, a place lies at its remainder by the buffer's size
type history struct {
	buffer []byte
	older  Scratch // nil if the buffer has room for all
	size   int     // of the group
	done   int
	err    error // of the scratch

	mu   sync.RWMutex // locked while gone changes, and while the buffer is read
	gone int
}

// spillStep is how many bytes are written to the scratch at once.
const spillStep = 1 << 20

// room is memory for at most n of the next bytes, n > 0. It is overwritten: what was there is in the scratch.
func (h *history) room(n int) ([]byte, error) {
	at := h.done % len(h.buffer)
	to := h.buffer[at:min(at+n, len(h.buffer))]
	for h.done+len(to) > h.gone+len(h.buffer) {
		if err := h.spill(); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// spill writes the oldest bytes of the buffer to the scratch.
func (h *history) spill() error {
	at := h.gone % len(h.buffer)
	step := h.buffer[at:min(at+spillStep, at+h.done-h.gone, len(h.buffer))]
	if _, err := h.older.Write(step); err != nil {
		h.err = err
		return err
	}
	h.mu.Lock()
	h.gone += len(step)
	h.mu.Unlock()
	return nil
}

// copyMatch appends n bytes from shift before the end, which is at most done. They may overlap.
func (h *history) copyMatch(n, shift int) error {
	for n > 0 {
		to, err := h.room(min(n, shift))
		if err != nil {
			return err
		}
		got, err := h.read(to, h.done-shift)
		if err != nil {
			h.err = err
			return err
		}
		h.done += got
		n -= got
	}
	return nil
}

// read reads bytes from a place before done: at least one, and all that lie together.
func (h *history) read(p []byte, from int) (int, error) {
	if from < h.gone {
		p = p[:min(len(p), h.gone-from)]
		n, err := h.older.ReadAt(p, int64(from))
		if n == len(p) {
			err = nil
		}
		return n, err
	}
	return copy(p, h.buffer[from%len(h.buffer):]), nil
}

// Len is how many bytes are unpacked.
func (h *history) Len() int64 { return int64(h.done) }

// Data are the contents so far, one behind the other. They are all in memory: it is for decoders without a scratch.
func (h *history) Data() []byte { return h.buffer[:h.done] }

// ReadAt implements io.ReaderAt for bytes below a Len that the caller has seen. Other goroutines may call it while the decoder goes on.
func (h *history) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		h.mu.RLock()
		got, err := h.read(p[n:], int(off)+n)
		h.mu.RUnlock()
		if n += got; err != nil {
			return n, err
		}
	}
	return len(p), nil
}
