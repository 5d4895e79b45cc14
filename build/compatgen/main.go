// Command compatgen turns the declarations that clients and servers share into hashes and tables, and detects changes of them.
//
//	compatgen gen [DIR]            write the outputs
//	compatgen check [DIR]          list everything that is stale, changed or reused
//	compatgen explain NAME [DIR]   print the canonical form of a component, the input of its hash
//	compatgen release [DIR]        store the manifest of this logic version as its baseline
//
// A project is a folder with a compatgen.json (type project). Components are declared by marked Go types, or by XML and JSON
// files in the format of auto-components. Each has a canonical form: one S-expression with everything that is on the wire and
// nothing else. Formatting, comments, line endings, documentation and the order of attributes never change it. A nested type,
// an order that is on the wire, or a number always does. compat.ComponentHash and compat.SetHash hash forms.
//
// The same source always gives the same outputs: the dates in them are those of the commit that changed a declaration
// (SOURCE_DATE_EPOCH, or git), and the lock keeps them. docs/COMPATIBILITY.md is the guide.
//
// The exit code is 1 if check found something, or if another command failed, and 2 for a wrong command line or a folder without a project.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"collet/netproto/compat"
	"collet/platform/commandline"
)

// commands are the command line.
type commands struct {
	Gen     genCommand     `cmd:"" help:"Write the tables, the manifest, the C header and the lock."`
	Check   checkCommand   `cmd:"" help:"List everything that is stale, changed or reused."`
	Explain explainCommand `cmd:"" help:"Print the canonical form of a component, the input of its hash."`
	Release releaseCommand `cmd:"" help:"Store the manifest of this logic version as its baseline."`

	Completion commandline.CompletionFlag `placeholder:"SHELL" help:"Print the completion for bash, zsh, fish or powershell, and end."`
	Man        commandline.ManFlag        `placeholder:"DIR" help:"Write the manual pages into a folder, and end."`
}

// out are the outputs of commands.
type out struct{ text, notes io.Writer }

// epoch is the variable SOURCE_DATE_EPOCH: the time of a reproducible build, or empty.
type epoch string

type genCommand struct {
	Dir string `arg:"" default:"." help:"Folder with the compatgen.json."`
}

// Help is what --help adds to the flags.
func (genCommand) Help() string {
	return `Prints the files that it wrote. Files that are right already stay as they are.

  compatgen gen
  compatgen gen game`
}

// Run writes the outputs and lists those that changed.
func (c *genCommand) Run(ctx context.Context, o out, e epoch) error {
	t, err := buildTable(c.Dir, commitOf(ctx, c.Dir, e))
	if err != nil {
		return err
	}
	for _, warning := range t.warnings {
		fmt.Fprintln(o.notes, "warning:", warning)
	}
	files, err := t.outputs()
	if err != nil {
		return err
	}
	written, err := writeFiles(files)
	for _, path := range written {
		fmt.Fprintln(o.text, "wrote", path)
	}
	return err
}

type checkCommand struct {
	Dir string `arg:"" default:"." help:"Folder with the compatgen.json."`
}

// Help is what --help adds to the flags.
func (checkCommand) Help() string {
	return `Writes nothing, and prints one line for each obstacle to a release. With one or more the exit code is 1, without a
project in the folder it is 2.

  compatgen check game`
}

// errProblems says that check found and printed problems.
var errProblems = errors.New("the declarations can't be shipped like this")

// Run prints one line for each problem.
func (c *checkCommand) Run(ctx context.Context, o out, e epoch) error {
	t, err := buildTable(c.Dir, commitOf(ctx, c.Dir, e))
	if err != nil {
		return err
	}
	problems, err := t.checkAll()
	if err != nil {
		return err
	}
	for _, problem := range problems {
		fmt.Fprintln(o.text, problem)
	}
	if len(problems) > 0 {
		return errProblems
	}
	return nil
}

type explainCommand struct {
	Name  string `arg:"" help:"The component."`
	Dir   string `arg:"" default:"." help:"Folder with the compatgen.json."`
	Logic int32  `help:"Form for this logic version; 0 is the project's own."`
}

// Help is what --help adds to the flags.
func (explainCommand) Help() string {
	return `Prints it in lines, and its hash. A part of the name is enough to be told the whole ones.

  compatgen explain Camera game
  compatgen explain Camera game --logic 6`
}

