package sample_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/platform/testlevel"
)

const (
	// most is how many folders of packs are spoiled and read in make test-all.
	most = 600
	// seed makes every run spoil the same bytes.
	seed = 20
)

// TestSpoiledPacks reads untrusted packs with the compiler's sanitizers.
func TestSpoiledPacks(t *testing.T) {
	spoiled := most / testlevel.Stride(4, 4)
	checker := sanitized(t, "check", "art", "draw", "pack", "scene", "system", "world")
	random := rand.New(rand.NewPCG(seed, seed))
	root := t.TempDir()
	whole := good()
	var folders []string
	for i := range spoiled {
		folder := filepath.Join(root, fmt.Sprint(i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		spoil(t, random, i, whole, folder)
		folders = append(folders, folder)
	}
	cmd := exec.CommandContext(t.Context(), checker)
	cmd.Stdin = strings.NewReader(strings.Join(folders, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var good, bad int
	if _, err := fmt.Sscanf(string(out), "%d good %d bad\n", &good, &bad); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d could be used, %d not", good, bad)
	if good+bad != spoiled || good < spoiled/10 || bad < spoiled/10 {
		t.Errorf("%d could be used and %d not of %d", good, bad, spoiled)
	}
}

// spoil writes packs of which one thing is wrong: by turns inside of an entry, so that the checksums fit, and in a finished
// zip file.
func spoil(t *testing.T, random *rand.Rand, turn int, c content, folder string) {
	t.Helper()
	c = content{maps.Clone(c.core), maps.Clone(c.art)}
	change := func(data []byte, from, size int) []byte {
		data = bytes.Clone(data)
		for range 1 + random.IntN(3) {
			data[from+random.IntN(size)] = byte(random.Uint32())
		}
		if random.IntN(8) == 0 {
			data = data[:random.IntN(len(data))]
		}
		return data
	}
	switch turn % 4 {
	case 0:
		const header = 54 // bytes of a BMP in front of its pixels
		name := []string{"font.bmp", "player.bmp", "item.bmp"}[random.IntN(3)]
		c.art[name] = change(c.art[name], 0, header)
	case 1:
		c.core["game.txt"] = change(c.core["game.txt"], 0, len(c.core["game.txt"]))
	}
	for name, entries := range map[string]map[string][]byte{"Core.zip": c.core, "Art.zip": c.art} {
		data := pack(t, entries, zip.Store)
		switch turn % 4 {
		case 2:
			data = change(data, 0, 100) // the first entry's header
		case 3:
			data = change(data, len(data)-250, 250) // the directory
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSpoiledConfigs searches settings in untrusted texts.
func TestSpoiledConfigs(t *testing.T) {
	const spoiled = most
	checker := sanitized(t, "config", "config")
	random := rand.New(rand.NewPCG(seed, seed))
	whole := "# a\nClient.Title = \"The \\\"Lathe\\\\\"\r\nRelease.Root = '''{\n\"a\": 1}'''\n\tForceOpenGL=1 # b\nx = \"\"\"\n\"\"\"\n"
	var input bytes.Buffer
	for range spoiled {
		text := []byte(whole)
		for range random.IntN(4) {
			text[random.IntN(len(text))] = "\"'\\\n=# a\x00\xff"[random.IntN(10)]
		}
		text = text[random.IntN(len(text)/2) : len(text)-random.IntN(len(text)/2)]
		input.Write([]byte{byte(len(text)), byte(len(text) >> 8)})
		input.Write(text)
	}
	cmd := exec.CommandContext(t.Context(), checker)
	cmd.Stdin = &input
	out, err := cmd.CombinedOutput()
	var texts, found int
	if _, scanned := fmt.Sscanf(string(out), "%d texts %d found\n", &texts, &found); err != nil || scanned != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d found", found)
	if texts != spoiled || found < spoiled/4 {
		t.Errorf("%d found in %d texts of %d", found, texts, spoiled)
	}
}

// sanitized compiles a checker of testdata with parts of the game so that bad accesses and undefined behaviour end it, or
// skips where that can't be done.
func sanitized(t *testing.T, checker string, parts ...string) (program string) {
	t.Helper()
	testlevel.Slow(t)
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	flags := []string{"-std=c11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	probe := exec.CommandContext(t.Context(), cc, append(flags, "-x", "c", "-", "-o", filepath.Join(t.TempDir(), "probe"))...)
	probe.Stdin = strings.NewReader("int main(void) { return 0; }\n")
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("no sanitizers: %v\n%s", err, out)
	}
	program = filepath.Join(t.TempDir(), "check")
	args := append(flags, "-o", program, "testdata/"+checker+".c")
	for _, name := range parts {
		args = append(args, "game/"+name+".c")
	}
	if out, err := exec.CommandContext(t.Context(), cc, append(args, "-ldl", "-lpthread")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
