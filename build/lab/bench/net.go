package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// mostOfCurl is what an update may take, in times of curl of the same patch, applying it and syncing the new files.
	mostOfCurl = 1.15
	// netRate is the rate of the links in bytes a second, netQueue what waits before them, as time at that rate.
	netRate  = 50e6 / 8
	netQueue = 100 * time.Millisecond
	netLoss  = 0.01 // each way
	// netTime is how long one run may take; a peer that takes longer counts with this time.
	netTime = 90 * time.Second
	// slowRuns is how often a peer runs over a line with loss, where it takes up to minutes. Ours and curl run as often as
	// elsewhere.
	slowRuns = 1
)

// netLink is a kind of link.
type netLink struct {
	name  string
	delay time.Duration // one way
	loss  float64
}

func wires() []netLink {
	return []netLink{
		{"loopback", 0, 0},
		{"20ms", 10 * time.Millisecond, 0}, {"100ms", 50 * time.Millisecond, 0},
		{"20ms-1%", 10 * time.Millisecond, netLoss}, {"100ms-1%", 50 * time.Millisecond, netLoss},
	}
}

// netLinks are measured unless others are asked for.
var netLinks = []string{"20ms", "100ms", "20ms-1%", "100ms-1%"}

// chooseWires picks links by name, or the usual ones.
func chooseWires(names, usual []string) (chosen []netLink, err error) {
	if len(names) == 0 {
		names = usual
	}
	for _, name := range names {
		before := len(chosen)
		for _, w := range wires() {
			if w.name == name {
				chosen = append(chosen, w)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("no link is called %s", name)
		}
	}
	return chosen, nil
}

// netSteps are measured unless others are asked for.
var netSteps = []string{"native-esbuild-0.28.2", "native-libvips-1.3.4", "loose-three-0.187.0", "loose-monaco-0.57.0", "zipz-phaser-4.2.1"}

// open makes the link; without a delay it is the loopback interface of a space. What crosses the others uses the system's usual
// congestion control, whatever this system has: a peer must not win by the machine that it runs on.
func (w netLink) open(ctx context.Context) (*link, error) {
	if w.delay == 0 {
		house, err := newHouse("")
		if err != nil {
			return nil, err
		}
		return &link{near: house, far: house, nearAddr: loopbackAddr, farAddr: loopbackAddr}, nil
	}
	line, err := startLink(linkOptions{delay: w.delay, rate: netRate, queue: netQueue, loss: w.loss, seed: 1})
	if err != nil {
		return nil, err
	}
	if err := line.pin(ctx, usualCongestion); err != nil {
		line.close()
		return nil, err
	}
	return line, nil
}

// loopbackAddr is the address of both ends of a loopback interface.
var loopbackAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// noLink reports that links can't be made here, which is told and is no fault.
func noLink(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, errors.ErrUnsupported)
}

