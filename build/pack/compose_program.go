package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/build/pack/icon"
	"collet/build/pack/pe"
	"collet/netproto/product"
	"collet/runtime/area"
)

// program is a host or a module before packaging.
type program struct {
	Build
	from, to string
	pdb      string // path of its symbols; may be empty
	symbols  string // their name in the package
	host     bool
}

// program fills in and signs one program: areas, the name of its symbols, its Windows resources, signature. Any failure stops packaging.
func (c *composition) program(ctx context.Context, q program) (bundle.Entry, error) {
	e := bundle.Entry{Path: filepath.Base(q.to), Mode: bundle.Program, From: q.to}
	image, err := c.image(ctx, q)
	if err != nil {
		return e, fmt.Errorf("%s: %w", q.from, err)
	}
	if err := os.MkdirAll(filepath.Dir(q.to), 0o755); err != nil {
		return e, err
	}
	err = archive.File(ctx, q.to, func(f *os.File) error {
		_, err := f.Write(image)
		return err
	})
	if err == nil {
		err = os.Chmod(q.to, bundle.Program)
	}
	if err == nil {
		err = c.sign.program(ctx, q.Target, q.to)
	}
	return e, err
}

// image returns the program's bytes before signing.
func (c *composition) image(ctx context.Context, q program) ([]byte, error) {
	info, err := os.Stat(q.from)
	if err != nil {
		return nil, err
	}
	if info.Size() > area.MaxProgram {
		return nil, fmt.Errorf("has %d bytes; programs of more than %d are not packaged", info.Size(), area.MaxProgram)
	}
	image, err := os.ReadFile(q.from)
	if err != nil {
		return nil, err
	}
	if err := q.unsigned(image); err != nil {
		return nil, err
	}
	contents, err := c.project.contents(ctx, q.Build)
	if err != nil {
		return nil, err
	}
	if err := area.Patch(image, contents); err != nil {
		return nil, err
	}
	if q.Target.System() != product.Windows {
		return image, nil
	}
	if err := q.link(image); err != nil || !q.host {
		return image, err
	}
	return c.project.shown(image, q)
}

// shown adds the Windows resources to a host.
func (p *Project) shown(image []byte, q program) ([]byte, error) {
	pictures, err := icon.Scale(p.Game.Icon, iconSide)
	if err != nil {
		return nil, err
	}
	r := pe.Resources{File: q.HostName(), Name: p.Game.NiceName, Version: p.Game.Version, Publisher: p.Game.Publisher, Description: p.Game.NiceName}
	for _, picture := range pictures {
		r.Icon = picture.PNG
	}
	return pe.SetResources(image, r)
}

// unsigned refuses a signed program, because writing into it would break its signature.
func (q program) unsigned(image []byte) error {
	if q.Target.System() != product.Windows {
		return nil
	}
	signed, err := hasSignature(bytes.NewReader(image), int64(len(image)))
	if err == nil && signed {
		err = errors.New("it is signed already; give the program as it was before, it is signed when it is filled in")
	}
	return err
}

// link ties a program for Windows to its symbols.
func (q program) link(image []byte) (err error) {
	if q.pdb == "" {
		return pe.FixChecksum(image)
	}
	pdb, err := os.Open(q.pdb)
	if err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	defer func() { err = errors.Join(err, pdb.Close()) }()
	info, err := pdb.Stat()
	if err != nil {
		return err
	}
	if err := pe.CheckPair(image, pdb, info.Size()); err != nil {
		return fmt.Errorf("symbols %s: %w", q.pdb, err)
	}
	return pe.PatchPDB(image, q.symbols)
}

// Names of the embedded resources, as the client looks them up.
const (
	splashFile = "splash.png"
	iconFile   = "icon.png"
	iconSide   = 256 // pixels
)

// contents returns the content of the areas of a build's programs.
func (p *Project) contents(ctx context.Context, b Build) (area.Contents, error) {
	c := area.Contents{Config: b.Config, Name: b.Base}
	pictures, err := p.pictures()
	if err != nil || len(pictures) == 0 {
		return c, err
	}
	var zip bytes.Buffer
	if err := archive.EncodeZip(ctx, pictures, &zip, archive.Options{}); err != nil {
		return c, err
	}
	c.Resources = zip.Bytes()
	return c, nil
}

// pictures returns the pictures of a client's window. The icon is the product's, scaled down to a window icon's size, because the area is
// small.
func (p *Project) pictures() (list bundle.Tree, err error) {
	if p.Game.Icon != "" {
		sizes, err := icon.Scale(p.Game.Icon, iconSide)
		if err != nil {
			return nil, err
		}
		for _, size := range sizes {
			list = append(list, bundle.Entry{Path: iconFile, Mode: bundle.Plain, Data: size.PNG})
		}
	}
	if p.Game.Splash != "" {
		list = append(list, bundle.Entry{Path: splashFile, Mode: bundle.Plain, From: p.Game.Splash})
	}
	return list, nil
}
