package scenario

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
)

// textError is a mistake in the text of a scenario, with its place.
type textError struct {
	File   string
	Line   int // from 1; 0 is the whole file
	Reason string
}

func (e *textError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("scenario %s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("scenario %s:%d: %s", e.File, e.Line, e.Reason)
}

// Scenario declares a folder before and after an update, and the faults in between. Its text has a header with directives, and then
// files in the format of txtar; docs/QA.md describes it.
type Scenario struct {
	Name  string // of the file, without its extension
	About string // the first comment

	file       string
	begin      string // beginConfirmed, beginPlanted or beginNone
	resources  bool   // the server requests no binaries
	verify     bool
	runs       int // undisturbed runs after the disturbed one
	library    string
	directions []string
	volumes    []string
	faults     []fault
	expects    []expectation
	sides      map[string]tree // "old", "new", "player", "disk"
}

// tree maps names to files.
type tree map[string]file

type file struct {
	data []byte
	mode fs.FileMode // 0: default
	link string      // target of a symbolic link
	line int
}

func (t tree) names() []string { return slices.Sorted(maps.Keys(t)) }

// The states of the folder before the update.
const (
	beginConfirmed = "confirmed" // the old set was installed by an update and has proven itself
	beginPlanted   = "planted"   // the old set is there, but no journal
	beginNone      = "none"      // the folder is empty
)

// The directions and volumes of a scenario.
const (
	forward    = "forward"
	backward   = "back"
	exchanging = "exchange"
	moving     = "no-exchange"
	folding    = "fold-case"
	realDisk   = "disk"
)

const (
	// maxBytes limits the content of one scenario in bytes; several scenarios are in memory at a time.
	maxBytes = 256 << 20
	// maxFiles limits the files of one scenario; the largest standard one has ten thousand on each side.
	maxFiles = 100_000
)

// parser parses one text.
type parser struct {
	*Scenario
	line  int
	bytes int64
	files int
}

func (p *parser) fail(format string, values ...any) error {
	return &textError{p.file, p.line, fmt.Sprintf(format, values...)}
}

// parse parses the text of a scenario. The error is a *textError.
func parse(file string, text []byte) (*Scenario, error) {
	p := &parser{Scenario: &Scenario{
		Name: strings.TrimSuffix(path.Base(file), path.Ext(file)), file: file, begin: beginConfirmed, runs: 1, library: "Lathe.so",
		directions: []string{forward, backward}, volumes: []string{exchanging, moving, folding},
		sides: map[string]tree{"old": {}, "new": {}, "player": {}, "disk": {}},
	}}
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { _, is := fileMarker(l); return is })
	if at < 0 {
		return nil, &textError{file, 0, "declares no file; want lines like -- new/Resources/A.zip --"}
	}
	for n, line := range lines[:at] {
		p.line = n + 1
		if err := p.directive(strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	if err := p.bodies(lines, at); err != nil {
		return nil, err
	}
	return p.Scenario, p.check()
}

// fileMarker returns the text between "-- " and " --" of a line that begins a file.
func fileMarker(line string) (inside string, is bool) {
	line = strings.TrimRight(line, "\r\n")
	inside, is = strings.CutPrefix(line, "-- ")
	if is {
		inside, is = strings.CutSuffix(inside, " --")
	}
	return strings.TrimSpace(inside), is
}

func (p *parser) bodies(lines []string, at int) error {
	for at < len(lines) {
		marker, _ := fileMarker(lines[at])
		p.line = at + 1
		end := at + 1
		for end < len(lines) {
			if _, is := fileMarker(lines[end]); is {
				break
			}
			end++
		}
		if err := p.declare(marker, strings.Join(lines[at+1:end], "")); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// declared is the declaration of one file, or of many with numbered names.
type declared struct {
	name   string
	body   string
	size   int64 // -1: not given
	count  int   // 0: one
	seed   uint64
	repeat string
	hex    bool
	file   file
}

func (p *parser) declare(marker, body string) error {
	words, err := splitWords(marker)
	if err != nil || len(words) == 0 {
		return p.fail("%q: want a name, in quotes if it has spaces, and attributes", marker)
	}
	d := declared{name: words[0], body: body, size: -1, seed: 1, file: file{line: p.line}}
	for _, word := range words[1:] {
		if err := p.attribute(&d, word); err != nil {
			return err
		}
	}
	if d.name, err = expand(d.name); err != nil {
		return p.fail("%v", err)
	}
	if d.count > 0 != strings.Contains(d.name, "%") {
		return p.fail("count=N and a number like %%05d in the name go together")
	}
	for n := range max(d.count, 1) {
		if err := p.addFile(d, n); err != nil {
			return err
		}
	}
	return nil
}

// attribute parses one key=value after a name.
func (p *parser) attribute(d *declared, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "size":
		d.size, err = parseSize(value)
	case "count":
		d.count, err = strconv.Atoi(value)
		if err == nil && (d.count < 1 || d.count > maxFiles) {
			err = fmt.Errorf("%d files: want 1 to %d", d.count, maxFiles)
		}
	case "seed":
		d.seed, err = strconv.ParseUint(value, 10, 64)
	case "repeat":
		d.repeat = value
	case "hex":
		d.hex = true
	case "mode":
		var mode uint64
		mode, err = strconv.ParseUint(value, 8, 9)
		d.file.mode = fs.FileMode(mode)
	case "link":
		d.file.link = value
	default:
		return p.fail("%q: there are size=, count=, seed=, repeat=, hex, mode= and link=", word)
	}
	if err != nil {
		return p.fail("%s: %v", word, err)
	}
	return nil
}

// addFile adds file number n of a declaration.
func (p *parser) addFile(d declared, n int) error {
	name := d.name
	if d.count > 0 {
		name = fmt.Sprintf(d.name, n)
	}
	side, rest, _ := strings.Cut(name, "/")
	tree := p.sides[side]
	switch {
	case tree == nil:
		return p.fail("%q: want a name below old/, new/, player/ or disk/", name)
	case rest == "" || !fs.ValidPath(rest):
		return p.fail("%q leads out of the folder, or to none", name)
	}
	if _, twice := tree[rest]; twice {
		return p.fail("%q is declared twice, first in line %d", name, tree[rest].line)
	}
	p.files, p.bytes = p.files+1, p.bytes+max(d.size, int64(len(d.body)))
	if p.files > maxFiles || p.bytes > maxBytes {
		return p.fail("more than %d files or %d bytes", maxFiles, maxBytes)
	}
	data, err := d.content(name)
	if err != nil {
		return p.fail("%v", err)
	}
	d.file.data = data
	tree[rest] = d.file
	return nil
}

// content returns the declared or the generated content.
func (d declared) content(name string) ([]byte, error) {
	switch {
	case d.hex:
		return hex.DecodeString(strings.Join(strings.Fields(d.body), ""))
	case d.size < 0:
		return []byte(d.body), nil
	case strings.TrimSpace(d.body) != "":
		return nil, fmt.Errorf("%s has a size and a text; one of them is enough", name)
	case d.repeat != "":
		return []byte(strings.Repeat(d.repeat, int(d.size)/len(d.repeat)+1)[:d.size]), nil
	}
	data := make([]byte, d.size)
	_, below, _ := strings.Cut(name, "/") // old/X and new/X with one seed are one file
	var key [32]byte
	copy(key[:], fmt.Sprintf("%d %s", d.seed, below))
	_, err := rand.NewChaCha8(key).Read(data)
	return data, err
}

// expand replaces {text*N} in a name by N times the text.
func expand(name string) (string, error) {
	before, rest, there := strings.Cut(name, "{")
	if !there {
		return name, nil
	}
	inside, after, closed := strings.Cut(rest, "}")
	star := strings.LastIndex(inside, "*")
	if !closed || star < 0 {
		return "", fmt.Errorf("%q: want {text*N}", name)
	}
	n, err := strconv.Atoi(inside[star+1:])
	if err != nil || n < 1 || n > 1000 {
		return "", fmt.Errorf("%q: want {text*N} with N from 1 to 1000", name)
	}
	after, err = expand(after)
	return before + strings.Repeat(inside[:star], n) + after, err
}

// parseSize parses a number of bytes with the unit k, M or none.
func parseSize(text string) (int64, error) {
	factor := int64(1)
	for suffix, f := range map[string]int64{"k": 1 << 10, "M": 1 << 20} {
		if digits, has := strings.CutSuffix(text, suffix); has {
			text, factor = digits, f
		}
	}
	n, err := strconv.ParseInt(text, 10, 40)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d: want 0 or more", n)
	}
	return n * factor, err
}

// splitWords splits at spaces, except in double quotes, which may have Go's escapes.
func splitWords(text string) (words []string, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] != '"' {
			word, rest, _ := strings.Cut(text, " ")
			if key, quoted, is := strings.Cut(word, "=\""); is { // a quoted value
				prefix, err := strconv.QuotedPrefix(text[len(key)+1:])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", text, err)
				}
				value, err := strconv.Unquote(prefix)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", quoted, err)
				}
				words, text = append(words, key+"="+value), text[len(key)+1+len(prefix):]
				continue
			}
			words, text = append(words, word), rest
			continue
		}
		prefix, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		word, err := strconv.Unquote(prefix)
		if err != nil {
			return nil, err
		}
		words, text = append(words, word), text[len(prefix):]
	}
	return words, nil
}
