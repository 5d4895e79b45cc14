package main

import (
	"fmt"
	"strconv"
	"strings"
)

// form is the canonical form of a component as a logic version sees it: what is hashed. Nothing of the source's text enters
// it: no path, line, comment or order that is not on the wire. Marks of versions are not written into it; they say what is in
// it, so that the view of an old version in the source of today is the form that the old source had.
func (c *component) form(logic int32) string {
	w := writer{logic: logic}
	w.open("component", quote(c.name))
	for _, m := range visible(c.members, logic) {
		w.member(m)
	}
	w.close()
	return w.b.String()
}

// writer writes one S-expression: words parted by single blanks.
type writer struct {
	logic int32
	b     strings.Builder
	named []*typ // the named types around the place that is being written, the outermost first
}

func (w *writer) word(s string) {
	if text := w.b.String(); text != "" && !strings.HasSuffix(text, "(") {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(s)
}

func (w *writer) open(words ...string) {
	w.word("(")
	for _, s := range words {
		w.word(s)
	}
}

func (w *writer) close() { w.b.WriteByte(')') }

// quote puts a checked name into quotes. It holds nothing that would need an escape.
func quote(name string) string { return `"` + name + `"` }

func (w *writer) member(m member) {
	w.open(string(m.kind))
	if m.number != 0 {
		w.word(strconv.Itoa(m.number))
	}
	w.word(quote(m.name))
	if m.typ != nil {
		w.typ(m.typ)
	}
	for _, extra := range m.extras {
		w.word(extra)
	}
	w.parts("arg", m.args)
	w.close()
}

// parts writes the fields or arguments that the version sees.
func (w *writer) parts(word string, parts []part) {
	for _, p := range visibleParts(parts, w.logic) {
		w.open(word, strconv.Itoa(p.number), quote(p.name))
		w.typ(p.typ)
		w.close()
	}
}

func (w *writer) typ(t *typ) {
	switch t.shape {
	case shapeBasic:
		w.word(t.word)
	case shapeNamed:
		w.namedType(t)
	case shapeStruct:
		w.open(string(shapeStruct))
		w.parts("f", t.fields)
		w.close()
	default:
		w.open(string(t.shape))
		if t.word != "" {
			w.word(quote(t.word))
		}
		if t.shape == shapeArray || t.count != 0 {
			w.word(strconv.FormatInt(t.count, 10))
		}
		for _, item := range t.items {
			w.typ(item)
		}
		w.close()
	}
}

// namedType writes the name and what it stands for. Inside of that, the same type is written as how many named types further
// out it is.
func (w *writer) namedType(t *typ) {
	for i, outer := range w.named {
		if outer == t {
			w.open("back", strconv.Itoa(len(w.named)-i))
			w.close()
			return
		}
	}
	w.named = append(w.named, t)
	w.open(string(shapeNamed), quote(t.word))
	w.typ(t.items[0])
	w.close()
	w.named = w.named[:len(w.named)-1]
}

// lines is a form for people and for diff: each member, field and argument on its own line. Joined by single blanks without
// their indents, the lines are the form again.
func lines(form string) string {
	var b strings.Builder
	depth := 0
	for i, piece := range strings.SplitAfter(form, " ") {
		if broken := strings.HasPrefix(piece, "(") && i > 0 && breaks(piece); broken {
			fmt.Fprintf(&b, "\n%s", strings.Repeat("  ", depth))
		}
		b.WriteString(piece)
		depth += strings.Count(piece, "(") - strings.Count(piece, ")")
	}
	text := strings.Split(b.String(), "\n")
	for i := range text {
		text[i] = strings.TrimRight(text[i], " ")
	}
	return strings.Join(text, "\n")
}

// breaks reports whether a line begins with this word.
func breaks(piece string) bool {
	switch strings.Trim(piece, "( ") {
	case "prop", "input", "archetype", "rpc", "arg", "f":
		return true
	default:
		return false
	}
}
