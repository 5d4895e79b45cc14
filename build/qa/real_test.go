package qa_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/qa"
	"collet/build/qa/fileset"
	"collet/build/qa/report"
	"collet/netproto/product"
	"collet/platform/testlevel"
)

// fakeRelease writes an install and the next release.
func fakeRelease(t *testing.T) (install, release string) {
	t.Helper()
	root := t.TempDir()
	install, release = filepath.Join(root, "install"), filepath.Join(root, "release")
	for name, text := range map[string]string{
		"install/Game.so": "old module", "install/Resources/a.zip": "old a", "install/Resources/b.zip": "same",
		"install/Game.toml": "[Client]\n",
		"release/Game.so":   "new module", "release/Resources/a.zip": strings.Repeat("new a ", 3000),
		"release/Resources/b.zip": "same", "release/Resources/c.zip": strings.Repeat("c", 40_000),
	} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return install, release
}

// scratch returns a folder in memory if possible: a sync on a busy disk takes longer and proves no more here.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", scratchName())
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// scratchName returns the prefix of the folders of this test program.
func scratchName() string { return fmt.Sprintf("collet-test-%d-", os.Getpid()) }

// openLab opens a lab with the test program as a client of some habits.
func openLab(t *testing.T, habits string, change func(*qa.LabOptions)) (*qa.Lab, error) {
	t.Helper()
	install, release := fakeRelease(t)
	t.Setenv(clientHabits, habits)
	t.Setenv(clientRelease, release)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := qa.LabOptions{
		Subject: qa.Subject{Client: self, Install: install, Server: "nobody:1"},
		Scratch: scratch(t), Limit: time.Minute,
	}
	if !strings.Contains(habits, "brief") {
		if o.New, err = fileset.Read(release); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&o)
	}
	l, err := qa.OpenLab(t.Context(), o)
	if err == nil {
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
				t.Errorf("left in the scratch folder: %v, %v", left, err)
			}
		})
	}
	return l, err
}

