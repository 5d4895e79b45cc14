package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/pelletier/go-toml/v2"
	"github.com/rs/zerolog"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/build/pack/linux"
	"collet/netproto/product"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// Names in packages for servers.
const (
	serverProgram  = "collet-server"
	serverSettings = "collet-server.toml" // beside the program; its folders are relative to it
	containerFile  = "Containerfile"
	releaseTarget  = "release" // --only's name for the folder for publishing releases
)

// serverFormat is one package format of servers.
type serverFormat struct {
	name    string
	systems []string // the systems that support it
	make    func(ctx context.Context, m *making, b bundle.Bundle) (Artefact, error)
}

var serverTable = []serverFormat{
	{"tar.gz", []string{product.Linux, product.Windows, product.MacOS}, serverArchive("tar.gz", archive.TarGz)},
	{"tar.zst", []string{product.Linux, product.Windows, product.MacOS}, serverArchive("tar.zst", archive.TarZst)},
	{"deb", []string{product.Linux}, serverDeb},
	{"container", []string{product.Linux}, serverContainer},
}

// serverJobs lists the packages for operators: each program in every format of its system, and the folder for releases.
func (p *Project) serverJobs() (jobs []job) {
	for _, program := range p.Server.Programs {
		for _, f := range serverTable {
			if !slices.Contains(p.Server.Formats, f.name) || !slices.Contains(f.systems, product.Target(program.Target).System()) {
				continue
			}
			jobs = append(jobs, job{target: product.Target(program.Target), format: f.name, all: true, make: func(ctx context.Context, m *making) (Artefact, error) {
				b, err := m.serverBundle(ctx, program)
				if err != nil {
					return Artefact{}, err
				}
				return f.make(ctx, m, b)
			}})
		}
	}
	return append(jobs, job{target: releaseTarget, format: "folder", all: true, make: releaseFolder})
}

// serverBundle returns a package for operators, independent of the format.
func (m *making) serverBundle(ctx context.Context, program Program) (b bundle.Bundle, err error) {
	offered, text, err := m.offer(ctx)
	if err != nil {
		return b, err
	}
	target := product.Target(program.Target)
	exe := bundle.Entry{Path: target.ProgramName(serverProgram), Mode: bundle.Program}
	if exe.From, err = m.serverExe(ctx, target, program.From); err != nil {
		return b, err
	}
	tree, err := offered.With(append(m.server, exe, bundle.Entry{Path: serverSettings, Mode: bundle.Plain, Data: text})...)
	name := m.project.Game.Name + "-Server"
	return bundle.Bundle{Product: m.project.Product(), Target: target, Name: name + "-" + string(target) + m.sign.mark(target), Base: name, Tree: tree}, err
}

// equipped adds a container recipe and systemd units for manual installation to a server's package. The .deb has its own unit.
func (m *making) equipped(b bundle.Bundle) (bundle.Tree, error) {
	if b.Target.System() != product.Linux {
		return b.Tree, nil
	}
	more := []bundle.Entry{{Path: containerFile, Mode: bundle.Plain, Data: m.settings.container()}}
	units, err := linux.Units()
	if err != nil {
		return nil, err
	}
	for _, unit := range units {
		unit.Path = "systemd/" + unit.Path
		more = append(more, unit)
	}
	return b.Tree.With(more...)
}

// serverExe returns the server's program, signed if its system has a signer.
func (m *making) serverExe(ctx context.Context, target product.Target, from string) (string, error) {
	dir, err := os.MkdirTemp(m.work, "server-*")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, target.ProgramName(serverProgram))
	if err := copyFile(ctx, exe, from, bundle.Program, nil); err != nil {
		return "", fmt.Errorf("server's program: %w", err)
	}
	return exe, m.sign.program(ctx, target, exe)
}

// settingsFile holds a server package's settings.
type settingsFile struct {
	text  []byte
	ports []int // the server's listening ports
}

