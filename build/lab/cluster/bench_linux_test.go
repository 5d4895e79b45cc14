package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"collet/build/testprograms"
	"collet/netproto/server/operator"
	"collet/platform/testwait"
	"collet/platform/text"
)

// furtherNodes, with three members, are the nodes of BenchmarkVisible.
const furtherNodes = 9

// BenchmarkVisible measures how long it takes from a request for a change at one node until each of twelve nodes shows the change, which all
// of them are asked for every 5 ms. The bound on an idle machine is 1 s for 99 of 100 changes.
func BenchmarkVisible(b *testing.B) {
	names := []string{"a", "b", "c"}
	for i := range furtherNodes {
		names = append(names, fmt.Sprint("d", i))
	}
	h := build(b, names[3:]...)
	h.start(b, names...)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		at := h.nodes[names[i%len(names)]]
		s, err := at.state()
		must(b, err)
		began := time.Now()
		revision, err := at.change(s.Settings.Revision, fmt.Sprint("change ", i))
		must(b, err)
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				for end := began.Add(changeLimit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					if s, err := h.nodes[name].state(); err == nil && s.Settings.Revision >= revision {
						return
					}
				}
				b.Errorf("node %s does not come to revision %d", name, revision)
			})
		}
		all.Wait()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	for name, share := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99, "max-ms": 1} {
		b.ReportMetric(float64(took[min(len(took)-1, int(share*float64(len(took))))].Microseconds())/1000, name)
	}
}

// BenchmarkKills makes 200 changes while members are killed; see TestKills.
func BenchmarkKills(b *testing.B) {
	for b.Loop() {
		changeUnderKills(b, 200)
	}
}

// BenchmarkFloors measures a member alone with ten million floors: how long a restart takes with no page of its files in memory, while the
// system gives it no more than 300 MB for everything, its share of the page cache included. The bound is 5 s. It prints two sizes: of the
// process with the pages of the store's file, which the system takes back as it needs them, and without these.
func BenchmarkFloors(b *testing.B) {
	const (
		accounts = 10_000_000
		limit    = 300_000_000
	)
	h := build(b)
	a := h.nodes["a"]
	h.alone(b, a)
	began := time.Now()
	fill(b, filepath.Join(a.dir, "compat.db"), accounts)
	b.Logf("%d floors written in %.0f s", accounts, time.Since(began).Seconds())
	began = time.Now()
	a.start(b, h.program)
	for founded := false; !founded; time.Sleep(time.Second) { // longer than any test waits: each set becomes a message on the disk
		select {
		case <-a.done:
			b.Fatal("the node ended")
		default:
		}
		_, err := a.state()
		founded = err == nil
	}
	b.Logf("founded in %.0f s", time.Since(began).Seconds())
	a.changeNow(b, "founded")
	limited := limitMemory(b, a, h.program, limit)
	var restarts []float64
	for b.Loop() {
		a.stop(b)
		forgetPages(b, a.dir)
		began := time.Now()
		a.start(b, limited)
		a.serves(b)
		restarts = append(restarts, time.Since(began).Seconds())
	}
	var floor struct{ Floor int32 }
	must(b, a.call("GET", "/api/players/"+account(accounts/2)+"/floor", nil, "", &floor))
	if floor.Floor != 7 {
		b.Errorf("a floor is %d, want 7", floor.Floor)
	}
	a.changeNow(b, "limited")
	slices.Sort(restarts)
	b.ReportMetric(restarts[len(restarts)/2], "restart-s")
	b.ReportMetric(limit/1e6, "limit-MB")
	b.ReportMetric(float64(memory(b, a, "VmHWM"))/1e6, "peak-MB")
	b.ReportMetric(float64(memory(b, a, "RssAnon"))/1e6, "own-MB") // without the pages of the store's file that the system lends
}

