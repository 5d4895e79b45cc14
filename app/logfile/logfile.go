// Package logfile is the client's log: a file that is rotated by size, with the lines of zerolog. Writing never fails, because a full or
// broken disk must not stop a game: while the file can't be opened or written, the last lines wait in memory, and each new line tries
// again.
package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/rs/zerolog"

	"collet/platform"
)

const (
	// maxLog is the size in bytes at which the log is rotated: enough for weeks of play, small enough to send.
	maxLog = 4 << 20
	// maxStuckLog is the size in bytes at which the log is truncated if it can't be rotated.
	maxStuckLog = 2 * maxLog
	// rotatePause is how many bytes are written between two attempts to rotate the log.
	rotatePause = 256 << 10
	// maxTail is how many bytes of the log a report has, and how many wait in memory while the file can't be written.
	maxTail = 64 << 10
	// oldLog is the suffix of the rotated log.
	oldLog = ".old"
)

// File is a log, rotated by size: <name> and the older <name>.old. It is safe for concurrent use.
type File struct {
	mu       sync.Mutex
	folder   string
	name     string        // in folder
	dir      *platform.Dir // nil while the folder is not open
	file     platform.File // nil while the file is not open
	size     int64
	rotateAt int64  // the size at which the file is rotated
	waiting  []byte // whole lines that are not in the file yet
	lost     int    // number of dropped lines
	trouble  error  // why the file can't be written; nil while it can
	closed   bool
}

// Open opens or creates the log of a folder for appending. Err returns the error.
func Open(folder, name string) *File {
	l := &File{folder: folder, name: name}
	l.trouble = l.openFolder()
	return l
}

// openFolder opens the folder and the file.
func (l *File) openFolder() (err error) {
	if l.dir == nil {
		if l.dir, err = platform.OpenDir(l.folder); err != nil {
			l.dir = nil
			return err
		}
	}
	if err = l.openFile(0); err != nil {
		_ = l.dir.Close() // the next attempt may find another folder under this name
		l.dir = nil
	}
	return err
}

// openFile opens the file, with the additional flags more.
func (l *File) openFile(more int) error {
	f, err := l.dir.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_RDWR|more, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size, l.rotateAt = f, info.Size(), maxLog
	return nil
}

// Write appends one line, and rotates the file first if the line would make it too long. It never fails.
func (l *File) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wait(line)
		l.flush()
	}
	return len(line), nil
}

// wait queues a line. The oldest lines are dropped beyond maxTail bytes.
func (l *File) wait(line []byte) {
	l.waiting = append(l.waiting, line...)
	for len(l.waiting) > maxTail {
		end := bytes.IndexByte(l.waiting, '\n') + 1
		if end == 0 || end == len(l.waiting) {
			return // one line, however long
		}
		l.waiting = append(l.waiting[:0], l.waiting[end:]...)
		l.lost++
	}
}

// flush writes the queued lines, or records why it can't.
func (l *File) flush() {
	if l.file == nil {
		if l.trouble = l.openFolder(); l.trouble != nil {
			return
		}
	}
	if l.size > 0 && l.size+int64(len(l.waiting)) > l.rotateAt {
		if l.rotate(); l.file == nil {
			return
		}
	}
	if l.lost > 0 {
		l.waiting = append(event("lines of the log are lost: they could not be written", fmt.Errorf("%d lines", l.lost)), l.waiting...)
		l.lost = 0
	}
	n, err := l.file.Write(l.waiting)
	l.size += int64(n)
	if l.trouble = err; err == nil {
		l.waiting = l.waiting[:0]
		return
	}
	if n > 0 { // half a line may be there
		l.waiting = append([]byte("\n"), l.waiting[bytes.LastIndexByte(l.waiting[:n], '\n')+1:]...)
	}
	l.closeFile()
}

// rotate renames the file and opens a new one. If renaming fails, the file grows further and is truncated at maxStuckLog.
func (l *File) rotate() {
	l.closeFile()
	err := l.dir.Rename(l.name, l.name+oldLog)
	full := err != nil && l.size >= maxStuckLog
	more := 0
	if full {
		more = os.O_TRUNC
	}
	if l.trouble = l.openFile(more); l.trouble != nil {
		l.file = nil
		return
	}
	if err != nil {
		l.rotateAt = l.size + rotatePause
		l.waiting = append(event("the log can't be put aside, and goes on where it is", err), l.waiting...)
	}
}

// closeFile closes the file and ignores the error: the next write reports it.
func (l *File) closeFile() {
	_ = l.file.Close()
	l.file = nil
}

// event is a line about the log itself.
func event(message string, err error) []byte {
	var line bytes.Buffer
	log := zerolog.New(&line)
	log.Warn().Timestamp().Err(err).Msg(message)
	return line.Bytes()
}

// Path is the path of the log.
func (l *File) Path() string { return filepath.Join(l.folder, l.name) }

// Err is why the log can't be written now; nil while it can.
func (l *File) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// Close tries once more to write the queued lines, and closes the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 {
		l.flush()
	}
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	if l.dir != nil {
		err = errors.Join(err, l.dir.Close())
	}
	l.file, l.dir, l.closed = nil, nil, true
	return err
}

// Tail returns the end of the log as readable text, whole lines only.
func (l *File) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var data []byte
	if l.file != nil {
		from := max(0, l.size-maxTail)
		var err error
		if data, err = io.ReadAll(io.NewSectionReader(l.file, from, l.size-from)); err != nil {
			data = event("the log can't be read", err)
		} else if from > 0 {
			_, data, _ = bytes.Cut(data, []byte("\n"))
		}
	}
	return readable(append(data, l.waiting...))
}

// readable turns zerolog's JSON lines into text; lines that are not JSON stay as they are.
func readable(data []byte) string {
	var out bytes.Buffer
	console := zerolog.ConsoleWriter{Out: &out, NoColor: true, TimeFormat: "15:04:05"}
	for line := range bytes.Lines(data) {
		if _, err := console.Write(line); err != nil {
			out.Write(line)
		}
	}
	return out.String()
}
