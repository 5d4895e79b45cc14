package area_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/platform/testlevel"
	"collet/runtime/area"
)

// said is what the test programs print of contents, and of none.
const (
	saidBefore = "packaged false\nname \nconfig \"\"\nresources \"\"\n"
	saidAfter  = "packaged true\nname Lathe_OpenGL\n" + `config "ClientNetwork.ServerHost = \"play.example\"\n"` + "\n" + `resources "PK a zip"` + "\n"
)

// tool is a compiler's command line up to the output; the test is skipped where it is not there.
func tool(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	testlevel.Slow(t)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %v; areas in what it makes are not tested", err)
	}
	return exec.CommandContext(t.Context(), path, args...)
}

func perform(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// holdsOneSet looks at a program as its build left it: each area is there, in the sizes as a rule, and nowhere is a second text
// of a marker.
func holdsOneSet(t *testing.T, program []byte) []area.Area {
	t.Helper()
	where := find(t, program)
	if got := [3]int{where[0].Capacity, where[1].Capacity, where[2].Capacity}; got != [3]int{200_000, 10_000, 128} {
		t.Errorf("capacities are %v", got)
	}
	for _, marker := range []string{configStart, configEnd, unnamed, resources(2_000)} {
		want := 1
		if len(marker) == 2_000 {
			want = 100
		}
		if n := bytes.Count(program, []byte(marker)); n != want {
			t.Errorf("%.30q stands there %d times, want %d", marker, n, want)
		}
	}
	return where
}

// fillAndCheck fills a program's file and reads it back from the file.
func fillAndCheck(t *testing.T, name string) {
	t.Helper()
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	where := holdsOneSet(t, before)
	fillFile(t, name)
	after, err := os.ReadFile(name)
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d bytes became %d, %v", len(before), len(after), err)
	}
	want := contents()
	if got := readBack(t, after, where); got.Config != want.Config || got.Name != want.Name || !bytes.Equal(got.Resources, want.Resources) {
		t.Errorf("read back %+v", got)
	}
}

