//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
)

// remoteCommands are those of the scripts about remote launchers:
//
//	noise FILE KB   write a file of so many kB (1000 bytes) that does not compress
//	waitpart DIR    wait until a file is on its way to the device in DIR
//	waitlog NAME P  wait until a device has logged what the pattern P fits
//	waitexists F, waitgonefile F
func remoteCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"noise": writeNoise, "waitpart": waitPart, "waitlog": waitLog,
		"waitexists":   func(ts *testscript.TestScript, _ bool, args []string) { waitThere(ts, args[0], true) },
		"waitgonefile": func(ts *testscript.TestScript, _ bool, args []string) { waitThere(ts, args[0], false) },
	}
}

func waitThere(ts *testscript.TestScript, name string, there bool) {
	testscripts.Wait(ts, fmt.Sprintf("%s there: %v", name, !there), func() bool {
		_, err := os.Stat(ts.MkAbs(name))
		return (err == nil) == there
	})
}

func waitPart(ts *testscript.TestScript, _ bool, args []string) {
	testscripts.Wait(ts, "nothing is on its way to "+args[0], func() bool {
		parts, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "Remote", "copy", ".collet-remote", "parts", "*"))
		testscripts.Check(ts, err)
		return len(parts) > 0
	})
}

func waitLog(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[1])
	testscripts.Wait(ts, fmt.Sprintf("%s logs no %q", args[0], args[1]), func() bool {
		return ts.Exec(ts.Getenv("COLLET"), "remote", "logs", "--tail", "3", "--device", args[0]) == nil && pattern.MatchString(ts.ReadFile("stdout"))
	})
}

func writeNoise(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.Atoi(args[1])
	testscripts.Check(ts, err)
	data := make([]byte, size*1000)
	random := rand.NewChaCha8(sha256.Sum256([]byte(args[0] + args[1]))) // no two files are alike: one would be copied from the other
	_, _ = random.Read(data)                                            // never fails
	testscripts.Check(ts, os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
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
