package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"collet/build/qa/fileset"
	"collet/build/qa/process"
)

// contest is one update as the peers get it: as folders, and as single files for those that know only files.
type contest struct {
	dir              string // for what they write
	oldTree, newTree string
	oldFile, newFile string
	size             int64 // of newFile

	// web starts a web server of a folder, whose address ends in a slash.
	web func(ctx context.Context, folder string) (address string, stop func(), err error)
}

// peer is a program that brings an old version to a new one.
type peer struct {
	name  string
	needs []string // programs
	most  int64    // bytes of the largest file that it is run on unless everything is asked for; 0 for any
	bytes func(ctx context.Context, c *contest) (int64, error)
}

// peers are measured where they are installed. Each makes the new version again, and what it makes is compared.
func peers() []peer {
	return []peer{
		{"bsdiff", []string{"bsdiff", "bspatch"}, 32 << 20, byBsdiff}, // 17 bytes of memory and 1 µs for each byte
		{"xdelta3", []string{"xdelta3"}, 0, byXdelta},
		{"zstd-19", []string{"zstd"}, 0, byZstd},
		{"casync", []string{"casync"}, 0, byCasync},
		{"rsync -z", []string{"rsync"}, 0, byRsync},
		{"zsync", []string{"zsync", "zsyncmake", "nginx"}, 0, byZsync},
	}
}

// installed tells those that can be run from those that can't.
func installed(all []peer) (there []peer, missing []string) {
	for _, p := range all {
		lacks := ""
		for _, program := range p.needs {
			look := exec.LookPath
			if program == "nginx" {
				look = func(string) (string, error) { return nginxProgram() }
			}
			if _, err := look(program); err != nil {
				lacks = program
			}
		}
		if lacks == "" {
			there = append(there, p)
		} else {
			missing = append(missing, p.name)
		}
	}
	return there, missing
}

// newContest makes the single files and a folder for the peers.
func newContest(dir, oldTree, newTree string) (*contest, error) {
	c := &contest{dir: filepath.Join(dir, "peers"), oldTree: oldTree, newTree: newTree}
	err := os.MkdirAll(c.dir, 0o755)
	if err == nil {
		c.oldFile, err = bundle(oldTree, c.path("old.tar"))
	}
	if err == nil {
		c.newFile, err = bundle(newTree, c.path("new.tar"))
	}
	if err == nil {
		c.size, err = sizeOf(c.newFile)
	}
	return c, err
}

func (c *contest) path(name string) string { return filepath.Join(c.dir, name) }

