package pack

import (
	"context"
	"fmt"
	"strings"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/build/pack/linux"
	"collet/build/pack/windows"
	"collet/netproto/product"
)

// format is one package format of clients.
type format struct {
	system string // the system that supports it
	name   string
	file   func(bundle.Bundle) (string, error) // name of the package's file
	maker  func(*making) maker                 // the maker for a game
}

// maker writes the file out, whole or not at all.
type maker func(ctx context.Context, b bundle.Bundle, out string) error

// formats is the table of client formats.
var formats = []format{
	{product.Windows, "zip", ownName("zip"), archived(archive.Zip)},
	{product.Windows, "nsis", always(windows.SetupName), func(m *making) maker { return m.installer().NSIS }},
	{product.Windows, "msi", always(windows.MSIName), func(m *making) maker { return m.installer().MSI }},
	{product.Linux, "tar.gz", ownName("tar.gz"), archived(archive.TarGz)},
	{product.Linux, "tar.zst", ownName("tar.zst"), archived(archive.TarZst)},
	{product.Linux, "deb", linux.DebName, func(m *making) maker { return m.project.linuxOptions().Deb }},
	{product.Linux, "rpm", linux.RPMName, func(m *making) maker { return m.project.linuxOptions().RPM }},
	{product.Linux, "appdir", ownName("AppDir.tar.gz"), func(*making) maker { return appDir }},
	{product.Linux, "appimage", ownName("AppImage"), func(m *making) maker { return linux.AppImage(m.project.Linux.AppImageRuntime) }},
	{product.MacOS, "app-zip", ownName("app.zip"), func(m *making) maker { return m.app }},
}

// ownName returns a function for file names in Collet's own scheme: "Lathe-Client-Linux-x64-1.4.2.tar.zst".
func ownName(extension string) func(bundle.Bundle) (string, error) {
	return func(b bundle.Bundle) (string, error) { return b.Name + "-" + b.Product.Version + "." + extension, nil }
}

func always(name func(bundle.Bundle) string) func(bundle.Bundle) (string, error) {
	return func(b bundle.Bundle) (string, error) { return name(b), nil }
}

// archived packs a folder named after its program.
func archived(write func(context.Context, bundle.Tree, string, archive.Options) error) func(*making) maker {
	return func(*making) maker {
		return func(ctx context.Context, b bundle.Bundle, out string) error {
			return write(ctx, b.Tree.Below(b.Base), out, archive.Options{Time: b.Product.Time, Deflate: true})
		}
	}
}

// installer returns the description's settings of Windows installers, with the signer of their content.
func (m *making) installer() windows.Installer {
	k := m.project.Windows
	i := windows.Installer{Scope: windows.Scope(k.Scope), DesktopShortcut: k.DesktopShortcut}
	if m.sign.windows != nil {
		i.Sign = func(ctx context.Context, program string) error {
			_, err := m.sign.windows.Sign(ctx, program)
			return err
		}
	}
	return i
}

// linuxOptions returns the description's settings of Linux packages.
func (p *Project) linuxOptions() linux.Options {
	return linux.Options{DebDepends: p.Linux.DebDepends, RPMRequires: p.Linux.RPMRequires, MIMETypes: p.Linux.MIMETypes}
}

// appDir packs a relocatable AppDir.
func appDir(ctx context.Context, b bundle.Bundle, out string) error {
	tree, err := linux.AppDir(b)
	if err != nil {
		return err
	}
	return archive.TarGz(ctx, tree, out, archive.Options{Time: b.Product.Time})
}

// formatOf finds a format of a target.
func formatOf(target product.Target, name string) (format, error) {
	var known []string
	for _, f := range formats {
		switch {
		case f.system != target.System():
		case f.name == name:
			return f, nil
		default:
			known = append(known, f.name)
		}
	}
	return format{}, fmt.Errorf("clients for %s can't be packed as %q; want %s", target, name, strings.Join(known, ", "))
}

// clientJobs lists the packages for players: every build with a host, in every format of its system.
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
	return m.signed(ctx, b, m.marked(b, file), func(out string) error { return f.maker(m)(ctx, b, out) })
}

// marked adds the test mark to a file's name, so that a package signed for tests is not taken for a release.
func (m *making) marked(b bundle.Bundle, file string) string {
	mark := m.sign.mark(b.Target)
	if mark == "" || strings.Contains(file, mark) {
		return file
	}
	return strings.TrimPrefix(mark, "-") + "-" + file
}
