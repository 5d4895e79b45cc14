package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"collet"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/platform/commandline"
	"collet/platform/text"
)

// options is the command line.
type options struct {
	Command        string                     `arg:"" optional:"" default:"serve" enum:"serve,check,reload,upgrade,health,drill" help:"serve (default), check (check settings and files, and print the offer), reload (make the running server read them again), upgrade (make it hand over its ports to the program that is installed now), health (fail unless the running server answers /healthz), or drill (rehearse with a backup of the store how a cluster is founded anew)."`
	Backup         string                     `arg:"" optional:"" placeholder:"BACKUP" help:"The backup for drill, which collet compat store backup has written. It is only read."`
	Config         string                     `group:"what" placeholder:"FILE" help:"Settings file (TOML, names as below). Folders in it are relative to the file. Default: collet-server.toml beside this program, if it exists and no other option says what to serve."`
	SubConfig      string                     `group:"what" placeholder:"NAME" help:"Apply the settings of [SubConfig.NAME] on top of the file's."`
	Root           string                     `group:"what" placeholder:"DIR" help:"Serve a package folder without a settings file: every pack of DIR/Resources and DIR/PlatformBinaries/<target>."`
	Compat         string                     `group:"what" placeholder:"VERSION" help:"Compatibility version of the client in the package folder. Goes with --root."`
	Release        releaseFlags               `embed:""`
	Metadata       string                     `name:"metadata-version" group:"what" placeholder:"VERSION" help:"Metadata version for the engine's later clients, as Network.ForceMetadataVersion. Default: that of the settings file, or else of the packs."`
	NoZlib         bool                       `name:"no-zlib" group:"what" help:"Send uncompressed data to the engine's clients, as Network.DisableZlibCompression; they need the same setting."`
	Listen         string                     `group:"where" placeholder:"ADDR" help:"Listen on HOST:PORT instead of all addresses at Network.ServerPort. Port 0 chooses a free one; the log names it."`
	Transport      transport                  `embed:""`
	HTTP           string                     `name:"http" group:"where" placeholder:"ADDR" help:"Serve health, the dashboard and the release folder over HTTP at HOST:PORT, as Operations.HTTPAddress; without HOST on loopback."`
	Metrics        string                     `group:"where" placeholder:"ADDR" help:"Serve metrics over HTTP at HOST:PORT, as Operations.MetricsAddress; without HOST on loopback; http is the port of --http."`
	Control        string                     `group:"where" placeholder:"PATH" help:"Socket through which collet-server reload and upgrade reach the server, as Operations.ControlSocket."`
	AcceptRollback bool                       `name:"accept-rollback" group:"what" help:"Start even if logic versions are active that this server does not support. They are deactivated, with a record in the audit log."`
	Check          bool                       `group:"do" help:"Check settings and files, print the offer, and exit."`
	PrintConfig    bool                       `name:"print-config" group:"do" help:"Print all effective settings with their origins, and exit."`
	Version        kong.VersionFlag           `group:"do" help:"Print the version and exit."`
	Completion     commandline.CompletionFlag `group:"do" placeholder:"SHELL" help:"Print the completion for bash, zsh, fish or powershell, and exit."`
	Man            commandline.ManFlag        `group:"do" placeholder:"DIR" help:"Write the manual page into a folder, and exit."`
	LogFormat      string                     `group:"log" enum:"console,json" default:"console" placeholder:"console|json" help:"Format of the log on standard error (default: console)."`
	LogLevel       string                     `group:"log" enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Lowest level to log: debug, info, warn or error (default: info)."`
}

