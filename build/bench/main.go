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
//	lossy    the same over a link of 20 ms that loses one packet of a hundred: with BBR, and over one and over four
//	         connections without it, against one stream of TCP; it needs the privileges of root
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

	What []string `arg:"" optional:"" enum:"frame,opens,memory,loopback,distance,lossy" help:"What to measure: ${enum}. Default: all."`
}

// bench is one run of this program.
type bench struct {
	options
	dir    string // temporary folder for everything
	out    io.Writer
	failed bool
}

func main() { os.Exit(run()) }

func run() int {
	var o options
	kong.Parse(&o, kong.Name("bench"), kong.Description("Measures what Collet promises. See the comment of build/bench."))
	if len(o.What) == 0 {
		o.What = []string{"frame", "opens", "memory", "loopback", "distance", "lossy"}
	}
	if o.Quick {
		o.Transfer, o.Pairs = quickSize, quickPairs
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{options: o, out: os.Stdout}
	if err := b.all(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
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
	parts := map[string]func(context.Context) error{"frame": b.frame, "opens": b.opens, "memory": b.memory, "loopback": b.loopback, "distance": b.distance, "lossy": b.lossy}
	for _, what := range b.What {
		if err := parts[what](ctx); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// program is the path of one of ours.
func (b *bench) program(name string) string { return filepath.Join(b.Bin, name) }

// verdict prints a number beside its bound.
func (b *bench) verdict(what string, value, bound float64, unit string) {
	word := "holds"
	if value > bound {
		word, b.failed = "DOES NOT HOLD", true
	}
	fmt.Fprintf(b.out, "%-42s %8.2f%s   bound %g%s: %s\n", what, value, unit, bound, unit, word)
}
