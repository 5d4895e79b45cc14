package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"collet/app/settings"
	"collet/build/pack/bundle"
	"collet/netproto/product"
	"collet/netproto/release"
)

// composition holds the finished input of all packages: every program filled in and signed, every pack written, each once. Packages for
// players and servers contain the same files, so an up-to-date client already has every byte that its server offers.
type composition struct {
	project *Project
	dir     string // of the generated files
	sign    signers
	client  []bundle.Entry // packs for clients, in the order of the description
	server  []bundle.Entry // additional packs for servers
	builds  []composed

	resources  map[product.Target][]bundle.Entry // of targets that are programs, below the folder of resources
	companions map[string]string                 // signed companions, by the path of the unsigned ones
	offerOnly  bool                              // hosts that are not updated, and descriptions of programs, are left out
}

// composed is a build with finished files.
type composed struct {
	Build
	programs []bundle.Entry // files of a player's folder without packs; empty for a build without a host
	payload  []bundle.Entry // the server's part: module, symbols, and the host if it is updated; by name
}

// compose fills an empty folder. wanted selects the targets; nil is all.
func (p *Project) compose(ctx context.Context, dir string, wanted func(product.Target) bool, s signers) (*composition, error) {
	c := newComposition(p, dir, s)
	return c, c.fill(ctx, wanted)
}

func newComposition(p *Project, dir string, s signers) *composition {
	return &composition{project: p, dir: dir, sign: s, resources: map[product.Target][]bundle.Entry{}, companions: map[string]string{}}
}

func (c *composition) fill(ctx context.Context, wanted func(product.Target) bool) error {
	if err := c.writePacks(ctx); err != nil {
		return err
	}
	for _, b := range c.project.Builds() {
		if wanted != nil && !wanted(b.Target) {
			continue
		}
		made, err := c.build(ctx, b)
		if err != nil {
			return fmt.Errorf("%s for %s: %w", b.Base, b.Target, err)
		}
		c.builds = append(c.builds, made)
	}
	return nil
}

func (c *composition) writePacks(ctx context.Context) error {
	for _, p := range c.project.Resources.Packs {
		out := filepath.Join(c.dir, filepath.FromSlash(p.path()))
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}
		if err := p.Write(ctx, out, nil); err != nil {
			return err
		}
		e := bundle.Entry{Path: p.path(), Mode: bundle.Plain, From: out}
		if p.ServerOnly {
			c.server = append(c.server, e)
		} else {
			c.client = append(c.client, e)
		}
	}
	return nil
}

// build makes the programs of one build. Host and module both get executable mode, because an update may replace the module by a program
// that is run.
func (c *composition) build(ctx context.Context, b Build) (composed, error) {
	made := composed{Build: b}
	folder := filepath.Join(c.dir, binariesFolder, string(b.Target))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return made, err
	}
	if b.Program != "" {
		if err := c.addProgram(ctx, &made); err != nil {
			return made, err
		}
	} else {
		module, err := c.program(ctx, program{Build: b, from: b.Module, to: filepath.Join(folder, b.ModuleName()), pdb: b.ModulePDB, symbols: b.ModulePDBName()})
		if err != nil {
			return made, fmt.Errorf("module: %w", err)
		}
		made.payload = append(made.payload, symbols(b.ModulePDBName(), b.ModulePDB)...)
		made.payload = append(append(made.payload, symbols(b.HostPDBName(), b.HostPDB)...), module)
	}
	updated, err := updatesHost(b)
	if err != nil || b.Host == "" || c.offerOnly && !updated {
		return made, err
	}
	host, err := c.program(ctx, program{Build: b, from: b.Host, to: filepath.Join(c.dir, string(b.Target), b.Base, b.HostName()), pdb: b.HostPDB, symbols: b.HostPDBName(), host: true})
	if err != nil {
		return made, fmt.Errorf("host: %w", err)
	}
	made.programs = append([]bundle.Entry{host}, made.payload...)
	if updated {
		made.payload = append(made.payload, host)
	}
	for _, from := range b.Companions {
		e, err := c.companion(ctx, b, from)
		if err != nil {
			return made, fmt.Errorf("companion: %w", err)
		}
		made.programs = append(made.programs, e)
	}
	return made, nil
}

// updatesHost reports whether the clients of a build also update their program from servers.
func updatesHost(b Build) (bool, error) {
	set, err := settings.Parse("the packed settings", b.Config)
	return set.Update.Host, err
}

// symbols returns the symbols file under the name that its program records; empty without symbols.
func symbols(name, from string) []bundle.Entry {
	if from == "" {
		return nil
	}
	return []bundle.Entry{{Path: name, Mode: bundle.Plain, From: from}}
}

// companion returns another file beside the host, signed if required. Builds share a signed companion.
func (c *composition) companion(ctx context.Context, b Build, from string) (bundle.Entry, error) {
	e := bundle.Entry{Path: filepath.Base(from), Mode: bundle.Plain, From: from}
	if info, err := os.Stat(from); err != nil {
		return e, err
	} else if info.Mode()&0o111 != 0 {
		e.Mode = bundle.Program
	}
	if wanted, err := c.sign.wants(b.Target, from); err != nil || !wanted {
		return e, err
	}
	var err error
	e.From, err = c.signedCopy(ctx, b.Target, from)
	return e, err
}

// signedCopy returns the signed copy of a file that came unsigned.
func (c *composition) signedCopy(ctx context.Context, target product.Target, from string) (string, error) {
	if signed, known := c.companions[from]; known {
		return signed, nil
	}
	to := filepath.Join(c.dir, "companions", fmt.Sprint(len(c.companions)), filepath.Base(from))
	err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), copyFile(ctx, to, from, bundle.Program, nil))
	if err == nil {
		err = c.sign.program(ctx, target, to)
	}
	c.companions[from] = to
	return to, err
}

// clientName returns the base name of a client package's file: "Lathe-Client-Windows-win64_OpenGL".
func (c *composition) clientName(b Build) string {
	game := c.project.Game.Name
	return game + "-Client-" + string(b.Target) + b.Base[len(game):] + c.sign.mark(b.Target)
}

// bundle returns the package of a build for players.
func (c *composition) bundle(of Build) (bundle.Bundle, error) {
	for _, b := range c.builds {
		if b.Target != of.Target || b.Base != of.Base {
			continue
		}
		entries := slices.Concat(b.programs, c.client)
		for _, e := range c.resources[b.Target] {
			e.Path = path.Join(resourcesFolder, e.Path)
			entries = append(entries, e)
		}
		tree, err := bundle.NewTree(entries...)
		return bundle.Bundle{
			Product: c.project.Product(), Target: b.Target, Name: c.clientName(b.Build), Base: b.Base, Tree: tree,
		}, err
	}
	return bundle.Bundle{}, fmt.Errorf("%s for %s was not composed", of.Base, of.Target)
}

// payload returns the files that servers offer and releases are published from: Resources and PlatformBinaries.
func (c *composition) payload() (bundle.Tree, error) {
	entries := slices.Clone(c.client)
	for _, b := range c.builds {
		for _, e := range b.payload {
			e.Path = path.Join(binariesFolder, string(b.Target), e.Path)
			entries = append(entries, e)
		}
	}
	for target, list := range c.resources {
		for _, e := range list {
			e.Path = path.Join(release.PlatformResourcesFolder, string(target), e.Path)
			entries = append(entries, e)
		}
	}
	return bundle.NewTree(entries...)
}
