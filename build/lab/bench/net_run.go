package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"collet/build/qa/fileset"
	"collet/build/qa/process"
	"collet/platform/interrupt"
)

const (
	webPort   = "8080"
	rsyncPort = "8730"
)

// pin makes everything on the link use one congestion control, at both ends. It is set by route, because a space may not
// choose every algorithm that the system has.
func (l *link) pin(ctx context.Context, algorithm string) error {
	for _, end := range []struct {
		in   *space
		peer netip.Addr
	}{{l.near, l.farAddr}, {l.far, l.nearAddr}} {
		cmd := exec.CommandContext(ctx, "ip", "route", "replace", end.peer.String()+"/32", "dev", "lnk0", "congctl", algorithm)
		if _, err := runIn(end.in, cmd); err != nil {
			return err
		}
	}
	return nil
}

// runIn runs a command in a network to its end and wants exit code 0.
func runIn(in *space, cmd *exec.Cmd) (ran, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	known := forgetPeak()
	began := time.Now()
	err := in.do(cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	r := ran{wall: time.Since(began), out: out.Bytes()}
	if known && cmd.ProcessState != nil {
		r.peak = peakOf(cmd.ProcessState)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w; it printed:\n%s%s", cmd.Path, err, lastOf(out.Bytes()), lastOf(complaint.Bytes()))
	}
	return r, nil
}

// serve starts the servers of a step at the far end of a link.
func (f *fair) serve(ctx context.Context, b *bench, line *link) (stop func(), err error) {
	var started []*process.Process
	stop = func() {
		for _, p := range started {
			p.Stop(stopGrace)
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	host := line.farAddr.String()
	web, err := b.webOptions(f.www(), host+":"+webPort, f.log)
	if err != nil {
		return stop, err
	}
	f.web, f.rsync = "http://"+host+":"+webPort+"/", host+":"+rsyncPort
	all := []struct {
		options process.Options
		address string
	}{{web, host + ":" + webPort}}
	if f.rsyncs {
		options, err := rsyncServer(f.contest.dir, f.rsync, f.contest.newTree)
		if err != nil {
			return stop, err
		}
		all = append(all, struct {
			options process.Options
			address string
		}{options, f.rsync})
	}
	for _, server := range all {
		err := line.far.do(func() error {
			p, err := process.Start(server.options)
			if err == nil {
				started = append(started, p)
			}
			return err
		})
		if err == nil {
			err = line.listens(ctx, server.address)
		}
		if err != nil {
			return stop, fmt.Errorf("%s: %w", server.options.Path, err)
		}
	}
	return stop, nil
}

// listens waits until the far end accepts connections.
func (l *link) listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, listenTime)
	defer cancel()
	for {
		conn, err := l.dial(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if ended := interrupt.Sleep(ctx, lookEvery); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// webOptions are those of nginx on a folder, with a log of requests if log names a file.
func (b *bench) webOptions(root, address, log string) (process.Options, error) {
	program, err := nginxProgram()
	if err != nil {
		return process.Options{}, err
	}
	folder, err := os.MkdirTemp(b.dir, "nginx-")
	if err != nil {
		return process.Options{}, err
	}
	config := filepath.Join(folder, "nginx.conf")
	return process.Options{
		Path: program, Dir: folder, Args: []string{"-p", folder, "-c", config, "-e", filepath.Join(folder, "error.log")},
	}, os.WriteFile(config, nginxConfig(folder, root, address, log), 0o644)
}

// runner is one way to update.
type runner struct {
	name string
	peer bool // not ours in any part
	took []float64
	// ready prepares a new place with the old version and returns the command, what else it takes, and how the result is
	// compared.
	ready func(ctx context.Context, dir string) (race, error)
}

// race is one run that is prepared.
type race struct {
	args  []string
	then  func(ctx context.Context) (time.Duration, error) // what belongs to it behind the command
	check func(ran) error
}

// tidy removes what runs left. That is done at the end of a race: for minutes after thousands of files were removed ext4 takes
// ten times as long to make one where they were, and would measure the order of the runners.
func (f *fair) tidy() {
	for _, dir := range f.used {
		os.RemoveAll(dir) // the folder of the step goes, too
	}
	f.used = nil
}

// run lets a runner update once over the link.
func (f *fair) run(ctx context.Context, line *link, r *runner) (time.Duration, error) {
	f.copies++
	dir := filepath.Join(f.shop.dir, fmt.Sprintf("run-%d", f.copies))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return 0, err
	}
	f.used = append(f.used, dir)
	ready, err := r.ready(ctx, dir)
	if err != nil {
		return 0, err
	}
	if err := syncAll(ctx, dir); err != nil { // what others wrote is not part of the run
		return 0, err
	}
	limited, cancel := context.WithTimeout(ctx, netTime)
	defer cancel()
	// The link is a part of this process, and must not wait for the processors that the programs on it use.
	cmd := exec.CommandContext(limited, "nice", append([]string{"-n", "10"}, ready.args...)...)
	cmd.Dir = dir
	done, err := runIn(line.near, cmd)
	if r.peer && limited.Err() != nil && ctx.Err() == nil {
		return netTime, nil
	}
	if err != nil {
		return 0, err
	}
	if ready.then != nil {
		more, err := ready.then(ctx)
		if err != nil {
			return 0, err
		}
		done.wall += more
	}
	return done.wall, ready.check(done)
}

// runners are ours, curl of the same patch, and the peers that are installed.
func (f *fair) runners() []*runner {
	all := []*runner{{name: "collet-client", ready: f.readyClient}}
	if f.curl && f.shop.cost.Patch >= 0 {
		all = append(all, &runner{name: "curl+apply", ready: f.readyCurl})
	}
	if f.rsyncs {
		all = append(all, &runner{name: "rsync", peer: true, ready: f.readyRsync})
	}
	if f.zsync {
		all = append(all, &runner{name: "zsync", peer: true, ready: f.readyZsync})
	}
	if f.casync {
		all = append(all, &runner{name: "casync", peer: true, ready: f.readyCasync})
	}
	return all
}

// clientArgs are those of the client's program on an install.
func (s *shop) clientArgs(install, url string) []string {
	return []string{
		s.b.program("collet-client"), "--headless", "--json", "--dir", install, "--runtime-name", benchModule,
		"--release", url, "--trusted-root", s.root(), "--proxy", "direct",
	}
}

// install makes a client that has what a release folder offers, from the loopback interface.
func (s *shop) install(ctx context.Context, install, folder string) error {
	if err := os.CopyFS(install, os.DirFS(filepath.Join(s.game(1), "PlatformBinaries", s.target()))); err != nil {
		return err
	}
	address, stop, err := serveHTTP(http.FileServer(http.Dir(folder)))
	if err != nil {
		return err
	}
	args := s.clientArgs(install, "http://"+address)
	r, err := runProgram(ctx, args[0], args[1:]...)
	if err == nil {
		err = isCurrent(r)
	}
	return errors.Join(err, stop())
}

// isCurrent wants a client to have ended with everything in place.
func isCurrent(r ran) error {
	if !strings.Contains(string(r.out), `"outcome":"ResourcesReady"`) {
		return fmt.Errorf("the client did not take the whole set; it printed:\n%s", lastOf(r.out))
	}
	return nil
}

// reported finds how the client got its update, and how much it fetched in all.
var reported = regexp.MustCompile(`"bytes_by_means":\{([^}]*)\},"bytes_fetched":([0-9]+)`)

// parseMeans says how the client got its update, such as: patch, 215 kB fetched.
func parseMeans(printed string) string {
	found := reported.FindStringSubmatch(printed)
	if found == nil {
		return "nothing"
	}
	var names []string
	for _, pair := range strings.Split(found[1], ",") {
		name, _, _ := strings.Cut(strings.TrimPrefix(pair, `"`), `"`)
		names = append(names, name)
	}
	return strings.Join(names, "+") + ", " + found[2] + " bytes fetched"
}

func (f *fair) readyClient(ctx context.Context, dir string) (race, error) {
	install := filepath.Join(dir, "client")
	if err := f.shop.install(ctx, install, f.shop.before()); err != nil {
		return race{}, err
	}
	return race{args: f.shop.clientArgs(install, f.web+"release"), check: func(r ran) error {
		if err := isCurrent(r); err != nil {
			return err
		}
		f.means = parseMeans(string(r.out))
		return sameTree(filepath.Join(install, "Resources"), f.shop.set(2))
	}}, nil
}

// syncAll writes all that the file system of a folder has in memory to its disk.
func syncAll(ctx context.Context, folder string) error {
	_, err := runProgram(ctx, "sync", "--file-system", folder)
	return err
}

// readyCurl fetches the patch, applies it to the old version in another process, and syncs what came out.
func (f *fair) readyCurl(_ context.Context, dir string) (race, error) {
	object, err := f.shop.patchObject()
	if err != nil {
		return race{}, err
	}
	patch, to := filepath.Join(dir, "patch"), filepath.Join(dir, "new")
	return race{
		args: []string{"curl", "--fail", "--silent", "--show-error", "--noproxy", "*", "--output", patch, f.web + "release/" + object},
		then: func(ctx context.Context) (time.Duration, error) {
			a, _, err := child(ctx, append(f.shop.applyArgs(to), "--patch", patch)...)
			if err != nil {
				return 0, err
			}
			began := time.Now()
			err = syncAll(ctx, to)
			return time.Since(began) + time.Duration(a.Seconds*float64(time.Second)), err
		},
		check: func(ran) error { return sameTree(filepath.Join(to, "Resources"), f.shop.set(2)) },
	}, nil
}

func (f *fair) readyRsync(_ context.Context, dir string) (race, error) {
	to := filepath.Join(dir, "tree")
	return race{args: rsyncArgs(f.rsync, to), check: func(ran) error { return sameTree(to, f.contest.newTree) }}, lay(f.contest.oldTree, to)
}

func (f *fair) readyZsync(_ context.Context, dir string) (race, error) {
	out := filepath.Join(dir, "out")
	return race{
		args:  []string{"zsync", "-q", "-i", f.contest.oldFile, "-o", out, f.web + "new.zsync"},
		check: func(ran) error { return fileset.SameFile(out, f.contest.newFile) },
	}, nil
}

func (f *fair) readyCasync(_ context.Context, dir string) (race, error) {
	out := filepath.Join(dir, "out")
	return race{
		args:  []string{"casync", "extract", "--seed=" + f.contest.oldFile, "--store=" + f.web + "store", f.web + "new.caibx", out},
		check: func(ran) error { return fileset.SameFile(out, f.contest.newFile) },
	}, nil
}