// offer returns the server's payload and settings, after a server has accepted both together.
func (m *making) offer(ctx context.Context) (offered bundle.Tree, settings []byte, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.offered != nil {
		return m.offered, m.settings.text, nil
	}
	if offered, err = m.payload(); err != nil {
		return nil, nil, err
	}
	if settings, err = m.project.serverSettings(); err != nil {
		return nil, nil, err
	}
	tree, err := offered.With(bundle.Entry{Path: serverSettings, Mode: bundle.Plain, Data: settings})
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(m.work, "offered")
	if err := m.lay(ctx, tree, dir); err != nil {
		return nil, nil, err
	}
	ports, err := tryServer(ctx, filepath.Join(dir, serverSettings))
	if err != nil {
		return nil, nil, fmt.Errorf("the server refuses %s: %w", m.project.settingsName(), err)
	}
	m.offered, m.settings = offered, settingsFile{settings, ports}
	return offered, settings, nil
}

func (p *Project) settingsName() string {
	if p.Server.Settings == "" {
		return "the settings made of server.compatibility"
	}
	return p.Server.Settings
}

// tryServer does the checks of `collet-server check` that work away from the server's machine. Certificates, the operator's store and the
// release folder exist only there.
func tryServer(ctx context.Context, settings string) (ports []int, err error) {
	set, err := config.Load(settings, "")
	if err != nil {
		return nil, err
	}
	for _, port := range []int{set.Network.ServerPort, set.Network.TlsPort, set.Network.WebSocketPort} {
		if port != 0 {
			ports = append(ports, port)
		}
	}
	if set.Release.Folder != "" {
		return ports, nil
	}
	set.Compat = config.Defaults().Compat
	catalogue, err := catalogue.Open(ctx, set, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	catalogue.Close()
	return ports, nil
}

// serverSettings returns the settings file of server packages: the given one, or a minimal generated one.
func (p *Project) serverSettings() ([]byte, error) {
	if p.Server.Settings != "" {
		return os.ReadFile(p.Server.Settings)
	}
	if p.Server.Compatibility == "" {
		return nil, fmt.Errorf("%s: name the server's settings in server.settings, or the module's compatibility version in server.compatibility", p.File)
	}
	var file madeSettings
	file.CompatibilityVersion = p.Server.Compatibility
	file.Network = p.listening()
	file.Baking.ClientResourceEntries = []string{}
	for _, pack := range p.Resources.Packs {
		if !pack.ServerOnly {
			file.Baking.ClientResourceEntries = append(file.Baking.ClientResourceEntries, pack.Name)
		}
	}
	text, err := toml.Marshal(file)
	head := fmt.Sprintf("# Settings of the update server of %s %s. collet-server --help lists all of them.\n", p.Game.NiceName, p.Game.Version)
	return append([]byte(head), text...), err
}

// madeSettings is a server's settings file generated from a description.
type madeSettings struct {
	CompatibilityVersion string       `comment:"Of the module in PlatformBinaries: server.compatibility of the packages' description."`
	Network              *madeNetwork `toml:",omitempty"`
	Baking               struct {
		ClientResourceEntries []string `comment:"The packs in Resources, in the order in which clients fetch them."`
	}
}

type madeNetwork struct {
	ServerPort    int `toml:",omitempty" comment:"Where the packed clients look: client.server of the packages' description."`
	WebSocketPort int `toml:",omitempty" comment:"Where the packed clients look: client.server of the packages' description."`
}

// listening returns the port on which the packed clients expect the server, if their address implies one. TLS addresses are left out: TLS
// needs a certificate, and may be terminated in front of the server. nil is the server's default.
func (p *Project) listening() *madeNetwork {
	scheme, rest, found := strings.Cut(p.Client.Server, "://")
	if !found {
		scheme, rest = "tcp", p.Client.Server
	}
	rest, _, _ = strings.Cut(rest, "/")
	_, text, err := net.SplitHostPort(rest)
	if err != nil {
		return nil
	}
	port, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return nil
	case scheme == "tcp":
		return &madeNetwork{ServerPort: port}
	case scheme == "ws":
		return &madeNetwork{WebSocketPort: port}
	}
	return nil
}

