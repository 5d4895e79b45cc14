// Package linux makes packages for Linux: .deb and .rpm packages, an AppDir and an AppImage of a client, and a .deb of the server.
//
// # Where files lie
//
// A client is one folder with a program, its module and its packs, and finds them beside itself. That folder is
//
//	/usr/lib/games/<package>/            the portable layout, and INSTALLED, which sends what is written to the player's data
//	/usr/games/<package>                 a link to the program (.deb); /usr/bin/<package> in an .rpm
//	/usr/share/applications/<id>.desktop             the menu; <id>.link.desktop opens <scheme>:// links
//	/usr/share/icons/hicolor/<n>x<n>/apps/<id>.png   scaled from the product's icon, never enlarged
//	/usr/share/metainfo/<id>.metainfo.xml            AppStream: what software centres show
//	/usr/share/doc/<package>, /usr/share/man/man6    copyright, changelog, manual page
//
// This is what games in Debian do (bsdgames, nethack): FHS gives /usr/games to their programs and /usr/lib to what depends
// on the processor, and Fedora's "filesystem" package owns /usr/lib/games, too. /opt, the other place for packages from
// elsewhere, needs a link in /usr all the same and is on volumes of its own that are mounted noexec on some machines.
// /usr/games is not on Fedora's and openSUSE's path, hence /usr/bin there. The link may be a link: a client asks the system
// for its own file, which is the one at the end of it.
//
// A package is called as the base name of its program, in lower case and with "-" for "_": variants ("lathe", "lathe-opengl")
// are packages of their own and go beside each other.
//
// # Omissions
//
// Client packages have no maintainer scripts: menus, icons and link handlers are refreshed by triggers of the packages that own their
// caches. They do not define MIME types, which belong to the game's own package. The player's home stays untouched, also by removal or
// purge: downloaded files belong to the player.
//
// # Bytes
//
// The same Bundle gives the same bytes. All times are Product.Time, all owners root, the host that packs is "localhost".
// Both formats are made in memory: see maxDeb and maxRPM.
package linux

import (
	"context"
	"fmt"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/rpm"

	"collet/build/pack/bundle"
)

// Options configure the packages of a game beyond its Product. The zero value is right for most.
type Options struct {
	DebDepends  []string // relations as in a control file; they replace those derived from the programs' library lists
	RPMRequires []string // likewise for .rpm
	MIMETypes   []string // of files that the game opens: it is started with the path of one behind "--"
}

// Deb writes a .deb package of a client for Debian, Ubuntu and their relatives.
func (o Options) Deb(ctx context.Context, b bundle.Bundle, out string) error {
	return o.pack(ctx, b, debian, out)
}

// RPM writes an .rpm package of a client for every distribution with rpm 4.14 or newer.
func (o Options) RPM(ctx context.Context, b bundle.Bundle, out string) error {
	return o.pack(ctx, b, redhat, out)
}

// Deb is Options.Deb with the zero Options.
func Deb(ctx context.Context, b bundle.Bundle, out string) error { return Options{}.Deb(ctx, b, out) }

// RPM is Options.RPM with the zero Options.
func RPM(ctx context.Context, b bundle.Bundle, out string) error { return Options{}.RPM(ctx, b, out) }

// DebName returns the file name by Debian's convention: "lathe_1.4.2_amd64.deb".
func DebName(b bundle.Bundle) (string, error) { return fileName(b, debian) }

// RPMName returns the file name by rpm's convention: "lathe-1.4.2-1.x86_64.rpm".
func RPMName(b bundle.Bundle) (string, error) { return fileName(b, redhat) }

// family holds the differences between the two formats.
type family struct {
	nfpm.Packager
	links    string                 // folder of programs on the path
	max      int64                  // largest sum of files, in bytes
	says     func(Options) []string // the game's own dependencies
	synopsis bool                   // the description begins with the summary
	requires func(needs) (depends, recommends []string)
}

var (
	debian = family{deb.Default, "usr/games", maxDeb, func(o Options) []string { return o.DebDepends }, true, needs.debian}
	redhat = family{rpm.DefaultRPM, "usr/bin", maxRPM, func(o Options) []string { return o.RPMRequires }, false, needs.rpm}
)

const (
	// maxDeb limits a package in bytes, with a margin for its head: sizes in a .deb have ten decimal digits.
	maxDeb = 9_999_000_000
	// maxRPM is the limit for .rpm: larger sizes need tags that nfpm does not write, and there are several copies in memory.
	maxRPM = 2 << 30
)

// pack writes a package of a client.
func (o Options) pack(ctx context.Context, b bundle.Bundle, f family, out string) error {
	p, err := o.client(b, f)
	if err == nil {
		err = p.writePackage(ctx, f, out)
	}
	if err != nil {
		return fmt.Errorf("make the package %s: %w", out, err)
	}
	return nil
}

func fileName(b bundle.Bundle, f family) (string, error) {
	n, err := namesOf(b)
	if err != nil {
		return "", err
	}
	info, err := about(b, n.pkg)
	if err != nil {
		return "", err
	}
	return f.ConventionalFileName(info), nil
}
