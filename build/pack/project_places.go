package pack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// places maps keys to their lines: game.version, target[0].companions[2].
type places map[string]int

// of returns the line of a key, or of its nearest table; 1 if unknown.
func (p places) of(key string) int {
	for key != "" {
		if line, known := p[key]; known {
			return line
		}
		cut := strings.LastIndexAny(key, ".[")
		if cut < 0 {
			break
		}
		key = key[:cut]
	}
	return 1
}

// setFirst records a line unless the key already has one.
func (p places) setFirst(key string, line int) {
	if _, known := p[key]; !known && key != "" {
		p[key] = line
	}
}

// join adds a name to a key, quoted where TOML requires it.
func join(key, name string) string {
	if !isBare(name) {
		name = strconv.Quote(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

func isBare(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// element is the key of one element of an array.
func element(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// placesOf locates the keys of a TOML document; in an invalid one, those before the error.
func placesOf(data []byte) places {
	m := mapper{places: places{}, counts: map[string]int{}}
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
	return m.places
}

// mapper walks a document and records lines.
type mapper struct {
	parser unstable.Parser
	places places
	counts map[string]int // elements so far in each array of tables
	ends   []int          // offsets of line ends, since the parser counts from the start each time
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
		m.places.setFirst(key, line)
		key, line = join(key, string(it.Node().Data)), m.lineOf(it.Node())
		if n := m.counts[key]; n > 0 && !(array && it.IsLast()) {
			key = element(key, n-1)
		}
	}
	if array {
		m.places.setFirst(key, line)
		m.counts[key]++
		key = element(key, m.counts[key]-1)
	}
	m.places.setFirst(key, line)
	return key
}

func (m *mapper) keyValue(table string, e *unstable.Node) {
	key, line := table, 0
	for it := e.Key(); it.Next(); {
		key, line = join(key, string(it.Node().Data)), m.lineOf(it.Node())
		m.places.setFirst(key, line)
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
			m.places.setFirst(element(key, i), line)
			m.value(element(key, i), line, it.Node())
		}
	}
}
