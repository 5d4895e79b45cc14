package program

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"collet/platform/text"
)

// Limits of what a game may write.
const (
	maxEvent     = 1 << 10  // bytes of one line; a longer one is dropped
	maxEventRead = 64 << 10 // bytes that are read at once
	maxEvents    = 4 << 20  // bytes of the whole file; what follows is not read
)

// helper is the connection to a game that uses one of the helper files: two files in a private folder. The game appends lines to the
// first one, and reads the second one, which is replaced as a whole. Files work in every language, through wrappers and below Wine, and
// can block neither side.
type helper struct {
	folder string
	events string // the game appends: ready, progress TEXT, restart
	state  string // the game reads: update VERSION, stop

	at      int64  // bytes of events that were read
	held    []byte // the beginning of a line
	skip    bool   // the line is too long; the rest of it is dropped
	heard   bool   // the game has written a line
	written string // content of state
}

// newHelper makes the files.
func newHelper() (*helper, error) {
	folder, err := os.MkdirTemp("", "collet-") // only this user may enter
	if err != nil {
		return nil, err
	}
	h := &helper{folder: folder, events: filepath.Join(folder, "events"), state: filepath.Join(folder, "state")}
	if err := errors.Join(os.WriteFile(h.events, nil, 0o600), os.WriteFile(h.state, nil, 0o600)); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// close removes the files.
func (h *helper) close() { _ = os.RemoveAll(h.folder) }

// lines returns the lines that the game has written since the last call, without control characters. An unreadable file has none.
func (h *helper) lines() (list []string) {
	if h.at >= maxEvents {
		return nil
	}
	if info, err := os.Stat(h.events); err != nil || info.Size() <= h.at {
		return nil
	}
	f, err := os.Open(h.events)
	if err != nil {
		return nil
	}
	defer f.Close()
	data := make([]byte, maxEventRead)
	n, err := f.ReadAt(data, h.at)
	if err != nil && err != io.EOF {
		return nil
	}
	h.at += int64(n)
	for rest := data[:n]; len(rest) > 0; {
		line, after, complete := bytes.Cut(rest, []byte{'\n'})
		rest = after
		h.hold(line)
		if !complete {
			break
		}
		if !h.skip && len(h.held) > 0 {
			h.heard = true
			list = append(list, text.Line(strings.ToValidUTF8(string(h.held), "")))
		}
		h.held, h.skip = h.held[:0], false
	}
	return list
}

// hold appends a part of a line, up to the limit.
func (h *helper) hold(part []byte) {
	part = bytes.TrimSuffix(part, []byte{'\r'})
	if h.skip = h.skip || len(h.held)+len(part) > maxEvent; !h.skip {
		h.held = append(h.held, part...)
	}
}

// tell replaces the lines that the game reads. A failure is repeated with the next call: a game may have the file open, which stops a
// replacement on Windows.
func (h *helper) tell(update string, stop bool) {
	content := ""
	if update != "" {
		content += "update " + text.Line(update) + "\n"
	}
	if stop {
		content += "stop\n"
	}
	if content == h.written {
		return
	}
	next := h.state + ".next"
	if os.WriteFile(next, []byte(content), 0o600) == nil && os.Rename(next, h.state) == nil {
		h.written = content
	}
}