// fillFile fills a program's file, as packaging does.
func fillFile(t *testing.T, name string) {
	t.Helper()
	program, err := os.ReadFile(name)
	if err == nil {
		err = area.Patch(program, contents())
	}
	if err == nil {
		err = os.WriteFile(name, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// says compares what a program prints.
func says(t *testing.T, name, want string) {
	t.Helper()
	if got := perform(t, exec.CommandContext(t.Context(), name)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestNative: programs in C, C++ and Go of this system know what they were filled with, in make test-all also those of other flags.
func TestNative(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("SKIPPED: on this system a filled program has to be signed anew before it runs")
	}
	source, include := filepath.Join("testdata", "program.c"), "-I"+filepath.Join("..", "abi")
	strict := []string{"-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DPROGRAM", include}
	builds := map[string]func(t *testing.T, output string) *exec.Cmd{
		"C": func(t *testing.T, output string) *exec.Cmd {
			return tool(t, "cc", append(strict, "-std=c11", "-o", output, source)...)
		},
		"C++": func(t *testing.T, output string) *exec.Cmd {
			return tool(t, "g++", append(strict, "-std=c++11", "-o", output, "-x", "c++", source)...)
		},
		"C, nothing optimised": func(t *testing.T, output string) *exec.Cmd {
			return tool(t, "cc", append(strict, "-O0", "-std=c11", "-o", output, source)...)
		},
		"clang, all optimised": func(t *testing.T, output string) *exec.Cmd {
			return tool(t, "clang", append(strict, "-O3", "-flto", "-fuse-ld=lld", "-Wl,--gc-sections", "-std=c11", "-o", output, source)...)
		},
		"Go": func(t *testing.T, output string) *exec.Cmd { // the flags of make, so that the standard library is compiled already
			return tool(t, "go", "build", "-buildvcs=false", "-o", output, "./testdata/program")
		},
		"Go, stripped and without paths": func(t *testing.T, output string) *exec.Cmd {
			return tool(t, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", output, "./testdata/program")
		},
	}
	for language, build := range builds {
		t.Run(language, func(t *testing.T) {
			if strings.Contains(language, ",") {
				testlevel.Lab(t)
			}
			output := filepath.Join(t.TempDir(), "program.exe")
			perform(t, build(t, output))
			says(t, output, saidBefore)
			fillAndCheck(t, output)
			says(t, output, saidAfter)
		})
	}
}

// TestGoElsewhere: the linker keeps each area in one run in the programs of all systems.
func TestGoElsewhere(t *testing.T) {
	testlevel.Lab(t)
	for _, target := range []string{"windows/amd64", "windows/386", "darwin/arm64", "darwin/amd64", "linux/arm64"} {
		t.Run(target, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "program")
			cmd := tool(t, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", output, "./testdata/program")
			system, processor, _ := strings.Cut(target, "/")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
			perform(t, cmd)
			fillAndCheck(t, output)
		})
	}
}

// TestModulesElsewhere: the same for modules in C.
func TestModulesElsewhere(t *testing.T) {
	source, include := filepath.Join("testdata", "program.c"), "-I"+filepath.Join("..", "abi")
	t.Run("ELF", func(t *testing.T) {
		output := filepath.Join(t.TempDir(), "module.so")
		perform(t, tool(t, "cc", "-shared", "-fPIC", "-O2", "-fvisibility=hidden", include, "-o", output, source))
		fillAndCheck(t, output)
	})
	testlevel.Lab(t)
	t.Run("PE32+", func(t *testing.T) {
		output := filepath.Join(t.TempDir(), "module.dll")
		perform(t, tool(t, "x86_64-w64-mingw32-gcc", "-shared", "-O2", "-Wall", "-Wextra", "-Werror", include, "-o", output, source))
		fillAndCheck(t, output)
	})
	for _, processor := range []string{"arm64", "x86_64"} {
		t.Run("Mach-O "+processor, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "module.dylib")
			buildDylib(t, processor, output)
			fillAndCheck(t, output)
		})
	}
}

// buildDylib makes a module for macOS without its headers.
func buildDylib(t *testing.T, processor, output string) {
	t.Helper()
	source, include := filepath.Join("testdata", "program.c"), "-I"+filepath.Join("..", "abi")
	object := output + ".o"
	perform(t, tool(t, "clang", "--target="+processor+"-apple-macos11", "-O2", "-ffreestanding", include, "-c", "-o", object, source))
	linker := "ld64.lld"
	if _, err := exec.LookPath(linker); err != nil {
		linker = "ld64.lld-14" // Debian's name
	}
	perform(t, tool(t, linker, "-arch", processor, "-platform_version", "macos", "11.0", "11.0", "-dylib",
		"-undefined", "dynamic_lookup", "-o", output, object))
}

// TestUniversal: a program for two processors is filled for both.
func TestUniversal(t *testing.T) {
	testlevel.Lab(t)
	folder := t.TempDir()
	one, other, both := filepath.Join(folder, "arm64"), filepath.Join(folder, "x86_64"), filepath.Join(folder, "both")
	buildDylib(t, "arm64", one)
	buildDylib(t, "x86_64", other)
	lipo := "llvm-lipo"
	if _, err := exec.LookPath(lipo); err != nil {
		lipo = "llvm-lipo-14"
	}
	perform(t, tool(t, lipo, "-create", "-output", both, one, other))
	fillFile(t, both)
	for _, processor := range []string{"arm64", "x86_64"} {
		thin, alone := filepath.Join(folder, processor+".thin"), filepath.Join(folder, processor)
		perform(t, tool(t, lipo, "-thin", processor, "-output", thin, both))
		fillFile(t, alone)
		got, errGot := os.ReadFile(thin)
		want, errWant := os.ReadFile(alone)
		if errGot != nil || errWant != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: filled together is not filled alone: %v, %v", processor, errGot, errWant)
		}
	}
}

// TestUniversalOfBytes: each part of a universal file is filled as it would be alone.
func TestUniversalOfBytes(t *testing.T) {
	processors := []uint32{0x01000007, 0x0100000C}
	var parts [2][]byte
	for i, processor := range processors {
		for _, field := range []uint32{0xFEEDFACF, processor, 0, 6, 0, 0, 0, 0} { // a library of 64 bits without commands
			parts[i] = binary.LittleEndian.AppendUint32(parts[i], field)
		}
		parts[i] = append(parts[i], program()...)
	}
	file := binary.BigEndian.AppendUint32(nil, 0xCAFEBABE)
	file = binary.BigEndian.AppendUint32(file, 2)
	const first, step = 4096, 1 << 16
	for i, part := range parts {
		for _, field := range []uint32{processors[i], 0, uint32(first + i*step), uint32(len(part)), 12} { // what it is, where, its size and alignment
			file = binary.BigEndian.AppendUint32(file, field)
		}
	}
	file = append(file, make([]byte, first+step+len(parts[1])-len(file))...)
	for i, part := range parts {
		copy(file[first+i*step:], part)
	}
	if err := area.Patch(file, contents()); err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		if err := area.Patch(part, contents()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file[first+i*step:][:len(part)], part) {
			t.Errorf("part %d is not filled as it would be alone", i)
		}
	}
}

// TestUniversalRefused: what only claims to be universal, or reaches behind its end, is left alone.
func TestUniversalRefused(t *testing.T) {
	head := "\xCA\xFE\xBA\xBE\x00\x00\x00\x01" + "\x01\x00\x00\x07\x00\x00\x00\x03" + "\x00\x00\x10\x00\x7f\xff\xff\xff\x00\x00\x00\x0c"
	for _, text := range []string{head[:6], head, head + string(program())} {
		p := []byte(text)
		if err := area.Patch(p, contents()); err == nil || string(p) != text {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}
