package pack

import (
	"context"
	"fmt"
	"strings"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/build/pack/linux"
	"collet/build/pack/macos"
	"collet/netproto"
)

// format is one way to pack a client.
type format struct {
	name    string
	systems []string                            // that have it
	file    func(bundle.Bundle) (string, error) // name of the package's file
	maker   func(*Project) maker                // how it is made for a game
}

// maker writes the file out, whole or not at all.
type maker func(ctx context.Context, b bundle.Bundle, out string) error

// formats is the table of them.
var formats = []format{
	{name: "zip", systems: []string{netproto.Windows}, file: ownName("zip"), maker: archived(archive.Zip)},
	{name: "tar.gz", systems: []string{netproto.Linux}, file: ownName("tar.gz"), maker: archived(archive.TarGz)},
	{name: "tar.zst", systems: []string{netproto.Linux}, file: ownName("tar.zst"), maker: archived(archive.TarZst)},
	{name: "deb", systems: []string{netproto.Linux}, file: linux.DebName, maker: func(p *Project) maker { return p.linuxOptions().Deb }},
	{name: "rpm", systems: []string{netproto.Linux}, file: linux.RPMName, maker: func(p *Project) maker { return p.linuxOptions().RPM }},
	{name: "appdir", systems: []string{netproto.Linux}, file: ownName("AppDir.tar.gz"), maker: appDir},
	{name: "appimage", systems: []string{netproto.Linux}, file: ownName("AppImage"), maker: func(p *Project) maker { return linux.AppImage(p.Linux.AppImageRuntime) }},
	{name: "app-zip", systems: []string{netproto.MacOS}, file: ownName("app.zip"), maker: app},
}

// ownName gives files the names that are Collet's own: "Lathe-Client-Linux-x64-1.4.2.tar.zst".
func ownName(extension string) func(bundle.Bundle) (string, error) {
	return func(b bundle.Bundle) (string, error) { return b.Name + "-" + b.Product.Version + "." + extension, nil }
}

// archived packs a folder that is called as the program in it.
func archived(write func(context.Context, bundle.Tree, string, archive.Options) error) func(*Project) maker {
	return func(*Project) maker {
		return func(ctx context.Context, b bundle.Bundle, out string) error {
			return write(ctx, b.Tree.Below(b.Base), out, archive.Options{Time: b.Product.Time, Deflate: true})
		}
	}
}

// linuxOptions are what the description says of packages for Linux.
func (p *Project) linuxOptions() linux.Options {
	return linux.Options{DebDepends: p.Linux.DebDepends, RPMRequires: p.Linux.RPMRequires, MIMETypes: p.Linux.MIMETypes}
}

// appDir packs a folder that starts from anywhere.
func appDir(*Project) maker {
	return func(ctx context.Context, b bundle.Bundle, out string) error {
		tree, err := linux.AppDir(b)
		if err != nil {
			return err
		}
		return archive.TarGz(ctx, tree, out, archive.Options{Time: b.Product.Time})
	}
}

// app packs the folder that a Mac shows as one program.
func app(*Project) maker {
	return func(ctx context.Context, b bundle.Bundle, out string) error {
		tree, err := macos.App(b)
		if err != nil {
			return err
		}
		return archive.Zip(ctx, tree, out, archive.Options{Time: b.Product.Time, Deflate: true})
	}
}

// formatOf finds a format of a target.
func formatOf(target netproto.Target, name string) (format, error) {
	var known []string
	for _, f := range formats {
		for _, system := range f.systems {
			if system != target.System() {
				continue
			}
			if f.name == name {
				return f, nil
			}
			known = append(known, f.name)
		}
	}
	return format{}, fmt.Errorf("clients for %s can't be packed as %q; want %s", target, name, strings.Join(known, ", "))
}

// clientJobs are the packages for players: every build that has a host, in every format of its system.
func (p *Project) clientJobs() (jobs []job) {
	for _, b := range p.Builds() {
		if b.Host == "" {
			continue
		}
		for _, name := range p.Formats(b.Target) {
			jobs = append(jobs, job{target: b.Target, format: name, make: func(ctx context.Context, m *making) (Artefact, error) {
				return m.client(ctx, b, name)
			}})
		}
	}
	return jobs
}

// client makes one package for players.
func (m *making) client(ctx context.Context, of Build, name string) (Artefact, error) {
	b, err := m.bundle(of)
	if err != nil {
		return Artefact{}, err
	}
	f, err := formatOf(of.Target, name)
	if err != nil {
		return Artefact{}, err
	}
	file, err := f.file(b)
	if err != nil {
		return Artefact{}, err
	}
	return m.signed(ctx, b, file, func(out string) error { return f.maker(m.project)(ctx, b, out) })
}
