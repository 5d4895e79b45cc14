//go:build linux

package rollout_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"collet/build/testprograms"
	"collet/platform/testlevel"
	"collet/platform/testwait"
	"collet/runtime/program"
)

// Sizes of the trial.
const (
	clients  = 200
	enough   = 12     // players of release 2, so that two crash; of 200, chance gives it to fewer once in forty times
	together = 6      // clients that run at a time
	before   = 20_000 // first starts of release 1 by players who are not here, of which one in a thousand failed
)

// The game: release 1 plays. Release 2 crashes on every tenth install, however often that starts it. Each install leaves its name in a folder.
const (
	goodGame = "#!/bin/sh\nsleep 0.1\nexit 0\n"
	badGame  = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd | tr / _)
if [ ! -e "$TRIAL/$here" ]; then
	number=1
	until mkdir "$TRIAL/number-$number" 2>/dev/null; do number=$((number + 1)); done
	echo $number >"$TRIAL/$here"
fi
read number <"$TRIAL/$here"
[ $((number % 10)) = 2 ] && exit 3
sleep 0.1
exit 0
`
)

// TestTrial: 200 real clients have release 1. Release 2, which crashes for one in ten, is offered to a tenth of them and drives itself. It is held,
// and every client is back on release 1 or plays release 2 without a crash; those that were not offered it never get it.
func TestTrial(t *testing.T) {
	testlevel.Lab(t)
	dir := t.TempDir()
	trial := filepath.Join(dir, "trial")
	for _, number := range []int{1, 2} {
		game := filepath.Join(dir, fmt.Sprintf("game-%d", number))
		script := []string{goodGame, badGame}[number-1]
		d := program.Description{Name: "Lathe", Build: fmt.Sprintf("%02d", number), Program: "bin/game", Ready: program.Ready{Seconds: 60}, Exit: program.Exit{Clean: []int64{0}}}
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(game, "PlatformBinaries", "Linux-x64", "Lathe.program"), string(text), 0o644)
		write(t, filepath.Join(game, "Resources", "bin", "game"), script, 0o755)
		write(t, filepath.Join(game, "Resources", "data"), strings.Repeat(fmt.Sprintf("data of %d\n", number), 1000), 0o644)
	}
	if err := os.Mkdir(trial, 0o755); err != nil {
		t.Fatal(err)
	}
	collet := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), testprograms.Collet(t), args...)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("collet %q: %v\n%s", args, err, said)
		}
		return string(said)
	}
	collet("keys", "init", "--development")
	collet("release", "init", "--product", "lathe", "--allow-development")
	collet("release", "publish", "game-1", "--allow-development", "--yes", "--compatibility", "1")
	collet("keys", "export", "root.json", "--allow-development")

	address := testwait.FreeAddress(t)
	write(t, filepath.Join(dir, "server.toml"), "[Release]\nFolder = \"release\"\n[Operations]\nFigures = \"figures\"\nControlSocket = \"control\"\n[Compat]\nStore = \"compat.db\"\n", 0o644)
	server := start(t, dir, testprograms.Server(t), "--config", "server.toml", "--listen", "127.0.0.1:0", "--http", address)
	testwait.Until(t, func() bool {
		answer, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK || server.ended()
	}, "the server is ready")
	history(t, address)

	// Everybody has release 1.
	play := func(name int) (said string) {
		cmd := exec.CommandContext(t.Context(), testprograms.Client(t), "--headless", "--run", "--kind", "program", "--runtime-name", "Lathe",
			"--dir", filepath.Join(dir, "players", fmt.Sprint(name)), "--release", "http://"+address, "--trusted-root", filepath.Join(dir, "root.json"), "--beacon", "http://"+address+"/beacon")
		cmd.Env = append(os.Environ(), "TRIAL="+trial)
		text, _ := cmd.CombinedOutput() // a game that crashes makes an error; what counts is what is installed
		return string(text)
	}
	all := make([]int, clients)
	for i := range all {
		all[i] = i
	}
	everybody := func(who []int) {
		t.Helper()
		var group errgroup.Group
		group.SetLimit(together)
		for _, i := range who {
			group.Go(func() error { play(i); return nil })
		}
		_ = group.Wait() // no error is possible
	}
	has := func(i int) string {
		data, err := os.ReadFile(filepath.Join(dir, "players", fmt.Sprint(i), "Resources", "data"))
		if err != nil {
			t.Fatalf("player %d: %v\n%s", i, err, play(i))
		}
		return strings.Fields(string(data))[2]
	}
	mkdir := func(i int) {
		if err := os.MkdirAll(filepath.Join(dir, "players", fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		mkdir(i)
	}
	everybody(all)
	for i := range all {
		if has(i) != "1" {
			t.Fatalf("player %d has release %s", i, has(i))
		}
	}

	// Release 2, for a tenth of them.
	collet("release", "publish", "game-2", "--allow-development", "--yes", "--percent", "10")
	reload := func() {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), testprograms.Server(t), "reload", "--control", filepath.Join(dir, "control"))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("reload: %v\n%s", err, said)
		}
	}
	reload()
	rolling := start(t, dir, testprograms.Collet(t), "release", "rollout", "2", "--auto", "--control", "control", "--allow-development", "--steps", "10,100", "--every", "1s", "--stay", "10m",
		"--worse", "10", "--chance-hold", "5", "--propose-kill", "kill") // two crashes of some twenty starts are to be enough
	testwait.Until(t, func() bool { return strings.Contains(rolling.String(), "wait:") }, "the rollout begins")
	everybody(all)
	var offered []int
	find := func(who []int) {
		for _, i := range who {
			if _, err := os.Stat(filepath.Join(trial, strings.ReplaceAll(filepath.Join(dir, "players", fmt.Sprint(i), "Resources", "bin"), "/", "_"))); err == nil {
				offered = append(offered, i)
			}
		}
	}
	find(all)
	for len(offered) < enough { // chance gave the release to few: more players come
		more := []int{len(all)}
		all = append(all, more...)
		mkdir(more[0])
		everybody(more)
		find(more)
	}
	everybody(offered) // who crashed tries again, and goes back
	testwait.Until(t, func() bool { return strings.Contains(rolling.String(), "held") && rolling.ended() }, "the rollout is held")
	t.Logf("%d of %d players were offered release 2\n%s", len(offered), clients, rolling)
	if !strings.Contains(collet("release", "show", "2"), "held") {
		t.Error("the release is offered on")
	}

	// The operator accepts the proposal: no player has release 2 afterwards.
	collet("release", "accept", "kill", "--allow-development")
	reload()
	everybody(all)
	crashed := 0
	for i := range all {
		if has(i) != "1" {
			t.Errorf("player %d has release %s", i, has(i))
		}
		if slices.Contains(offered, i) && strings.Contains(play(i), "exit 30") {
			crashed++
		}
	}
	if len(offered) > clients/5 || crashed > 0 {
		t.Errorf("%d players were offered release 2, %d crash still", len(offered), crashed)
	}
	t.Log(collet("compat", "history", "--control", "control"))
}

// history sends the first starts of players who are not here, from addresses of their own.
func history(t *testing.T, address string) {
	var group errgroup.Group
	group.SetLimit(together)
	for network := range 200 {
		group.Go(func() error {
			from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(network), 1)}
			dialer := &net.Dialer{LocalAddr: from}
			client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: time.Minute}
			defer client.CloseIdleConnections()
			for i := range before / 200 {
				outcome := "confirmed"
				if (network*before/200+i)%1000 == 0 {
					outcome = "failed"
				}
				answer, err := client.Get("http://" + address + "/beacon?1,first,1,0," + outcome + ",Linux-x64,stable,none,0,1")
				if err != nil {
					return err
				}
				answer.Body.Close()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// running is a program that runs, and what it said.
type running struct {
	file string
	over chan struct{}
}

func (r *running) String() string {
	data, _ := os.ReadFile(r.file)
	return string(data)
}

func (r *running) ended() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// start runs a program until the test ends.
func start(t *testing.T, dir, name string, args ...string) *running {
	t.Helper()
	r := &running{filepath.Join(t.TempDir(), "said"), make(chan struct{})}
	out, err := os.Create(r.file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the test looks at what it said
		close(r.over)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.over
		out.Close()
		if t.Failed() {
			t.Log(string(bytes.ToValidUTF8([]byte(r.String()), nil)))
		}
	})
	return r
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
