package pack

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/pelletier/go-toml/v2"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"

	"collet/platform/tomllines"
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
	return examine(file, data, getenv, rooted)
}

// CheckText returns the mistakes of a description that is not written yet, as LoadUnrooted would find them in a folder. They name no file
// and line.
func CheckText(folder, text string) error {
	_, err := examine(filepath.Join(folder, DescriptionFile), []byte(text), nil, false)
	var list Mistakes
	if errors.As(err, &list) {
		for i := range list {
			list[i].File, list[i].Line = "", 0
		}
	}
	return err
}

func examine(file string, data []byte, getenv func(string) string, rooted bool) (*Project, error) {
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
		l.list = slices.DeleteFunc(l.list, func(m Mistake) bool { return m.Key == trustedRoot })
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// Warnings are what publishing and packing accept, and players could not use.
func (p *Project) Warnings() (list []string) {
	for i, address := range p.Client.URLs {
		if IsExample(address) {
			list = append(list, fmt.Sprintf("%s: %s: %s is an example, from which no player can update; set the address of your releases", p.File, element("client.urls", i), address))
		}
	}
	return list
}

// IsExample reports whether an address is on a server of a name for documentation (RFC 2606, section 3).
func IsExample(address string) bool {
	u, err := url.Parse(address)
	return err == nil && exampleHost.MatchString(u.Hostname())
}

var exampleHost = regexp.MustCompile(`(?i)^(.*\.)?example\.(org|com|net)$`)

func readDescription(file string) ([]byte, error) {
	data, err := readSome(file, maxDescription+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s: make one with `collet wrap DIR` for a game that exists, or with `collet pack init`, or name it with --file", file)
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
	l.lines = tomllines.Of(data, join)
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
