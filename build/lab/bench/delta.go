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
	"time"
)

// Bounds of the promises about releases.
const (
	mostOfPatch    = 0.75 // of the best peer's bytes, on patch releases of native modules for x86-64
	mostOfPeer     = 1.0  // of the best peer's bytes, on everything else
	mostOfCasync   = 0.9  // of casync's bytes, without a patch
	mostOfTwin     = 1.1  // of the bytes of the same pack stored, for a deflated one
	mostOfZipDiff  = 0.95 // of ZipDiff's bytes, for the same
	leastApply     = 150  // MB of 10^6 bytes that patches make in a second
	leastUnpack    = 300  // the same for whole objects packed with zstd, on one core
	mostApplied    = 64   // MB of 2^20 bytes at the peak of applying
	mostMake       = 120  // seconds for the patch of a module of 100 MB
	mostMakeMemory = 1536 // MB of 2^20 bytes for the same

	// packedInside is the part of the new version, in bytes of the best peer, from which on it is a module that is packed
	// inside, for which a patch is of no use.
	packedInside = 0.9
	// enoughToTime is how many bytes have to come out for a speed to mean something.
	enoughToTime = 8_000_000
	// largeModule is the size in bytes from which on the bounds of making a patch are meant.
	largeModule = 90_000_000
	// peerTime is how long a peer may take for one step.
	peerTime = 10 * time.Minute
	// applyRuns is how often a patch is applied; the median counts.
	applyRuns = 5
)

// publishedFigures are the bytes of HDiffPatch 4.12 (-m -SD -c-zstd-20-24), the best peer of most steps, which no system has a
// package of. They were measured once, on the same versions; WebAssembly with LZMA2, which was smaller.
var publishedFigures = map[string]int64{
	"native-esbuild-0.28.1": 709_732, "native-esbuild-0.28.2": 454_505, "native-libvips-1.3.3": 5_212_167,
	"native-libvips-1.3.4": 791_562, "native-nextswc-16.4.5": 18_720_053, "native-nextswc-16.4.6": 2_917_629,
	"native-swc-1.16.22": 10_032_162, "native-esbuildwin-0.28.2": 509_497, "native-nextswcwin-16.4.5": 3_356_475,
	"native-esbuildwasm-0.28.2": 318_000,
	"loose-three-0.186.1":       431, "loose-three-0.187.0": 220_286, "zips-three-0.187.0": 224_384, "zipd-three-0.187.0": 3_033_785,
	"zipz-three-0.187.0": 3_070_620, "loose-babylon-9.34.0": 29_919, "zips-babylon-9.34.0": 42_019, "zipd-babylon-9.34.0": 756_923,
	"loose-cesium-1.145.0": 1_469_065, "zips-cesium-1.145.0": 1_472_638, "zipd-cesium-1.145.0": 12_415_194,
	"zips-emoji-16.0.0": 60_802_325,
}

// zipDiffFigures are the bytes of ApkDiffPatch's ZipDiff for packs that zlib deflated, which no system has a package of either.
var zipDiffFigures = map[string]int64{"zipz-monaco-0.57.0": 722_000, "zipz-phaser-4.2.1": 37_000}

// result is one line of the table.
type result struct {
	step    step
	size    int64 // of the new version, as one file
	shop    *shop
	peers   map[string]int64
	applies applied
	peak    float64 // of applying
	words   [2]string
}

// bestPeer is the smallest of the peers' bytes, published figures included.
func (r *result) bestPeer() (name string, n int64) {
	for p, bytes := range r.peers {
		if n == 0 || bytes < n {
			name, n = p, bytes
		}
	}
	if figure, known := publishedFigures[r.step.name]; known && (n == 0 || figure < n) {
		name, n = "published", figure
	}
	return name, n
}

// delta publishes every step with collet, applies what came of it, and compares bytes, times and memory with peers.
func (b *bench) delta(ctx context.Context) error {
	all, err := b.corpus(ctx)
	if err != nil {
		return err
	}
	steps, err := choose(all, b.Steps, b.All, usualSteps)
	if err != nil {
		return err
	}
	there, missing := installed(peers())
	if len(missing) > 0 {
		fmt.Fprintf(b.out, "not installed, so not measured: %s\n", strings.Join(missing, ", "))
	}
	var done []*result
	for _, s := range steps {
		r, err := b.deltaStep(ctx, s, there)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		done = append(done, r)
		os.RemoveAll(r.shop.dir) // what stays goes with the whole folder
	}
	b.judgeDelta(done)
	b.judgeTwins(done)
	if err := b.printBytes(done, there); err != nil {
		return err
	}
	if err := b.printWork(done); err != nil {
		return err
	}
	return b.unchanged(ctx)
}

