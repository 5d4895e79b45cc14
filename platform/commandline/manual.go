package commandline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// WritePages writes the manual pages of a program into a folder, which it makes: PROGRAM.1, and one for each command, such as
// collet-release-publish.1. They hold no date, so that they are the same in each build of a version.
func WritePages(dir string, app *kong.Application, vars kong.Vars) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	for name, text := range Pages(app, vars) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return fmt.Errorf("write manual pages: %w", err)
		}
	}
	return nil
}

// Pages are the manual pages of a program by file name, in the macros of man(7). vars has the program's "version".
func Pages(app *kong.Application, vars kong.Vars) map[string]string {
	pages := map[string]string{}
	var add func(node *kong.Node)
	add = func(node *kong.Node) {
		pages[pageName(node)+".1"] = page(node, vars)
		for _, c := range node.Children {
			if !c.Hidden {
				add(c)
			}
		}
	}
	add(app.Node)
	return pages
}

// pageName is the name of a command's page: the words of the command with dashes between them.
func pageName(node *kong.Node) string { return strings.ReplaceAll(node.FullPath(), " ", "-") }

func page(node *kong.Node, vars kong.Vars) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	name := pageName(node)
	short, rest, _ := strings.Cut(node.Help, "\n")
	line(`.TH %s 1 "" "%s" ""`, strings.ToUpper(roff(name)), roff(vars["version"]))
	line(".SH NAME\n%s \\- %s", roff(name), roff(strings.TrimSuffix(short, ".")))
	program := node
	for program.Parent != nil {
		program = program.Parent
	}
	line(".SH SYNOPSIS\n.B %s", roff(strings.TrimSpace(program.Name+" "+strings.TrimSpace(node.Summary()))))
	if text := strings.TrimSpace(rest + "\n\n" + node.Detail); text != "" {
		line(".SH DESCRIPTION")
		b.WriteString(paragraphs(text))
	}
	if len(node.Positional) > 0 {
		line(".SH ARGUMENTS")
	}
	for _, argument := range node.Positional {
		line(".TP\n.I %s\n%s", roff(argument.Summary()), roff(argument.Help))
	}
	if flags := flagsOf(node); len(flags) > 0 {
		line(".SH OPTIONS")
		for _, f := range flags {
			names := f.Summary()
			if f.Short != 0 {
				names = "-" + string(f.Short) + ", " + names
			}
			line(".TP\n.B %s\n%s", roff(names), roff(f.Help))
		}
	}
	var related []string
	if node.Parent != nil {
		related = append(related, pageName(node.Parent))
	}
	for _, c := range node.Children {
		if !c.Hidden {
			related = append(related, pageName(c))
		}
	}
	if len(related) > 0 {
		line(".SH SEE ALSO")
		for i, other := range related {
			comma := ","
			if i == len(related)-1 {
				comma = ""
			}
			line(".BR %s (1)%s", roff(other), comma)
		}
	}
	return b.String()
}

// paragraphs is text as kong prints it: empty lines part paragraphs, and indented lines stay as they are.
func paragraphs(text string) string {
	var b strings.Builder
	fixed := false
	for l := range strings.SplitSeq(text, "\n") {
		indented := strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
		if indented != fixed && strings.TrimSpace(l) != "" {
			fixed = indented
			b.WriteString(map[bool]string{true: ".RS\n.nf\n", false: ".fi\n.RE\n"}[fixed])
		}
		if l = strings.TrimSpace(l); l == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(l) + "\n")
	}
	if fixed {
		b.WriteString(".fi\n.RE\n")
	}
	return b.String()
}

// roff is a text in a line of roff, which reads backslashes, and dots and apostrophes at the beginning.
func roff(text string) string {
	text = strings.NewReplacer("\\", `\e`, "-", `\-`, `"`, `\(dq`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
