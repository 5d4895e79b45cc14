package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"collet/netproto/product"
)

const (
	benchProduct = "bench"
	benchModule  = "Lathe" // the sample game's module, whose name the client of the benches has
	// oldNumber is the release that players have. freshNumber has the new set without a patch, and patchedNumber the same
	// set with one, so that making it is measured apart from packing.
	oldNumber, freshNumber, patchedNumber = 1, 2, 3
)

// shop is a release folder with both versions of one step, published by collet.
type shop struct {
	b    *bench
	step step
	dir  string // everything of the step
	made ran    // making the patch
	took ran    // publishing the new version without one
	cost estimate
	head [patchedNumber + 1]string // path of each release's head
	meta int64                     // bytes of the lists and the head that every update fetches
}

// estimate is what `collet release estimate --json` says.
type estimate struct {
	Patch    int64 `json:"patch"`    // -1 for none, as below
	Expanded int64 `json:"expanded"` // the expanded set patch; 0 from a program that does not know it
	Chunks   int64 `json:"chunks"`
	Whole    int64 `json:"whole"`
	Takes    string
}

// withoutPatch is what a client fetches that is too far behind for a patch.
func (e estimate) withoutPatch() int64 { return min(e.Chunks, e.Whole) }

// best is what a client fetches.
func (e estimate) best() int64 {
	n := e.withoutPatch()
	if e.Patch >= 0 {
		n = min(n, e.Patch)
	}
	if e.Expanded > 0 {
		n = min(n, e.Expanded)
	}
	return n
}

func (s *shop) folder() string { return filepath.Join(s.dir, "release") }

// game is a version's game folder.
func (s *shop) game(version int) string { return filepath.Join(s.dir, "game-"+strconv.Itoa(version)) }

// set is the part of a game folder that is compared.
func (s *shop) set(version int) string { return filepath.Join(s.game(version), "Resources") }

// openShop lays out both versions of a step and publishes them.
func (b *bench) openShop(ctx context.Context, st step) (*shop, error) {
	s := &shop{b: b, step: st, dir: filepath.Join(b.dir, st.name)}
	for version, from := range []string{1: st.old, 2: st.new} {
		if from == "" {
			continue
		}
		if err := lay(from, s.set(version)); err != nil {
			return nil, err
		}
		if err := b.layModule(s.game(version)); err != nil {
			return nil, err
		}
	}
	if err := s.init(ctx); err != nil {
		return nil, err
	}
	if err := s.publishAll(ctx); err != nil {
		return nil, fmt.Errorf("publish %s: %w", st.name, err)
	}
	return s, s.look(ctx)
}

// layModule adds a native module, without which there is no release.
func (b *bench) layModule(game string) error {
	name := hostTarget().LibraryName(benchModule)
	to := filepath.Join(game, "PlatformBinaries", string(hostTarget()), name)
	return copyFile(filepath.Join(b.program("modules"), "release-1", name), to)
}

func hostTarget() product.Target { return product.TargetFor(runtime.GOOS, runtime.GOARCH) }

func (s *shop) target() string { return string(hostTarget()) }

// patchObject is the path of the patch in the release folder.
func (s *shop) patchObject() (string, error) {
	old, err := readHead(s.head[oldNumber])
	if err != nil {
		return "", err
	}
	fresh, err := readHead(s.head[patchedNumber])
	if err != nil {
		return "", err
	}
	ref, found := fresh.PatchFrom(old.Listing.Sum)
	if !found {
		return "", errors.New("the release has no patch from the old one")
	}
	return ref.Path(), nil
}

// collet runs the release tool on the folder.
func (s *shop) collet(ctx context.Context, args ...string) (ran, error) {
	return runProgram(ctx, s.b.program("collet"), append(args, "--dir", s.folder(), "--allow-development")...)
}

// init makes the keys and the folder.
func (s *shop) init(ctx context.Context) error {
	keys := filepath.Join(s.dir, "keys")
	if _, err := runProgram(ctx, s.b.program("collet"), "keys", "init", "--keys", keys, "--development"); err != nil {
		return err
	}
	if _, err := s.collet(ctx, "release", "init", "--keys", keys, "--product", benchProduct); err != nil {
		return err
	}
	_, err := s.collet(ctx, "keys", "export", s.root())
	return err
}

// root is the trusted root of the folder.
func (s *shop) root() string { return filepath.Join(s.dir, "root.json") }

func (s *shop) publish(ctx context.Context, version int, more ...string) (ran, error) {
	args := append([]string{"release", "publish", s.game(version), "--yes", "--keys", filepath.Join(s.dir, "keys"), "--patches", "0"}, more...)
	return s.collet(ctx, args...)
}

// publishAll makes the three releases. A copy of the folder with the first alone is kept for clients that start from it.
func (s *shop) publishAll(ctx context.Context) (err error) {
	if _, err := s.publish(ctx, 1); err != nil {
		return err
	}
	if err := os.CopyFS(s.before(), os.DirFS(s.folder())); err != nil {
		return err
	}
	if s.took, err = s.publish(ctx, 2); err != nil {
		return err
	}
	s.made, err = s.publish(ctx, 2, "--patch-from", strconv.Itoa(oldNumber))
	return err
}

// before is the release folder as it was when only the first release was there.
func (s *shop) before() string { return filepath.Join(s.dir, "release-before") }

// look reads what the folder holds.
func (s *shop) look(ctx context.Context) error {
	read := []string{"--json", "--dir", s.folder()}
	list, _, err := jsonOf[[]estimate](ctx, s.b.program("collet"),
		append([]string{"release", "estimate", strconv.Itoa(oldNumber), strconv.Itoa(patchedNumber)}, read...)...)
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return fmt.Errorf("%d targets are estimated, want one", len(list))
	}
	s.cost = list[0]
	for _, n := range []int{oldNumber, patchedNumber} {
		shown, _, err := jsonOf[[]struct{ Head string }](ctx, s.b.program("collet"), append([]string{"release", "show", strconv.Itoa(n)}, read...)...)
		if err != nil {
			return err
		}
		_, digits, _ := strings.Cut(shown[0].Head, ":")
		s.head[n] = filepath.Join(s.folder(), "releases", digits+".release")
	}
	s.meta, err = s.lists()
	return err
}

// lists is the size of what every update fetches: timestamp, snapshot, targets and the head.
func (s *shop) lists() (sum int64, err error) {
	for _, pattern := range []string{"metadata/timestamp.json", "metadata/*.snapshot.json", "metadata/*.targets.json"} {
		names, err := filepath.Glob(filepath.Join(s.folder(), filepath.FromSlash(pattern)))
		if err != nil || len(names) == 0 {
			return 0, errors.Join(err, fmt.Errorf("the release folder has no %s", pattern))
		}
		n, err := sizeOf(newest(names))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	n, err := sizeOf(s.head[patchedNumber])
	return sum + n, err
}

// newest is the list with the highest number before its first dot.
func newest(names []string) (best string) {
	highest := -1
	for _, name := range names {
		first, _, _ := strings.Cut(filepath.Base(name), ".")
		if n, err := strconv.Atoi(first); err != nil || n > highest {
			best, highest = name, n
		}
	}
	return best
}
