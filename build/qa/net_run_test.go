package qa_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/build/qa"
	"collet/build/qa/fileset"
	"collet/build/qa/report"
	"collet/platform/testlevel"
)

const (
	oldPack = "the old pack"
	// connectionLost is the exit code of a client whose connection broke.
	connectionLost = 21
)

// newPacks returns the content of both packs, as the fake server sends it.
func newPacks() []byte {
	data := make([]byte, 40_000)
	for i := range data {
		data[i] = byte(i*7 + i/251) // every place differs from its neighbours
	}
	return data
}

// packServer sends the new packs to each connection until the test ends.
func packServer(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { c.Write(newPacks()); c.Close() })
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return listener.Addr().String()
}

// playClient is a client that downloads two packs from a fake server. Some roles break the promise.
func playClient(role string, args []string) int {
	dir := args[slices.Index(args, "--dir")+1]
	first, second := filepath.Join(dir, "Resources", "a.zip"), filepath.Join(dir, "Resources", "b.zip")
	c, err := net.Dial("tcp", args[slices.Index(args, "--server")+1])
	if err != nil {
		return connectionLost
	}
	got, err := io.ReadAll(c)
	half := len(newPacks()) / 2
	if len(got) < len(newPacks()) || err != nil {
		switch role {
		case "halving client": // writes what it has
			os.WriteFile(first, got[:min(len(got), half)], 0o644)
		case "greedy client": // takes a file that is not its own
			os.Remove(filepath.Join(dir, "screenshots", "empty.png"))
		case "stuck client": // never tries again
			os.Mkdir(filepath.Join(dir, ".collet"), 0o755)
		case "false client": // says that all went well
			return 0
		case "hanging client":
			select {}
		}
		fmt.Println("the line broke")
		return connectionLost
	}
	if _, err := os.Stat(filepath.Join(dir, ".collet")); err == nil {
		return 0
	}
	if os.WriteFile(first, got[:half], 0o644) != nil || os.WriteFile(second, got[half:], 0o644) != nil {
		return 28
	}
	return 0
}

// fakeInstall makes an install with this program as its client.
func fakeInstall(t *testing.T) (program, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("not everybody may make symbolic links there")
	}
	dir = t.TempDir()
	program = filepath.Join(dir, "Lathe")
	packs := filepath.Join(dir, "Resources")
	self, err := os.Executable()
	if err = errors.Join(err, os.Mkdir(packs, 0o755), os.Symlink(self, program)); err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(packs, "a.zip"), []byte(oldPack), 0o644), os.WriteFile(filepath.Join(packs, "b.zip"), []byte(oldPack), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return program, dir
}

