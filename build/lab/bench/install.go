package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Bounds of first installs.
const (
	mostOfTar      = 1.15 // of the time of curl, zstd, tar and a sync of the same files
	mostOfTarBytes = 1.02 // of the bytes of tar | zstd -19 --long=27
	mostRequests   = 40
	mostInstalling = 160 // MB of 2^20 bytes at the peak of the client
)

// installSteps are the steps whose new versions are installed unless others are asked for: each kind of file, and one pack in
// all its forms.
var installSteps = []string{
	"native-esbuild-0.28.2", "native-libvips-1.3.4", "native-esbuildwasm-0.28.2", "loose-monaco-0.57.0", "zips-monaco-0.57.0", "zipz-monaco-0.57.0",
	"loose-phaser-4.2.1", "zips-phaser-4.2.1", "zipd-phaser-4.2.1", "zipz-phaser-4.2.1", "zip9-phaser-4.2.1", "zip7-phaser-4.2.1", "loose-pyodide-314.0.7",
}

var installLinks = []string{"loopback", "20ms", "100ms"}

// tarFile is the name of the peer's archive on the web server.
const tarFile = "set.tar.zst"

// firstInstall is one row of the table: the new version of a step, installed over one link.
type firstInstall struct {
	step, link     string
	packed         int64     // bytes of the peer's archive
	ours, theirs   []float64 // seconds, in pairs
	fetched        int64     // bytes of all responses to the client; like requests and peak the largest of all runs
	requests       int
	peak           float64 // MB of 2^20 bytes
	means, verdict string
}

// firstInstalls installs versions with the client's program where there is nothing but the client and the module, against
// curl of a tar of the same release that is unpacked while it arrives. The tar has the module, too: so has what the client fetches.
func (b *bench) firstInstalls(ctx context.Context) error {
	links, steps, err := b.overLinks(ctx, "install", installLinks, installSteps)
	if err != nil || len(links) == 0 {
		return err
	}
	var done []*firstInstall
	for _, st := range steps {
		rows, err := b.installStep(ctx, st, links)
		if err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
		done = append(done, rows...)
	}
	b.judgeInstallTwins(done)
	return b.printInstalls(done)
}

// installStep publishes the new version of a step alone, packs the peer's archive, and installs both over all links.
func (b *bench) installStep(ctx context.Context, st step, links []netLink) (rows []*firstInstall, err error) {
	s := &shop{b: b, step: st, dir: filepath.Join(b.dir, st.name)}
	defer os.RemoveAll(s.dir)
	if err := errors.Join(lay(st.new, s.set(1)), b.layModule(s.game(1)), s.init(ctx)); err != nil {
		return nil, err
	}
	if _, err := s.publish(ctx, 1); err != nil {
		return nil, err
	}
	f := &fair{shop: s, log: filepath.Join(s.dir, "requests")}
	if err := f.offer(); err != nil {
		return nil, err
	}
	archive := filepath.Join(f.www(), tarFile)
	packing := `tar --create --sort=name --directory="$1" . | zstd -19 --long=27 -T0 -q -o "$2"`
	if _, err := runProgram(ctx, "sh", "-c", packing, "sh", s.game(1), archive); err != nil {
		return nil, err
	}
	packed, err := sizeOf(archive)
	if err != nil {
		return nil, err
	}
	for _, w := range links {
		row := &firstInstall{step: st.name, link: w.name, packed: packed}
		if err := b.installOver(ctx, f, w, row); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		b.judgeInstall(row)
		fmt.Fprintln(b.out, row)
		rows = append(rows, row)
	}
	return rows, nil
}

// installOver installs pairs over one link. What they installed stays until the step ends: ext4 without a journal makes files slowly for
// minutes after others were removed.
func (b *bench) installOver(ctx context.Context, f *fair, w netLink, row *firstInstall) error {
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
	for range b.Pairs {
		for _, r := range []struct {
			runner
			into *[]float64
		}{
			{runner{name: "collet-client", ready: f.readyFirst(row)}, &row.ours},
			{runner{name: "curl, zstd and tar", ready: f.readyTar}, &row.theirs},
		} {
			took, err := f.run(ctx, line, &r.runner)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			*r.into = append(*r.into, took.Seconds())
		}
	}
	return nil
}