// deltaStep measures one step.
func (b *bench) deltaStep(ctx context.Context, st step, there []peer) (*result, error) {
	s, err := b.openShop(ctx, st)
	if err != nil {
		return nil, err
	}
	c, err := newContest(s.dir, s.set(1), s.set(2))
	if err != nil {
		return nil, err
	}
	c.web = b.web
	r := &result{step: st, size: c.size, shop: s, peers: map[string]int64{}}
	fmt.Fprintf(b.out, "%s: %d bytes, patch %d, expanded %d, without one %d\n", st.name, c.size, s.cost.Patch, s.cost.Expanded, s.cost.withoutPatch())
	if s.cost.Patch >= 0 {
		if r.applies, r.peak, err = b.applies(ctx, s); err != nil {
			return nil, fmt.Errorf("apply the patch: %w", err)
		}
	}
	if err := b.unpacks(ctx, s); err != nil {
		return nil, fmt.Errorf("unpack whole objects: %w", err)
	}
	for _, p := range there {
		if p.most > 0 && c.size > p.most && !b.All {
			fmt.Fprintf(b.out, "  %s is not run on more than %d MB without --all\n", p.name, p.most>>20)
			continue
		}
		n, err := p.run(ctx, c)
		switch {
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			fmt.Fprintf(b.out, "  %s was given up after %v\n", p.name, peerTime)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", p.name, err)
		default:
			r.peers[p.name] = n
			fmt.Fprintf(b.out, "  %s %d\n", p.name, n)
		}
	}
	return r, nil
}

// run lets a peer work for as long as it is given.
func (p peer) run(ctx context.Context, c *contest) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTime)
	defer cancel()
	n, err := p.bytes(ctx, c)
	return n, errors.Join(err, ctx.Err())
}

// web runs nginx on a folder.
func (b *bench) web(ctx context.Context, folder string) (address string, stop func(), err error) {
	program, err := nginxProgram()
	if err != nil {
		return "", nil, err
	}
	p, address, err := b.nginx(ctx, program, folder)
	return address, func() { p.Stop(stopGrace) }, err
}

// child runs this program again with hidden flags.
func child(ctx context.Context, args ...string) (applied, ran, error) {
	self, err := os.Executable()
	if err != nil {
		return applied{}, ran{}, err
	}
	return jsonOf[applied](ctx, self, args...)
}

// applies applies the patch several times, compares what comes out, and returns the median and the highest peak.
func (b *bench) applies(ctx context.Context, s *shop) (middleRun applied, peak float64, err error) {
	var seconds []float64
	for range applyRuns {
		to := filepath.Join(s.dir, "applied")
		a, r, err := child(ctx, s.applyArgs(to)...)
		if err != nil {
			return a, 0, err
		}
		if err := sameTree(filepath.Join(to, "Resources"), s.set(2)); err != nil {
			return a, 0, err
		}
		if err := os.RemoveAll(to); err != nil {
			return a, 0, err
		}
		seconds, peak, middleRun = append(seconds, a.Seconds), max(peak, r.peak), a
	}
	middleRun.Seconds = middle(seconds)
	return middleRun, peak, nil
}

// applyArgs are the hidden flags that apply the patch of a shop into a folder.
func (s *shop) applyArgs(to string) []string {
	return []string{"--apply", s.folder(), "--old-head", s.head[oldNumber], "--new-head", s.head[patchedNumber], "--old-set", s.game(1), "--new-set", to}
}

// unpacks decodes the whole objects on one core, those of each encoding apart. Only zstd has a bound.
func (b *bench) unpacks(ctx context.Context, s *shop) error {
	for _, kind := range []string{"zstd", "brotli"} {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		a, r, err := jsonOf[applied](ctx, "env", "GOMAXPROCS=1", self, "--apply", s.folder(), "--old-head", s.head[oldNumber], "--old-set", s.game(1), "--kind", kind)
		if err != nil {
			return err
		}
		if a.Bytes < enoughToTime {
			continue
		}
		fmt.Fprintf(b.out, "  whole objects, %s: %d, %.0f MB/s on one core, peak %.0f MB\n", kind, a.Objects, rate(a), r.peak)
		if kind == "zstd" {
			b.atLeast(s.step.name+": MB/s of zstd objects", rate(a), leastUnpack)
		}
		if r.peak > 0 {
			b.verdict(s.step.name+": peak of unpacking "+kind, r.peak, mostApplied, " MB")
		}
	}
	return nil
}

// rate is MB of 10^6 bytes in a second.
func rate(a applied) float64 { return float64(a.Bytes) / 1e6 / max(a.Seconds, 1e-9) }

// bound is what our bytes may be of the best peer's, and how it is called. packed says that the module is packed inside.
func (r *result) bound() (most float64, packed bool) {
	_, best := r.bestPeer()
	native := r.step.kind() == "native"
	switch {
	case native && float64(best) >= packedInside*float64(r.size):
		return mostOfPeer, true
	case native && r.step.patchRelease():
		return mostOfPatch, false
	default:
		return mostOfPeer, false
	}
}

// casyncBound is what our bytes without a patch may be of casync's: nothing makes a module smaller that is packed inside.
func (r *result) casyncBound() float64 {
	if _, packed := r.bound(); packed {
		return mostOfPeer
	}
	return mostOfCasync
}

