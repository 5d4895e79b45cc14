package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"collet/build/demo"
)

const (
	manyPacks  = 10_000 // files in the packs' folder
	opensBound = 0      // of them, how many an up-to-date start opens
)

// opens counts the files that an up-to-date start opens in a folder of ten thousand packs.
func (b *bench) opens(ctx context.Context) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		fmt.Fprintln(b.out, "file opens: not measured, strace is not installed")
		return nil
	}
	l, err := b.install(ctx, "opens")
	if err != nil {
		return err
	}
	for i := range manyPacks {
		name := filepath.Join(l.Server(), "Resources", fmt.Sprintf("Many%05d.zip", i))
		if err := os.WriteFile(name, fmt.Appendf(nil, "pack %d", i), 0o644); err != nil {
			return err
		}
	}
	server, address, err := demo.StartServer(ctx, l, 0)
	if err != nil {
		return err
	}
	defer server.Stop(stopGrace)
	start := headless(l, address, nil)
	if err := finish(ctx, start); err != nil { // takes all packs and remembers their digests
		return err
	}
	trace := filepath.Join(b.dir, "opens.trace")
	traced := start
	traced.Path = strace
	traced.Args = append([]string{"-f", "-y", "-qq", "-e", "trace=open,openat,openat2", "-o", trace, start.Path}, start.Args...)
	if err := finish(ctx, traced); err != nil {
		return err
	}
	n, err := countOpens(trace, filepath.Join(l.Client(), "Resources"))
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "up-to-date start with %d files in the packs' folder: %d of them opened, the folder itself %d times, %d opens in all\n",
		manyPacks+2, n.inside, n.folder, n.all)
	b.verdict("packs opened by an up-to-date start", float64(n.inside), opensBound, "")
	return nil
}

// opened finds the folder of a relative name, the name, and the path that the descriptor got, in a line of strace -y such
// as: 17 openat(5</x/client>, "Resources/Core.zip", O_RDONLY) = 6</x/client/Resources/Core.zip>
var opened = regexp.MustCompile(`open(?:at2?)?\((?:[^<"]*<([^>]*)>, )?(?:AT_FDCWD, )?"([^"]*)"`)

// counts are the numbers of the system's calls that open something.
type counts struct {
	inside int // files in the folder
	folder int // the folder itself, to list it or to look at names in it
	all    int
}

// countOpens counts the lines of a trace.
func countOpens(trace, folder string) (n counts, err error) {
	f, err := os.Open(trace)
	if err != nil {
		return n, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		found := opened.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		path := found[2]
		if !filepath.IsAbs(path) {
			path = filepath.Join(found[1], path)
		}
		n.all++
		switch {
		case path == folder:
			n.folder++
		case strings.HasPrefix(path, folder+string(filepath.Separator)):
			n.inside++
		}
	}
	return n, lines.Err()
}
