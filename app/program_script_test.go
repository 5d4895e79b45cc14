//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
	"collet/platform/testwait"
	"collet/runtime/program"
)

// programCommands are the commands of scripts about games that are programs.
func programCommands() map[string]testscripts.Command {
	return map[string]testscripts.Command{"describe": describe, "isgone": isGone}
}

// describe writes the description of a program: describe FILE BUILD PROGRAM [seconds=N] [arg=TEXT] [keep=PATH].
func describe(ts *testscript.TestScript, _ bool, args []string) {
	d := program.Description{
		Name: "Lathe", Build: args[1], Program: args[2], Ready: program.Ready{Seconds: 1}, Exit: program.Exit{Clean: []int64{0}, Reload: []int64{75}},
	}
	for _, arg := range args[3:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "seconds":
			seconds, err := strconv.Atoi(value)
			testscripts.Check(ts, err)
			d.Ready.Seconds = seconds
		case "arg":
			d.Args = append(d.Args, value)
		case "keep":
			d.Keep = append(d.Keep, program.Kept{Path: value, New: true})
		default:
			ts.Fatalf("describe: unknown word %q", arg)
		}
	}
	data, err := d.Encode()
	testscripts.Check(ts, err)
	name := ts.MkAbs(args[0])
	testscripts.Check(ts, os.MkdirAll(filepath.Dir(name), 0o755))
	testscripts.Check(ts, os.WriteFile(name, data, 0o644))
}

// isGone waits until the process whose id a file has is gone: isgone FILE.
func isGone(ts *testscript.TestScript, _ bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	testscripts.Check(ts, err)
	testscripts.Wait(ts, "the process goes on", func() bool { return !testwait.Alive(pid) })
}
