package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/rs/zerolog"
)

const (
	// maxLog is how large the log grows before it is put aside: enough for weeks of play, small enough to send.
	maxLog = 4 << 20
	// maxTail is how much of the log's end a report carries.
	maxTail = 64 << 10
	// oldLog is the suffix of the one log that is put aside.
	oldLog = ".old"
)

// logFile is the host's log, rotated by size: <exe>.log and, before it, <exe>.log.old. It is safe for concurrent use.
type logFile struct {
	mu   sync.Mutex
	name string
	file *os.File
	size int64
}

// openLog opens or makes the log for appending.
func openLog(name string) (*logFile, error) {
	l := &logFile{name: name}
	return l, l.open()
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write appends one line and puts the file aside first when the line would make it too long.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(line)) > maxLog {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

func (l *logFile) rotate() error {
	if err := l.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(l.name, l.name+oldLog); err != nil {
		return errors.Join(err, l.open())
	}
	return l.open()
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// tail returns the end of the log as a person reads it, whole lines only.
func (l *logFile) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := max(0, l.size-maxTail)
	data, err := io.ReadAll(io.NewSectionReader(l.file, from, l.size-from))
	if err != nil {
		return err.Error()
	}
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return readable(data)
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
