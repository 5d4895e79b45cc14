//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
	"collet/netproto/compat"
)

// verdictCommands are what scripts about verdicts need beside the others.
func verdictCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"components": components, "configure": configure}
}

// components writes the manifest of the sample game as a build of another day has it: components FILE [change=NAME] [add=NAME].
func components(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(filepath.Join("..", "runtime", "sample", "protocol", "manifest.json"))
	testscripts.Check(ts, err)
	m, err := compat.ParseManifest(data)
	testscripts.Check(ts, err)
	m.Build.Time, m.Build.ID = 1_772_460_300, "the-server"
	for _, arg := range args[1:] {
		if name, found := strings.CutPrefix(arg, "add="); found {
			m.Entries = append(m.Entries, compat.Entry{Name: name, WireID: 900, Hash: 9})
		}
		for i := range m.Entries {
			if arg == "change="+m.Entries[i].Name {
				m.Entries[i].Hash++
			}
		}
	}
	testscripts.Check(ts, m.Seal())
	text, err := compat.EncodeManifest(&m)
	testscripts.Check(ts, err)
	testscripts.Check(ts, os.WriteFile(ts.MkAbs(args[0]), text, 0o644))
}

// configure adds lines to the settings of a server: configure DIR LINE...
func configure(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(filepath.Join(ts.MkAbs(args[0]), "server.toml"), os.O_APPEND|os.O_WRONLY, 0)
	testscripts.Check(ts, err)
	_, err = f.WriteString(strings.Join(args[1:], "\n") + "\n")
	testscripts.Check(ts, err)
	testscripts.Check(ts, f.Close())
}
