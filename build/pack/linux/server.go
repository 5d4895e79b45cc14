package linux

import (
	"context"
	"embed"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/goreleaser/nfpm/v2/deb"

	"collet/build/pack/bundle"
)

const (
	serverProgram = "collet-server"
	// serverSettings is where the unit looks.
	serverSettings = "etc/collet/server.toml"
)

// scripts run around the installation of a server. A client has none.
//
//go:embed server/postinst server/prerm server/postrm
var scripts embed.FS

// ServerDeb writes a .deb of the server with everything that it offers. The tree of the bundle is what runs in a folder: the
// program collet-server, one settings file NAME.toml, Resources and PlatformBinaries. In the package
//
//	/usr/bin/collet-server       the program
//	/etc/collet/server.toml      the settings; the administrator's from then on, with folders as they are below
//	/usr/lib/<game>-server/      everything else: a package may not put files into /srv, and /var/lib is for what changes
//	/usr/lib/systemd/system/     the units, with the ports that the settings say; the service and its
//	                             socket are enabled and started, other sockets wait
//
// A newer package replaces files by renaming, which is how a running server wants it, and restarts it behind its open socket.
// The program and its units have one name for all games, so only one such package can be installed on a machine; dpkg says so.
// Purging removes the settings, and what the service kept below /var.
func ServerDeb(ctx context.Context, b bundle.Bundle, out string) error {
	p, err := serverParcel(b)
	if err == nil {
		err = p.writePackage(ctx, family{Packager: deb.Default, max: maxDeb}, out)
	}
	if err != nil {
		return fmt.Errorf("make the package %s: %w", out, err)
	}
	return nil
}

// ServerDebName is the file name by Debian's convention: "lathe-server_1.4.2_amd64.deb".
func ServerDebName(b bundle.Bundle) (string, error) {
	info, err := about(b, serverPackage(b))
	if err != nil {
		return "", err
	}
	return deb.Default.ConventionalFileName(info), nil
}

func serverPackage(b bundle.Bundle) string { return kebab(b.Product.Name) + "-server" }

// serverParcel lays the package out.
func serverParcel(b bundle.Bundle) (parcel, error) {
	pkg := serverPackage(b)
	info, err := about(b, pkg)
	if err != nil {
		return parcel{}, err
	}
	info.Section, info.Description = "net", serverDescription(b.Product)
	info.Provides, info.Conflicts = []string{serverProgram}, []string{serverProgram}
	cpu, err := processorOf(b.Target)
	if err != nil {
		return parcel{}, err
	}
	p := parcel{info: info, config: map[string]bool{serverSettings: true}, scripts: map[string]string{}}
	var own bundle.Tree
	for _, e := range b.Tree {
		moved, err := placed(e, "usr/lib/"+pkg)
		if err != nil {
			return parcel{}, err
		}
		if e.Path == serverProgram {
			own = append(own, e)
		}
		p.files = append(p.files, moved)
	}
	if len(own) == 0 {
		return parcel{}, fmt.Errorf("want a program %s among the files", serverProgram)
	}
	wants, err := needsOf(own, cpu)
	if err != nil {
		return parcel{}, err
	}
	info.Depends, _ = wants.debian()
	p.files = append(p.files, papers(b.Product, pkg, paper{serverProgram, "update server of " + b.Product.NiceName, 8})...)
	text, err := p.settings()
	if err != nil {
		return parcel{}, err
	}
	return p, p.addUnits(text)
}

// settings is the text of the settings file.
func (p parcel) settings() (text string, err error) {
	for _, e := range p.files {
		if e.Path == serverSettings {
			return string(e.Data), nil
		}
	}
	return "", fmt.Errorf("want one settings file *.toml beside %s among the files", serverProgram)
}

// placed is where a file of the server's folder goes.
func placed(e bundle.Entry, home string) (bundle.Entry, error) {
	switch {
	case e.Path == serverProgram:
		e.Path, e.Mode = "usr/bin/"+serverProgram, bundle.Program
	case path.Ext(e.Path) == ".toml" && !strings.Contains(e.Path, "/"):
		text, err := settled(e, "/"+home)
		if err != nil {
			return e, fmt.Errorf("%s: %w", e.Path, err)
		}
		e = bundle.Entry{Path: serverSettings, Mode: bundle.Plain, Data: text}
	default:
		e.Path = home + "/" + e.Path
	}
	return e, nil
}

// socketPorts are the settings of the ports that sockets hold open for the service.
var socketPorts = map[string]string{
	"collet-server.socket": "ServerPort", "collet-server-tls.socket": "TlsPort", "collet-server-ws.socket": "WebSocketPort", "collet-server-wss.socket": "WebSocketPort",
}

// withPort gives a socket the port that the settings say, because a socket goes before a setting.
func withPort(unit []byte, name, settings string) ([]byte, error) {
	port, err := number(settings, "Network", socketPorts[name])
	if err != nil || port == 0 {
		return unit, err
	}
	return listenStream.ReplaceAll(unit, fmt.Appendf(nil, "ListenStream=%d", port)), nil
}

//go:embed systemd
var units embed.FS

// Units returns the systemd units of collet-server by their names: the service, and a socket for each port that can stay open while the
// program is replaced. docs/OPERATING.md says how to use them.
func Units() (list []bundle.Entry, err error) {
	files, err := units.ReadDir("systemd")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := units.ReadFile("systemd/" + f.Name())
		if err != nil {
			return nil, err
		}
		list = append(list, bundle.Entry{Path: f.Name(), Mode: bundle.Plain, Data: text})
	}
	return list, nil
}

// listenStream is the port in the unit of a socket.
var listenStream = regexp.MustCompile(`(?m)^ListenStream=[0-9]+$`)

// addUnits adds what starts the server, and the scripts.
func (p *parcel) addUnits(settings string) error {
	units, err := Units()
	if err != nil {
		return err
	}
	for _, unit := range units {
		if unit.Data, err = withPort(unit.Data, unit.Path, settings); err != nil {
			return err
		}
		unit.Path = "usr/lib/systemd/system/" + unit.Path
		p.files = append(p.files, unit)
	}
	for _, name := range []string{"postinst", "prerm", "postrm"} {
		text, err := scripts.ReadFile("server/" + name)
		if err != nil {
			return err
		}
		p.scripts[name] = string(text)
	}
	return nil
}

func serverDescription(p bundle.Product) string {
	lines := []string{"update server of " + p.NiceName}
	lines = append(lines, wrapped("Keeps the clients of "+p.NiceName+" current: it offers the files of version "+p.Version+
		", which are in this package, to everybody who connects. Its settings are in /"+serverSettings+".", 79)...)
	return strings.Join(lines, "\n")
}
