// Package tomllines finds the lines on which the keys of a TOML document are.
package tomllines

import (
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Element is the key of one element of an array.
func Element(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// Of locates the keys of a TOML document; in an invalid one, those before the error. join adds a name to the key of a table, which is empty at
// the top. The elements of arrays are called key[0], key[1] and so on. A key that is written twice has its first line.
func Of(data []byte, join func(key, name string) string) map[string]int {
	m := mapper{join: join, lines: map[string]int{}, counts: map[string]int{}}
	for i, b := range data {
		if b == '\n' {
			m.ends = append(m.ends, i)
		}
	}
	m.parser.Reset(data)
	table := ""
	for m.parser.NextExpression() {
		e := m.parser.Expression()
		switch e.Kind {
		case unstable.Table:
			table = m.header(e, false)
		case unstable.ArrayTable:
			table = m.header(e, true)
		case unstable.KeyValue:
			m.keyValue(table, e)
		}
	}
	return m.lines
}

// mapper walks a document and records lines.
type mapper struct {
	parser unstable.Parser
	join   func(key, name string) string
	lines  map[string]int
	counts map[string]int // elements so far in each array of tables
	ends   []int          // offsets of line ends, since the parser counts from the start each time
}

// setFirst records a line unless the key already has one.
func (m *mapper) setFirst(key string, line int) {
	if _, known := m.lines[key]; !known && key != "" {
		m.lines[key] = line
	}
}

func (m *mapper) lineOf(n *unstable.Node) int {
	before, _ := slices.BinarySearch(m.ends, int(n.Raw.Offset))
	return before + 1
}

// beginOf returns the line on which a value begins, 0 if unknown: lists and inline tables have no position.
func (m *mapper) beginOf(n *unstable.Node) int {
	switch {
	case n.Raw.Length > 0:
		return m.lineOf(n)
	case n.Kind == unstable.KeyValue:
		it := n.Key()
		if it.Next() {
			return m.lineOf(it.Node())
		}
	case n.Kind == unstable.Array || n.Kind == unstable.InlineTable:
		it := n.Children()
		if it.Next() {
			return m.beginOf(it.Node())
		}
	}
	return 0
}

// header returns the key of a table; an array gets one more element.
func (m *mapper) header(e *unstable.Node, array bool) string {
	key, line := "", 0
	for it := e.Key(); it.Next(); {
		m.setFirst(key, line)
		key, line = m.join(key, string(it.Node().Data)), m.lineOf(it.Node())
		if n := m.counts[key]; n > 0 && !(array && it.IsLast()) {
			key = Element(key, n-1)
		}
	}
	if array {
		m.setFirst(key, line)
		m.counts[key]++
		key = Element(key, m.counts[key]-1)
	}
	m.setFirst(key, line)
	return key
}

func (m *mapper) keyValue(table string, e *unstable.Node) {
	key, line := table, 0
	for it := e.Key(); it.Next(); {
		key, line = m.join(key, string(it.Node().Data)), m.lineOf(it.Node())
		m.setFirst(key, line)
	}
	m.value(key, line, e.Value())
}

// value records the keys inside a value. Elements without a position get the line of the key.
func (m *mapper) value(key string, line int, v *unstable.Node) {
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			m.keyValue(key, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); i++ {
			line = max(line, m.beginOf(it.Node()))
			m.setFirst(Element(key, i), line)
			m.value(Element(key, i), line, it.Node())
		}
	}
}
