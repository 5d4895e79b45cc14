// Command collet is the one command for developers, operators, release engineers and QA. Its commands are grouped by who
// needs them; --help lists them, and --help behind a command tells all about it.
//
// It ends with 0 when the command did what it says, 1 when it did not, and 2 when the command line makes no sense.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"collet"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// commands is the command line.
type commands struct {
	Demo    demoCommand    `cmd:"" group:"try" help:"Play a whole update through on this machine and check it."`
	Modules modulesCommand `cmd:"" group:"try" help:"Compile the sample game's module in two releases."`

	Version kong.VersionFlag `help:"Print the version and end."`
}

const description = `The command around Collet, which keeps a game current and starts it.`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// ended carries the exit code of --help and --version out of the parser.
type ended struct{ code int }

func run(args []string, stdout, stderr io.Writer) (code int) {
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
	parser, err := kong.New(&c,
		kong.Name("collet"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(ended{code}) }),
		kong.Vars{"version": "collet " + collet.Version()},
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "try", Title: "Try it:"},
			{Key: "demo", Title: "The update:"}, {Key: "where", Title: "Where it happens:"},
		}),
	)
	if err != nil {
		panic(fmt.Sprintf("collet: internal error: %v", err))
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "collet: %v\ncollet --help tells more\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	chosen.BindTo(ctx, (*context.Context)(nil))
	chosen.BindTo(stdout, (*io.Writer)(nil))
	if err := chosen.Run(); err != nil {
		return exitFailed // the command has said why
	}
	return 0
}