func mustOpenLab(t *testing.T, habits string) *qa.Lab {
	t.Helper()
	l, err := openLab(t, habits, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// tried runs Real and returns its cases, which must be numbered in order.
func tried(t *testing.T, l *qa.Lab, o qa.RealOptions) *report.Report {
	t.Helper()
	r := &report.Report{}
	err := qa.Real(t.Context(), l, o, func(done, total int, c report.Case) {
		r.Cases = append(r.Cases, c)
		if done != len(r.Cases) || total < done {
			t.Errorf("case %d of %d is told as the %d.", len(r.Cases), total, done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// details returns the details of the cases that are not ok.
func details(r *report.Report) (all string) {
	for _, c := range r.Cases {
		if c.State != report.OK {
			all += c.Title() + ": " + c.Detail + "\n"
		}
	}
	return all
}

// TestRealPoints stops a correct client and some broken ones at every operation: each broken one must be reported. make test has the
// correct one and the one that is stuck; TestDiskCatches has the one that stops halfway.
func TestRealPoints(t *testing.T) {
	testlevel.Slow(t)
	for i, test := range []struct {
		habits string
		depth  int
		want   string
	}{
		{"brief staging", 2, ""},
		{"halfway", 1, "neither the old nor the new set"},
		{"brief stuck", 1, "the run that only recovers: exit code 28"},
		{"brief tidy-later", 1, "the player's files:\n  screenshots/"},
	} {
		if i%testlevel.Stride(2, 2) > 0 {
			continue
		}
		t.Run(test.habits, func(t *testing.T) {
			r := tried(t, mustOpenLab(t, test.habits), qa.RealOptions{Points: self(t), Depth: test.depth, Seed: 7, Jobs: 4})
			n := r.Count()
			if n.Cases() < 20 || n.Skipped > 0 {
				t.Errorf("%v, want 20 or more, none skipped\n%s", n, details(r))
			}
			if test.want == "" && n.Violations > 0 || test.want != "" && !strings.Contains(details(r), test.want) {
				t.Errorf("%v, want violations that tell %q:\n%s", n, test.want, details(r))
			}
			if test.want != "" && n.OK == 0 {
				t.Error("no point is harmless, so this proves nothing")
			}
		})
	}
}

// TestRealKills kills at random moments; a client that leaves half a set most of the time is reported.
func TestRealKills(t *testing.T) {
	testlevel.Lab(t)
	const kills = 16 // so many that a busy machine does not let all of them come too early or too late
	for _, test := range []struct {
		habits, want string
	}{{"brief pausing", ""}, {"pausing halfway", "neither the old nor the new set"}} {
		t.Run(test.habits, func(t *testing.T) {
			l := mustOpenLab(t, test.habits)
			r := tried(t, l, qa.RealOptions{Kills: kills, Depth: 2, Seed: 3, Jobs: 2})
			for seed := uint64(4); test.want != "" && r.Count().Violations == 0 && seed < 14; seed++ { // other moments
				r = tried(t, l, qa.RealOptions{Kills: kills, Depth: 2, Seed: seed, Jobs: 2})
			}
			if n := r.Count(); n.Cases() != kills || (n.Violations > 0) != (test.want != "") || !strings.Contains(details(r), test.want) {
				t.Errorf("%v\n%s", n, details(r))
			}
			stopped := 0
			for _, c := range r.Cases {
				if at, has := c.Param("at"); !has || at == "" || !strings.HasPrefix(c.Name, "kill after ") {
					t.Errorf("case without a moment: %s", c.Title())
				}
				if strings.Contains(c.Detail, "stopped in run 1 after") {
					stopped++
				}
			}
			if stopped < 3 {
				t.Errorf("only %d of %d kills came before the end", stopped, kills)
			}
		})
	}
}

// TestRealPlays checks that updating runs start the game with its arguments, and recovering ones do not.
func TestRealPlays(t *testing.T) {
	testlevel.Slow(t)
	l, err := openLab(t, "brief", func(o *qa.LabOptions) { o.Run, o.Game = true, []string{"--frames", "3 and more"} })
	if err != nil {
		t.Fatal(err)
	}
	if r := tried(t, l, qa.RealOptions{Kills: 2, Depth: 2}); r.Count().OK != 2 {
		t.Error(details(r))
	}
	if _, err = openLab(t, "brief", func(o *qa.LabOptions) { o.Run = true }); err == nil || !strings.Contains(err.Error(), "exit code 30") {
		t.Errorf("the game got other arguments: %v", err)
	}
}

// TestRealHangs checks that a client that hangs in recovery is killed and reported.
func TestRealHangs(t *testing.T) {
	testlevel.Slow(t)
	l, err := openLab(t, "brief hanging", func(o *qa.LabOptions) { o.Limit = 15 * time.Second })
	if err != nil {
		t.Fatal(err)
	}
	r := tried(t, l, qa.RealOptions{Kills: 1, Depth: 1})
	if r.Count().Violations != 1 || !strings.Contains(details(r), "did not end within 15s and was killed") {
		t.Errorf("%v\n%s", r.Count(), details(r))
	}
}

// TestOpenLabRefuses checks the errors of labs that can prove nothing.
func TestOpenLabRefuses(t *testing.T) {
	testlevel.Slow(t)
	for _, test := range []struct {
		name, habits string
		change       func(*qa.LabOptions)
		want         string
	}{
		{"nothing changes", "lying", nil, "the update changes no file"},
		{"player's files are lost", "tidy", nil, "of 5 files of the player an undisturbed update leaves 3"},
		{"update fails", "good", func(o *qa.LabOptions) { o.Args = []string{"--no-such-flag"} }, "an undisturbed update fails: exit code 2"},
		{"no client", "good", func(o *qa.LabOptions) { o.Client += "-missing" }, "no such file"},
		{"no install", "good", func(o *qa.LabOptions) { o.Install += "-missing" }, "no such file"},
		{"another new set", "good", func(o *qa.LabOptions) { o.New["Game.so"] = "" }, "does not lead to the new set:\n  Game.so: is sha256:"},
		{"bad settings", "good", func(o *qa.LabOptions) {
			name := filepath.Join(o.Install, product.RuntimeBase(o.Client)+".toml")
			if err := os.WriteFile(name, []byte("[Client"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "settings of the client"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var folder string
			l, err := openLab(t, test.habits, func(o *qa.LabOptions) {
				folder = o.Scratch
				if test.change != nil {
					test.change(o)
				}
			})
			if err == nil {
				l.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if left, _ := os.ReadDir(folder); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestRealWithoutPoints checks the error for a client without crash points.
func TestRealWithoutPoints(t *testing.T) {
	testlevel.Slow(t)
	l := mustOpenLab(t, "good")
	deaf := filepath.Join(t.TempDir(), "deaf")
	if err := os.WriteFile(deaf, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := qa.Real(t.Context(), l, qa.RealOptions{Points: deaf}, func(int, int, report.Case) {})
	if err == nil || !strings.Contains(err.Error(), "deaf lists no operations") {
		t.Error(err)
	}
}

// TestRealInterrupted checks that finished cases are reported and interrupted ones are skipped.
func TestRealInterrupted(t *testing.T) {
	testlevel.Slow(t)
	l := mustOpenLab(t, "good")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cases := 0
	err := qa.Real(ctx, l, qa.RealOptions{Kills: 500, Jobs: 2}, func(_, _ int, c report.Case) {
		if cases++; cases == 3 {
			cancel()
		}
		if c.State != report.OK && (ctx.Err() == nil || c.State != report.Skipped) {
			t.Errorf("%s: %s", c.Title(), c.Detail)
		}
	})
	if !errors.Is(err, context.Canceled) || cases < 3 || cases > 20 {
		t.Errorf("%v after %d cases", err, cases)
	}
}