// containerText is the recipe of a container with the files beside it. The base image can be changed; it needs a C library.
var containerText = template.Must(template.New(containerFile).Parse(`# Build: podman build -t collet-server .        Run: podman run -p {{index . 0}}:{{index . 0}} collet-server
ARG BASE=debian:stable-slim
FROM ${BASE}
WORKDIR /srv/collet
COPY . .
USER 65534:65534
{{range .}}EXPOSE {{.}}
{{end}}STOPSIGNAL SIGTERM
ENTRYPOINT ["/srv/collet/collet-server", "--config", "/srv/collet/collet-server.toml"]
`))

func (s settingsFile) container() []byte {
	var text bytes.Buffer
	if err := containerText.Execute(&text, s.ports); err != nil {
		panic(fmt.Sprintf("pack: internal error: %v", err)) // every server has a port
	}
	return text.Bytes()
}

// serverArchive packs a folder named after the server.
func serverArchive(extension string, write func(context.Context, bundle.Tree, string, archive.Options) error) func(context.Context, *making, bundle.Bundle) (Artefact, error) {
	return func(ctx context.Context, m *making, b bundle.Bundle) (Artefact, error) {
		tree, err := m.equipped(b)
		if err != nil {
			return Artefact{}, err
		}
		return m.signed(ctx, b, b.Name+"-"+b.Product.Version+"."+extension, func(out string) error {
			return write(ctx, tree.Below(b.Base), out, archive.Options{Time: b.Product.Time})
		})
	}
}

// serverDeb installs the server as a service.
func serverDeb(ctx context.Context, m *making, b bundle.Bundle) (Artefact, error) {
	name, err := linux.ServerDebName(b)
	if err != nil {
		return Artefact{}, err
	}
	return m.signed(ctx, b, name, func(out string) error { return linux.ServerDeb(ctx, b, out) })
}

// signed makes a file and signs it like packages of its system.
func (m *making) signed(ctx context.Context, b bundle.Bundle, name string, make func(out string) error) (Artefact, error) {
	return m.file(name, func(out string) error {
		if err := make(out); err != nil {
			return err
		}
		return m.sign.artefact(ctx, b.Target, out)
	})
}

// serverContainer makes the build folder of a container.
func serverContainer(ctx context.Context, m *making, b bundle.Bundle) (Artefact, error) {
	tree, err := m.equipped(b)
	if err != nil {
		return Artefact{}, err
	}
	return m.folder(b.Name+"-"+b.Product.Version+"-container", func(dir string) error { return m.lay(ctx, tree, dir) })
}

// releaseFolder makes the input folder of `collet release publish`.
func releaseFolder(ctx context.Context, m *making) (Artefact, error) {
	tree, err := m.payload()
	if err != nil {
		return Artefact{}, err
	}
	return m.folder(m.project.Game.Name+"-Release-"+m.project.Game.Version, func(dir string) error { return m.lay(ctx, tree, dir) })
}

// lay writes a tree to a folder. Generated files are hard-linked, since they no longer change; others are copied.
func (m *making) lay(ctx context.Context, tree bundle.Tree, dir string) error {
	for _, e := range tree {
		to := filepath.Join(dir, filepath.FromSlash(e.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := m.layFile(ctx, e, to); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(name, 0o755)
		}
		return err
	})
}

func (m *making) layFile(ctx context.Context, e bundle.Entry, to string) error {
	switch {
	case e.Link != "":
		return os.Symlink(filepath.FromSlash(e.Link), to)
	case e.From == "":
		return errors.Join(os.WriteFile(to, e.Data, e.Mode), os.Chmod(to, e.Mode))
	case strings.HasPrefix(e.From, m.work+string(filepath.Separator)) && os.Link(e.From, to) == nil:
		return nil
	}
	return copyFile(ctx, to, e.From, e.Mode, nil)
}
