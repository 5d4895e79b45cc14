package crash_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/qa/crash"
	"collet/build/qa/report"
	"collet/platform/testlevel"
)

// releases are two small releases with files of every kind.
func releases() (o crash.Options) {
	big := func(mark string) string { return strings.Repeat(mark+" ", 1500) }
	o.Names = crash.Names("Lathe.so")
	o.Old = crash.Set{"Lathe.so": big("module 1"), "Resources/Core.zip": "core 1", "Resources/Art.zip": big("art 1"),
		"Resources/Same.zip": "same", "Lathe.so.pdb": "symbols 1"}
	o.New = crash.Set{"Lathe.so": big("module 2"), "Resources/Core.zip": "core 2", "Resources/Art.zip": big("art 2"),
		"Resources/Same.zip": "same", "Resources/maps/Levels.zip": big("levels 2"), "Lathe.so.pdb": "symbols 2"}
	o.Seeds, o.Seed = 1, 1
	return o
}

// played runs Run and collects the cases.
func played(t testing.TB, o crash.Options) (r report.Report, n crash.Count) {
	t.Helper()
	n, err := crash.Run(t.Context(), o, func(c report.Case) { r.Cases = append(r.Cases, c) })
	if err != nil {
		t.Fatal(err)
	}
	return r, n
}

func wantNoViolations(t *testing.T, r report.Report) {
	t.Helper()
	told := 0
	for _, c := range r.Cases {
		if c.State == report.Violation && told < 5 {
			told++
			t.Errorf("%s\n%s", c.Title(), c.Detail)
		}
	}
}

// TestCrash plays every story and tries a share of the stops; `collet qa crash` tries them all.
func TestCrash(t *testing.T) {
	o, share := releases(), testlevel.Stride(10, 60)
	o.Sparse = 12 * share
	r, n := played(t, o)
	wantNoViolations(t, r)
	t.Logf("%s; %s", n, r.Count())
	if n.Stories != 32 || n.Operations < 2000 || n.Stops < 1500/share || n.Recoveries < 1500/share || n.States < 1500/share {
		t.Errorf("%s: too little to tell anything", n)
	}
}

// TestCrashProgram plays every story with a game that is a program, whose executables get the right to be run.
func TestCrashProgram(t *testing.T) {
	o := releases()
	o.Names = crash.Names("Lathe.program")
	for _, set := range []crash.Set{o.Old, o.New} {
		for _, name := range []string{"Lathe.so", "Lathe.so.pdb"} {
			set[strings.Replace(name, ".so", ".program", 1)] = set[name]
			delete(set, name)
		}
		set["Resources/Art.zip"] = "\x7fELF" + set["Resources/Art.zip"]
		set["Resources/run.sh"] = "#!/bin/sh\n" + set["Resources/Core.zip"]
	}
	share := testlevel.Stride(10, 60)
	o.Sparse = 12 * share
	r, n := played(t, o)
	wantNoViolations(t, r)
	t.Logf("%s; %s", n, r.Count())
	if n.Stories != 32 || n.Operations < 2000 || n.Stops < 1500/share || n.Recoveries < 1500/share || n.States < 1500/share {
		t.Errorf("%s: too little to tell anything", n)
	}
}

// TestCrashEverywhere tries every stop in one story, and every stop within a few recoveries of the story with most of them.
func TestCrashEverywhere(t *testing.T) {
	testlevel.Slow(t)
	o := releases()
	o.Story, o.Depth = "update", crash.Once
	r, n := played(t, o)
	wantNoViolations(t, r)
	if n.Stops != len(r.Cases) || n.Recoveries != 0 || n.Stops < 10*n.Operations {
		t.Errorf("%s, %d cases", n, len(r.Cases))
	}
	seen := map[string]int{}
	for _, c := range r.Cases {
		when, _ := c.Param("when")
		kept, _ := c.Param("kept")
		seen[when+" "+kept]++
	}
	for _, when := range []string{"before", "inside", "after", "end"} {
		for _, kept := range []string{"kill", "0", "50", "50u", "100"} {
			if seen[when+" "+kept] == 0 {
				t.Errorf("nothing was tried %s with %s kept", when, kept)
			}
		}
	}
	if seen["before 0"] != n.Operations || seen["after kill"] != n.Operations || seen["end 100"] != 1 {
		t.Errorf("%d operations, %v", n.Operations, seen)
	}
	o.Story, o.Depth, o.Sparse = "back", crash.Fully, 150*testlevel.Stride(8, 8)
	r, n = played(t, o)
	wantNoViolations(t, r)
	if n.Recoveries < 20*n.Stops {
		t.Errorf("%s: recoveries were not stopped everywhere", n)
	}
}

// TestCrashMutants checks that Run reports every mutant: three times, or once in a share of the stops.
func TestCrashMutants(t *testing.T) {
	testlevel.Slow(t)
	for _, m := range crash.Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			o := releases()
			o.Mutant, o.Story, o.Depth, o.Enough = m.Name, "back", crash.Once, 3
			if !testlevel.Full() {
				o.Sparse, o.Enough = 4, 1
			}
			r, n := played(t, o)
			if count := r.Count(); count.Violations == 0 {
				t.Errorf("%s: not caught in %d cases; %s", m.About, count.Cases(), n)
			}
		})
	}
}

