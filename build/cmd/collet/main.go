// Command collet is the command for developers, operators, release engineers and QA. Its commands are grouped by user; --help lists them,
// and --help behind a command describes it.
//
// The exit code is 0 on success, 1 on failure, and 2 for an invalid command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"collet"
	"collet/build/cmd/collet/compat"
	"collet/build/cmd/collet/console"
	"collet/build/cmd/collet/languages"
	"collet/build/cmd/collet/remote"
	"collet/netproto/release/trust"
	"collet/platform/commandline"
	"collet/platform/text"
)

// commands is the command line.
type commands struct {
	Demo    demoCommand       `cmd:"" group:"try" help:"Play a whole update through on this machine, and check each step."`
	Modules modulesCommand    `cmd:"" group:"try" help:"Compile two releases of the sample game's module."`
	Remote  remote.Command    `cmd:"" group:"device" help:"Copy a working copy of a game to test devices, start it there, and show its log."`
	Wrap    wrapCommand       `cmd:"" group:"release" help:"Make an existing game ready for releases and packages: write collet.toml."`
	Release releaseCommand    `cmd:"" group:"release" help:"Publish releases of a game, and choose which players get them."`
	Pack    packCommand       `cmd:"" group:"release" help:"Make packages for players and server operators."`
	Keys    keysCommand       `cmd:"" group:"release" help:"Make and rotate the keys that sign releases, and rehearse their loss."`
	Compat  compat.Command    `cmd:"" group:"operate" help:"Set which versions of a game may connect, and find out why one is rejected."`
	Doctor  doctorCommand     `cmd:"" group:"qa" help:"Examine an install: its state, the cause, and what the next start will do. Changes nothing."`
	QA      qaCommand         `cmd:"" name:"qa" group:"qa" help:"Break updates on purpose, and check what remains."`
	Lang    languages.Command `cmd:"" group:"qa" help:"Check the languages of Collet's own texts."`
	Bench   benchCommand      `cmd:"" group:"qa" help:"Measure a server under load."`

	Version    kong.VersionFlag           `help:"Print the version and end."`
	Completion commandline.CompletionFlag `placeholder:"SHELL" help:"Print the completion for bash, zsh, fish or powershell, and end."`
	Man        commandline.ManFlag        `placeholder:"DIR" help:"Write the manual pages into a folder, and end."`
}

const description = `Publishes, packages, operates and tests games that Collet keeps up to date.

  collet wrap build --url https://example.org/lathe     write collet.toml for a game that is there
  collet keys init && collet release publish            a signed release in ./release
  collet pack all                                       what players download once
  source <(collet --completion bash)                    completion; zsh, fish and powershell too`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// ended carries the exit code of --help and --version out of the parser.
type ended struct{ code int }

// run is the program without its exit. All output is made harmless on its way: much of it is foreign text.
func run(args []string, stdout, stderr io.Writer) (code int) {
	stdout, stderr = text.NewWriter(stdout), text.NewWriter(stderr)
	defer func() {
		switch e := recover().(type) {
		case nil:
		case ended:
			code = e.code
		default:
			panic(e)
		}
	}()
	var c commands
	parser := newParser(&c, stdout, stderr)
	if commandline.Complete(parser, args) {
		return 0
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		var fault *kong.ParseError
		command := parser.Model.Node
		if errors.As(err, &fault) {
			command = innermost(fault.Context)
		}
		if i := slices.IndexFunc(args, isNegative); i >= 0 && strings.Contains(err.Error(), args[i]) {
			at := args[i]
			if i > 0 && strings.HasPrefix(args[i-1], "--") {
				at = args[i-1] + " " + at
			}
			err = fmt.Errorf("%s: numbers are 0 or more here", at)
		}
		fmt.Fprintf(stderr, "collet: %v\n%s --help tells more\n", err, command.FullPath())
		return console.ExitUsage
	}
	if name := emptyFlag(chosen); name != "" {
		fmt.Fprintf(stderr, "collet: --%s is empty: give it a value, or leave it out\n%s --help tells more\n", name, chosen.Selected().FullPath())
		return console.ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends at once
	chosen.BindTo(ctx, (*context.Context)(nil))
	chosen.BindTo(stdout, (*io.Writer)(nil))
	chosen.Bind(console.Console{Out: stdout, Err: stderr, Args: args})
	return exitCode(chosen.Run(), chosen.Selected().FullPath(), stderr)
}

// isNegative reports whether an argument is a negative number, which the parser takes for a flag. No command has use for one.
func isNegative(arg string) bool {
	n, err := strconv.Atoi(arg)
	return err == nil && n < 0
}

// emptyFlag is the name of a flag of a release command that the arguments give an empty text, as a variable that is not set does. Such a
// flag would count as not given, where what is chosen by itself may be another channel or folder. A pointer tells both apart.
func emptyFlag(c *kong.Context) string {
	if !strings.HasPrefix(c.Command(), "release ") {
		return ""
	}
	for _, p := range c.Path {
		if p.Flag != nil && !p.Resolved && p.Flag.Target.Kind() == reflect.String && p.Flag.Target.String() == "" {
			return p.Flag.Name
		}
	}
	return ""
}

// newParser is the parser of the command line. Its exit panics with an ended.
func newParser(c *commands, stdout, stderr io.Writer, more ...kong.Option) *kong.Kong {
	parser, err := kong.New(c, append([]kong.Option{
		kong.Name("collet"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(ended{code}) }),
		kong.Vars{"version": "collet " + collet.Version()},
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 80}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "try", Title: "Try it:"}, {Key: "device", Title: "Try it on devices:"}, {Key: "release", Title: "Release it:"}, {Key: "operate", Title: "Operate it:"},
			{Key: "qa", Title: "Test it:"}, {Key: "api", Title: "The server:"}, {Key: "change", Title: "Settings:"},
			{Key: "consent", Title: "Confirmation:"}, {Key: "hello", Title: "The client:"},
			{Key: "demo", Title: "The update:"}, {Key: "where", Title: "Where it happens:"},
			{Key: "subject", Title: "What is tested:"}, {Key: "work", Title: "How:"},
			{Key: "folder", Title: "The release folder and its keys:"}, {Key: "what", Title: "What is made:"},
			{Key: "who", Title: "Who gets it:"}, {Key: "rules", Title: "The rules:"}, {Key: "auto", Title: "The rollout that drives itself:"}, {Key: "out", Title: "What is printed:"},
			{Key: "target", Title: "The devices:"}, {Key: "copy", Title: "The working copy:"}, {Key: "game", Title: "The game:"},
			{Key: "desk", Title: "The desk:"},
			{Key: "matrix", Title: "The matrix in memory:"}, {Key: "report", Title: "Reports:"},
		}),
	}, more...)...)
	if err != nil {
		panic(fmt.Sprintf("collet: internal error: %v", err))
	}
	return parser
}

// innermost is the last command that the arguments name.
func innermost(c *kong.Context) *kong.Node {
	node := c.Model.Node
	for _, p := range c.Path {
		if p.Command != nil {
			node = p.Command
		}
	}
	return node
}

// exitCode is console.ExitCode, with a hint for a root that is too weak.
func exitCode(err error, command string, stderr io.Writer) int {
	if weak := (*trust.WeakRootError)(nil); errors.As(err, &weak) {
		err = fmt.Errorf("%w; for experiments say --allow-development or --allow-single-root", err)
	}
	return console.ExitCode(err, command, stderr)
}
