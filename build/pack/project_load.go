package pack

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/pelletier/go-toml/v2"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
)

// DescriptionFile is the default name of a description.
const DescriptionFile = "collet.toml"

// maxDescription limits a description in bytes; a typical one has some thousands.
const maxDescription = 256 << 10

// Load reads and checks a description. getenv returns environment variables; only SOURCE_DATE_EPOCH is read. nil is an empty environment.
//
// The error is Mistakes, each of which can be corrected in the file or beside it, or a read error.
func Load(file string, getenv func(string) string) (*Project, error) { return load(file, getenv, true) }

// LoadUnrooted is Load for a project whose trusted root may not be written yet: no mistake of client.trusted-root counts.
func LoadUnrooted(file string, getenv func(string) string) (*Project, error) {
	return load(file, getenv, false)
}

func load(file string, getenv func(string) string, rooted bool) (*Project, error) {
	data, err := readDescription(file)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	d, l := parse(file, data)
	p := &Project{Description: d, File: file, Dir: dir}
	if !l.broken[""] {
		checkProject(p, l, getenv)
	}
	if !rooted {
		l.list = slices.DeleteFunc(l.list, func(m Mistake) bool { return m.Key == "client.trusted-root" })
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return p, nil
}

func readDescription(file string) ([]byte, error) {
	data, err := readSome(file, maxDescription+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s: make one with collet pack init, or name it with --file", file)
	}
	if err == nil && len(data) > maxDescription {
		err = fmt.Errorf("%s is longer than %d bytes: is it a description?", file, maxDescription)
	}
	return data, err
}

// readSome reads the first most bytes of a file.
func readSome(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// parse decodes what matches the types and records the rest as mistakes. A file that is not TOML is one mistake.
func parse(file string, data []byte) (d Description, l *ledger) {
	l = &ledger{file: file, broken: map[string]bool{}}
	tree := map[string]any{}
	if err := toml.Unmarshal(data, &tree); err != nil {
		l.broken[""] = true
		l.list = Mistakes{syntaxMistake(file, err)}
		return d, l
	}
	if line := keyLine(data); line > 0 {
		l.broken[""] = true
		l.list = Mistakes{{File: file, Line: line, What: "has a private key in it",
			Want: "keep it in a file outside of the project, and name the variable with its path in a field of [signing] that ends in -env; this one is no secret any more"}}
		return d, l
	}
	l.lines = placesOf(data)
	shaper{l}.fillStruct(reflect.ValueOf(&d).Elem(), tree, "")
	return d, l
}

// keyLine returns the line on which a private key in PEM begins, 0 without one.
func keyLine(data []byte) int {
	for at, line := 0, 1; at < len(data); line++ {
		text, _, _ := bytes.Cut(data[at:], []byte("\n"))
		if bytes.Contains(text, []byte("-----BEGIN ")) && bytes.Contains(text, []byte("PRIVATE KEY")) {
			return line
		}
		at += len(text) + 1
	}
	return 0
}

// syntaxMistake converts a TOML syntax error.
func syntaxMistake(file string, err error) Mistake {
	m := Mistake{File: file, Line: 1, What: err.Error(), Want: "mistakes behind it are found when it is right"}
	var fault *toml.DecodeError
	if errors.As(err, &fault) {
		m.Line, _ = fault.Position()
	}
	return m
}
