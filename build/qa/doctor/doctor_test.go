package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/app/install/inspect"
	"collet/platform"
)

// everything lists all files below a folder with mode, time and content.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		fmt.Fprintf(&out, "%s %v %d", name, info.Mode(), info.ModTime().UnixNano())
		if err == nil && info.Mode().IsRegular() {
			var data []byte
			data, err = os.ReadFile(name)
			fmt.Fprintf(&out, " %q", data)
		}
		out.WriteByte('\n')
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDoctor(t *testing.T) {
	tests := []struct {
		name  string
		steps []step
		hash  bool
		story []string
		needs bool
	}{
		{name: "confirmed", steps: []step{installs("old"), installs("new")}, hash: true,
			story: []string{"confirmed: the live set has proven itself", "3 right, 0 wrong", "has nothing to finish", "troubles    none", "no client"}},
		{name: "pending", steps: []step{installs("old"), stops("pending")},
			story: []string{"pending: it has not proven itself yet", "2 files of set sha256:", "2 of them right", "has nothing to finish", "troubles    none"}},
		{name: "prepared", steps: []step{installs("old"), stops("prepared")},
			story: []string{"complete and verified, and not yet live", "place Resources/~B.zip → Resources/B.zip", "set swapped", "mends itself: an update was stopped"}},
		{name: "blocked", steps: []step{installs("old"), stops("failed")},
			story: []string{"rolled-back: an update was taken back", "is held back", "last cause: the test says so"}},
		{name: "damaged journal", steps: []step{installs("old"), spoils(".collet/journal.0", "rubbish"), spoils(".collet/journal.1", "\x00\x00")}, needs: true,
			story: []string{"unknown: the journal is damaged", "NEEDS THE SERVER: no slot of the journal is valid", "(7 bytes, a record that was not written to its end)"}},
		{name: "damaged pack", steps: []step{installs("old"), spoils("Resources/A.zip", "A")}, needs: true,
			story: []string{"1 wrong", "NEEDS THE SERVER: Resources/A.zip: has another size"}},
		{name: "wrong settings", steps: []step{installs("old"), spoils("Lathe.toml", "[Baking")}, needs: true, story: []string{"YOUR HELP: Lathe.toml"}},
		{name: "layout that makes no sense", steps: []step{installs("old"), spoils("Lathe.toml", "Baking.ClientResources = \".collet\"\n")}, story: []string{"inspect"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, _ := fixture(t, test.steps...)
			before := everything(t, dir)
			d, err := Diagnose(t.Context(), Options{Dir: dir, Hash: test.hash})
			var story bytes.Buffer
			if err != nil {
				fmt.Fprint(&story, err)
			} else if err := d.Summary(&story); err != nil {
				t.Fatal(err)
			}
			for _, says := range test.story {
				if !strings.Contains(story.String(), says) {
					t.Errorf("does not say %q:\n%s", says, &story)
				}
			}
			if after := everything(t, dir); after != before {
				t.Errorf("the folder changed:\n%s\nwas\n%s", after, before)
			}
			if err != nil {
				return
			}
			if d.NeedsAttention() != test.needs {
				t.Errorf("needs attention: %t\n%s", d.NeedsAttention(), &story)
			}
			reports(t, d)
		})
	}
}

// reports checks that both forms of the report are complete.
func reports(t *testing.T, d *Diagnosis) {
	t.Helper()
	dir := t.TempDir()
	asText, asJSON := filepath.Join(dir, "report.txt"), filepath.Join(dir, "report.json")
	if err := errors.Join(d.Save(asText), d.Save(asJSON)); err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile(asJSON)
	var again Diagnosis
	if err = errors.Join(err, json.Unmarshal(plain, &again)); err != nil || again.Host != "Lathe" || again.Install.State != d.Install.State {
		t.Errorf("read back: %v, %+v", err, again)
	}
	text, err := os.ReadFile(asText)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Journal\n", "journal.0", "Log, last lines\n  first line\n  last line\n", "mine.txt", "hash cache Cache/hashes", string(plain)} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
}

