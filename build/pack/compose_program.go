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

// program is a host or a module that is to be filled in.
type program struct {
	Build
	from, to string
	pdb      string // path of its symbols; empty for none
	symbols  string // what they are called in the package
	host     bool
}

// program fills in one program and signs it: areas, the name of its symbols, what Windows shows of it, signature. Anything
// that can't be done stops packaging.
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

// image is the program's bytes before it is signed.
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

// shown is a host with what Windows shows of it.
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

// unsigned refuses a program whose signature would be broken by what is written into it.
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

// The files of the embedded resources, by the names that the client looks for.
const (
	splashFile = "splash.png"
	iconFile   = "icon.png"
	iconSide   = 256 // pixels
)

// contents is what the areas of a build's programs get.
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

// pictures are what the window of a client shows. The icon is the product's, made as small as windows have it: the area has
// little room.
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