// TestCrashRepeat checks that the command line of a violation repeats exactly that violation.
func TestCrashRepeat(t *testing.T) {
	o := releases()
	o.Mutant, o.Story, o.Enough, o.Sets = "journal-unsynced", "update", 1, " --old a --new b"
	r, _ := played(t, o)
	again := 0
	for _, c := range r.Cases {
		_, line, found := strings.Cut(c.Detail, "repeat: collet qa crash --old a --new b --story update --only ")
		if c.State != report.Violation || !found {
			continue
		}
		point, mutant, _ := strings.Cut(line, " --mutant ")
		if o.Only = point; mutant != "journal-unsynced" {
			t.Fatalf("repeat %q", line)
		}
		once, n := played(t, o)
		if once.Count().Violations != 1 || once.Count().OK != 0 || n.Stops != 1 {
			t.Errorf("%s: %s, %s", point, once.Count(), n)
		}
		again++
	}
	if again != 1 {
		t.Errorf("%d violations were repeated", again)
	}
	o.Mutant, o.Only = "", "40:after:0:0/1:before:50:3"
	if r, n := played(t, o); n.Recoveries != 1 || len(r.Cases) != 1 || r.Count().OK != 1 {
		t.Errorf("%s, %v", n, r.Cases)
	}
	o.Only = "4000:after:0:0"
	if r, _ := played(t, o); r.Count().Skipped != 1 {
		t.Errorf("%v", r.Cases)
	}
}

func TestCrashUsage(t *testing.T) {
	for _, change := range []func(*crash.Options){
		func(o *crash.Options) { o.Story = "nothing" },
		func(o *crash.Options) { o.Story = "[" },
		func(o *crash.Options) { o.Mutant = "nothing" },
		func(o *crash.Options) { o.Story, o.Only = "up*", "1:before:0:0" },
		func(o *crash.Options) { o.Story, o.Only = "update", "1:before:0" },
		func(o *crash.Options) { o.Story, o.Only = "update", "1:before:60:0" },
		func(o *crash.Options) { o.Story, o.Only = "update", "1:never:0:0" },
		func(o *crash.Options) { o.Story, o.Only = "update", "1:before:0:0/1:before:0:0/1:before:0:0" },
	} {
		o := releases()
		change(&o)
		if _, err := crash.Run(t.Context(), o, nil); !errors.Is(err, crash.ErrUsage) {
			t.Errorf("story %q, only %q, mutant %q: %v", o.Story, o.Only, o.Mutant, err)
		}
	}
}

// TestCrashInterrupted checks that the finished cases are reported.
func TestCrashInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o, cases := releases(), 0
	o.Jobs, o.Depth, o.Story = 1, crash.Once, "up*"
	o.Progress = func(done, total int, what string) {
		if done >= total || what != "update" {
			t.Errorf("%d of %d: %s", done, total, what)
		}
		cancel()
	}
	_, err := crash.Run(ctx, o, func(report.Case) { cases++ })
	if !errors.Is(err, context.Canceled) || cases < 10 || cases > 200 {
		t.Errorf("%d cases, %v", cases, err)
	}
}

// TestReadSets reads releases from folders.
func TestReadSets(t *testing.T) {
	oldDir, newDir := t.TempDir(), t.TempDir()
	write := func(dir, name, content string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	huge := strings.Repeat("x", 1<<20)
	write(oldDir, "Game.dll", huge+"1")
	write(newDir, "Game.dll", huge+"2")
	write(oldDir, "Game.exe", "the host")
	write(newDir, "Game.dll.pdb", "symbols")
	write(oldDir, "Resources/~part", "no file of the set")
	for _, pack := range "abcdefghijkl" {
		write(oldDir, "Resources/"+string(pack), "same")
		write(newDir, "Resources/"+string(pack), "same")
	}
	write(newDir, "Resources/z", "new")
	o, comments, err := crash.ReadSets(oldDir, newDir)
	if err != nil {
		t.Fatal(err)
	}
	if o.Names.Library() != "Game.dll" || o.New["Resources/z"] != "new" || o.New["Game.dll.pdb"] == "" || len(comments) != 2 {
		t.Errorf("%+v, %q", o.Names, comments)
	}
	if len(o.Old["Game.dll"]) > 20_000 || o.Old["Game.dll"] == o.New["Game.dll"] {
		t.Errorf("cut to %d bytes, equal: %v", len(o.Old["Game.dll"]), o.Old["Game.dll"] == o.New["Game.dll"])
	}
	all := maps.Clone(o.Old)
	maps.Copy(all, o.New)
	if len(all) != 8 || o.Old["Game.exe"] != "" || o.Old["Resources/~part"] != "" {
		t.Errorf("%d files", len(all))
	}
	o.Story, o.Depth, o.Sparse = "*e*", crash.Once, 40
	if !testlevel.Full() {
		o.Story = "update"
	}
	r, _ := played(t, o)
	wantNoViolations(t, r)
	write(newDir, "Other.so", "a second module")
	if _, _, err := crash.ReadSets(oldDir, newDir); err == nil || !strings.Contains(err.Error(), "two modules") {
		t.Error(err)
	}
	if _, _, err := crash.ReadSets(t.TempDir(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no module") {
		t.Error(err)
	}
}