// overLinks finds the links and the steps of a part that needs links and a web server. Where this machine has neither, that
// is printed, and there are no links.
func (b *bench) overLinks(ctx context.Context, part string, usual, usualSteps []string) (chosen []netLink, steps []step, err error) {
	chosen, err = chooseWires(b.Links, usual)
	if err != nil {
		return nil, nil, err
	}
	line, err := chosen[0].open(ctx)
	if noLink(err) {
		fmt.Fprintf(b.out, "%s: not measured, links need the privileges of root on Linux: %v\n", part, err)
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	line.close()
	if _, err := nginxProgram(); err != nil {
		fmt.Fprintf(b.out, "%s: not measured, nginx is not installed\n", part)
		return nil, nil, nil
	}
	all, err := b.corpus(ctx)
	if err != nil {
		return nil, nil, err
	}
	steps, err = choose(all, b.Steps, b.All, usualSteps)
	return chosen, steps, err
}

// net updates over links with the client's program and with peers, and looks for updates when there are none.
func (b *bench) net(ctx context.Context) error {
	chosen, steps, err := b.overLinks(ctx, "net", netLinks, netSteps)
	if err != nil || len(chosen) == 0 {
		return err
	}
	for _, st := range steps {
		if err := b.netStep(ctx, st, chosen); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
	}
	return b.idle(ctx, chosen)
}

// netStep updates by one step over all links.
func (b *bench) netStep(ctx context.Context, st step, chosen []netLink) error {
	s, err := b.openShop(ctx, st)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	f, err := newFair(ctx, s)
	if err != nil {
		return err
	}
	for _, w := range chosen {
		if err := b.netRace(ctx, f, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// netRace lets all runners update over one link, in turn, and prints the medians.
func (b *bench) netRace(ctx context.Context, f *fair, w netLink) error {
	line, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer line.close()
	stop, err := f.serve(ctx, b, line)
	if err != nil {
		return err
	}
	defer stop()
	defer f.tidy()
	all := f.runners()
	for round := range b.Pairs {
		for _, r := range all {
			if w.loss > 0 && round >= slowRuns && r.peer {
				continue
			}
			took, err := f.run(ctx, line, r)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			r.took = append(r.took, took.Seconds())
		}
	}
	b.printRace(f, w, all)
	return nil
}

// printRace prints one line: our time first, then each other's time and ours as a part of it, pair by pair.
func (b *bench) printRace(f *fair, w netLink, all []*runner) {
	ours := all[0]
	var text strings.Builder
	fmt.Fprintf(&text, "%-24s %-9s patch %d: collet-client %.3f s (%s)", f.shop.step.name, w.name, f.shop.cost.Patch, middle(ours.took), f.means)
	for _, r := range all[1:] {
		var parts []float64
		for i, took := range r.took {
			parts = append(parts, ours.took[i]/took)
		}
		ratio, what := middle(parts), fmt.Sprintf("%s at %s: time, ratio to %s", f.shop.step.name, w.name, r.name)
		most := 1.0
		if !r.peer {
			most = mostOfCurl
		}
		b.ratio(what, ratio)
		fmt.Fprintf(&text, "; %s %.3f s (%.2f, bound %g: %s)", r.name, middle(r.took), ratio, most, b.within(what, ratio, most))
	}
	fmt.Fprintln(b.out, text.String())
}

// fair is one step with all that the runners need: what the server offers, and clients with the old version.
type fair struct {
	shop    *shop
	contest *contest
	web     string // address of the web server on the link, with a slash at its end
	rsync   string // HOST:PORT
	casync  bool
	zsync   bool
	rsyncs  bool
	curl    bool
	log     string // file for nginx's log of requests; none if it is empty
	copies  int
	used    []string // folders of runs
	means   string   // how the last client got its update
}

// www is the folder that the web server offers.
func (f *fair) www() string { return filepath.Join(f.shop.dir, "www") }

// newFair makes what the peers' servers offer.
func newFair(ctx context.Context, s *shop) (*fair, error) {
	c, err := newContest(s.dir, s.set(1), s.set(2))
	if err != nil {
		return nil, err
	}
	f := &fair{shop: s, contest: c}
	if err := f.offer(); err != nil {
		return nil, err
	}
	there, _ := installed([]peer{{name: "curl", needs: []string{"curl"}}, {name: "rsync", needs: []string{"rsync"}},
		{name: "zsync", needs: []string{"zsync", "zsyncmake"}}, {name: "casync", needs: []string{"casync"}}})
	for _, p := range there {
		switch p.name {
		case "curl":
			f.curl = true
		case "rsync":
			f.rsyncs = true
		case "zsync":
			f.zsync = true
			err = commands(ctx, []string{"zsyncmake", "-Z", "-u", "New.bin", "-o", filepath.Join(f.www(), "new.zsync"), c.newFile})
		case "casync":
			f.casync = true
			if _, err = c.casync(ctx, filepath.Join(f.www(), "store")); err == nil {
				err = os.Rename(c.path("new.caibx"), filepath.Join(f.www(), "new.caibx"))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return f, os.Link(c.newFile, filepath.Join(f.www(), "New.bin"))
}

// offer makes the folder of the web server, with the release folder in it.
func (f *fair) offer() error {
	if err := os.MkdirAll(f.www(), 0o755); err != nil {
		return err
	}
	err := os.Symlink(f.shop.folder(), filepath.Join(f.www(), "release"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