// Run prints the form in lines, and its hash.
func (c *explainCommand) Run(ctx context.Context, o out, e epoch) error {
	t, err := buildTable(c.Dir, commitOf(ctx, c.Dir, e))
	if err != nil {
		return err
	}
	logic := c.Logic
	if logic == 0 {
		logic = t.project.Logic
	}
	_, forms, err := t.manifestOf(t.ids(), logic)
	if err != nil {
		return err
	}
	form, known := forms[dottedName(c.Name)]
	if !known {
		return fmt.Errorf("explain %q: logic version %d has no such component; %s", c.Name, logic, suggestNames(dottedName(c.Name), slices.Sorted(maps.Keys(forms))))
	}
	_, err = fmt.Fprintf(o.text, "%s\n%016x\n", formatLines(form), compat.ComponentHash(form))
	return err
}

// suggestNames lists similar names: those that contain the word, or else all.
func suggestNames(word string, names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	like := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.Contains(strings.ToLower(name), strings.ToLower(word))
	})
	if len(like) == 0 {
		like = names
	}
	return "it has " + strings.Join(like, ", ")
}

type releaseCommand struct {
	Dir           string `arg:"" default:"." help:"Folder with the compatgen.json."`
	BuildID       string `help:"Name of the build."`
	Branch        string `help:"Branch of the build."`
	Compatibility string `help:"The game's own compatibility version, if it has one."`
}

// Help is what --help adds to the flags.
func (releaseCommand) Help() string {
	return `Run it when the game with this logic version is released. A baseline is never overwritten.

  compatgen release game --build-id 812 --branch main`
}

// Run writes the baseline.
func (c *releaseCommand) Run(ctx context.Context, o out, e epoch) error {
	now := commitOf(ctx, c.Dir, e)
	t, err := buildTable(c.Dir, now)
	if err != nil {
		return err
	}
	path, err := t.writeBaseline(compat.Build{Time: now.at, Seq: now.seq, ID: c.BuildID, Branch: c.Branch, Compatibility: c.Compatibility})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.text, "logic version %d is released: %s\n", t.project.Logic, path)
	return err
}

// commitOf is the commit of a change. Its time is SOURCE_DATE_EPOCH, or else git's, or else unknown. In a shallow clone the number of
// commits is unknown.
func commitOf(ctx context.Context, dir string, e epoch) (s stamp) {
	git := func(args ...string) string {
		said, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(said))
	}
	if git("rev-parse", "--is-shallow-repository") == "false" {
		s.seq, _ = strconv.ParseUint(git("rev-list", "--count", "HEAD"), 10, 64)
	}
	parse := func(text string) int64 {
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0
		}
		return max(0, at)
	}
	if s.at = parse(string(e)); s.at == 0 {
		s.at = parse(git("log", "-1", "--format=%ct"))
	}
	return s
}

// description is what --help says of the program.
const description = `Turns the declarations that clients and servers share into hashes and tables, and detects changes of them.
docs/COMPATIBILITY.md is the guide.

  compatgen gen game
  compatgen check game`

// newParser is the parser of the command line.
func newParser(c *commands, ctx context.Context, o out, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(c, append([]kong.Option{kong.Name("compatgen"), kong.Description(description), kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}),
		kong.Writers(o.text, o.notes), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(o)}, more...)...)
}

// usageError is a fault of the command line: the exit code is 2.
type usageError struct {
	error
	command string // that has the help
}

// Unwrap is for errors.Is.
func (e *usageError) Unwrap() error { return e.error }

// runCommand is the program without its process.
func runCommand(ctx context.Context, args []string, o out, e epoch) error {
	var c commands
	parser, err := newParser(&c, ctx, o, kong.Bind(e))
	if err != nil {
		return err
	}
	if commandline.Complete(parser, args) {
		return nil
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		command := "compatgen"
		if fault := (*kong.ParseError)(nil); errors.As(err, &fault) && fault.Context.Selected() != nil {
			command = fault.Context.Selected().FullPath()
		}
		return &usageError{err, command}
	}
	err = parsed.Run()
	if errors.Is(err, errNoProject) {
		return &usageError{err, parsed.Selected().FullPath()}
	}
	return err
}

// The exit codes.
const (
	exitFailed = 1 // also of check, where it found something
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := runCommand(ctx, os.Args[1:], out{os.Stdout, os.Stderr}, epoch(os.Getenv("SOURCE_DATE_EPOCH")))
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "compatgen:", err)
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		fmt.Fprintf(os.Stderr, "%s --help tells more\n", wrong.command)
		os.Exit(exitUsage)
	}
	os.Exit(exitFailed)
}
