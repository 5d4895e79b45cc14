package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
)

func TestLogRotates(t *testing.T) {
	name := filepath.Join(t.TempDir(), "Lathe.log")
	l, err := openLog(name)
	if err != nil {
		t.Fatal(err)
	}
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
		l, err := openLog(name)
		if err != nil {
			t.Fatal(err)
		}
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
	l, err := openLog(filepath.Join(t.TempDir(), "Lathe.log"))
	if err != nil {
		t.Fatal(err)
	}
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
	tail := l.tail()
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
