package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"collet"
	"collet/app/settings"
	"collet/netproto/launcher/wire"
	"collet/platform/commandline"
)

// flags is the command line.
type flags struct {
	start
	Version    bool                       `group:"Other" help:"Print the version and exit."`
	Completion commandline.CompletionFlag `group:"Other" placeholder:"SHELL" help:"Print the completion for bash, zsh, fish or powershell, and exit."`
	Man        commandline.ManFlag        `group:"Other" placeholder:"DIR" help:"Write the manual page into a folder, and exit."`
	Role       string                     `hidden:"" default:"host" enum:"host,runtime,embedded,probe"`
	StopWithin time.Duration              `hidden:"" help:"In a child's role: how long the game may take to end on a signal."`
	Resources  string                     `hidden:"" help:"In the role runtime: the module is the description of a program among these resources."`
	Kept       string                     `hidden:"" help:"With --resources: the record of the files that belong to the player."`
}

// start has the fields of host.Options, with kong's tags. Names in CamelCase are those of the engine's command line.
type start struct {
	Server           string   `group:"Update" placeholder:"HOST:PORT" help:"Update server. A prefix tls://, ws:// or wss:// selects the transport. Default: the setting, else 127.0.0.1:4000."`
	Tls              bool     `group:"Update" help:"Connect with TLS, like --server tls://HOST:PORT."`
	TlsCa            string   `group:"Update" placeholder:"FILE" help:"PEM file of the certificate authorities to trust. Default: those of the system."`
	TlsName          string   `group:"Update" placeholder:"NAME" help:"Expected name in the server's certificate. Default: its host."`
	Proxy            string   `group:"Update" placeholder:"URL" help:"Proxy: http://, https:// or socks5://[USER:PASSWORD@]HOST:PORT, or direct for none. If the proxy fails, the client connects directly once. Default: HTTPS_PROXY, ALL_PROXY and NO_PROXY."`
	ProxyOnly        bool     `group:"Update" help:"Never connect directly if the proxy fails."`
	Release          []string `group:"Update" placeholder:"URL" sep:"none" help:"Folder with signed releases: https://HOST/PATH, github://OWNER/REPO or oci://HOST/REPOSITORY; repeatable, in order of preference. Default: the setting."`
	Channel          string   `group:"Update" placeholder:"NAME" help:"Release channel. Default: the setting, else stable."`
	TrustedRoot      string   `group:"Update" placeholder:"FILE" help:"Trusted root.json that signed releases are verified against. Default: the setting, else the root built into this program."`
	Bandwidth        string   `group:"Update" placeholder:"RATE" help:"Download limit in bytes a second, for example 500K or 2M. Default: the setting, else unlimited."`
	Beacon           string   `group:"Update" placeholder:"URL|off" help:"Address that figures about updates and starts go to, without an id; off sends none. Default: the setting, else off."`
	Dir              string   `group:"Update" placeholder:"DIR" help:"Install folder. Default: the folder of this program."`
	UserWritablePath string   `name:"UserWritablePath" group:"Update" placeholder:"DIR" help:"Folder for all written files: a path, or * for this user's data folder. Default: the setting, else * beside a file INSTALLED, else the install folder."`
	Verify           bool     `group:"Update" help:"Hash all files of the game again, and download damaged ones."`
	Offline          bool     `group:"Update" help:"Start the installed version without a connection. With --headless alone: recover the install, print its state and exit."`
	PlayIncomplete   bool     `group:"Update" help:"Start an incomplete installed set if no server can repair it. Default: ask the player; with --headless, refuse."`
	Unblock          bool     `group:"Update" help:"Accept builds again that were rolled back because they failed to start."`

	Generation  string `group:"Protocol" default:"auto" enum:"auto,c1,g1,g2a,g2b" help:"Wire generation: ${enum}. auto detects it; an unknown g1 or g2b server costs one more connection. g1, g2a and g2b are those of the engine's servers."`
	Trust       string `group:"Protocol" placeholder:"MODE" help:"Proof required for native code. release: signed by the game's keys. sha256: listed by the server. fnv: weak checksum. auto: release with a trusted root, sha256 with TLS, else no native code. Default: the setting Update.Trust, else auto."`
	Compat      string `group:"Protocol" placeholder:"VERSION" help:"With --headless: compatibility version to announce. Default: that of the installed game."`
	Target      string `group:"Protocol" placeholder:"TARGET" help:"Binary target to announce, for example Linux-x64. Default: this system."`
	Kind        string `group:"Protocol" placeholder:"KIND" help:"What the game is: module, a native library, or program, an executable of its own. Default: the setting Client.Kind, else module."`
	RuntimeName string `group:"Protocol" placeholder:"NAME" help:"Base name of the game's module, or of its description. Default: the name of this program."`

	ClientLibPath                 string `name:"ClientLibPath" group:"Runtime" placeholder:"PATH" help:"Start this module, or the program of this description, instead of the one beside this program."`
	ClientLibCompatibilityVersion string `name:"ClientLibCompatibilityVersion" group:"Runtime" placeholder:"VERSION" help:"Accept only a game of this compatibility version. The built-in client replaces it only with the same version."`
	ForceEmbeddedRuntime          bool   `name:"ForceEmbeddedRuntime" group:"Runtime" help:"Run the built-in client instead of a module, unless --ClientLibPath names one."`
	DeepLinkUri                   string `name:"DeepLinkUri" group:"Runtime" placeholder:"LINK" help:"Link that opened the game, as registered by installers; passed to the game under the same name."`

	RemoteLauncher string `name:"remote-launcher" group:"Device" placeholder:"HOST[:PORT]" help:"Be a device of the desk at this address (collet remote): receive its working copy, start the game at its request, and send the log. With a window, or with --headless. Not in a player's program."`
	DeviceName     string `name:"name" group:"Device" placeholder:"NAME" help:"Name of this device at the desk. Default: the name of this machine."`
	Dialect        string `name:"dialect" group:"Device" default:"released" enum:"released,draft" help:"Protocol dialect of another vendor's desk: ${enum}. draft predates the protocol's first release."`

	Headless bool `group:"Headless" help:"No window: update, print phases, files and the outcome, and exit."`
	JSON     bool `name:"json" group:"Headless" help:"With --headless: print one JSON object per line."`
	Run      bool `group:"Headless" help:"With --headless: install what is staged and run the game, as with a window."`

	Lang     string `group:"Other" placeholder:"LOCALE" help:"Language of all texts, for example de or pt-BR. Default: that of the system."`
	LogLevel string `group:"Other" default:"info" enum:"debug,info,warn,error" help:"Level of the log file: ${enum}."`

	Adopt string `group:"Other" placeholder:"DIR" help:"Make an install of the folder that holds the game already: everything in it moves into DIR/Resources, this program is copied to DIR, and the next start fetches only what differs. With --UserWritablePath or its setting the files move into that folder, and this program stays. Shows the plan and asks, in the window or, with --headless, in the terminal."`
	Yes   bool   `group:"Other" help:"With --adopt: do not ask, and open no window."`

	Control    string `hidden:""`
	Relaunched int    `hidden:"" help:"How many relaunches in a row led here."`
	ShowCrash  string `hidden:"" help:"How the game ended in the process before this one."`
	WentBack   bool   `hidden:"" help:"The process before this one put the last proven set back."`
	KeepHost   bool   `hidden:"" help:"The process before this one tried a newer version of this program, which failed."`
	Trial      string `hidden:"" help:"Where this program will lie if it works."`

	Command []string `kong:"-"`

	Args []string `arg:"" optional:"" help:"Arguments of the game, after --."`
}

