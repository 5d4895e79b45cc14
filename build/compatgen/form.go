package main

import (
	"fmt"
	"strconv"
	"strings"
)

// form is the canonical form of a component for a logic version, the input of its hash. Paths, lines, comments, and orders that
// are not on the wire never enter it. Version marks select its members but are not written into it, so today's source gives an
// old version the form that the old source had.
func (c *component) form(logic int32) string {
	w := writer{logic: logic}
	w.openList("component", quote(c.name))
	for _, m := range visible(c.members, logic) {
		w.writeMember(m)
	}
	w.closeList()
	return w.b.String()
}

// writer writes one S-expression: words separated by single blanks.
type writer struct {
	logic int32
	b     strings.Builder
	named []*typ // the named types around the place that is being written, the outermost first
}

func (w *writer) writeWord(s string) {
	if text := w.b.String(); text != "" && !strings.HasSuffix(text, "(") {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(s)
}

func (w *writer) openList(words ...string) {
	w.writeWord("(")
	for _, s := range words {
		w.writeWord(s)
	}
}

func (w *writer) closeList() { w.b.WriteByte(')') }

// quote puts a checked name into quotes. It holds nothing that would need an escape.
func quote(name string) string { return `"` + name + `"` }

func (w *writer) writeMember(m member) {
	w.openList(string(m.kind))
	if m.number != 0 {
		w.writeWord(strconv.Itoa(m.number))
	}
	w.writeWord(quote(m.name))
	if m.typ != nil {
		w.writeType(m.typ)
	}
	for _, extra := range m.extras {
		w.writeWord(extra)
	}
	w.writeParts("arg", m.args)
	w.closeList()
}

// writeParts writes the fields or arguments that the version sees.
func (w *writer) writeParts(word string, parts []part) {
	for _, p := range visibleParts(parts, w.logic) {
		w.openList(word, strconv.Itoa(p.number), quote(p.name))
		w.writeType(p.typ)
		w.closeList()
	}
}

func (w *writer) writeType(t *typ) {
	switch t.shape {
	case shapeBasic:
		w.writeWord(t.word)
	case shapeNamed:
		w.writeNamedType(t)
	case shapeStruct:
		w.openList(string(shapeStruct))
		w.writeParts("f", t.fields)
		w.closeList()
	default:
		w.openList(string(t.shape))
		if t.word != "" {
			w.writeWord(quote(t.word))
		}
		if t.shape == shapeArray || t.count != 0 {
			w.writeWord(strconv.FormatInt(t.count, 10))
		}
		for _, item := range t.items {
			w.writeType(item)
		}
		w.closeList()
	}
}

// writeNamedType writes the name and what it stands for. Inside of that, the same type is written as how many named types further
// out it is.
func (w *writer) writeNamedType(t *typ) {
	for i, outer := range w.named {
		if outer == t {
			w.openList("back", strconv.Itoa(len(w.named)-i))
			w.closeList()
			return
		}
	}
	w.named = append(w.named, t)
	w.openList(string(shapeNamed), quote(t.word))
	w.writeType(t.items[0])
	w.closeList()
	w.named = w.named[:len(w.named)-1]
}

// formatLines is a form for people and for diff: each member, field and argument on its own line. Joined by single blanks without
// their indents, the lines are the form again.
func formatLines(form string) string {
	var b strings.Builder
	depth := 0
	for i, piece := range strings.SplitAfter(form, " ") {
		if broken := strings.HasPrefix(piece, "(") && i > 0 && startsLine(piece); broken {
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

// startsLine reports whether a line begins with this word.
func startsLine(piece string) bool {
	switch strings.Trim(piece, "( ") {
	case "prop", "input", "archetype", "rpc", "arg", "f":
		return true
	default:
		return false
	}
}
