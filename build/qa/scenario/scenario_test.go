package scenario

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/build/qa/report"
	"collet/platform/testlevel"
)

// played plays scenarios and returns the violations and the number of cases.
func played(t *testing.T, scenarios []*Scenario, o Options) (bad []report.Case, total int) {
	t.Helper()
	o.Jobs, o.Seed, o.Scratch = 2, 1, t.TempDir()
	err := Play(t.Context(), scenarios, o, func(done, all int, c report.Case) {
		if total++; done != total || all < total {
			t.Errorf("case %d is told as %d of %d", total, done, all)
		}
		if c.State == report.Violation {
			bad = append(bad, c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return bad, total
}

// standardFor returns the built-in scenarios, but only a share of the long ones.
func standardFor(t *testing.T) []*Scenario {
	t.Helper()
	all, err := Standard()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("%d scenarios", len(all))
	}
	every, longs := testlevel.Stride(6, 100), 0
	return slices.DeleteFunc(all, func(s *Scenario) bool {
		long := slices.ContainsFunc(s.faults, func(f fault) bool { return f.crash != nil }) || len(s.sides["new"]) > 1000
		if long {
			longs++
		}
		return long && longs%every != 0
	})
}

func TestStandard(t *testing.T) {
	bad, total := played(t, standardFor(t), Options{})
	for _, c := range bad {
		t.Errorf("%s: %s", c.Title(), c.Detail)
	}
	t.Logf("%d cases", total)
}

func TestStandardOnTheDisk(t *testing.T) {
	every, n := testlevel.Stride(4, 16), 0
	few := slices.DeleteFunc(standardFor(t), func(s *Scenario) bool {
		n++
		return len(s.sides["new"]) > 1000 || n%every > 0
	})
	bad, _ := played(t, few, Options{Real: true})
	for _, c := range bad {
		t.Errorf("%s: %s", c.Title(), c.Detail)
	}
}

// plainScenario is a scenario without a header.
const plainScenario = `
-- old/Lathe.so --
module one
-- old/Resources/A.zip --
A one
-- new/Lathe.so --
module two
-- new/Resources/A.zip --
A two
-- player/notes.txt --
mine
`

// TestScenariosCanFail checks that every unmet expectation is a violation.
func TestScenariosCanFail(t *testing.T) {
	tests := []struct{ header, says string }{
		{"expect: old", "the new set is there, want the old one"},
		{"fault: offline\nexpect: recovered new", "the old set is there, want the new one"},
		{"fault: offline\nexpect: old", "the new set is there, want the old one"},
		{"expect: refused no reason", "should have been refused"},
		{"directions: forward\nexpect: there Resources/none.zip", "a.txtar:2: expected there Resources/none.zip"},
		{"directions: forward\nexpect: absent Resources/A.zip", "a.txtar:2: expected absent Resources/A.zip"},
		{"fault: crash at 99999", "there are only"},
		{"# one\n\nfault: delete Resources/none.zip", "a.txtar:3: fault delete Resources/none.zip"},
		{"fault: corrupt Resources/A.zip 99", "none at 99"},
		{"fault: truncate Resources/A.zip 99", "has 6 bytes only"},
		{"fault: delete notes.txt when crashed", "the player's notes.txt is lost"},
		{"fault: put notes.txt other when crashed", "the player's notes.txt is lost"},
		{"fault: put Resources/A.zip other when crashed\nexpect: recovered old-or-new", "neither the old nor the new set"},
		{"fault: put Resources/Z.zip other when crashed\nexpect: recovered old-or-new", "Z.zip: should not be there"},
		{"fault: put Resources/~Z.zip other when crashed", "Resources/~Z.zip (part) is left over"},
		{"fault: put .collet/parts/x other when crashed\nfault: offline", ""}, // what the updater keeps is not looked at then
		{"fault: fail write Lathe.so* EIO", ""},
		{"fault: fail rename * EIO times 1\nexpect: recovered old", "the new set is there"},
		{"fault: fails 2", "the last run: the set is blocked"},
		{"fault: mode notes.txt 600 when crashed", ""},
		{"fault: link Resources/A.zip /etc/passwd when crashed", ""},
	}
	for _, test := range tests {
		s, err := parse("a.txtar", []byte(test.header+plainScenario))
		if err != nil {
			t.Errorf("%q: %v", test.header, err)
			continue
		}
		bad, total := played(t, []*Scenario{s}, Options{})
		switch {
		case test.says == "" && len(bad) > 0:
			t.Errorf("%q: %s", test.header, bad[0].Detail)
		case test.says != "" && len(bad) != total:
			t.Errorf("%q: %d of %d cases are violations", test.header, len(bad), total)
		case test.says != "" && !strings.Contains(bad[0].Detail, test.says):
			t.Errorf("%q: %s\nwant %q", test.header, bad[0].Detail, test.says)
		}
	}
}

func TestPlayersModeIsKept(t *testing.T) {
	text := strings.Replace(plainScenario, "-- player/notes.txt --", "-- player/notes.txt mode=640 --", 1)
	s, err := parse("a.txtar", []byte("fault: mode notes.txt 600 when crashed"+text))
	if err != nil {
		t.Fatal(err)
	}
	bad, total := played(t, []*Scenario{s}, Options{})
	if len(bad) != total || !strings.Contains(bad[0].Detail, "has mode") {
		t.Errorf("%d of %d: %+v", len(bad), total, bad)
	}
}

func TestFoldersEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Play(ctx, standardFor(t), Options{Jobs: 1}, func(done, total int, _ report.Case) {
		if cancel(); done > total/2 { // a worker may be some cases ahead of the one that is told
			t.Errorf("case %d of %d after the end", done, total)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestParseFoldersErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "a.txtar: declares no file"},
		{"# only words\nexpect: new\n", "a.txtar: declares no file"},
		{"nonsense\n" + plainScenario, `a.txtar:1: "nonsense": want a comment`},
		{"# one\n\nfalt: offline\n" + plainScenario, "a.txtar:3: falt: there is no such directive; there are begin,"},
		{"fault:\n" + plainScenario, "a.txtar:1: fault: says nothing"},
		{"fault sideways: offline\n" + plainScenario, "want forward or back"},
		{"runs back: 2\n" + plainScenario, "is for both directions"},
		{"runs: many\n" + plainScenario, "want a number from 1 to 10"},
		{"runs: 11\n" + plainScenario, "want a number from 1 to 10"},
		{"begin: somehow\n" + plainScenario, "want one of confirmed, planted, none"},
		{"judge: none\n" + plainScenario, "want one of binaries, resources"},
		{"verify: perhaps\n" + plainScenario, "want one of yes, no"},
		{"volumes: floppy\n" + plainScenario, "want some of exchange, no-exchange, fold-case"},
		{"directions: up\n" + plainScenario, "want some of forward, back"},
		{"module: Resources/x.so\n" + plainScenario, "want a plain file name"},
		{"expect: wonders\n" + plainScenario, "a.txtar:1: expect: want old, new"},
		{"expect: recovered sometimes\n" + plainScenario, "a.txtar:1: expect: want old, new"},
		{"expect: refused\n" + plainScenario, "a.txtar:1: expect: want old, new"},
		{"fault: earthquake\n" + plainScenario, "there is no earthquake; there are clock,"},
		{"fault: crash\n" + plainScenario, "want crash at N|*"},
		{"fault: crash at noon\n" + plainScenario, `operation "noon"`},
		{"fault: crash at 0\n" + plainScenario, `operation "0"`},
		{"fault: crash at 3 kept\n" + plainScenario, "want crash at N|*"},
		{"fault: crash at 3 kept 101\n" + plainScenario, "kept 101: want 0 to 100"},
		{"fault: crash at 3 sideways\n" + plainScenario, "want crash at N|*"},
		{"fault: corrupt\n" + plainScenario, "want corrupt NAME OFFSET"},
		{"fault: corrupt A -1\n" + plainScenario, "want 0 or more"},
		{"fault: truncate A\n" + plainScenario, "want truncate NAME SIZE"},
		{"fault: delete\n" + plainScenario, "want delete NAME"},
		{"fault: delete A when asleep\n" + plainScenario, "want one of before, prepared, pending, crashed"},
		{"fault: offline now\n" + plainScenario, "want nothing behind offline"},
		{"fault: offline when before\n" + plainScenario, "when is for faults that change files"},
		{"fault: fails 3 when before\n" + plainScenario, "when is for faults that change files"},
		{"fault: put A\n" + plainScenario, "want put NAME TEXT"},
		{"fault: link A\n" + plainScenario, "want link NAME TARGET"},
		{"fault: mode A 999\n" + plainScenario, "invalid syntax"},
		{"fault: full much\n" + plainScenario, "invalid syntax"},
		{"fault: fails 0\n" + plainScenario, "0: want 1 to 10"},
		{"fault: clock fast\n" + plainScenario, "invalid syntax"},
		{"fault: fail write A EWHAT\n" + plainScenario, "error EWHAT: there are 112,"},
		{"fault: fail burn A EIO\n" + plainScenario, "burn is no operation"},
		{"fault: fail write A EIO nth\n" + plainScenario, "want nth N or times N"},
		{"fault: fail write A EIO nth 0\n" + plainScenario, "want a number from 1"},
		{"expect: \"new\n" + plainScenario, "invalid syntax"},
		{plainScenario + "-- elsewhere/x --\n", "a.txtar:12: \"elsewhere/x\": want a name below old/, new/, player/ or disk/"},
		{plainScenario + "-- player/../x --\n", "leads out of the folder"},
		{plainScenario + "-- player --\n", "leads out of the folder, or to none"},
		{plainScenario + "-- --\n", "declares no"},
		{plainScenario + "-- old/Lathe.so --\n", "is declared twice, first in line 2"},
		{plainScenario + "-- old/x.txt --\n", "a.txtar:12: old/x.txt is no file of a release"},
		{plainScenario + "-- old/Resources/l link=A.zip --\n", "a release has no links"},
		{plainScenario + "-- disk/notes.txt --\n", "notes.txt is below player/ and below disk/"},
		{plainScenario + "-- new/Resources/B.zip size=1 --\ntext\n", "has a size and a text"},
		{plainScenario + "-- new/Resources/B.zip size=300M --\n", "more than 100000 files or 268435456 bytes"},
		{plainScenario + "-- new/Resources/B.zip size=-1 --\n", "want 0 or more"},
		{plainScenario + "-- new/Resources/B.zip colour=red --\n", "there are size=, count="},
		{plainScenario + "-- new/Resources/B.zip mode=9 --\n", "invalid syntax"},
		{plainScenario + "-- new/Resources/B.zip hex --\nxyz\n", "invalid byte"},
		{plainScenario + "-- new/Resources/B.zip count=3 --\n", "go together"},
		{plainScenario + "-- new/Resources/%d.zip --\n", "go together"},
		{plainScenario + "-- new/Resources/%d.zip count=0 --\n", "want 1 to 100000"},
		{plainScenario + "-- new/Resources/{x.zip --\n", "want {text*N}"},
		{plainScenario + "-- new/Resources/{x*0}.zip --\n", "with N from 1 to 1000"},
		{plainScenario + "-- \"new/Resources/B.zip --\n", "want a name, in quotes"},
		{"-- old/Lathe.so --\n", "a.txtar: declares no old or no new set"},
		{"-- new/Lathe.so --\n", "a.txtar: declares no old or no new set"},
	}
	for _, test := range tests {
		s, err := parse("a.txtar", []byte(test.text))
		if test.want == "declares no" { // an empty name is no file: the line is text
			if err != nil || !strings.Contains(string(s.sides["player"]["notes.txt"].data), "-- --") {
				t.Errorf("%q: %v", test.text, err)
			}
			continue
		}
		var wrong *textError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v\nwant %q", strings.Replace(test.text, plainScenario, "…", 1), err, test.want)
		}
	}
}

func TestParseFolders(t *testing.T) {
	s, err := parse("dir/all.txtar", []byte(`# What it is about
# and more
module: Game.dll
begin: planted
judge: resources
verify: yes
runs: 3
directions: back
volumes: exchange
fault: delete "two words.txt" when pending
fault back: clock -30
expect: old-or-new
expect back: recovered any
-- old/Game.dll --
-- old/Game.pdb size=3 repeat=ab --
-- old/Game.dll.pdb hex --
00 ff
0a
-- "old/Resources/two words.zip" size=1k --
-- new/Resources/{ab*3}/%02d.zip count=2 size=10 seed=7 --
-- new/Resources/10.zip mode=444 --
text
-- player/two --
-- disk/link link="a b" --
`))
	if err != nil {
		t.Fatal(err)
	}
	old, now := s.sides["old"], s.sides["new"]
	checks := map[string]bool{
		"name and first comment": s.Name == "all" && s.About == "What it is about",
		"directives":             s.library == "Game.dll" && s.base() == "Game" && s.begin == beginPlanted && s.resources && s.verify && s.runs == 3,
		"places":                 slices.Equal(s.directions, []string{backward}) && slices.Equal(s.volumes, []string{exchanging}),
		"faults":                 len(s.faults) == 2 && s.faults[0].when == whenPending && s.faults[1].direction == backward,
		"expected":               s.expected(forward, expectSet, "") == "old-or-new" && s.expected(forward, expectRecovered, "x") == "x" && s.expected(backward, expectRecovered, "x") == "any",
		"empty":                  len(old["Game.dll"].data) == 0,
		"repeat":                 string(old["Game.pdb"].data) == "aba",
		"hex":                    string(old["Game.dll.pdb"].data) == "\x00\xff\n",
		"size":                   len(old["Resources/two words.zip"].data) == 1024,
		"many":                   len(now["Resources/ababab/00.zip"].data) == 10 && len(now["Resources/ababab/01.zip"].data) == 10,
		"each its own":           string(now["Resources/ababab/00.zip"].data) != string(now["Resources/ababab/01.zip"].data),
		"mode and text":          now["Resources/10.zip"].mode == 0o444 && string(now["Resources/10.zip"].data) == "text\n",
		"link":                   s.sides["disk"]["link"].link == "a b",
	}
	for what, right := range checks {
		if !right {
			t.Errorf("%s: %+v", what, s)
		}
	}
	again, err := parse("x.txtar", []byte("-- old/Resources/same size=9 --\n-- new/Resources/same size=9 --\n-- new/Resources/other size=9 seed=2 --\n"))
	if err != nil || string(again.sides["old"]["Resources/same"].data) != string(again.sides["new"]["Resources/same"].data) {
		t.Errorf("a made-up file differs between old and new: %v", err)
	}
}

func FuzzParseFolders(f *testing.F) {
	f.Add([]byte(plainScenario))
	f.Add([]byte("fault: crash at * kept 0 50\nexpect: recovered any\n" + plainScenario + "-- new/Resources/%03d size=3 count=4 --\n"))
	f.Add([]byte("-- \"a\\n\" x=\"y\" --\n-- old/{{*2}} --\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "count=") && len(text) > 200 {
			return // large on purpose
		}
		s, err := parse("f.txtar", text)
		var wrong *textError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && len(s.sides["new"]) == 0 {
			t.Fatal("accepted without a new set")
		}
	})
}

func TestFolderExamples(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := WriteExamples(dir); err != nil {
		t.Fatal(err)
	}
	found, err := ReadFolder(dir)
	all, errAll := Standard()
	if err != nil || errAll != nil || len(found) != len(all) {
		t.Errorf("%d of %d: %v, %v", len(found), len(all), err, errAll)
	}
	if err := WriteExamples(dir); !errors.Is(err, os.ErrExist) {
		t.Errorf("written over: %v", err)
	}
	for _, name := range []string{"one.txtar", "two.txtar"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("nonsense\n-- new/Lathe.so --\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), "one.txtar:1") || !strings.Contains(err.Error(), "two.txtar:1") {
		t.Errorf("two bad files: %v", err)
	}
	if _, err := ReadFolder(t.TempDir()); err == nil || !strings.Contains(err.Error(), "--write-examples") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := ReadFolder(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was read")
	}
}

// TestScenariosInTheDocs plays the example of docs/QA.md, which must mention every directive, fault and attribute.
func TestScenariosInTheDocs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "QA.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(data), "\n## Scenarios\n")
	if !found {
		t.Fatal("no section about scenarios")
	}
	_, example, _ := strings.Cut(text, "```\n# A pack goes bad")
	example, _, _ = strings.Cut(example, "```")
	s, err := parse("docs.txtar", []byte("# A pack goes bad"+example))
	if err != nil {
		t.Fatal(err)
	}
	if bad, total := played(t, []*Scenario{s}, Options{}); len(bad) > 0 || total != 6 {
		t.Errorf("%d of %d cases: %+v", len(bad), total, bad)
	}
	words := []string{"`size=", "`repeat=", "`count=", "`hex`", "`mode=", "link=", "seed=", "{text*N}"}
	for name := range directives {
		words = append(words, "`"+name+":")
	}
	for name := range faultKinds {
		words = append(words, "`"+name)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("the docs don't tell of %s", word)
		}
	}
}
