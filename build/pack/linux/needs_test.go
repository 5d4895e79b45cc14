package linux

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/build/pack/bundle"
	"collet/netproto/product"
	"collet/platform/testlevel"
)

// TestDebianPackage has what policy's rule gives and where history says otherwise; TestDebianPackagesExist asks dpkg.
func TestDebianPackage(t *testing.T) {
	for soname, want := range map[string]string{
		"libc.so.6": "libc6", "libm.so.6": "libc6", "ld-linux-x86-64.so.2": "libc6", "libGL.so.1": "libgl1", "libX11.so.6": "libx11-6",
		"libX11-xcb.so.1": "libx11-xcb1", "libwayland-client.so.0": "libwayland-client0", "libSDL2-2.0.so.0": "libsdl2-2.0-0",
		"libdecor-0.so.0": "libdecor-0-0", "libstdc++.so.6": "libstdc++6", "libgcc_s.so.1": "libgcc-s1", "libz.so.1": "zlib1g",
		"libasound.so.2": "libasound2", "libopenal.so.1": "libopenal1", "libdbus-1.so.3": "libdbus-1-3", "libssl.so.3": "libssl3", "odd.so": "odd",
	} {
		if got := debianPackage(soname); got != want {
			t.Errorf("%s: %s, want %s", soname, got, want)
		}
	}
}

// TestDebianPackagesExist compares the table, and what the rule says of every library here, with this system's own data.
func TestDebianPackagesExist(t *testing.T) {
	testlevel.Lab(t)
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		t.Skip("NOT TESTED: no dpkg to compare names of packages with")
	}
	patterns := []string{"-S"}
	for soname := range openable {
		patterns = append(patterns, "*/"+soname)
	}
	for soname := range unruly {
		patterns = append(patterns, "*/"+soname)
	}
	// It fails where one of them is not installed, and says what it knows all the same.
	said, _ := exec.CommandContext(t.Context(), "dpkg-query", patterns...).Output()
	known := 0
	for line := range strings.Lines(string(said)) {
		owner, file, _ := strings.Cut(strings.TrimSpace(line), ": ")
		owner, _, _ = strings.Cut(owner, ":")
		owner = strings.TrimSuffix(owner, "t64")
		if !strings.Contains(filepath.Base(filepath.Dir(file)), "-linux-gnu") {
			continue // a program's own copy
		}
		known++
		if got := debianPackage(filepath.Base(file)); got != owner {
			t.Errorf("%s: %s, but dpkg says %s", file, got, owner)
		}
	}
	t.Logf("%d libraries are installed here", known)
}

func TestRelations(t *testing.T) {
	n := needs{
		needed: map[string]map[string]bool{
			"libc.so.6": {"GLIBC_2.9": true, "GLIBC_2.34": true, "GLIBC_PRIVATE": true}, "libm.so.6": {"GLIBC_2.27": true}, "libGL.so.1": {},
		},
		opened: map[string]bool{"libXi.so.6": true, "libdecor-0.so.0": true}, bits: "(64bit)",
	}
	depends, recommends := n.debian()
	if !slices.Equal(depends, []string{"libc6 (>= 2.34)", "libgl1", "libxi6"}) || !slices.Equal(recommends, []string{"libdecor-0-0"}) {
		t.Errorf("Debian: %q, %q", depends, recommends)
	}
	depends, recommends = n.rpm()
	want := []string{"libGL.so.1()(64bit)", "libc.so.6()(64bit)", "libc.so.6(GLIBC_2.34)(64bit)", "libc.so.6(GLIBC_2.9)(64bit)", "libc.so.6(GLIBC_PRIVATE)(64bit)", "libm.so.6()(64bit)", "libm.so.6(GLIBC_2.27)(64bit)", "libXi.so.6()(64bit)"}
	if !slices.Equal(depends, want) || !slices.Equal(recommends, []string{"libdecor-0.so.0()(64bit)"}) {
		t.Errorf("rpm: %q, %q", depends, recommends)
	}
	n.bits = ""
	if depends, _ = n.rpm(); !slices.Contains(depends, "libXi.so.6") || !slices.Contains(depends, "libc.so.6(GLIBC_2.34)") {
		t.Errorf("rpm of 32 bits: %q", depends)
	}
}

