package session

import (
	"time"

	"collet/netproto"
)

// Window is the window of a client of C1.
type Window struct{ window }

// NewWindow is one at its start.
func NewWindow(top int64) *Window { return &Window{newWindow(1, 0, top, nil)} }

// Round ends a round.
func (w *Window) Round(took time.Duration) { w.adjust(took) }

// Came notes bytes of an answer.
func (w *Window) Came(n int64, now time.Time) { w.receive(n, time.Time{}, now) }

// Bound is how many bytes may be asked for.
func (w *Window) Bound() int64 { return w.bound() }

// Size is its size in bytes.
func (w *Window) Size() int64 { return w.size }

// RequestBounds is how a client with opt would size its requests behind answer.
func RequestBounds(opt Options, answer *netproto.HandshakeAnswer) (count int, portion int64) {
	return requestBounds(opt.withDefaults(), answer)
}
