//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
	"collet/runtime/area"
)

// packagedCommands are those of scripts about programs that packaging filled in.
func (s stage) packagedCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"config": writeConfig, "fill": s.fill}
}

// writeConfig writes settings, one a line, with @FILE in a line replaced by the text of the file in quotes: config FILE LINE...
func writeConfig(ts *testscript.TestScript, _ bool, args []string) {
	var text strings.Builder
	for _, line := range args[1:] {
		if before, name, found := strings.Cut(line, "@"); found {
			name, after, _ := strings.Cut(name, " ")
			line = before + "'''" + ts.ReadFile(name) + "'''" + after
		}
		text.WriteString(line + "\n")
	}
	testscripts.Check(ts, os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o644))
}

// fill makes a packaged program or module of one that was built: fill FILE client|BUILT NAME CONFIG. With - for CONFIG only the
// name is filled in, as no packaging does it; "! fill" wants that it can't be done.
func (s stage) fill(ts *testscript.TestScript, neg bool, args []string) {
	output, built := ts.MkAbs(args[0]), args[1]
	if built == "client" {
		built = filepath.Join(s.Programs, "collet-client")
	}
	program, err := os.ReadFile(ts.MkAbs(built))
	testscripts.Check(ts, err)
	if args[3] == "-" {
		a, err := area.Find(program, area.Name)
		testscripts.Check(ts, err)
		copy(program[a.Offset:a.Offset+a.Capacity], args[2]+strings.Repeat("\x00", a.Capacity))
	} else {
		err = area.Patch(program, area.Contents{Name: args[2], Config: ts.ReadFile(args[3])})
	}
	if neg {
		if !errors.Is(err, area.ErrPackaged) {
			ts.Fatalf("filled a second time: %v", err)
		}
		return
	}
	testscripts.Check(ts, err)
	testscripts.Check(ts, os.MkdirAll(filepath.Dir(output), 0o755))
	// Another process writes it: this one may start programs of other scripts meanwhile, which would hold the file open for
	// writing, and the system does not start a program that is open for writing.
	cmd := exec.Command("sh", "-c", `cat > "$1" && chmod 755 "$1"`, "sh", output)
	cmd.Stdin = bytes.NewReader(program)
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v: %s", err, out)
	}
}