// fakeLab opens a lab with a client of a role, and a server that sends the new packs.
func fakeLab(t *testing.T, role string, change func(*qa.LabOptions)) (*qa.Lab, error) {
	t.Helper()
	testlevel.Slow(t)
	t.Setenv(roleVariable, role)
	program, dir := fakeInstall(t)
	o := qa.LabOptions{Scratch: t.TempDir(), Subject: qa.Subject{
		Client: program, Install: dir, Server: packServer(t),
	}}
	if change != nil {
		change(&o)
	}
	l, err := qa.OpenLab(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return l, err
}

// fakeNet prepares a Net for a client of a role and one scenario.
func fakeNet(t *testing.T, role, scenario string, slow bool) *qa.Net {
	t.Helper()
	l, err := fakeLab(t, role, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := qa.NewNet(t.Context(), l, []qa.Scenario{scenarioOf(t, scenario)}, slow)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func scenarioOf(t *testing.T, scenario string) qa.Scenario {
	t.Helper()
	s, err := qa.ParseScenario("test.net", []byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// netCases plays all cases.
func netCases(t *testing.T, n *qa.Net) (cases []report.Case) {
	t.Helper()
	err := n.Play(t.Context(), 2, func(done, total int, c report.Case) {
		if cases = append(cases, c); done != len(cases) || total < done {
			t.Errorf("case %d of %d is told as the %d.", len(cases), total, done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// A correct client passes, and each broken one is reported.
func TestNetCatches(t *testing.T) {
	for _, test := range []struct{ role, want string }{
		{"good client", ""},
		{"halving client", "neither the old nor the new set"},
		{"greedy client", "the player's files:\n  screenshots/empty.png: missing"},
		{"stuck client", "the old set is still there"},
		{"false client", "the client ends with exit code 0, want exit code 21"},
		{"hanging client", "did not end within 1s and was killed"},
	} {
		t.Run(test.role, func(t *testing.T) {
			limit := "limit 1m"
			if test.role == "hanging client" {
				limit = "limit 1s"
			}
			n := fakeNet(t, test.role, "fault cut down 25%,75%\nexit 21\n"+limit, false)
			cases := netCases(t, n)
			if len(cases) != 2 || !strings.Contains(n.About(), "40000 bytes down") {
				t.Fatalf("%d cases; %s", len(cases), n.About())
			}
			c := cases[1]
			if want := map[bool]report.State{true: report.OK, false: report.Violation}[test.want == ""]; c.State != want || !strings.Contains(c.Detail, test.want) {
				t.Errorf("%s: %s\nwant %s: %s", c.State, c.Detail, want, test.want)
			}
			if c.Suite != "net" || c.Title() != "test way=down at=75%" || c.Took <= 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// The client meets the faults of the scenario.
func TestNetScenariosReachTheClient(t *testing.T) {
	for _, test := range []struct{ scenario, want string }{
		{"exit 0", "exit code 0 after"},
		{"refuse forever\nexit 21", "and 0 connections, then the old set; the new one after 1 more runs"},
		{"fault black-hole for=10ms\nexit 21", "and 1 connections, then the old set"},
		{"fault cut down 50% connections=2\nexit 0", "then the new set"},
		{"fault stall down 50% for=10ms\nexit 0", "then the new set"},
		{"fault truncate down 39999\nexit 21", "then the old set"},
		{"link delay=100ms\nfault cut up 0\nexit 21", "then the old set"},
		{"link rate=5MB delay=1ms\nfault cut down 99%\nexit 21", "then the old set"},
	} {
		if c := netCases(t, fakeNet(t, "good client", test.scenario, false))[0]; c.State != report.OK || !strings.Contains(c.Detail, test.want) {
			t.Errorf("%q: %s: %s\nwant %s", test.scenario, c.State, c.Detail, test.want)
		}
	}
}

// Conditions that invalidate all cases are errors before the first case.
func TestNetRefuses(t *testing.T) {
	for _, test := range []struct {
		name, want string
		change     func(*qa.LabOptions)
	}{
		{"another new set", "does not lead to the new set", func(o *qa.LabOptions) { o.New = fileset.Set{"x": "y"} }},
		{"no server", "an undisturbed update fails: exit code 21", func(o *qa.LabOptions) { o.Server = "127.0.0.1:1" }},
		{"nothing new", "what the install already has", func(o *qa.LabOptions) {
			err := errors.Join(os.WriteFile(filepath.Join(o.Install, "Resources/a.zip"), newPacks()[:20_000], 0o644),
				os.WriteFile(filepath.Join(o.Install, "Resources/b.zip"), newPacks()[20_000:], 0o644))
			if err != nil {
				t.Fatal(err)
			}
		}},
	} {
		if _, err := fakeLab(t, "good client", test.change); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", test.name, err, test.want)
		}
	}
}

func TestSlowScenariosAreAskedFor(t *testing.T) {
	for slow, want := range map[bool]int{false: 0, true: 6} {
		n := fakeNet(t, "good client", "slow\nfault cut up,down 0,1,2\nexit 0 21", slow)
		if got := len(netCases(t, n)); got != want {
			t.Errorf("slow %v: %d cases, want %d", slow, got, want)
		}
	}
}