// judgeDelta compares all results with their bounds.
func (b *bench) judgeDelta(all []*result) {
	for _, r := range all {
		_, best := r.bestPeer()
		most, packed := r.bound()
		ours := r.shop.cost.best()
		switch {
		case best == 0:
			r.words[0] = "no peer"
		case packed && r.shop.cost.Patch < 0:
			r.words[0] = "holds (packed inside: whole)"
		default:
			what, ratio := r.step.name+": bytes, ratio to the best peer", float64(ours)/float64(best)
			b.ratio(what, ratio)
			r.words[0] = b.within(what, ratio, most)
		}
		if casync := r.peers["casync"]; casync > 0 {
			what, ratio := r.step.name+": bytes without a patch, ratio to casync", float64(r.shop.cost.withoutPatch())/float64(casync)
			b.ratio(what, ratio)
			r.words[1] = b.within(what, ratio, r.casyncBound())
		}
	}
}

// judgeTwins compares the bytes of deflated packs with those of the same packs stored, if both were measured, and with what is
// known of ZipDiff.
func (b *bench) judgeTwins(all []*result) {
	stored := map[string]int64{}
	for _, r := range all {
		if rest, is := strings.CutPrefix(r.step.name, storedKind+"-"); is {
			stored[rest] = r.shop.cost.best()
		}
	}
	for _, r := range all {
		if !deflatedKind(r.step.kind()) {
			continue
		}
		for _, other := range []struct {
			name  string
			bytes int64
			bound float64
		}{
			{"the stored twin", stored[strings.TrimPrefix(r.step.name, r.step.kind()+"-")], mostOfTwin},
			{"ZipDiff (published figure)", zipDiffFigures[r.step.name], mostOfZipDiff},
		} {
			if other.bytes == 0 {
				continue
			}
			what, ratio := r.step.name+": bytes, ratio to "+other.name, float64(r.shop.cost.best())/float64(other.bytes)
			b.ratio(what, ratio)
			fmt.Fprintf(b.out, "%s: %.3f, bound %g: %s\n", what, ratio, other.bound, b.within(what, ratio, other.bound))
		}
	}
}

// printBytes prints the table of bytes.
func (b *bench) printBytes(all []*result, there []peer) error {
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nstep\tsize\tours\tpatch\tlists+head\tchunks\twhole\t")
	for _, p := range there {
		fmt.Fprintf(w, "%s\t", p.name)
	}
	fmt.Fprint(w, "published hdm\tbest peer\tratio\tbound\tverdict\tno patch/casync\tbound\tverdict\t\n")
	for _, r := range all {
		cost := r.shop.cost
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%d\t%d\t%d\t", r.step.name, r.size, cost.best(), count(cost.Patch), r.shop.meta, cost.Chunks, cost.Whole)
		for _, p := range there {
			fmt.Fprintf(w, "%s\t", count(orNone(r.peers, p.name)))
		}
		name, best := r.bestPeer()
		most, _ := r.bound()
		fmt.Fprintf(w, "%s\t%s\t%s\t%g\t%s\t%s\t%g\t%s\t\n", count(orNone(publishedFigures, r.step.name)), name, quotient(cost.best(), best), most, r.words[0],
			quotient(cost.withoutPatch(), r.peers["casync"]), r.casyncBound(), r.words[1])
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func orNone(values map[string]int64, key string) int64 {
	if n, there := values[key]; there {
		return n
	}
	return -1
}

// count is a number, or a dash for none.
func count(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func quotient(a, b int64) string {
	if b <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", float64(a)/float64(b))
}

// printWork prints what making and applying took.
func (b *bench) printWork(all []*result) error {
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "step\tpublish s\tMB\tmake patch s\tMB\tapply MB/s\tMB made\tpeak MB\tverdict\t\n")
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%.1f\t%.0f\t%.1f\t%.0f\t", r.step.name, r.shop.took.wall.Seconds(), r.shop.took.peak, r.shop.made.wall.Seconds(), r.shop.made.peak)
		fmt.Fprintf(w, "%.0f\t%.1f\t%.0f\t%s\t\n", rate(r.applies), float64(r.applies.Bytes)/1e6, r.peak, b.judgeWork(r))
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// judgeWork compares making and applying with their bounds. Too little output to time has no speed.
func (b *bench) judgeWork(r *result) string {
	var words []string
	if r.applies.Bytes >= enoughToTime {
		words = append(words, "speed "+b.least(r.step.name+": MB/s of applying", rate(r.applies), leastApply))
	}
	if r.peak > 0 {
		words = append(words, "memory "+b.within(r.step.name+": MB at the peak of applying", r.peak, mostApplied))
	}
	if r.step.kind() == "native" && r.size >= largeModule && r.shop.cost.Patch >= 0 {
		words = append(words, "making "+b.within(r.step.name+": seconds of making the patch", r.shop.made.wall.Seconds(), mostMake))
		if r.shop.made.peak > 0 {
			words = append(words, b.within(r.step.name+": MB of making the patch", r.shop.made.peak, mostMakeMemory))
		}
	}
	return strings.Join(words, ", ")
}