const description = `Keeps a game up to date and runs it.

Without arguments it checks the server, downloads changes, installs a new version and starts the game.
Arguments after -- are passed to the game.

  collet-client                                                     with a window, by the settings beside it
  collet-client --headless --server tls://play.example.org:4000     update without one
  collet-client --release https://example.org/game --trusted-root root.json
  collet-client --verify                                            find and repair damaged files
  collet-client -- --windowed                                       an argument of the game

Flags override settings. <name of this program>.toml beside the program overrides the settings that packaging put into it.
Settings: %s. A key outside a table, such as ForceOpenGL = 1, is passed to the game as --ForceOpenGL 1.
The log is <name of this program>.log.

Exit codes: 0 played, current, or a new version is staged for the next start (BinariesStaged); 1 nothing was adopted; 10 an update without effect; 11 the account needs a newer version; 12 update through a store; 13 nothing for this target; 14 this program is too old;
16 server inconsistent; 17 client newer than server; 18 components differ; 19 maintenance; 20 unreachable;
21 interrupted; 22 disk full; 23 no permission; 24 locked file; 25 damaged download; 26 untrusted; 27 server fault;
28 disk fault; 29 a sign-in is needed; 30 the game failed; 31 already running; 32 the installed game is not whole; 40 cancelled; 2 wrong usage.`

// exitUsage is the exit code for an invalid command line, as in most programs.
const exitUsage = 2

// stop ends the program after parsing: --help, --version or a usage error.
type stop struct {
	code int
	why  error // the usage error, or nil
}

func (s stop) Error() string {
	if s.why != nil {
		return s.why.Error()
	}
	return fmt.Sprintf("stop with code %d", s.code)
}

// parseFlags reads the command line. A stop error carries the exit code of --help, --version or a usage error, whose
// text has been written.
func parseFlags(args []string, stdout, stderr io.Writer) (f flags, err error) {
	parser, err := newParser(&f, stdout, stderr)
	if err != nil {
		return f, err
	}
	if commandline.Complete(parser, args) {
		return f, stop{}
	}
	defer func() {
		if recovered := recover(); recovered != nil {
			ended, is := recovered.(stop)
			if !is {
				panic(recovered)
			}
			err = ended
		}
	}()
	if _, err = parser.Parse(args); err == nil {
		err = f.check()
	}
	if err != nil {
		return f, stop{exitUsage, fmt.Errorf("%w\nRun it with --help for its usage", err)}
	}
	if f.Version {
		fmt.Fprintf(stdout, "collet-client %s\n", collet.Version())
		return f, stop{}
	}
	return f, nil
}

