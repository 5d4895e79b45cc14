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
)

// flags is the command line.
type flags struct {
	start
	Version    bool          `group:"Other" help:"Print the version and end."`
	Role       string        `hidden:"" default:"host" enum:"host,runtime,embedded,probe"`
	StopWithin time.Duration `hidden:"" help:"In a child's role: how long the game may take to end when the system tells it to."`
}

// start has the fields of host.Options, with kong's tags. Names in CamelCase are those of the engine's command line.
type start struct {
	Server           string   `group:"Update" placeholder:"HOST:PORT" help:"Update server; tls://, ws:// or wss:// before it choose how to connect. Default: what the settings file says, else 127.0.0.1:4000."`
	Tls              bool     `group:"Update" help:"Speak TLS with the server, as --server tls://HOST:PORT does."`
	TlsCa            string   `group:"Update" placeholder:"FILE" help:"PEM file of the authorities that vouch for the server. Default: those of the system."`
	TlsName          string   `group:"Update" placeholder:"NAME" help:"Name in the server's certificate. Default: its host."`
	Proxy            string   `group:"Update" placeholder:"URL" help:"Proxy: http://, https:// or socks5://[USER:PASSWORD@]HOST:PORT, or direct for none. Default: what HTTPS_PROXY, ALL_PROXY and NO_PROXY say. One that fails is gone around once."`
	ProxyOnly        bool     `group:"Update" help:"Never go around a proxy that fails."`
	Release          []string `group:"Update" placeholder:"URL" sep:"none" help:"Folder on a web server with signed releases; may be given several times, the best first. Default: what the settings file says."`
	Channel          string   `group:"Update" placeholder:"NAME" help:"Channel of the releases. Default: what the settings file says, else stable."`
	TrustedRoot      string   `group:"Update" placeholder:"FILE" help:"root.json that signed releases have to lead back to. Default: what the settings file says, else what this program was built with."`
	Bandwidth        string   `group:"Update" placeholder:"RATE" help:"Bytes a second that a release may take, for example 500K or 2M. Default: what the settings file says, else no limit."`
	Dir              string   `group:"Update" placeholder:"DIR" help:"Install folder. Default: the folder of this program."`
	UserWritablePath string   `name:"UserWritablePath" group:"Update" placeholder:"DIR" help:"Folder for everything that is written: * for this user's data folder, or a path. Default: what the settings file says, else * beside a file INSTALLED, else the install folder."`
	Verify           bool     `group:"Update" help:"Hash every file again, the module included, and fetch what is damaged."`
	Offline          bool     `group:"Update" help:"Start what is installed without asking the server. With --headless alone: recover the install, say what it holds, and end."`
	PlayIncomplete   bool     `group:"Update" help:"Start an installed set that is known not to be whole, where no server can mend it. Without it the player is asked, and a headless start refuses."`
	Unblock          bool     `group:"Update" help:"Take builds again that were taken back because they failed to start."`

	Generation  string `group:"Protocol" default:"auto" enum:"auto,c1,g1,g2a,g2b" help:"Wire generation: ${enum}. auto finds it out, with one more connection at a server of g1 or g2b that was not met before; all but c1 are what the engine's servers speak."`
	Trust       string `group:"Protocol" placeholder:"MODE" help:"What vouches for modules and other native code: auto, release, sha256 or fnv. release takes what the game's keys signed and nothing else; sha256 takes what the server lists, whichever answers; engine generations know only FNV-1a checksums, which are easily forged, and fnv takes modules from them all the same. auto is release if there is a trusted root, else sha256 if TLS authenticated the server; without both no native code is taken. Default: what the settings file says (Update.Trust), else auto."`
	Compat      string `group:"Protocol" placeholder:"VERSION" help:"With --headless: compatibility version to announce. Default: that of the installed module."`
	Target      string `group:"Protocol" placeholder:"TARGET" help:"Binary target to announce, for example Linux-x64. Default: this system."`
	RuntimeName string `group:"Protocol" placeholder:"NAME" help:"Base name of the module. Default: the name of this program."`

	ClientLibPath                 string `name:"ClientLibPath" group:"Runtime" placeholder:"PATH" help:"Load this module instead of the one beside the program."`
	ClientLibCompatibilityVersion string `name:"ClientLibCompatibilityVersion" group:"Runtime" placeholder:"VERSION" help:"Accept only a module of this compatibility version; the built-in client stands in only if it has it too."`
	ForceEmbeddedRuntime          bool   `name:"ForceEmbeddedRuntime" group:"Runtime" help:"Run the built-in client and load no module, unless --ClientLibPath names one."`
	DeepLinkUri                   string `name:"DeepLinkUri" group:"Runtime" placeholder:"LINK" help:"Link that the game was opened with, as installers register it; the game gets it under the same name."`

	RemoteLauncher string `name:"remote-launcher" group:"Device" placeholder:"HOST[:PORT]" help:"Be a device of the desk there (collet remote): take its working copy, start it when the desk says so, and send it the log. In a window, or with --headless. Not in a player's program."`
	DeviceName     string `name:"name" group:"Device" placeholder:"NAME" help:"What the desk calls this device. Default: the name of this machine."`
	Dialect        string `name:"dialect" group:"Device" default:"released" enum:"released,draft" help:"What the desk speaks if it is not ours: ${enum}. draft is from before the protocol's first release."`

	Headless bool `group:"Headless" help:"No window: synchronise, print phases, files and the outcome, and end."`
	JSON     bool `name:"json" group:"Headless" help:"With --headless: one JSON object a line."`
	Run      bool `group:"Headless" help:"With --headless: swap in staged modules and run the game as the window would."`

	Lang     string `group:"Other" placeholder:"LOCALE" help:"Language of all texts, for example ru. Default: that of the system."`
	LogLevel string `group:"Other" default:"info" enum:"debug,info,warn,error" help:"How much the log file holds: ${enum}."`

	Control    string `hidden:""`
	Relaunched int    `hidden:"" help:"How many relaunches in a row led here."`
	ShowCrash  string `hidden:"" help:"How the game ended in the process before this one."`
	WentBack   bool   `hidden:"" help:"The process before this one put the last proven set back."`
	KeepHost   bool   `hidden:"" help:"The process before this one tried a newer version of this program, which failed."`
	Trial      string `hidden:"" help:"Where this program will lie if it works."`

	Command []string `kong:"-"`

	Args []string `arg:"" optional:"" help:"Arguments of the game, after --."`
}

