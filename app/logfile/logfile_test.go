package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
)

func TestLogRotates(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Lathe.log")
	l := Open(filepath.Split(name))
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range 6 {
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int64{name: 2 << 20, name + oldLog: 4 << 20} {
		if info, err := os.Stat(file); err != nil || info.Size() != want {
			t.Errorf("%s: %v, %v; want %d bytes", file, info, err, want)
		}
	}
}

func TestLogContinues(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Lathe.log")
	for _, text := range []string{"one\n", "two\n"} {
		l := Open(filepath.Split(name))
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if data, _ := os.ReadFile(name); string(data) != "one\ntwo\n" {
		t.Errorf("log holds %q", data)
	}
}

func TestLogTail(t *testing.T) {
	l := Open(t.TempDir(), "Lathe.log")
	defer l.Close()
	log := zerolog.New(l)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 500 {
				log.Info().Str("file", strings.Repeat("a", 100)).Msg("something")
			}
		})
	}
	writers.Wait()
	log.Warn().Str("file", "Core.zip").Msg("the last one")
	tail := l.Tail()
	if len(tail) > 2*maxTail || !strings.HasSuffix(tail, "the last one file=Core.zip\n") {
		t.Errorf("tail of %d bytes ends in %q", len(tail), tail[max(0, len(tail)-80):])
	}
	if first, _, _ := strings.Cut(tail, "\n"); !strings.Contains(first, "something") {
		t.Errorf("tail begins in the middle of a line: %q", first)
	}
}

func TestReadableKeepsForeignLines(t *testing.T) {
	if got := readable([]byte("plain text\n{\"level\":\"info\",\"message\":\"m\"}\n")); !strings.Contains(got, "plain text") || !strings.Contains(got, "INF m") {
		t.Errorf("got %q", got)
	}
}

// TestLogWaitsForItsFile: a log that can't be opened loses nothing that a report would show, and goes on once it can be.
func TestLogWaitsForItsFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Lathe.log")
	must(t, os.Mkdir(name, 0o755))
	l := Open(filepath.Split(name))
	if l.Err() == nil {
		t.Error("no fault is told")
	}
	put(t, l, "one\n", "two\n")
	if got := l.Tail(); !strings.Contains(got, "one\ntwo\n") || l.Err() == nil {
		t.Errorf("the tail says %q; fault %v", got, l.Err())
	}
	must(t, os.Remove(name))
	put(t, l, "three\n")
	if data, err := os.ReadFile(name); string(data) != "one\ntwo\nthree\n" || l.Err() != nil {
		t.Errorf("the file holds %q, %v; fault %v", data, err, l.Err())
	}
	must(t, l.Close())
	put(t, l, "after the end\n")
	if data, _ := os.ReadFile(name); strings.Contains(string(data), "after") {
		t.Errorf("the file holds %q", data)
	}
}

// TestLogTellsWhatWaitedTooLong: memory is bounded, and what did not fit is counted.
func TestLogTellsWhatWaitedTooLong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Lathe.log")
	must(t, os.Mkdir(name, 0o755))
	l := Open(filepath.Split(name))
	line := strings.Repeat("x", 1<<10-1) + "\n"
	for range 100 {
		put(t, l, line)
	}
	must(t, os.Remove(name), l.Close())
	data, err := os.ReadFile(name)
	if lines := strings.Count(string(data), line); err != nil || lines != 64 || !strings.Contains(string(data), "36 lines") {
		t.Errorf("%d lines of 100, %v; begins with %.200q", lines, err, data)
	}
}

// TestLogSurvivesAFailedRotation: the lines go on where they are, and the file is put aside when that works again.
func TestLogSurvivesAFailedRotation(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Lathe.log")
	blocker := filepath.Join(name+oldLog, "mine")
	must(t, os.MkdirAll(blocker, 0o755))
	l := Open(filepath.Split(name))
	size := func(file string) int64 {
		info, err := os.Stat(file)
		must(t, err)
		return info.Size()
	}
	for n := range 11 {
		put(t, l, fmt.Sprintf("line %d ", n)+strings.Repeat("x", 512<<10)+"\n")
	}
	data, err := os.ReadFile(name)
	must(t, err)
	for n := range 11 {
		if !strings.Contains(string(data), fmt.Sprintf("line %d ", n)) {
			t.Errorf("line %d is lost", n)
		}
	}
	if !strings.Contains(string(data), "can't be put aside") || l.Err() != nil {
		t.Errorf("nothing is said of the rotation; fault %v", l.Err())
	}
	for range 20 {
		put(t, l, strings.Repeat("y", 512<<10)+"\n")
	}
	if got := size(name); got > maxStuckLog+1<<20 {
		t.Errorf("the log grew to %d bytes", got)
	}
	must(t, os.Remove(blocker), os.Remove(name+oldLog))
	for range 9 {
		put(t, l, strings.Repeat("z", 512<<10)+"\n")
	}
	must(t, l.Close())
	if got := size(name + oldLog); got < 1<<20 {
		t.Errorf("%d bytes were put aside", got)
	}
}

func put(t *testing.T, l *File, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("wrote %d of %d, %v", n, len(line), err)
		}
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
