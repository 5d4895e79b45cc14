package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Bounds of publishing. Whole objects serve repairs and files without a patch; at the default effort they may be larger than by zstd -19,
// because brotli's best quality takes twenty times the time.
const (
	mostPublishing = 0.3  // CPU-seconds for each MB of the mixed set's first publication
	mostWholeBytes = 1.1  // of whole objects, against zstd -19 of the same files
	mostOneFile    = 0.05 // CPU time of publishing one changed file, against the first publication of all
	megabyte       = 1e6
)

// mixedSteps are the steps whose new versions are the mixed set: modules and packs, some 183 MB.
var mixedSteps = []string{
	"native-esbuild-0.28.2", "native-libvips-1.3.4", "native-swc-1.16.22", "loose-three-0.187.0", "loose-cesium-1.145.0", "loose-emoji-16.0.0",
}

// The set of small files: so many, each of at most so many bytes.
const (
	littleFiles    = 1500
	littleFileSize = 16 << 10
)

// publishing measures first publications at each effort against zstd -19 of the same files, then the mixed set unchanged and
// with one changed file.
func (b *bench) publishing(ctx context.Context) error {
	all, err := b.corpus(ctx)
	if err != nil {
		return err
	}
	steps, err := choose(all, b.Steps, false, mixedSteps)
	if err != nil {
		return err
	}
	for _, set := range []struct {
		name string
		lay  func(to string) error
	}{
		{"one module", func(to string) error { return lay(steps[0].new, to) }},
		{"small files", func(to string) error { return laySmall(steps, to) }},
		{"mixed", func(to string) error { return layAll(steps, to) }},
	} {
		if err := b.publishSet(ctx, set.name, set.lay); err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
	}
	return nil
}

// layAll lays out the new versions of steps, each in a folder of its own.
func layAll(steps []step, to string) error {
	for _, s := range steps {
		if err := lay(s.new, filepath.Join(to, s.name)); err != nil {
			return err
		}
	}
	return nil
}

// laySmall lays out small files of the new versions of steps.
func laySmall(steps []step, to string) error {
	count := 0
	for _, s := range steps {
		names, err := filesBelow(s.new)
		if err != nil {
			continue // a module is no folder
		}
		for _, name := range names {
			size, err := sizeOf(filepath.Join(s.new, name))
			if err != nil {
				return err
			}
			if size > littleFileSize || count == littleFiles || strings.HasPrefix(filepath.Base(name), ".") {
				continue
			}
			if err := copyFile(filepath.Join(s.new, name), filepath.Join(to, s.name, name)); err != nil {
				return err
			}
			count++
		}
	}
	return nil
}

// removeCopies leaves one file of each content: a release has it once, and zstd would pack it again.
func removeCopies(folder string) error {
	names, err := filesBelow(folder)
	if err != nil {
		return err
	}
	seen := map[[sha256.Size]byte]bool{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		if seen[sum] {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return err
			}
		}
		seen[sum] = true
	}
	return nil
}

// publishSet publishes one set with each effort, and prints processor time and bytes.
func (b *bench) publishSet(ctx context.Context, name string, layOut func(to string) error) error {
	dir := filepath.Join(b.dir, "publish")
	defer os.RemoveAll(dir)
	game := &shop{b: b, dir: dir}
	if err := errors.Join(layOut(game.set(1)), removeCopies(game.set(1)), b.layModule(game.game(1))); err != nil {
		return err
	}
	peer, packed, size, err := packTree(ctx, game.set(1), filepath.Join(dir, "zstd"))
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n%s, %.1f MB: zstd -19 takes %.3f CPU-s/MB and makes %.2f MB of each file by itself\n", name, size/megabyte, peer.cpu.Seconds()/size*megabyte, packed/megabyte)
	for _, effort := range []string{"fast", "balanced"} {
		s := &shop{b: b, dir: filepath.Join(dir, effort)}
		if err := errors.Join(os.MkdirAll(s.dir, 0o755), s.init(ctx)); err != nil {
			return err
		}
		publish := func() (ran, float64, error) {
			return s.publishGame(ctx, game.game(1), "--effort", effort)
		}
		first, whole, err := publish()
		if err != nil {
			return err
		}
		rate := first.cpu.Seconds() / size * megabyte
		what := fmt.Sprintf("publish %s %s", name, effort)
		fmt.Fprintf(b.out, "%s: %.1f s, %.1f CPU-s, peak %.0f MB, whole objects %.2f MB\n", what, first.wall.Seconds(), first.cpu.Seconds(), first.peak, whole/megabyte)
		b.ratio(what+", CPU against zstd -19", first.cpu.Seconds()/peer.cpu.Seconds())
		fmt.Fprintf(b.out, "%-42s %8.2f\n", what+", CPU to zstd -19", first.cpu.Seconds()/peer.cpu.Seconds())
		if effort != "balanced" {
			continue
		}
		b.verdict(what+", whole bytes to zstd -19", whole/packed, mostWholeBytes, "")
		if name != "mixed" { // its per-file costs or its kind would decide
			fmt.Fprintf(b.out, "%-42s %8.2f s/MB\n", what+", CPU", rate)
		} else {
			b.verdict(what+", CPU", rate, mostPublishing, " s/MB")
			if err := b.publishAgain(game, first, publish); err != nil {
				return err
			}
		}
	}
	return nil
}

