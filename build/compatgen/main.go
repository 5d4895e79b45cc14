// Command compatgen turns the declarations of what clients and servers share into hashes and tables, and watches over them.
//
//	compatgen gen [DIR]            write the outputs
//	compatgen check [DIR]          name everything that is stale, changed or used again; exit code 1 if there is something
//	compatgen explain NAME [DIR]   print the canonical form of a component, which is what its hash is made of
//	compatgen release [DIR]        keep the manifest of this logic version as its baseline
//
// A project is a folder with a compatgen.json (type project). Components are declared by marked Go types, or by XML and JSON
// files in the way of auto-components. Each has a canonical form: one S-expression with everything that is on the wire and
// nothing else. Formatting, comments, line endings, documentation and the order of attributes never change it; a nested type,
// an order that is on the wire, or a number always does. compat.ComponentHash and compat.SetHash make hashes of forms.
//
// The same source always gives the same outputs: the dates in them are those of the commit that changed a declaration
// (SOURCE_DATE_EPOCH, or git), and the lock keeps them. docs/COMPATIBILITY.md is the guide.
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
)

// commands are the command line.
type commands struct {
	Gen     genCommand     `cmd:"" help:"Write the tables, the manifest, the C header and the lock."`
	Check   checkCommand   `cmd:"" help:"Name everything that is stale, changed or used again."`
	Explain explainCommand `cmd:"" help:"Print what a component's hash is made of."`
	Release releaseCommand `cmd:"" help:"Keep the manifest of this logic version as its baseline."`
}

// out is where commands speak.
type out struct{ text, notes io.Writer }

type genCommand struct {
	Dir string `arg:"" default:"." help:"Folder with the compatgen.json."`
}

// Run writes the outputs and names those that were written.
func (c *genCommand) Run(ctx context.Context, o out) error {
	t, err := build(c.Dir, commitOf(ctx, c.Dir))
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
	written, err := write(files)
	for _, path := range written {
		fmt.Fprintln(o.text, "wrote", path)
	}
	return err
}

type checkCommand struct {
	Dir string `arg:"" default:"." help:"Folder with the compatgen.json."`
}

// errProblems says that check found something, which it has printed.
var errProblems = errors.New("the declarations can't be shipped like this")

// Run prints one line for each problem.
func (c *checkCommand) Run(ctx context.Context, o out) error {
	t, err := build(c.Dir, commitOf(ctx, c.Dir))
	if err != nil {
		return err
	}
	problems, err := t.check()
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
	Logic int32  `help:"As this logic version sees it; 0 is the project's own."`
}

// Run prints the form in lines, and its hash.
func (c *explainCommand) Run(ctx context.Context, o out) error {
	t, err := build(c.Dir, commitOf(ctx, c.Dir))
	if err != nil {
		return err
	}
	logic := c.Logic
	if logic == 0 {
		logic = t.project.Logic
	}
	_, forms, err := t.view(t.ids(), logic)
	if err != nil {
		return err
	}
	form, known := forms[plain(c.Name)]
	if !known {
		return fmt.Errorf("explain %q: logic version %d has no such component; %s", c.Name, logic, suggest(plain(c.Name), slices.Sorted(maps.Keys(forms))))
	}
	_, err = fmt.Fprintf(o.text, "%s\n%016x\n", lines(form), compat.ComponentHash(form))
	return err
}

// suggest names what somebody may have meant: names that have the word in them, or else all.
func suggest(word string, names []string) string {
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
	Branch        string `help:"Branch that it was made from."`
	Compatibility string `help:"The game's own compatibility version, where it has one."`
}

// Run writes the baseline.
func (c *releaseCommand) Run(ctx context.Context, o out) error {
	now := commitOf(ctx, c.Dir)
	t, err := build(c.Dir, now)
	if err != nil {
		return err
	}
	path, err := t.release(compat.Build{Time: now.at, Seq: now.seq, ID: c.BuildID, Branch: c.Branch, Compatibility: c.Compatibility})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.text, "logic version %d is released: %s\n", t.project.Logic, path)
	return err
}

// commitOf is the commit that a change belongs to: SOURCE_DATE_EPOCH for its time, else what git says, else unknown. A clone
// without its history can't count commits, so there the number is unknown.
func commitOf(ctx context.Context, dir string) (s stamp) {
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
	for _, told := range []string{os.Getenv("SOURCE_DATE_EPOCH"), git("log", "-1", "--format=%ct")} {
		if at, err := strconv.ParseInt(told, 10, 64); err == nil && at > 0 {
			s.at = at
			return s
		}
	}
	return s
}

// run is the program without its process.
func run(ctx context.Context, args []string, o out) error {
	var c commands
	parser, err := kong.New(&c, kong.Name("compatgen"), kong.Writers(o.text, o.notes), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(o))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	return parsed.Run()
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], out{os.Stdout, os.Stderr})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compatgen:", err)
		os.Exit(1)
	}
}