// readyFirst prepares a client that has the module and no other file of the release.
func (f *fair) readyFirst(row *firstInstall) func(ctx context.Context, dir string) (race, error) {
	return func(_ context.Context, dir string) (race, error) {
		install := filepath.Join(dir, "client")
		if err := os.CopyFS(install, os.DirFS(filepath.Join(f.shop.game(1), "PlatformBinaries", f.shop.target()))); err != nil {
			return race{}, err
		}
		if err := os.Truncate(f.log, 0); err != nil { // nginx appends to it
			return race{}, err
		}
		return race{args: f.shop.clientArgs(install, f.web+"release"), check: func(r ran) error {
			if err := isCurrent(r); err != nil {
				return err
			}
			log, err := os.ReadFile(f.log)
			if err != nil {
				return err
			}
			requests, fetched, err := readRequests(string(log))
			if err != nil {
				return err
			}
			row.requests, row.fetched, row.peak = max(row.requests, requests), max(row.fetched, fetched), max(row.peak, r.peak)
			row.means, _, _ = strings.Cut(parseMeans(string(r.out)), ",")
			return sameTree(filepath.Join(install, "Resources"), f.shop.set(1))
		}}, nil
	}
}

// readRequests counts the lines of nginx's log and adds their bytes.
func readRequests(log string) (count int, sum int64, err error) {
	for line := range strings.Lines(log) {
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("log of requests: %w", err)
		}
		count++
		sum += n
	}
	return count, sum, nil
}

// readyTar fetches the archive, unpacks it while it arrives, and syncs the file system.
func (f *fair) readyTar(_ context.Context, dir string) (race, error) {
	to := filepath.Join(dir, "tree")
	const script = `curl --fail --silent --show-error --noproxy '*' "$1" | zstd -d -q --long=27 | tar --extract --directory="$2" && sync --file-system "$2"`
	return race{
		args:  []string{"sh", "-c", script, "sh", f.web + tarFile, to},
		check: func(ran) error { return sameTree(to, f.shop.game(1)) },
	}, os.Mkdir(to, 0o755)
}

// timeRatio is the median of the pairs' ratios.
func (row *firstInstall) timeRatio() float64 {
	var all []float64
	for i, took := range row.theirs {
		all = append(all, row.ours[i]/took)
	}
	return middle(all)
}

func (row *firstInstall) bytesRatio() float64 { return float64(row.fetched) / float64(row.packed) }

// judgeInstall compares one row with its bounds.
func (b *bench) judgeInstall(row *firstInstall) {
	name, missed := "install of "+row.step+" at "+row.link, []string{}
	for _, v := range []struct {
		what         string
		value, bound float64
	}{
		{"time, ratio to tar", row.timeRatio(), mostOfTar}, {"bytes, ratio to tar", row.bytesRatio(), mostOfTarBytes},
		{"requests", float64(row.requests), mostRequests}, {"MB at the peak", row.peak, mostInstalling},
	} {
		b.ratio(name+": "+v.what, v.value)
		if b.within(name+": "+v.what, v.value, v.bound) != "holds" {
			word, _, _ := strings.Cut(v.what, ",")
			missed = append(missed, word)
		}
	}
	row.verdict = "holds"
	if len(missed) > 0 {
		row.verdict = "DOES NOT HOLD: " + strings.Join(missed, ", ")
	}
}

// judgeInstallTwins compares the bytes of deflated packs with those of the same packs stored, if both were installed.
func (b *bench) judgeInstallTwins(all []*firstInstall) {
	stored := map[string]int64{}
	for _, row := range all {
		if rest, is := strings.CutPrefix(row.step, storedKind+"-"); is {
			stored[rest+row.link] = row.fetched
		}
	}
	for _, row := range all {
		kind, rest, _ := strings.Cut(row.step, "-")
		if twin := stored[rest+row.link]; twin > 0 && deflatedKind(kind) {
			b.verdict("install of "+row.step+" at "+row.link+": bytes, ratio to the stored twin", float64(row.fetched)/float64(twin), mostOfTwin, "")
		}
	}
}

// String is what a run prints of a row as soon as it is measured.
func (row *firstInstall) String() string {
	return fmt.Sprintf("install of %s at %s: collet-client %.3f s, %d bytes (%s); curl, zstd and tar %.3f s, %d bytes; %s",
		row.step, row.link, middle(row.ours), row.fetched, row.means, middle(row.theirs), row.packed, row.verdict)
}

// printInstalls prints the table.
func (b *bench) printInstalls(all []*firstInstall) error {
	fmt.Fprintf(b.out, "\nfirst installs, %d pairs; bounds: time %g and bytes %g of tar | zstd -19 --long=27, %d requests, %d MB\n",
		b.Pairs, mostOfTar, mostOfTarBytes, mostRequests, mostInstalling)
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "step\tlink\ts\ttar s\tratio\tbytes\ttar bytes\tratio\trequests\tpeak MB\tverdict\t\n")
	for _, row := range all {
		fmt.Fprintf(w, "%s\t%s\t%.3f\t%.3f\t%.2f\t%d\t%d\t%.3f\t%d\t%.0f\t%s\t\n", row.step, row.link, middle(row.ours), middle(row.theirs), row.timeRatio(),
			row.fetched, row.packed, row.bytesRatio(), row.requests, row.peak, row.verdict)
	}
	return w.Flush()
}