// library compiles C to a library for this machine.
func library(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("NOT TESTED: no C compiler to make programs with")
	}
	name := filepath.Join(t.TempDir(), "lib.so")
	cmd := exec.CommandContext(t.Context(), cc, append([]string{"-shared", "-fPIC", "-o", name, "-x", "c", "-", "-x", "none"}, flags...)...)
	cmd.Stdin = strings.NewReader(source)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return name
}

func TestNeedsOfPrograms(t *testing.T) {
	testlevel.Slow(t)
	if runtime.GOOS != "linux" {
		t.Skip("makes programs for Linux")
	}
	target := product.TargetFor(runtime.GOOS, runtime.GOARCH)
	cpu, err := processorOf(target)
	if err != nil {
		t.Skip(err)
	}
	inside := library(t, "int inside(void) { return 1; }", "-Wl,-soname,libinside.so.1")
	uses := library(t, `#include <math.h>
const char *opened[] = {"libXi.so.6", "libSDL2-2.0.so.0", "libinside.so.1"};
int inside(void);
double f(double x) { return sin(x) + inside(); }`, inside, "-lm")
	tree, err := bundle.NewTree(
		bundle.Entry{Path: "Lathe.so", Mode: bundle.Plain, From: uses},
		bundle.Entry{Path: "libinside.so.1", Mode: bundle.Plain, From: inside},
		bundle.Entry{Path: "text", Mode: bundle.Plain, Data: []byte("\x7fEL")},
	)
	if err != nil {
		t.Fatal(err)
	}
	n, err := needsOf(tree, cpu)
	if err != nil {
		t.Fatal(err)
	}
	depends, recommends := n.debian()
	if !slices.Contains(depends, "libxi6") || !slices.Equal(recommends, []string{"libsdl2-2.0-0"}) || strings.Contains(strings.Join(depends, " "), "inside") {
		t.Errorf("%q, %q", depends, recommends)
	}
	if !slices.ContainsFunc(depends, func(d string) bool { return strings.HasPrefix(d, "libc6 (>= 2.") }) {
		t.Errorf("no version of libc in %q", depends)
	}
	if _, err := needsOf(tree, processor{machine: elf.EM_RISCV, class: elf.ELFCLASS64}); err == nil || !strings.Contains(err.Error(), "Lathe.so: is for") {
		t.Errorf("a program for another processor: %v", err)
	}
}

func TestBrokenPrograms(t *testing.T) {
	cpu := processors["Linux-x64"]
	for name, data := range map[string]string{"magic alone": elfMagic, "cut short": elfMagic + "\x02\x01\x01" + strings.Repeat("\x00", 20)} {
		tree := bundle.Tree{{Path: "Lathe", Mode: bundle.Program, Data: []byte(data)}}
		if _, err := needsOf(tree, cpu); err == nil || !strings.Contains(err.Error(), "Lathe: looks like a program") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := needsOf(tree.Below("Resources"), cpu); err != nil {
			t.Errorf("%s among the resources of a program: %v", name, err)
		}
	}
	missing := bundle.Tree{{Path: "Lathe", Mode: bundle.Program, From: filepath.Join(t.TempDir(), "none")}}
	if _, err := needsOf(missing, cpu); !os.IsNotExist(unwrapped(err)) {
		t.Errorf("got %v", err)
	}
}

func unwrapped(err error) error {
	for {
		inner, is := err.(interface{ Unwrap() error })
		if !is || os.IsNotExist(err) {
			return err
		}
		err = inner.Unwrap()
	}
}

// FuzzPrograms holds reading to an answer or an error for any bytes.
func FuzzPrograms(f *testing.F) {
	self, err := os.Executable()
	if err == nil {
		if file, err := os.Open(self); err == nil {
			start := make([]byte, 4096)
			if n, err := file.Read(start); err == nil {
				f.Add(start[:n])
			}
			file.Close()
		}
	}
	f.Add([]byte(elfMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := needs{needed: map[string]map[string]bool{}, opened: map[string]bool{}}
		_ = n.readLibraries(data, processors["Linux-x64"])
	})
}