// TestDoctorWhileItRuns finds a running client and does not disturb it.
func TestDoctorWhileItRuns(t *testing.T) {
	var running *updater
	dir, _ := fixture(t, installs("old"), func(ctx context.Context, u *updater) error {
		fsys, err := platform.OpenDir(u.fsys.Path("."))
		running = &updater{fsys: fsys, module: u.module}
		return errors.Join(err, running.open(ctx))
	})
	d, err := Diagnose(t.Context(), Options{Dir: dir})
	if err != nil || d.Install.Running != inspect.LockHeld || d.NeedsAttention() {
		t.Errorf("%v, %s, %+v", err, d.Install.Running, d.Install.Problems)
	}
	if err := errors.Join(running.dir.Close(), running.fsys.Close()); err != nil {
		t.Error(err)
	}
}

func TestHostsIn(t *testing.T) {
	tests := []struct {
		files []string // those that end in * can be run
		want  []string
	}{
		{nil, nil},
		{[]string{"readme.txt", "Lathe.log"}, nil},
		{[]string{"Lathe*"}, []string{"Lathe"}},
		{[]string{"Lathe.exe"}, []string{"Lathe"}},
		{[]string{"Lathe*", "helper*"}, []string{"Lathe", "helper"}},
		{[]string{"Lathe*", "helper*", "Lathe.toml"}, []string{"Lathe"}},
		{[]string{"Lathe.so.bak"}, []string{"Lathe"}},
		{[]string{"~Lathe.dll", "Lathe.dll-staging"}, []string{"Lathe"}},
		{[]string{"Lathe.program"}, []string{"Lathe"}},
		{[]string{"Lathe.so", "Other.so"}, []string{"Lathe", "Other"}},
		{[]string{"ClientRuntimeHost/Lathe.so.path"}, []string{"Lathe"}},
	}
	for _, test := range tests {
		dir := t.TempDir()
		for _, file := range test.files {
			name, runs := strings.CutSuffix(file, "*")
			name = filepath.Join(dir, filepath.FromSlash(name))
			mode := fs.FileMode(0o644)
			if runs {
				mode = 0o755
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, mode)); err != nil {
				t.Fatal(err)
			}
		}
		fsys, err := platform.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		hosts, err := hostsIn(fsys)
		if got := hosts.names(); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, %v, want %v", test.files, got, err, test.want)
		}
		fsys.Close()
		_, err = Diagnose(t.Context(), Options{Dir: dir})
		var which *WhichHostError
		if unclear := errors.As(err, &which); unclear != (len(test.want) != 1) || unclear && !strings.Contains(err.Error(), "--name") {
			t.Errorf("%v: %v", test.files, err)
		}
		if d, err := Diagnose(t.Context(), Options{Dir: dir, Name: "Chosen"}); err != nil || d.Host != "Chosen" {
			t.Errorf("%v: with a name: %v", test.files, err)
		}
	}
	if _, err := Diagnose(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "nothing")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestDoctorOfAWritableRoot uses the installer's module, and names the other folder.