const description = `Offers a game's resource packs and native modules to its clients.

  collet-server --config server.toml --sub-config PublicGame
  collet-server --root ./package --compat 1.4 --listen 127.0.0.1:4000
  collet-server --release ./release --channel beta --http 0.0.0.0:8080
  collet-server check --config server.toml
  collet-server reload --control /run/collet-server/control
  collet-server upgrade --control /run/collet-server/control
  collet-server health --http 127.0.0.1:8080
  collet-server drill /backup/compat-2026-11-28.db

SIGINT or SIGTERM stops the server after its pending answers; a second one stops it at once. On SIGHUP or collet-server reload it reads settings and files again; if these are invalid, the old offer stays. On SIGUSR2 or collet-server upgrade it starts the file of its program anew, hands over its ports and its store, and ends after its pending answers; if the new program fails to start, the old one goes on. There is no upgrade on Windows.

Exit codes: 0 stopped on request, replaced, or the command succeeded; 1 failed; 2 invalid command line.`

// Commands other than serving.
const (
	askCheck  = "check"
	askHealth = "health"
	askDrill  = "drill"
)

var errNoControl = errors.New("no control socket: give --control PATH, or set Operations.ControlSocket in the settings file")

// newParser is the parser of the command line; --help and --version end the process.
func newParser(opt *options, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(opt, append([]kong.Option{
		kong.Name("collet-server"),
		kong.Description(description),
		kong.Vars{"version": "collet-server " + collet.Version()},
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.Help(help),
		kong.ExplicitGroups([]kong.Group{
			{Key: "what", Title: "What to serve:"}, {Key: "where", Title: "Where:"},
			{Key: "do", Title: "Instead of serving:"}, {Key: "log", Title: "Log:"},
		}),
	}, more...)...)
}

// errAnswered says that the program has answered a shell, and is done.
var errAnswered = errors.New("answered a shell")

// parseOptions reads the command line. Its error is errAnswered where a shell asked for candidates.
func parseOptions(args []string) (opt options, err error) {
	parser, err := newParser(&opt)
	if err != nil {
		return opt, err
	}
	if commandline.Complete(parser, args) {
		return opt, errAnswered
	}
	if _, err := parser.Parse(args); err != nil {
		return opt, err
	}
	if exe, err := os.Executable(); err == nil {
		opt.usePackagedConfig(filepath.Dir(exe))
	}
	return opt, opt.checkCombinations()
}

// ownConfig is the settings file that lies beside the program in a server's package.
const ownConfig = "collet-server.toml"

// usePackagedConfig uses the settings file beside this program if no option says what to serve.
func (o *options) usePackagedConfig(folder string) {
	if o.Config != "" || o.Root != "" || o.Compat != "" || o.Release.Folder != "" || o.asks() {
		return
	}
	own := filepath.Join(folder, ownConfig)
	if info, err := os.Stat(own); err == nil && info.Mode().IsRegular() {
		o.Config = own
	}
}

// asks reports whether the command is for a running server's control socket.
func (o options) asks() bool { return o.Command == admin.Reload || o.Command == admin.Upgrade }

// help appends the settings to what kong prints.
func help(opt kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(opt, ctx); err != nil {
		return err
	}
	return config.Describe(ctx.Stdout)
}

// checkCombinations refuses ambiguous combinations of options.
func (o options) checkCombinations() error {
	switch {
	case o.Backup != "" && o.Command != askDrill:
		return fmt.Errorf("%s goes with drill only", o.Backup)
	case o.Command == askDrill && o.Backup == "":
		return errors.New("name the backup: collet-server drill FILE; collet compat store backup FILE writes one, also while the server runs")
	case o.Command == askDrill:
		return nil
	case o.asks() && o.Control != "", o.Command == askHealth && o.healthAddress().HTTPAddress != "":
		return nil
	case o.asks() && o.Config == "":
		return errNoControl
	case o.Config == "" && o.Root == "" && o.Compat == "" && o.Release.Folder == "":
		return errors.New("nothing to serve: give --config FILE, or --release DIR, or --root DIR and --compat VERSION; " + ownConfig + " beside this program would do, too")
	case o.Release.Folder != "" && (o.Root != "" || o.Compat != ""):
		return errors.New("--release says what to serve: leave --root and --compat out")
	case o.Config != "" && (o.Root != "" || o.Compat != ""):
		return errors.New("--config says what to serve: leave --root and --compat out")
	case o.Config == "" && o.Release.Folder == "" && (o.Root == "" || o.Compat == ""):
		return errors.New("--root and --compat go together: the folder, and the compatibility version of the client in it")
	case o.SubConfig != "" && o.Config == "":
		return errors.New("--sub-config names a part of a settings file: give --config FILE too")
	default:
		return nil
	}
}

