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
	"collet/platform/testlevel"
)

// startPorts are those of the commands in docs/START.md.
var startPorts = []string{"127.0.0.1:8787", "127.0.0.1:4000"}

// TestStart runs every command of docs/START.md word for word, on a game that is a script; between the releases a file of it changes.
// make test has the same steps in the scripts keys and program, with fewer encrypted keys and fewer copies of the client.
func TestStart(t *testing.T) {
	testlevel.Lab(t)
	blocks := shellBlocks(t, "START.md", 4)
	blocks[3] = "echo level 2 >build/linux/level\n" + blocks[3]
	if _, played := runPage(t, blocks); played != "played level 1\nplayed level 2\n" {
		t.Errorf("the game said %q", played)
	}
}

// TestHowTo runs the commands of docs/HOWTO.md that need nothing but the programs, word for word, after those of docs/START.md. The game changes
// between the releases.
func TestHowTo(t *testing.T) {
	testlevel.Lab(t)
	start, blocks := shellBlocks(t, "START.md", 4), shellBlocks(t, "HOWTO.md", 7)
	for i, before := range []string{
		"echo level 2 >build/linux/level", "echo level 2, again >build/linux/level", "echo level 3 >build/linux/level", "echo level 4 >build/linux/level", "", "",
		"collet-server reload --control server.sock\nmkdir -p ~/Games/OldLathe\ncp build/linux/* ~/Games/OldLathe\necho mine >~/Games/OldLathe/save\nrm played",
	} {
		blocks[i] = before + "\n" + blocks[i]
	}
	dir, played := runPage(t, append(start[:3], blocks...))
	if played != "played level 4\n" {
		t.Errorf("the adopted game said %q", played)
	}
	for name, want := range map[string]string{
		"summary.md": "## Release 2 of stable for Linux-x64", "www/metadata/timestamp.json": "{", "media/anna/root-2.key": "", "media/ben/root-3.key": "",
		"deck/Lathe/Resources/level": "level", "Games/OldLathe/Resources/save": "mine",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s: %.40q, %v; want %q", name, got, err, want)
		}
	}
}

// TestCeremony plays the section of docs/RELEASING.md about keys that different people hold, word for word. Each block runs in a folder of
// its own, named by its first line, and the folders share nothing but the medium. No folder ends with the keys to release alone.
func TestCeremony(t *testing.T) {
	testlevel.Lab(t) // some thirty passphrases, each slow on purpose
	folder := filepath.Dir(testprograms.Collet(t))
	dir := t.TempDir()
	writeFiles(t, filepath.Join(dir, "anna", "game"), map[string]string{
		"Resources/level": "level 1", "PlatformBinaries/Linux-x64/Lathe.so": elfHeader(false),
	})
	for i, block := range shellBlocks(t, "RELEASING.md", 16) {
		name, commands, _ := strings.Cut(strings.TrimPrefix(block, "# "), "\n")
		place := filepath.Join(dir, name)
		if err := os.MkdirAll(place, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", commands)
		cmd.Dir = place
		cmd.Env = append(os.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"), "COLLET_PASSPHRASE=correct horse")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("block %d, %s: %v\n%s", i, name, err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), testprograms.Collet(t), "release", "list", "--dir", filepath.Join(dir, "server", "release")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "50 % of the players") {
		t.Errorf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{"server": "snapshot-1 timestamp-1", "ben": "root-2 targets-2", "carla": "root-3 targets-3", "ceremony": "", "anna": ""} {
		keys, err := filepath.Glob(filepath.Join(dir, name, "keys", "*.key"))
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			keys[i] = strings.TrimSuffix(filepath.Base(key), ".key")
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s has the keys %q, want %q", name, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "server", "release", "metadata", "2.root.json")); err != nil {
		t.Error(err)
	}
}

// writeFiles writes files below a folder.
func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shellBlocks are the blocks of commands of a page in docs.
func shellBlocks(t *testing.T, page string, count int) (blocks []string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: the page's commands are for bash on Linux")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "```sh\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("a block has no end: %q", part)
		}
		blocks = append(blocks, block)
	}
	if len(blocks) != count {
		t.Fatalf("%s has %d blocks of commands, want %d", page, len(blocks), count)
	}
	return blocks
}

// runPage runs blocks of commands in one shell, in a folder with a built game that is a script. It returns the folder, and what the game said.
func runPage(t *testing.T, blocks []string) (dir, played string) {
	t.Helper()
	for _, address := range startPorts {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Skipf("NOT TESTED: %s is in use", address)
		}
		l.Close()
	}
	dir = t.TempDir()
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
	file := filepath.Join(dir, "played")
	cmd.Env = append(os.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"), "COLLET_PASSPHRASE=correct horse", "PLAYED="+file, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir, string(said)
}