// newParser is the parser of the command line. Its exit panics with a stop.
func newParser(f *flags, stdout, stderr io.Writer, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(f, append([]kong.Option{kong.Name("collet-client"), kong.Vars{"version": "collet-client " + collet.Version()},
		kong.Description(fmt.Sprintf(description, strings.Join(settings.Names(), ", "))), kong.UsageOnError(),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(stop{code: code}) }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{{Key: "Update", Title: "Update:"}, {Key: "Runtime", Title: "Runtime:"},
			{Key: "Device", Title: "Device of a remote launcher:"}, {Key: "Headless", Title: "Headless:"}, {Key: "Protocol", Title: "Protocol:"}, {Key: "Other", Title: "Other:"}})}, more...)...)
}

// check rejects invalid values and combinations that would be ignored silently.
func (f flags) check() error {
	switch {
	case f.Yes && f.Adopt == "":
		return errors.New("--yes goes with --adopt")
	case f.Adopt != "" && (f.Dir != "" || f.RemoteLauncher != "" || f.Run):
		return errors.New("--adopt excludes --dir, --run and --remote-launcher: its folder becomes the install, and the game starts from there")
	case f.JSON && !f.Headless:
		return errors.New("--json goes with --headless")
	case f.Run && !f.Headless:
		return errors.New("--run goes with --headless; with the window the game always runs")
	case f.Offline && f.Verify:
		return errors.New("--offline and --verify exclude each other: damaged files come from the server")
	case f.Server != "" && !strings.Contains(f.Server, ":"):
		return fmt.Errorf("--server %q has no port; want HOST:PORT", f.Server)
	case f.Server != "" && serverFault(f.Server) != nil:
		return fmt.Errorf("--server %q: %w", f.Server, serverFault(f.Server))
	case settings.ReleaseFault(f.Release) != nil:
		return fmt.Errorf("--release: %w", settings.ReleaseFault(f.Release))
	case len(f.Release) > 0 && (f.Trust == "sha256" || f.Trust == "fnv"):
		return fmt.Errorf("--release and --trust %s exclude each other: a web server has only signed releases", f.Trust)
	case settings.TrustFault(f.Trust) != nil:
		return fmt.Errorf("--trust: %w", settings.TrustFault(f.Trust))
	case settings.KindFault(f.Kind) != nil:
		return fmt.Errorf("--kind: %w", settings.KindFault(f.Kind))
	case rateFault(f.Bandwidth) != nil:
		return fmt.Errorf("--bandwidth: %w", rateFault(f.Bandwidth))
	case settings.BeaconFault(f.Beacon) != nil:
		return fmt.Errorf("--beacon: %w", settings.BeaconFault(f.Beacon))
	case f.ProxyOnly && f.Proxy == settings.Direct:
		return errors.New("--proxy-only and --proxy direct exclude each other")
	case settings.ProxyFault(f.Proxy) != nil:
		return fmt.Errorf("--proxy: %w", settings.ProxyFault(f.Proxy))
	case f.RemoteLauncher == "" && (f.DeviceName != "" || f.Dialect == wire.Draft.String()):
		return errors.New("--name and --dialect go with --remote-launcher")
	case f.RemoteLauncher != "" && (f.Run || f.Offline || f.Verify || f.Server != "" || len(f.Release) > 0 || f.ForceEmbeddedRuntime):
		return errors.New("--remote-launcher excludes --run, --offline, --verify, --server, --release and --ForceEmbeddedRuntime: the desk decides what is installed and run")
	case len(f.DeviceName) > wire.MaxName:
		return fmt.Errorf("--name is longer than %d bytes", wire.MaxName)
	case f.DeepLinkUri != "" && linkFault(f.DeepLinkUri) != nil:
		return fmt.Errorf("--DeepLinkUri %q %w", f.DeepLinkUri, linkFault(f.DeepLinkUri))
	case (f.Role != "host" || f.Trial != "") && f.Control == "":
		return errors.New("--role and --trial are internal: this program passes them to itself")
	}
	return nil
}

// serverFault checks the address of the command line.
func serverFault(text string) error {
	_, _, _, err := settings.ParseServer(text)
	return err
}

func rateFault(text string) error {
	_, err := settings.ParseRate(text)
	return err
}

// maxLink is the longest link in bytes: browsers cut longer ones.
const maxLink = 8192

// linkFault returns why a text is not a valid link, or nil.
func linkFault(link string) error {
	scheme, _, found := strings.Cut(link, ":")
	switch {
	case len(link) > maxLink:
		return fmt.Errorf("is longer than %d bytes", maxLink)
	case !found || !linkScheme.MatchString(scheme):
		return errors.New("is not a link; want SCHEME:REST")
	case strings.ContainsFunc(link, unicode.IsControl):
		return errors.New("contains control characters")
	}
	return nil
}

// linkScheme is a scheme as in RFC 3986, section 3.1.
var linkScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
