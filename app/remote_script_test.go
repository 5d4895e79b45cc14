//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// remoteCommands are those of the scripts about remote launchers:
//
//	desk            set DESK to a free address of this machine, and let collet remote use it and a folder of its own
//	waitdesk        wait until a collet remote serve can be reached
//	sametree A B    both folders have the same files, apart from the device's own folder
//	noise FILE KB   write a file of so many kB (1000 bytes) that does not compress
//	waitpart DIR    wait until a file is on its way to the device in DIR
//	waitlog NAME P  wait until a device has logged what the pattern P fits
//	waitexists F, waitgonefile F
func remoteCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"desk": desk, "waitdesk": waitDesk, "sametree": sameTree, "noise": writeNoise, "waitpart": waitPart, "waitlog": waitLog,
		"waitexists":   func(ts *testscript.TestScript, _ bool, args []string) { waitThere(ts, args[0], true) },
		"waitgonefile": func(ts *testscript.TestScript, _ bool, args []string) { waitThere(ts, args[0], false) },
	}
}

func desk(ts *testscript.TestScript, _ bool, _ []string) {
	probe, err := net.ListenPacket("udp4", "127.0.0.1:0")
	check(ts, err)
	port := probe.LocalAddr().(*net.UDPAddr).Port
	check(ts, probe.Close())
	ts.Setenv("DESK", fmt.Sprintf("localhost:%d", port))
	ts.Setenv("COLLET_REMOTE_LISTEN", ts.Getenv("DESK"))
	ts.Setenv("COLLET_REMOTE_STATE", ts.MkAbs("s"))
}

func waitDesk(ts *testscript.TestScript, _ bool, _ []string) {
	wait(ts, "no desk can be reached", func() bool {
		sockets, err := filepath.Glob(filepath.Join(ts.MkAbs("s"), "*.sock"))
		check(ts, err)
		for _, socket := range sockets {
			if conn, err := net.Dial("unix", socket); err == nil {
				return conn.Close() == nil
			}
		}
		return false
	})
}

func waitThere(ts *testscript.TestScript, name string, there bool) {
	wait(ts, fmt.Sprintf("%s there: %v", name, !there), func() bool {
		_, err := os.Stat(ts.MkAbs(name))
		return (err == nil) == there
	})
}

func waitPart(ts *testscript.TestScript, _ bool, args []string) {
	wait(ts, "nothing is on its way to "+args[0], func() bool {
		parts, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "Remote", "copy", ".collet-remote", "parts", "*"))
		check(ts, err)
		return len(parts) > 0
	})
}

func waitLog(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[1])
	wait(ts, fmt.Sprintf("%s logs no %q", args[0], args[1]), func() bool {
		return ts.Exec(ts.Getenv("COLLET"), "remote", "logs", "--tail", "3", "--device", args[0]) == nil && pattern.MatchString(ts.ReadFile("stdout"))
	})
}

func writeNoise(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.Atoi(args[1])
	check(ts, err)
	data := make([]byte, size*1000)
	random := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = random.Read(data) // never fails
	check(ts, os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

// sameTree compares all files but those of the device itself.
func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	a, b := tree(ts, ts.MkAbs(args[0])), tree(ts, ts.MkAbs(args[1]))
	var differ []string
	for name := range a {
		if a[name] != b[name] {
			differ = append(differ, name)
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			differ = append(differ, name)
		}
	}
	if (len(differ) > 0) != neg {
		ts.Fatalf("%s and %s differ in %q", args[0], args[1], differ)
	}
}

// tree has the SHA-256 of every file below a folder.
func tree(ts *testscript.TestScript, root string) map[string]string {
	files := map[string]string{}
	check(ts, filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".collet-remote" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		check(ts, err)
		f, err := os.Open(name)
		check(ts, err)
		defer f.Close()
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		files[rel] = string(sum.Sum(nil))
		return err
	}))
	return files
}

// TestWalkThroughIsTheScript holds the commands of the walk-through in docs/REMOTE.md to the script that really runs them.
func TestWalkThroughIsTheScript(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "REMOTE.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "script", "remote.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, walk, found := strings.Cut(string(page), "## Five minutes\n")
	walk, _, ended := strings.Cut(walk, "\n## ")
	if !found || !ended {
		t.Fatal("the page has no walk-through")
	}
	commands := regexp.MustCompile(`(?m)^(bin/[^#\n]+?|cp [^#\n]+?) *(#.*)?$`).FindAllStringSubmatch(walk, -1)
	if len(commands) < 8 {
		t.Errorf("only %d commands in the walk-through", len(commands))
	}
	inScript := strings.NewReplacer("bin/collet-client", "exec $COLLET_CLIENT", "bin/collet", "exec $COLLET", "localhost", "$DESK", "Lathe.so", "Lathe$EXT")
	for _, command := range commands {
		line := inScript.Replace(command[1])
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(line) + `( &\w+&)?$`).Match(script) {
			t.Errorf("the script does not run %q, as %q", command[1], line)
		}
	}
}