// limitMemory is a program that runs the given one, for a node, in a memory control group of its own. It needs root, as the group is made at the top.
func limitMemory(t testing.TB, n *node, program string, limit int) string {
	t.Helper()
	groups, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil { // version 2
		groups, file = "/sys/fs/cgroup", "memory.max"
	}
	group, err := os.MkdirTemp(groups, "collet-floors-")
	must(t, err)
	t.Cleanup(func() {
		n.kill()
		testwait.Until(t, func() bool { return os.Remove(group) == nil }, "the control group stays in use")
	})
	must(t, os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(limit)), 0o644))
	limited := filepath.Join(t.TempDir(), "limited")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/cgroup.procs && exec %s \"$@\"\n", text.ShellWord(group), text.ShellWord(program))
	must(t, os.WriteFile(limited, []byte(script), 0o755))
	return limited
}

// forgetPages takes the pages of all files of a folder out of memory, as after a restart of the machine.
func forgetPages(t testing.TB, folder string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(name string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		return errors.Join(file.Sync(), unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED))
	}))
}

// alone makes a cluster of one member of a node's settings.
func (h *house) alone(t testing.TB, n *node) {
	t.Helper()
	name := filepath.Join(n.dir, "server.toml")
	text, err := os.ReadFile(name)
	must(t, err)
	before, after, _ := strings.Cut(string(text), "Peers = [")
	_, after, _ = strings.Cut(after, "\n")
	must(t, os.WriteFile(name, []byte(before+fmt.Sprintf("Peers = [%q]\n", h.members[0])+after), 0o600))
}

func account(i int) string { return fmt.Sprintf("player-%08d", i) }

// fill makes a store with floors.
func fill(t testing.TB, path string, accounts int) {
	t.Helper()
	store, err := operator.OpenStore(path, zerolog.Nop())
	must(t, err)
	defer store.Close()
	sets := map[uint16][]string{}
	for i := range accounts {
		n := operator.SetOf(account(i))
		sets[n] = append(sets[n], account(i))
	}
	var batch []operator.FloorSet
	for n, names := range sets {
		set := operator.FloorSet{Number: n}
		for _, name := range names {
			set = set.With(operator.AccountFloor{Account: name, Floor: 7})
		}
		if batch = append(batch, set); len(batch) == 1024 || len(batch) == len(sets) {
			must(t, store.PutFloorSets(batch, operator.Progress{}))
			batch = nil
		}
	}
	must(t, store.PutFloorSets(batch, operator.Progress{}))
}

// memory is what the system says of a node's memory, in bytes: VmHWM is the largest so far with the pages of the program's file, RssAnon the
// present one without these.
func memory(t testing.TB, n *node, which string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.pid.Load()))
	must(t, err)
	for line := range strings.Lines(string(status)) {
		if text, is := strings.CutPrefix(line, which+":"); is {
			kilobytes, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")))
			must(t, err)
			return kilobytes << 10
		}
	}
	t.Fatal("the system does not say how much memory a process takes")
	return 0
}

// BenchmarkAlone compares a server without [Cluster] with one that is built without the engine (-tags nocluster), in pairs. The bound is 5 %
// more of start and memory.
func BenchmarkAlone(b *testing.B) {
	h := build(b)
	without := testprograms.ServerAlone(b)
	a := h.nodes["a"]
	a.single(b)
	var starts, sizes [2][]float64
	for b.Loop() {
		for i, program := range []string{h.program, without} {
			began := time.Now()
			a.start(b, program)
			a.serves(b)
			starts[i] = append(starts[i], time.Since(began).Seconds())
			sizes[i] = append(sizes[i], float64(memory(b, a, "RssAnon")))
			a.stop(b)
		}
	}
	ratio := func(of [2][]float64) float64 {
		for i := range of {
			slices.Sort(of[i])
		}
		return of[0][len(of[0])/2] / of[1][len(of[1])/2]
	}
	b.ReportMetric(ratio(starts), "start-ratio")
	b.ReportMetric(ratio(sizes), "memory-ratio")
	b.ReportMetric(sizes[0][len(sizes[0])/2]/1e6, "MB")
}
