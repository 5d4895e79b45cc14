// Command bench measures what Collet promises about speed and memory, and prints each number with its bound:
//
//	frame    time from starting the client to the first pixel of its splash, against the least Fyne program that shows
//	         the same picture; medians of interleaved runs; the ratio is at most 1.15
//	opens    how many files of the packs' folder an up-to-date start opens among 10 000; at most none
//	memory   how far the client's peak memory while it takes a 2 GB file lies above its idle, and the same for the
//	         server in disk mode; at most 64 MB each
//	loopback speed of a large file from the server's disk into a file, against curl from nginx with sendfile; at least
//	         0.85 of it; and the server's processor time for each byte, at most 1.3 times that of nginx
//	distance the same over a round trip of 100 ms, against one stream of TCP over the same link; at least 0.9 of it
//	lossy    the same over a link of 20 ms that loses one packet of a hundred: with BBR and without it, against one
//	         stream of TCP; it needs the privileges of root
//	delta    bytes of updates between published versions of real modules and packs, against bsdiff, xdelta3, zstd, casync,
//	         rsync and zsync, as far as they are installed; time and memory of making and applying patches; time of
//	         publishing what is unchanged. Every result is compared with the new version byte for byte
//	net      time of such updates over links with delay and loss, by the client's program, against curl of the same patch and
//	         applying it, and against rsync, zsync and casync; and of finding out that there is nothing to do. It needs the
//	         privileges of root
//
//	install  first installs of such versions over loopback and links with delay, by the client's program, against curl of a tar
//	         that zstd -19 packed, unpacking it and a sync: time, bytes, requests, and the client's memory. It needs the
//	         privileges of root
//
//	publish  processor time and bytes of publishing modules, small files and a mixed set for the first time, against zstd -19
//	         of the same files; of publishing it again unchanged, and with one changed file
//
//	remote   pushes of the remote launcher: to a device that behaves like the released one, at most 1 s over loopback and 10 s
//	         over 20 ms; 3000 small files over 20 ms, at most 3 s; a tree of 5000 files and 1 GB over loopback against
//	         rsync, at least 0.3 of its speed, and at most 1.5 of its time when nothing changed; blocks for one changed
//	         byte, at most 2; and a file over a link of 50 ms that loses, reorders and doubles packets, at least 0.5 of one
//	         stream of TCP, which needs the privileges of root
//
// The last five are not among the default: make bench-delta, bench-net, bench-install, bench-publish and bench-remote run them.
//
// Everything runs on the loopback interface, on a virtual screen, in a temporary folder that is removed. Bounds are those
// of the product's promises; exit code 1 says that one does not hold.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// options is the command line.
type options struct {
	Bin  string `default:"bin" type:"path" placeholder:"DIR" help:"Folder of collet-client, collet-server and minimal-splash (default: ${default})."`
	Runs int    `default:"10" placeholder:"N" help:"Runs of each program for the first frame (default: ${default})."`
	Size int64  `default:"2048" placeholder:"MB" help:"Size of the large file for the memory measurement, in MB of 2^20 bytes (default: ${default})."`

	Transfer int64 `default:"1024" placeholder:"MB" help:"Size of the file for loopback and distance, in MB of 2^20 bytes (default: ${default})."`
	Pairs    int   `default:"5" placeholder:"N" help:"Pairs of transfers for loopback and distance (default: ${default})."`
	Quick    bool  `help:"Smaller and fewer transfers for loopback and distance: coarse numbers, soon."`

	Corpus string   `env:"COLLET_CORPUS" type:"path" placeholder:"DIR" help:"Folder of the versions that delta, net, install and publish compare; it is filled if it is empty (default: $$COLLET_CORPUS, or a folder of the user's cache)."`
	Steps  []string `placeholder:"STEP" help:"Steps for delta, net and install, or how their names begin; those of the corpus stand in its files STEPS* (default: some of each kind)."`
	All    bool     `help:"All steps of the corpus, and slow peers on large files, too."`
	Links  []string `placeholder:"LINK" help:"Links for net and install: loopback, 20ms, 100ms, 20ms-1% or 100ms-1% (default: all but loopback for net, those without loss for install)."`

	Save string `type:"path" placeholder:"FILE" help:"Also write the ratios to this file, in the format of Go's benchmarks, for benchstat."`

	Inner applyOptions `embed:""`

	What []string `arg:"" optional:"" enum:"frame,opens,memory,loopback,distance,lossy,delta,net,install,publish,remote" help:"What to measure: ${enum}. Default: all but delta, net, install, publish and remote."`
}

