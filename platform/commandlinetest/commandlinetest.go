// Package commandlinetest checks for tests what a program's command line says of itself. Only tests import it.
package commandlinetest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Examples checks that the help of the program, and of each of its commands, has at least one example, and that a new parser takes
// each. An example is an indented line that begins with the program's name; a comment follows after three blanks or a #. build makes a
// parser with some options more: files that have to exist need not.
func Examples(t *testing.T, build func(more ...kong.Option) *kong.Kong) {
	t.Helper()
	anyPath := kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		return ctx.Scan.PopValueInto("file", target.Addr().Interface())
	})
	more := []kong.Option{kong.NamedMapper("existingfile", anyPath), kong.NamedMapper("existingdir", anyPath)}
	model := build(more...).Model
	example := regexp.MustCompile(`(?m)^[ \t]+(` + regexp.QuoteMeta(model.Name) + ` .*)$`)
	for _, node := range Commands(model.Node) {
		own := false
		for _, line := range example.FindAllStringSubmatch(node.Help+"\n"+node.Detail, -1) {
			commands, err := Split(line[1])
			if err != nil {
				t.Errorf("%s: example %q: %v", node.FullPath(), line[1], err)
			}
			for _, words := range commands {
				if words[0] != model.Name {
					continue // another program
				}
				ctx, err := build(more...).Parse(words[1:])
				if err != nil {
					t.Errorf("%s: example %q: %v", node.FullPath(), line[1], err)
					continue
				}
				own = own || ctx.Selected() == nil || strings.HasPrefix(ctx.Selected().FullPath()+" ", node.FullPath()+" ")
			}
		}
		if !own {
			t.Errorf("%s: its help has no example of it, which is an indented line that begins with %s", node.FullPath(), node.FullPath())
		}
	}
}

// Commands are node and all commands below it, without hidden ones.
func Commands(node *kong.Node) (all []*kong.Node) {
	all = append(all, node)
	for _, c := range node.Children {
		if !c.Hidden {
			all = append(all, Commands(c)...)
		}
	}
	return all
}

// Split breaks a line of a shell into its commands, and these into words, without redirections and comments.
func Split(line string) (commands [][]string, err error) {
	line, _, _ = strings.Cut(line, "   ")
	var words []string
	word, quote, inside, skip := "", rune(0), false, false
	endWord := func() {
		if inside && !skip {
			words = append(words, word)
		}
		skip = skip && !inside
		word, inside = "", false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	for _, r := range line + ";" {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == '#' && !inside:
			endCommand()
			return commands, nil
		case r == ' ':
			endWord()
		case r == ';' || r == '&' || r == '|':
			endCommand()
		case r == '>':
			endWord()
			skip = true
		default:
			word, inside = word+string(r), true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quotation mark is not closed")
	}
	return commands, nil
}

// Manual checks the manual pages that a program has written into a folder: there are as many as it has commands, and groff finds no fault
// in them, where it is there.
func Manual(t *testing.T, dir string, want int) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) != want {
		t.Fatalf("%d pages, want %d: %v", len(pages), want, err)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("the pages are not formatted: there is no groff")
		return
	}
	said, err := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Kutf8", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("groff: %v\n%s", err, said)
	}
}
