package pack

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"collet/build/pack/bundle"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform/interrupt"
)

// addProgram adds the files of a game that is a program, once for each target, and the build's description.
func (c *composition) addProgram(ctx context.Context, made *composed) error {
	b := made.Build
	if _, there := c.resources[b.Target]; !there {
		list, err := c.gameEntries(ctx, b)
		if err != nil {
			return err
		}
		c.resources[b.Target] = list
	}
	if c.offerOnly {
		return nil
	}
	set, err := c.listing(ctx, b.Target)
	if err != nil {
		return err
	}
	description, err := c.describe(b, set)
	made.payload = append(symbols(b.HostPDBName(), b.HostPDB), description)
	return err
}

// gameEntries are the files of a target's folder, signed where its system has a signer. Executables of all variants have the right to be run.
func (c *composition) gameEntries(ctx context.Context, b Build) ([]bundle.Entry, error) {
	executables := map[string]bool{}
	for _, other := range c.project.Builds() {
		if other.Target == b.Target {
			executables[other.Program] = true
		}
	}
	var list []bundle.Entry
	for _, f := range b.files {
		e := f.entry()
		if executables[f.path] {
			e.Mode = bundle.Program
		}
		wanted, err := c.sign.wants(b.Target, f.from)
		if err == nil && wanted {
			e.From, err = c.signedCopy(ctx, b.Target, f.from)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		list = append(list, e)
	}
	return list, nil
}

// listing is the resources of a target as a release lists them.
func (c *composition) listing(ctx context.Context, target product.Target) (release.Listing, error) {
	var entries []bundle.Entry
	for _, e := range c.client {
		e.Path = strings.TrimPrefix(e.Path, resourcesFolder+"/")
		entries = append(entries, e)
	}
	entries = append(entries, c.resources[target]...)
	files := make([]release.ListedFile, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range entries {
		group.Go(func() error {
			in, size, err := e.Open()
			if err != nil {
				return err
			}
			defer in.Close()
			sum, err := release.SHA256.DigestOf(interrupt.Reader(ctx, in))
			files[i] = release.ListedFile{Path: e.Path, Use: release.UseResource, Size: size, Mode: uint32(e.Mode), Sum: sum}
			return err
		})
	}
	err := group.Wait()
	return release.NewListing(files), err
}

// describe writes the description of a build's program. It has the digest over the resources of the set, so that every release has to prove
// itself.
func (c *composition) describe(b Build, set release.Listing) (bundle.Entry, error) {
	e := bundle.Entry{Path: b.ModuleName(), Mode: bundle.Program, From: filepath.Join(c.dir, binariesFolder, string(b.Target), b.ModuleName())}
	var resources release.Listing
	for _, f := range set {
		if f.Use == release.UseResource {
			resources = append(resources, f)
		}
	}
	sum, err := resources.Digest()
	if err != nil {
		return e, err
	}
	d, err := c.project.launchOf(b)
	if err != nil {
		return e, err
	}
	_, d.Build, _ = strings.Cut(sum.String(), ":")
	text, err := d.Encode()
	if err != nil {
		return e, err
	}
	if err := os.MkdirAll(filepath.Dir(e.From), 0o755); err != nil {
		return e, err
	}
	return e, os.WriteFile(e.From, text, 0o644)
}

// Offer is what a project publishes: a folder that collet release publish takes, without a copy of the game's files.
type Offer struct {
	*bundle.TreeFS
	composition *composition
}

// Offer composes what a project publishes. dir is an empty folder for the files that are made; it has to stay as long as the Offer is used.
// The game's notes, in the folder notes beside the description, belong to it.
func (p *Project) Offer(ctx context.Context, dir string) (*Offer, error) {
	s, err := p.signers(ctx, []job{{target: releaseTarget, format: "folder", all: true}}, false)
	if err != nil {
		return nil, err
	}
	c := newComposition(p, dir, s)
	c.offerOnly = true
	if err := c.fill(ctx, nil); err != nil {
		return nil, err
	}
	tree, err := c.payload()
	if err != nil {
		return nil, err
	}
	notes, err := bundle.Gather(filepath.Join(p.Dir, notesFolder))
	if err == nil {
		tree, err = tree.With(notes.Below(notesFolder)...)
	} else if os.IsNotExist(err) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	files, err := bundle.NewTreeFS(p.Dir, tree)
	return &Offer{files, c}, err
}

// notesFolder has the release notes, as collet release publish wants them.
const notesFolder = "notes"

// Describe writes the descriptions of a target that is a program, and returns their names in the folder. set is the target's set as far as it is
// known.
func (o *Offer) Describe(target string, set release.Listing) ([]string, error) {
	var names []string
	for _, b := range o.composition.builds {
		if string(b.Target) != target || b.Program == "" {
			continue
		}
		e, err := o.composition.describe(b.Build, set)
		if err != nil {
			return nil, err
		}
		e.Path = path.Join(binariesFolder, target, e.Path)
		if err := o.Add(e); err != nil {
			return nil, err
		}
		names = append(names, e.Path)
	}
	return names, nil
}