// publishAgain publishes a set again: unchanged, and with one changed file.
func (b *bench) publishAgain(game *shop, first ran, publish func() (ran, float64, error)) error {
	still, _, err := publish()
	if err != nil {
		return err
	}
	names, err := filesBelow(game.set(1))
	if err != nil {
		return err
	}
	changed := ""
	for _, name := range names {
		if n, err := sizeOf(filepath.Join(game.set(1), name)); err == nil && n > 100_000 && n < 1_000_000 && filepath.Ext(name) == ".js" {
			changed = filepath.Join(game.set(1), name)
		}
	}
	data, err := os.ReadFile(changed)
	if err == nil {
		err = os.WriteFile(changed, append(data, "// changed\n"...), 0o644)
	}
	if err != nil {
		return err
	}
	one, _, err := publish()
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "unchanged: %.2f CPU-s; one file of %.2f MB changed, with its patch: %.2f CPU-s\n", still.cpu.Seconds(), float64(len(data))/megabyte, one.cpu.Seconds())
	b.verdict("publish unchanged, CPU to the first time", still.cpu.Seconds()/first.cpu.Seconds(), mostOneFile, "")
	b.verdict("publish one changed file, the same", one.cpu.Seconds()/first.cpu.Seconds(), mostOneFile, "")
	return nil
}

// publishGame publishes a game folder and returns the bytes of all whole objects.
func (s *shop) publishGame(ctx context.Context, game string, more ...string) (ran, float64, error) {
	args := append([]string{"release", "publish", game, "--yes", "--json", "--keys", filepath.Join(s.dir, "keys")}, more...)
	r, err := s.collet(ctx, args...)
	if err != nil {
		return r, 0, err
	}
	var summary struct {
		Releases []struct{ Whole float64 }
	}
	err = json.Unmarshal(r.out, &summary)
	if err != nil || len(summary.Releases) != 1 {
		return r, 0, errors.Join(err, fmt.Errorf("%d releases are published, want one", len(summary.Releases)))
	}
	return r, summary.Releases[0].Whole, nil
}

// packTree packs every file of a folder by zstd -19, each by itself and on one core. It returns the sizes of all, packed and not.
func packTree(ctx context.Context, folder, to string) (r ran, packed, size float64, err error) {
	cmd := exec.CommandContext(ctx, "zstd", "-19", "-T1", "-q", "-r", "--output-dir-mirror", to, ".")
	cmd.Dir = folder
	if r, err = runCommand(cmd); err != nil {
		return r, 0, 0, err
	}
	for _, tree := range []struct {
		folder string
		sum    *float64
	}{{to, &packed}, {folder, &size}} {
		names, err := filesBelow(tree.folder)
		if err != nil {
			return r, 0, 0, err
		}
		for _, name := range names {
			n, err := sizeOf(filepath.Join(tree.folder, name))
			if err != nil {
				return r, 0, 0, err
			}
			*tree.sum += float64(n)
		}
	}
	return r, packed, size, nil
}