const description = `Keeps a game current and runs it.

Double-click it, or start it without arguments: it loads the module beside it, asks the server, fetches what changed,
swaps a new module in and starts the game. What stands after -- goes to the game.

Flags go before settings, and of settings those in <name of this program>.toml beside it before those that packaging put into this
program. Their names: %s. What stands in no table, such as ForceOpenGL = 1, goes to the game: --ForceOpenGL 1.
The log is <name of this program>.log.

Exit codes: 0 played or current, or BinariesStaged: a new module waits for the next start; 10 an update that does not help; 11 the account needs a newer version; 12 update through a store; 13 no module for this target; 14 this program is too old;
16 server inconsistent; 17 client newer than server; 18 components differ; 19 maintenance; 20 unreachable;
21 interrupted; 22 disk full; 23 no permission; 24 locked file; 25 damaged download; 26 untrusted; 27 server fault;
28 disk fault; 30 the game failed; 31 already running; 32 the installed game is not whole; 40 cancelled; 2 wrong usage.`

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
	parser, err := kong.New(&f, kong.Name("collet-client"), kong.Description(fmt.Sprintf(description, strings.Join(settings.Names(), ", "))), kong.UsageOnError(),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(stop{code: code}) }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{{Key: "Update", Title: "Update:"}, {Key: "Runtime", Title: "Runtime:"},
			{Key: "Device", Title: "Device of a remote launcher:"}, {Key: "Headless", Title: "Headless:"}, {Key: "Protocol", Title: "Protocol:"}, {Key: "Other", Title: "Other:"}}))
	if err != nil {
		return f, err
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
		return f, stop{exitUsage, fmt.Errorf("%w\nRun it with --help to see what it takes", err)}
	}
	if f.Version {
		fmt.Fprintf(stdout, "collet-client %s\n", collet.Version())
		return f, stop{}
	}
	return f, nil
}

// check rejects invalid values and combinations that would be ignored silently.
func (f flags) check() error {
	switch {
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
		return fmt.Errorf("--release and --trust %s exclude each other: signed releases are the only thing that a web server gives", f.Trust)
	case settings.TrustFault(f.Trust) != nil:
		return fmt.Errorf("--trust: %w", settings.TrustFault(f.Trust))
	case rateFault(f.Bandwidth) != nil:
		return fmt.Errorf("--bandwidth: %w", rateFault(f.Bandwidth))
	case f.ProxyOnly && f.Proxy == settings.Direct:
		return errors.New("--proxy-only and --proxy direct exclude each other")
	case settings.ProxyFault(f.Proxy) != nil:
		return fmt.Errorf("--proxy: %w", settings.ProxyFault(f.Proxy))
	case f.RemoteLauncher == "" && (f.DeviceName != "" || f.Dialect == wire.Draft.String()):
		return errors.New("--name and --dialect go with --remote-launcher")
	case f.RemoteLauncher != "" && (f.Run || f.Offline || f.Verify || f.Server != "" || len(f.Release) > 0 || f.ForceEmbeddedRuntime):
		return errors.New("--remote-launcher excludes --run, --offline, --verify, --server, --release and --ForceEmbeddedRuntime: the desk says what comes and what runs")
	case len(f.DeviceName) > wire.MaxName:
		return fmt.Errorf("--name is longer than %d bytes", wire.MaxName)
	case f.DeepLinkUri != "" && linkFault(f.DeepLinkUri) != nil:
		return fmt.Errorf("--DeepLinkUri %q %w", f.DeepLinkUri, linkFault(f.DeepLinkUri))
	case (f.Role != "host" || f.Trial != "") && f.Control == "":
		return errors.New("--role and --trial are how this program starts itself; they are of no use by hand")
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
		return errors.New("is no link; want scheme:something")
	case strings.ContainsFunc(link, unicode.IsControl):
		return errors.New("has control characters in it")
	}
	return nil
}

// linkScheme is a scheme as in RFC 3986, section 3.1.
var linkScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
