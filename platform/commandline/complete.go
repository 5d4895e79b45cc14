package commandline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completeFlag begins the first argument with which a shell asks; the word to complete follows it, and the words before that one are the
// other arguments.
const completeFlag = "--complete="

// Complete answers a shell that asks for candidates, and reports whether one did. The program then ends.
func Complete(parser *kong.Kong, args []string) bool {
	if len(args) == 0 || !strings.HasPrefix(args[0], completeFlag) {
		return false
	}
	for _, c := range Candidates(parser.Model, args[1:], strings.TrimPrefix(args[0], completeFlag)) {
		fmt.Fprintf(parser.Stdout, "%s\t%s\n", c.Word, c.Help)
	}
	return true
}

// Candidate is a word that may stand in a place, and what it means.
type Candidate struct {
	Word string
	Help string // one line
}

// Candidates are the words that may follow the words before, and begin with word: commands, flags, and the values of those that have a
// fixed set. There are none where any text or file may stand.
func Candidates(app *kong.Application, before []string, word string) (found []Candidate) {
	node, flag, arguments, plain := app.Node, (*kong.Flag)(nil), 0, false
	for _, w := range before {
		switch {
		case plain:
			arguments++
		case flag != nil && w == "=": // bash breaks --flag=value into three words
		case flag != nil:
			flag = nil
		case w == "--":
			plain = true
		case strings.HasPrefix(w, "-") && len(w) > 1:
			flag = valueFlag(node, w)
		case child(node, w) != nil:
			node = child(node, w)
		default:
			arguments++
		}
	}
	add := func(w, help string) {
		if strings.HasPrefix(w, word) && w != "" {
			help, _, _ = strings.Cut(help, "\n")
			found = append(found, Candidate{w, help})
		}
	}
	switch {
	case flag != nil:
		if word == "=" {
			word = ""
		}
		for _, value := range flag.EnumSlice() {
			add(value, flag.Help)
		}
	case plain:
	case strings.HasPrefix(word, "-"):
		for _, f := range flagsOf(node) {
			add("--"+f.Name, f.Help)
		}
	default:
		for _, c := range node.Children {
			if !c.Hidden {
				add(c.Name, c.Help)
			}
		}
		if arguments < len(node.Positional) {
			for _, value := range node.Positional[arguments].EnumSlice() {
				add(value, node.Positional[arguments].Help)
			}
		}
	}
	return found
}

// child is the command of that name below node, or nil.
func child(node *kong.Node, name string) *kong.Node {
	at := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return node.Children[at]
}

// flagsOf are the flags that node takes, without hidden ones.
func flagsOf(node *kong.Node) []*kong.Flag { return slices.Concat(node.AllFlags(true)...) }

// valueFlag is the flag of a word such as --out or -o, if its value is the next word.
func valueFlag(node *kong.Node, word string) *kong.Flag {
	for _, f := range flagsOf(node) {
		if (word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short)) && !f.IsBool() {
			return f
		}
	}
	return nil
}
