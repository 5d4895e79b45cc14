package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/build/testprograms"
)

var update = flag.Bool("update", false, "rewrite what docs/engines says that collet wrap prints, and its pictures")

// TestEnginePages: collet wrap prints for the layout of each page in docs/engines what the page says.
func TestEnginePages(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED: the pages have what is printed on Linux-x64")
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "engines", "*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	program := testprograms.Collet(t)
	for _, name := range pages {
		if filepath.Base(name) == "README.md" {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			tree := block(t, string(page), "tree")
			makeLayout(t, dir, tree)
			words := strings.Fields(block(t, string(page), "sh"))
			if len(words) < 3 || words[0] != "collet" {
				t.Fatalf("the command is %q", words)
			}
			cmd := exec.CommandContext(t.Context(), program, words[1:]...)
			cmd.Dir = dir
			said, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v\n%s", words, err, said)
			}
			want := block(t, string(page), "text")
			changed := strings.Replace(string(page), "```text\n"+want+"```", "```text\n"+string(said)+"```", 1)
			correct(t, name, page, []byte(changed))
			drawing := strings.TrimSuffix(name, ".md") + ".svg"
			if link := "](" + filepath.Base(drawing) + ")"; !strings.Contains(string(page), link) {
				t.Errorf("the page has no picture: %s", link)
			}
			engine, _, _ := strings.Cut(strings.TrimPrefix(string(page), "# "), "\n")
			there, _ := os.ReadFile(drawing)
			correct(t, drawing, there, []byte(readPicture(t, dir, engine, tree).svg()))
		})
	}
}

// correct compares a file of the manual with what it should be, or rewrites it.
func correct(t *testing.T, name string, got, want []byte) {
	t.Helper()
	switch {
	case bytes.Equal(got, want):
	case !*update:
		t.Errorf("%s should be\n%s\ngo test ./build/cmd/collet -run EnginePages -update corrects it", filepath.Base(name), want)
	default:
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// block is the text of a page's only block of a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	parts := strings.Split(page, "```"+language+"\n")
	if len(parts) != 2 {
		t.Fatalf("the page has %d blocks of %s, want 1", len(parts)-1, language)
	}
	text, _, closed := strings.Cut(parts[1], "```")
	if !closed {
		t.Fatalf("the block of %s has no end", language)
	}
	return text
}

// makeLayout makes the files of a page's tree, one a line: its path, and after two spaces or more what is in it. That is program for a program
// of Linux, starts NAME for a script, or a text. Programs and libraries of Windows are known by their extensions.
func makeLayout(t *testing.T, dir, tree string) {
	t.Helper()
	for line := range strings.Lines(tree) {
		name, content, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content = strings.TrimSpace(content)
		base, mode := filepath.Base(name), os.FileMode(0o644)
		starts, isScript := strings.CutPrefix(content, "starts ")
		switch {
		case content == "program" || strings.Contains(base, ".so"):
			content, mode = elfHeader(content == "program"), 0o755
		case isScript || content == "script":
			content, mode = "#!/bin/sh\nexec "+starts+"\n", 0o755
		case strings.HasSuffix(base, ".exe"):
			content = peHeader(0x22)
		case strings.HasSuffix(base, ".dll"):
			content = peHeader(0x2022)
		}
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(strings.ReplaceAll(content, "; ", "\n")+"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// elfHeader is the beginning of a program of Linux-x64, or of a library.
func elfHeader(isProgram bool) string {
	head := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 249)...)
	little := binary.LittleEndian
	little.PutUint16(head[16:], 3)  // position independent
	little.PutUint16(head[18:], 62) // x86-64
	little.PutUint64(head[32:], 64) // where the segments are listed
	little.PutUint16(head[54:], 56)
	little.PutUint16(head[56:], 1)
	if isProgram {
		little.PutUint32(head[64:], 3) // the name of an interpreter
	}
	return string(head)
}

// peHeader is the beginning of a program of Windows-win64 with a window.
func peHeader(characteristics uint16) string {
	head := append([]byte("MZ"), bytes.Repeat([]byte{0}, 510)...)
	little := binary.LittleEndian
	little.PutUint32(head[0x3c:], 128)
	copy(head[128:], "PE\x00\x00")
	little.PutUint16(head[132:], 0x8664)
	little.PutUint16(head[150:], characteristics)
	little.PutUint16(head[128+24+68:], 2)
	return string(head)
}