// bench is one run of this program.
type bench struct {
	options
	dir    string // temporary folder for everything
	out    io.Writer
	failed bool
	broken []string // promises that do not hold
	ratios []string // what --save keeps: a line of Go's benchmark format each
}

func main() { os.Exit(run()) }

func run() int {
	var o options
	kong.Parse(&o, kong.Name("bench"), kong.Description("Measures what Collet promises. See the comment of build/lab/bench."))
	if len(o.What) == 0 {
		o.What = []string{"frame", "opens", "memory", "loopback", "distance", "lossy"}
	}
	if o.Quick {
		o.Transfer, o.Pairs = quickSize, quickPairs
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.Inner.Apply != "" {
		if err := o.Inner.run(ctx, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			return 1
		}
		return 0
	}
	b := &bench{options: o, out: os.Stdout}
	if err := b.all(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	if err := b.save(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	for i, text := range b.broken {
		if i == 0 {
			fmt.Fprintln(b.out, "\nwhat does not hold:")
		}
		fmt.Fprintf(b.out, "  %s\n", text)
	}
	if b.failed {
		return 1
	}
	return 0
}

func (b *bench) all(ctx context.Context) (err error) {
	b.dir, err = os.MkdirTemp("", "collet-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	parts := map[string]func(context.Context) error{"frame": b.frame, "opens": b.opens, "memory": b.memory, "loopback": b.loopback, "distance": b.distance, "lossy": b.lossy, "delta": b.delta, "net": b.net, "install": b.firstInstalls, "publish": b.publishing, "remote": b.remote}
	for _, what := range b.What {
		if err := parts[what](ctx); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// program is the path of one of ours.
func (b *bench) program(name string) string { return filepath.Join(b.Bin, name) }

// save writes the ratios to the file that --save names, if it does.
func (b *bench) save() error {
	if b.Save == "" {
		return nil
	}
	return os.WriteFile(b.Save, []byte(strings.Join(b.ratios, "")), 0o644)
}

// ratio keeps a number without a unit: it can be compared with that of another machine, as a time can't.
func (b *bench) ratio(what string, value float64) {
	if !strings.Contains(what, "MB") {
		b.ratios = append(b.ratios, fmt.Sprintf("Benchmark/%s 1 %.4f ratio\n", strings.NewReplacer(" ", "_", ",", "", ":", "").Replace(what), value))
	}
}

// verdict prints a number beside its bound.
func (b *bench) verdict(what string, value, bound float64, unit string) {
	if unit == "" {
		b.ratio(what, value)
	}
	fmt.Fprintf(b.out, "%-42s %8.2f%s   bound %g%s: %s\n", what, value, unit, bound, unit, b.within(what, value, bound))
}

// within says whether a number is at most its bound, and remembers it if not.
func (b *bench) within(what string, value, bound float64) string {
	return b.judge(what, value, bound, value <= bound, "at most")
}

// least says whether a number is at least its bound, and remembers it if not.
func (b *bench) least(what string, value, bound float64) string {
	return b.judge(what, value, bound, value >= bound, "at least")
}

func (b *bench) judge(what string, value, bound float64, holds bool, way string) string {
	if holds {
		return "holds"
	}
	b.failed = true
	b.broken = append(b.broken, fmt.Sprintf("%s: %.3f, bound %g %s", what, value, bound, way))
	return "DOES NOT HOLD"
}
