package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCountOpens(t *testing.T) {
	trace := `17 openat(AT_FDCWD</x>, "/x/client/Resources/Core.zip", O_RDONLY|O_CLOEXEC) = 5</x/client/Resources/Core.zip>
17 openat(AT_FDCWD, "/x/client/Resources/Gone.zip", O_RDONLY) = -1 ENOENT (No such file or directory)
18 openat(4</x/client>, "Resources", O_RDONLY|O_DIRECTORY) = 6</x/client/Resources>
18 openat(6</x/client/Resources>, "Many.zip", O_RDONLY|O_NOFOLLOW) = 7</x/client/Resources/Many.zip>
18 openat2(6</x/client/Resources>, "Two.zip", {flags=O_RDONLY}, 24) = 7</x/client/Resources/Two.zip>
18 openat(4</x/client>, "Resources/Deep.zip", O_RDONLY <unfinished ...>
18 open("/etc/passwd", O_RDONLY) = 8</etc/passwd>
18 <... openat resumed>) = 9</x/client/Resources/Deep.zip>
18 +++ exited with 0 +++
`
	name := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(name, []byte(trace), 0o644); err != nil {
		t.Fatal(err)
	}
	want := counts{inside: 5, folder: 1, all: 7}
	if n, err := countOpens(name, "/x/client/Resources"); err != nil || n != want {
		t.Errorf("%+v, %v; want %+v", n, err, want)
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct{ times, want []time.Duration }{
		{[]time.Duration{5}, []time.Duration{5}},
		{[]time.Duration{9, 1, 5}, []time.Duration{5}},
		{[]time.Duration{9, 1, 5, 7}, []time.Duration{6}},
	} {
		if got := median(test.times); got != test.want[0] {
			t.Errorf("median of %v is %d, want %d", test.times, got, test.want[0])
		}
	}
}

func TestVerdictTurnsIntoTheExitCode(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out}
	b.verdict("fine", 1.15, 1.15, "")
	if b.failed || !strings.Contains(out.String(), "holds") {
		t.Errorf("at the bound: failed %v\n%s", b.failed, out.String())
	}
	b.verdict("worse", 65, 64, " MB")
	if !b.failed || !strings.Contains(out.String(), "DOES NOT HOLD") {
		t.Errorf("above the bound: failed %v\n%s", b.failed, out.String())
	}
}

func TestRatiosAreSaved(t *testing.T) {
	b := &bench{out: io.Discard}
	b.Save = filepath.Join(t.TempDir(), "ratios.txt")
	b.verdict("first frame, client ÷ minimal", 1.05, 1.15, "")
	b.verdict("peak above idle", 3, 64, " MB")
	b.atLeast("speed, ratio to curl", 0.9, 0.85)
	b.atLeast("MB/s of zstd objects", 300, 100)
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(b.Save)
	if want := "Benchmark/first_frame_client_÷_minimal 1 1.0500 ratio\nBenchmark/speed_ratio_to_curl 1 0.9000 ratio\n"; err != nil || string(got) != want {
		t.Errorf("%v, saved:\n%s", err, got)
	}
}

func TestMemoryOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here")
	}
	now, err := memoryOf(os.Getpid(), "VmRSS")
	if err != nil || now < 1 {
		t.Fatalf("%v MB, %v", now, err)
	}
	ballast := make([]byte, 64<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	peak, err := memoryOf(os.Getpid(), "VmHWM")
	if err != nil || peak < now+60 {
		t.Errorf("peak of %v MB after %v MB and 64 more, %v", peak, now, err)
	}
	if _, err := memoryOf(os.Getpid(), "VmNothing"); err == nil || ballast[0] != 1 {
		t.Error("a value that is not there was read")
	}
}

// TestLaySmall: the set of small files has the small files of all steps, under names of their own.
func TestLaySmall(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	for name, size := range map[string]int{"a/one.js": 100, "a/large.js": littleFileSize + 1, "a/.hidden": 5, "b/one.js": littleFileSize} {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	steps := []step{{"a", "", filepath.Join(dir, "a")}, {"b", "", filepath.Join(dir, "b")}, {"module", "", filepath.Join(dir, "b", "one.js")}}
	if err := laySmall(steps, to); err != nil {
		t.Fatal(err)
	}
	names, err := filesBelow(to)
	if want := "a/one.js b/one.js"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("%q, %v; want %q", names, err, want)
	}
	if err := os.WriteFile(filepath.Join(to, "copy.js"), make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := removeCopies(to); err != nil {
		t.Fatal(err)
	}
	names, err = filesBelow(to)
	if want := "a/one.js b/one.js"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("without copies: %q, %v; want %q", names, err, want)
	}
}