func TestDoctorOfAWritableRoot(t *testing.T) {
	below, module := fixture(t, installs("old"))
	if err := os.WriteFile(filepath.Join(below, "INSTALLED"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	selector := filepath.Join(data, "ClientRuntimeHost", module+".path")
	if err := errors.Join(os.Mkdir(filepath.Dir(selector), 0o755), os.WriteFile(selector, []byte(filepath.Join(below, module)+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	d, err := Diagnose(t.Context(), Options{Dir: data})
	if err != nil || d.Host != "Lathe" || d.Install.Base != below || !d.Install.Module || d.NeedsAttention() {
		t.Errorf("%v, %+v", err, d)
	}
	t.Setenv("HOME", data)
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("LOCALAPPDATA", data)
	installed, err := Diagnose(t.Context(), Options{Dir: below})
	if err != nil || !strings.HasPrefix(installed.DataAt, data) || filepath.Base(installed.DataAt) != "Lathe" {
		t.Errorf("%v: data at %q", err, installed.DataAt)
	}
}

// TestDoctorOfPackaged reads the data folder from the settings inside the host.
func TestDoctorOfPackaged(t *testing.T) {
	dir, _ := fixture(t, installs("old"))
	data := t.TempDir()
	t.Setenv("HOME", data)
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("LOCALAPPDATA", data)
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("INSTALLED", "")
	filled := func(config string) string {
		return fmt.Sprintf("code###Packaged### %d Turner\n%s#### code", len(config), config)
	}
	for _, test := range []struct{ host, file, packaged, folder, odd string }{
		{"code", "", "", "Lathe", ""},
		{filled(""), "", "Turner", "Turner", ""},
		{filled("Client.GameName = \"The Turner\""), "", "Turner", "The Turner", ""},
		{filled("Client.GameName = \"The Turner\""), "Client.GameName = \"Mine\"", "Turner", "Mine", ""},
		{filled("Client.GameName ="), "", "Turner", "", "packaged settings of Lathe"},
	} {
		put("Lathe", test.host)
		put("Lathe.toml", test.file)
		d, err := Diagnose(t.Context(), Options{Dir: dir, Name: "Lathe"})
		if err != nil || d.Packaged != test.packaged || (test.folder != "") != (d.DataAt != "") || d.DataAt != "" && filepath.Base(d.DataAt) != test.folder || !strings.Contains(d.Odd, test.odd) || (d.Odd == "") != (test.odd == "") {
			t.Errorf("%.60q, %q: %v, packaged as %q, data at %q, odd %q", test.host, test.file, err, d.Packaged, d.DataAt, d.Odd)
		}
	}
}

func TestLogTail(t *testing.T) {
	dir := t.TempDir()
	line := strings.Repeat("x", 100)
	if err := os.WriteFile(filepath.Join(dir, "Lathe.log"), []byte(strings.Repeat(line+"\n", 5000)+"end\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	got := logTail(fsys, "Lathe.log")
	if len(got) != logLines || got[logLines-1] != "end" || got[0] != line {
		t.Errorf("%d lines, last %q", len(got), got[len(got)-1])
	}
	if got := logTail(fsys, "Other.log"); got != nil {
		t.Errorf("a log that is not there: %q", got)
	}
}

// TestTheNextStartOfAMixedSet predicts a verification.
func TestTheNextStartOfAMixedSet(t *testing.T) {
	d := &Diagnosis{Install: inspect.Report{Next: inspect.NextStart{Mixed: []string{"Resources/A.zip"}}}}
	var out bytes.Buffer
	if err := d.Summary(&out); err != nil || !strings.Contains(out.String(), "because the set is no release") || !strings.Contains(out.String(), "asks the player") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestRoomThatIsNotKnownIsNotZero: some file systems do not report their free space.
func TestRoomThatIsNotKnownIsNotZero(t *testing.T) {
	for want, found := range map[string]inspect.Report{
		"0 B free on /games":                 {},
		"unknown how much is free on /games": {FreeUnknown: true},
	} {
		var out bytes.Buffer
		if err := (&Diagnosis{Volume: "/games", Install: found}).Summary(&out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("says %v, without %q:\n%s", err, want, out.String())
		}
	}
}

// TestDoctorOfAGameThatIsAProgram finds the description by its name, and by the settings where it is missing.
func TestDoctorOfAGameThatIsAProgram(t *testing.T) {
	for _, there := range []bool{true, false} {
		dir := t.TempDir()
		for name, text := range map[string]string{"Lathe": "code", "Lathe.toml": "Client.Kind = 'program'", "Lathe.program": "{}"} {
			if name == "Lathe.program" && !there {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Diagnose(t.Context(), Options{Dir: dir})
		if err != nil || d.Install.Names.Library() != "Lathe.program" || d.Install.Module != there {
			t.Errorf("description %t: %v, %+v", there, err, d.Install)
		}
	}
}