// commands runs one program after the other.
func commands(ctx context.Context, all ...[]string) error {
	for _, args := range all {
		if _, err := runProgram(ctx, args[0], args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// patched makes a patch, applies it, compares, and returns the patch's size.
func (c *contest) patched(ctx context.Context, name string, do func(patch, out string) [][]string) (int64, error) {
	patch, out := c.path(name+".patch"), c.path(name+".out")
	defer os.Remove(out)
	if err := commands(ctx, do(patch, out)...); err != nil {
		return 0, err
	}
	if err := fileset.SameFile(out, c.newFile); err != nil {
		return 0, err
	}
	return sizeOf(patch)
}

func byBsdiff(ctx context.Context, c *contest) (int64, error) {
	return c.patched(ctx, "bsdiff", func(patch, out string) [][]string {
		return [][]string{{"bsdiff", c.oldFile, c.newFile, patch}, {"bspatch", c.oldFile, out, patch}}
	})
}

func byXdelta(ctx context.Context, c *contest) (int64, error) {
	old, err := sizeOf(c.oldFile)
	if err != nil {
		return 0, err
	}
	window := strconv.FormatInt(max(old, 1<<20), 10)
	return c.patched(ctx, "xdelta3", func(patch, out string) [][]string {
		return [][]string{
			{"xdelta3", "-e", "-9", "-f", "-B", window, "-s", c.oldFile, c.newFile, patch},
			{"xdelta3", "-d", "-f", "-B", window, "-s", c.oldFile, patch, out},
		}
	})
}

// byZstd uses a window over the old and the new file.
func byZstd(ctx context.Context, c *contest) (int64, error) {
	old, err := sizeOf(c.oldFile)
	if err != nil {
		return 0, err
	}
	const least, most = 20, 31 // what zstd takes for the logarithm of a window
	window := fmt.Sprintf("--long=%d", min(max(bits.Len64(uint64(old+c.size)), least), most))
	return c.patched(ctx, "zstd", func(patch, out string) [][]string {
		return [][]string{
			{"zstd", "-q", "-f", "-19", window, "--patch-from=" + c.oldFile, c.newFile, "-o", patch},
			{"zstd", "-q", "-f", "-d", window, "--patch-from=" + c.oldFile, patch, "-o", out},
		}
	})
}

// byCasync counts the chunks that the store gets for the new version, and its index.
func byCasync(ctx context.Context, c *contest) (int64, error) {
	store := c.path("store")
	was, err := c.casync(ctx, store)
	if err != nil {
		return 0, err
	}
	now, err := bytesBelow(store)
	if err != nil {
		return 0, err
	}
	index, err := sizeOf(c.path("new.caibx"))
	if err != nil {
		return 0, err
	}
	out := c.path("casync.out")
	defer os.Remove(out)
	if err := commands(ctx, []string{"casync", "extract", "--store=" + store, c.path("new.caibx"), out}); err != nil {
		return 0, err
	}
	return now - was + index, fileset.SameFile(out, c.newFile)
}

// casync puts both versions into a store and returns how large it was with the first alone.
func (c *contest) casync(ctx context.Context, store string) (first int64, err error) {
	if err := commands(ctx, []string{"casync", "make", "--store=" + store, c.path("old.caibx"), c.oldFile}); err != nil {
		return 0, err
	}
	if first, err = bytesBelow(store); err != nil {
		return 0, err
	}
	return first, commands(ctx, []string{"casync", "make", "--store=" + store, c.path("new.caibx"), c.newFile})
}

// bytesBelow is the size of all files of a folder.
func bytesBelow(folder string) (sum int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// rsyncServer writes the settings of a server of one folder, called new.
func rsyncServer(dir, address, folder string) (process.Options, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return process.Options{}, err
	}
	settings := filepath.Join(dir, "rsyncd.conf")
	user := ""
	if os.Getuid() == 0 {
		user = "uid = root\ngid = root\n"
	}
	text := fmt.Sprintf("use chroot = no\nport = %s\naddress = %s\n%s[new]\npath = %s\nread only = yes\n", port, host, user, folder)
	return process.Options{
		Path: "/usr/bin/rsync", Dir: dir, Args: []string{"--daemon", "--no-detach", "--config", settings},
	}, os.WriteFile(settings, []byte(text), 0o644)
}

// rsyncArgs bring a folder up to date from such a server.
func rsyncArgs(address, to string) []string {
	return []string{"rsync", "-rlc", "--no-whole-file", "-z", "--zc=zstd", "--zl=3", "--delete", "--stats", "rsync://" + address + "/new/", to + "/"}
}

// transferred finds what rsync sent and received, with commas between thousands.
var transferred = regexp.MustCompile(`Total bytes (?:sent|received): ([0-9,]+)`)

// parseRsync adds both ways.
func parseRsync(text string) (sum int64, err error) {
	found := transferred.FindAllStringSubmatch(text, -1)
	if len(found) != 2 {
		return 0, fmt.Errorf("rsync did not say what it transferred; it printed:\n%s", text)
	}
	for _, words := range found {
		n, err := strconv.ParseInt(strings.ReplaceAll(words[1], ",", ""), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func byRsync(ctx context.Context, c *contest) (int64, error) {
	address, err := freeAddress()
	if err != nil {
		return 0, err
	}
	options, err := rsyncServer(c.dir, address, c.newTree)
	if err != nil {
		return 0, err
	}
	server, err := process.Start(options)
	if err != nil {
		return 0, err
	}
	defer server.Stop(stopGrace)
	if err := listens(ctx, address, server.Done()); err != nil {
		return 0, fmt.Errorf("rsync: %w", err)
	}
	out := c.path("rsync.out")
	defer os.RemoveAll(out)
	if err := lay(c.oldTree, out); err != nil {
		return 0, err
	}
	args := rsyncArgs(address, out)
	r, err := runProgram(ctx, args[0], args[1:]...)
	if err != nil {
		return 0, err
	}
	if err := sameTree(out, c.newTree); err != nil {
		return 0, err
	}
	return parseRsync(string(r.out))
}

// fetched finds what zsync fetched beside its control file.
var fetched = regexp.MustCompile(`fetched ([0-9]+)`)

func byZsync(ctx context.Context, c *contest) (int64, error) {
	control := c.path("new.zsync")
	if err := commands(ctx, []string{"zsyncmake", "-Z", "-u", "New.bin", "-o", control, c.newFile}); err != nil {
		return 0, err
	}
	if err := os.Link(c.newFile, c.path("New.bin")); err != nil {
		return 0, err
	}
	address, stop, err := c.web(ctx, c.dir)
	if err != nil {
		return 0, err
	}
	defer stop()
	out := c.path("zsync.out")
	defer os.Remove(out)
	r, err := runProgram(ctx, "zsync", "-i", c.oldFile, "-o", out, address+"new.zsync")
	if err != nil {
		return 0, err
	}
	if err := fileset.SameFile(out, c.newFile); err != nil {
		return 0, err
	}
	found := fetched.FindSubmatch(r.out)
	if found == nil {
		return 0, fmt.Errorf("zsync did not say what it fetched; it printed:\n%s", lastOf(r.out))
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return 0, err
	}
	index, err := sizeOf(control)
	return n + index, err
}

// serveHTTP is a web server on the loopback interface. stop ends it.
func serveHTTP(handler http.Handler) (address string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server, ended := &http.Server{Handler: handler}, make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return listener.Addr().String(), func() error {
		err := server.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}
