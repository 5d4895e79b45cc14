package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"collet/netproto/compat"
)

// projectFile is the name of the file that locates the declarations.
const projectFile = "compatgen.json"

// maxFile is the longest file that is read, in bytes: declarations are written by people.
const maxFile = 8 << 20

// project is the content of compatgen.json. Paths are relative to its folder.
type project struct {
	Logic        int32    `json:"logic"`         // logic version of this source; at least 1
	SupportedMin int32    `json:"supported_min"` // oldest one that it still serves; absent is Logic
	Go           []string `json:"go"`            // packages with marked types, as "./state"
	Declarations []string `json:"declarations"`  // patterns of XML and JSON files
	Types        []string `json:"types"`         // patterns of XML and JSON files with the types that declarations use
	Strict       bool     `json:"strict_types"`  // a type without a declaration is an error, not a warning
	Document     []string `json:"documentation"` // attributes beside the known ones that say nothing to the wire

	Package   string `json:"package"`    // of the Go table; empty writes none
	GoTable   string `json:"go_table"`   // absent is compat_gen.go
	Library   string `json:"library"`    // import path of package compat; absent generates it beside the Go table
	Header    string `json:"header"`     // C header; empty writes none
	Runtime   string `json:"runtime"`    // client_runtime.h, which the C header needs; empty writes none
	Manifest  string `json:"manifest"`   // absent is manifest.json
	Lock      string `json:"lock"`       // absent is compat.lock
	Baselines string `json:"baselines"`  // folder; absent is baselines
	TableName string `json:"table_name"` // what names in the Go table begin with; absent is Compat

	dir string
}

// errNoProject says that a folder has no projectFile, or does not exist.
var errNoProject = errors.New("there is no such file")

// openProject reads the project of a folder.
func openProject(dir string) (*project, error) {
	path := filepath.Join(dir, projectFile)
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; name the folder that has one, or write it: docs/COMPATIBILITY.md shows how", path, errNoProject)
	}
	if err != nil {
		return nil, fmt.Errorf("read the project: %w", err)
	}
	p := &project{GoTable: "compat_gen.go", Manifest: "manifest.json", Lock: "compat.lock", Baselines: "baselines", TableName: "Compat", dir: dir}
	if err := strictJSON(data, p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.SupportedMin == 0 {
		p.SupportedMin = p.Logic
	}
	switch {
	case p.Logic < 1:
		return nil, fmt.Errorf(`%s: "logic" is %d: the first logic version is 1`, path, p.Logic)
	case p.SupportedMin < 1 || p.SupportedMin > p.Logic:
		return nil, fmt.Errorf(`%s: "supported_min" is %d: it is from 1 to "logic", which is %d`, path, p.SupportedMin, p.Logic)
	case p.Logic-p.SupportedMin >= maxSupported:
		return nil, fmt.Errorf(`%s: %d supported logic versions are more than %d`, path, p.Logic-p.SupportedMin+1, maxSupported)
	case len(p.Go) == 0 && len(p.Declarations) == 0:
		return nil, fmt.Errorf(`%s: neither "go" nor "declarations" says where components are declared`, path)
	}
	return p, nil
}

// maxSupported is how many logic versions a source may serve at once: each has a view of all components.
const maxSupported = 1000

func (p *project) pathOf(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

// versions are the supported logic versions, the oldest first.
func (p *project) versions() (v []int32) {
	for logic := p.SupportedMin; logic <= p.Logic; logic++ {
		v = append(v, logic)
	}
	return v
}

// readComponents reads and checks all declared components, sorted by name, and returns warnings.
func (p *project) readComponents() (all []component, warnings []string, err error) {
	d := &dialect{document: p.Document, known: map[string]*typ{}, unknown: map[string]*typ{}}
	if err := p.eachFile(p.Types, d.readTypes); err != nil {
		return nil, nil, err
	}
	if err := d.resolveTypes(); err != nil {
		return nil, nil, err
	}
	if err := p.eachFile(p.Declarations, d.readComponent); err != nil {
		return nil, nil, err
	}
	if warnings = d.warnings(); len(warnings) > 0 && p.Strict {
		return nil, nil, errors.New(warnings[0])
	}
	fromGo, err := readGo(p.dir, p.Go)
	if err != nil {
		return nil, nil, err
	}
	all = append(d.components, fromGo...)
	slices.SortFunc(all, func(a, b component) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return all, warnings, checkSet(all)
}

// eachFile calls read for every file of the patterns, sorted by name, each once. A pattern without files is an error: a folder
// was probably moved.
func (p *project) eachFile(patterns []string, read func(name string, data []byte) error) error {
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(p.pathOf(pattern))
		if err == nil && len(found) == 0 {
			err = errors.New("no file is like this")
		}
		if err != nil {
			return fmt.Errorf("%s: %q: %w", p.pathOf(projectFile), pattern, err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		data, err := readFile(name)
		if err != nil {
			return err
		}
		if err := read(name, data); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads a source file of bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("read %q: more than %d bytes", path, maxFile)
	}
	return data, err
}

// strictJSON reads one JSON document without unknown keys.
func strictJSON(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// viewComponents is what the components are for a logic version: the shared ones as manifest entries without dates, sorted by name, and
// every visible one's form by name.
func viewComponents(all []component, ids map[string]uint16, logic int32) (entries []compat.Entry, forms map[string]string) {
	forms = make(map[string]string)
	for i := range all {
		c := &all[i]
		if !compat.Visible(c.span, logic) {
			continue
		}
		form := c.form(logic)
		forms[c.name] = form
		if !c.serverOnly {
			entries = append(entries, compat.Entry{Name: c.name, WireID: ids[c.name], Hash: compat.ComponentHash(form)})
		}
	}
	return entries, forms
}
