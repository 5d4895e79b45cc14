package platform

import (
	"bytes"
	"unicode/utf8"
)

// maxOutputLine is the largest line of a child's output, in bytes: long enough for messages to users. A child that never ends its lines
// costs one page of memory.
const maxOutputLine = 4096

// lineWriter splits its input into lines. The zero value of held is an empty line. It is not safe for concurrent use.
type lineWriter struct {
	emit func(line string)
	held []byte // the line so far, at most maxOutputLine bytes
}

// Write never fails.
func (w *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, complete := bytes.Cut(rest, []byte{'\n'})
		if room := maxOutputLine - len(w.held); len(line) > room {
			w.held = append(w.held, line[:room]...)
			w.emitPiece()
			rest = rest[room:]
			continue
		}
		w.held = append(w.held, line...)
		if complete {
			w.emitLine()
		}
		rest = after
	}
	return len(p), nil
}

// finish emits a last line without an end.
func (w *lineWriter) finish() {
	if len(w.held) > 0 {
		w.emitLine()
	}
}

func (w *lineWriter) emitLine() {
	w.emit(string(bytes.TrimSuffix(w.held, []byte{'\r'})))
	w.held = w.held[:0]
}

// emitPiece emits a full buffer, except for an incomplete character at its end.
func (w *lineWriter) emitPiece() {
	cut := len(w.held)
	for back := 1; back < utf8.UTFMax; back++ {
		if last := w.held[cut-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				cut -= back
			}
			break
		}
	}
	w.emit(string(w.held[:cut]))
	w.held = append(w.held[:0], w.held[cut:]...)
}