func (o options) settings() (set config.Settings, err error) {
	switch {
	case o.Config != "":
		if set, err = config.Load(o.Config, o.SubConfig); err != nil {
			return set, err
		}
	case o.Release.Folder != "":
		set = config.ForRelease(o.Release.Folder)
	default:
		set = config.ForFolder(o.Root, o.Compat)
	}
	o.Release.lay(&set)
	set.Network.DisableZlibCompression = set.Network.DisableZlibCompression || o.NoZlib
	set.Network.ForceMetadataVersion = cmp.Or(o.Metadata, set.Network.ForceMetadataVersion)
	o.Transport.lay(&set)
	set.Operations.HTTPAddress = cmp.Or(o.HTTP, set.Operations.HTTPAddress)
	set.Operations.MetricsAddress = cmp.Or(o.Metrics, set.Operations.MetricsAddress)
	set.Operations.ControlSocket = cmp.Or(o.Control, set.Operations.ControlSocket)
	return set, set.Validate()
}

// effectiveSettings are the settings with the origin of each.
func (o options) effectiveSettings() (config.Settings, config.Origins, error) {
	set, err := o.settings()
	if err != nil {
		return set, nil, err
	}
	from := config.Origins{}
	if o.Config != "" {
		if _, from, err = config.LoadWithOrigins(o.Config, o.SubConfig); err != nil {
			return set, nil, err
		}
	}
	for key, option := range o.overrides() {
		from[key] = option
	}
	return set, from, nil
}

// overrides maps settings to the options that replace them.
func (o options) overrides() map[string]string {
	given := map[string]string{}
	for _, option := range []struct {
		given     bool
		name, key string
	}{
		{o.Compat != "", "--compat", "CompatibilityVersion"},
		{o.Root != "", "--root", "Baking.ClientResources"},
		{o.Root != "", "--root", "Baking.PlatformBinaries"},
		{o.Root != "", "--root", "Baking.CacheResources"},
		{o.Metadata != "", "--metadata-version", "Network.ForceMetadataVersion"},
		{o.NoZlib, "--no-zlib", "Network.DisableZlibCompression"},
		{o.HTTP != "", "--http", "Operations.HTTPAddress"},
		{o.Metrics != "", "--metrics", "Operations.MetricsAddress"},
		{o.Control != "", "--control", "Operations.ControlSocket"},
		{o.Listen != "", "default, but --listen " + o.Listen, "Network.ServerPort"},
	} {
		if option.given {
			given[option.key] = option.name
		}
	}
	maps.Copy(given, o.Transport.overrides())
	maps.Copy(given, o.Release.overrides())
	return given
}

// addresses are where to listen for players.
func (o options) addresses(set config.Settings) config.Addresses {
	at := set.Addresses()
	if o.Listen != "" {
		at.TCP = o.Listen
	}
	return o.Transport.over(at)
}

func (o options) address(set config.Settings) string {
	if o.Listen != "" {
		return o.Listen
	}
	return set.Address()
}

// newLog writes to standard error.
func newLog(opt options) zerolog.Logger {
	level, _ := zerolog.ParseLevel(opt.LogLevel) // kong has checked it
	log := zerolog.New(text.NewJSONWriter(os.Stderr))
	if opt.LogFormat == "console" { // it quotes fields that are not plain ASCII; messages are made harmless here
		message := func(m any) string { return text.Line(fmt.Sprint(cmp.Or(m, any("")))) }
		log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.DateTime, NoColor: !isTerminal(os.Stderr), FormatMessage: message})
	}
	return log.Level(level).With().Timestamp().Logger()
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
