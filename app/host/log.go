package host

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
	// maxLog is how large the log grows before it is put aside: enough for weeks of play, small enough to send.
	maxLog = 4 << 20
	// maxStuckLog is how large it grows where it can't be put aside. Then it is emptied.
	maxStuckLog = 2 * maxLog
	// rotatePause is how many bytes are written between two attempts to put the log aside.
	rotatePause = 256 << 10
	// maxTail is how much of the log's end a report carries, and how much waits in memory while the file can't be written.
	maxTail = 64 << 10
	// oldLog is the suffix of the one log that is put aside.
	oldLog = ".old"
)

// logFile is the host's log, rotated by size: <exe>.log and, before it, <exe>.log.old. It never fails: while the file can't be
// opened or written the last lines wait in memory, and every further line tries again. It is safe for concurrent use.
type logFile struct {
	mu       sync.Mutex
	folder   string
	name     string        // in folder
	dir      *platform.Dir // nil while the folder is not open
	file     platform.File // nil while the file is not open
	size     int64
	rotateAt int64  // the size from which the file is put aside
	waiting  []byte // whole lines that are not in the file yet
	lost     int    // lines that were too many to wait
	trouble  error  // why the file is not written; nil while it is
	closed   bool
}

// openLog opens or makes the log of a folder for appending. Fault tells whether that went well.
func openLog(folder, name string) *logFile {
	l := &logFile{folder: folder, name: name}
	l.trouble = l.open()
	return l
}

func (l *logFile) open() (err error) {
	if l.dir == nil {
		if l.dir, err = platform.OpenDir(l.folder); err != nil {
			l.dir = nil
			return err
		}
	}
	if err = l.openFile(0); err != nil {
		_ = l.dir.Close() // another folder may have its name by the next attempt
		l.dir = nil
	}
	return err
}

// openFile opens the file, with more flags than the usual ones.
func (l *logFile) openFile(more int) error {
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

// Write appends one line and puts the file aside first when the line would make it too long. It never fails.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wait(line)
		l.flush()
	}
	return len(line), nil
}

// wait adds a line to those that are to be written. The oldest ones give way.
func (l *logFile) wait(line []byte) {
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

// flush writes what waits, or notes why it goes on waiting.
func (l *logFile) flush() {
	if l.file == nil {
		if l.trouble = l.open(); l.trouble != nil {
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

// rotate puts the file aside. Where that fails it goes on growing for a while, and is emptied in the end.
func (l *logFile) rotate() {
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

// closeFile lets go of the file. What it says then is told by the next write.
func (l *logFile) closeFile() {
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

// path is where the log is.
func (l *logFile) path() string { return filepath.Join(l.folder, l.name) }

// fault is why the log is not written at the moment; nil while it is.
func (l *logFile) fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// Close tries once more to write what waits, and closes the file.
func (l *logFile) Close() error {
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

// tail returns the end of the log as a person reads it, whole lines only.
func (l *logFile) tail() string {
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

// logLevel is the level of a name that kong has checked.
func logLevel(name string) zerolog.Level {
	level, err := zerolog.ParseLevel(name)
	if err != nil {
		return zerolog.InfoLevel
	}
	return level
}
