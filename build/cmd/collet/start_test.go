package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/build/testprograms"
)

// startPorts are those of the commands in docs/START.md.
var startPorts = []string{"127.0.0.1:8787", "127.0.0.1:4000"}

// TestStart runs every command of docs/START.md word for word, on a game that is a script; between the releases a file of it changes.
func TestStart(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: the page's commands are for bash on Linux")
	}
	for _, address := range startPorts {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Skipf("NOT TESTED: %s is in use", address)
		}
		l.Close()
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "START.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(page), "```sh\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("a block has no end: %q", part)
		}
		blocks = append(blocks, block)
	}
	if len(blocks) != 4 {
		t.Fatalf("the page has %d blocks of commands; want describe, publish, play, update", len(blocks))
	}
	blocks[3] = "echo level 2 >build/linux/level\n" + blocks[3]
	dir := t.TempDir()
	game := filepath.Join(dir, "build", "linux")
	if err := os.MkdirAll(game, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"lathe": "#!/bin/sh\necho \"played $(cat level)\" >>\"$PLAYED\"\n", "level": "level 1\n", "settings.ini": "sound=on\n"} {
		if err := os.WriteFile(filepath.Join(game, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Dir(testprograms.Collet(t))
	testprograms.Client(t)
	testprograms.Server(t)
	script := "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + strings.Join(blocks, "\n")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	played := filepath.Join(dir, "played")
	cmd.Env = append(os.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"), "COLLET_PASSPHRASE=correct horse", "PLAYED="+played, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := os.ReadFile(played); err != nil || string(got) != "played level 1\nplayed level 2\n" {
		t.Errorf("the game said %q, %v\n%s", got, err, out)
	}
}
