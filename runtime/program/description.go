package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"collet/netproto/release"
)

// KeepFolder is the folder below the resources with the shipped forms of kept files: .keep/config/settings.ini is placed at
// config/settings.ini.
const KeepFolder = ".keep"

// Format is the format version of descriptions.
const Format = 1

// Limits of a description. Encode and Parse reject what exceeds them.
const (
	MaxDescription  = 64 << 10 // bytes of the document; it is read into memory at once
	MaxText         = 4096     // bytes of an argument and of the value of a variable
	MaxName         = 256      // bytes of the name, the compatibility version and the name of a variable
	MaxBuild        = 128      // hex digits of the build: 64 bytes, those of SHA-512
	MaxArgs         = 256      // arguments, variables, words of the wrapper, exit codes of a kind
	MaxKeep         = 512      // kept files
	MaxReadySeconds = 600      // the longest Ready.Seconds
)

// DefaultReadySeconds is Ready.Seconds of a game that does not set it.
const DefaultReadySeconds = 10

// ResourcesFolder is the Folder that names the folder of resources itself.
const ResourcesFolder = "."

// reserved begins the names of variables that the runner sets itself.
const reserved = "COLLET_"

// Description says how to run the executable of a set. It is a value; the caller owns its slices and maps. Paths are relative
// to the folder of resources and slash-separated.
type Description struct {
	Name          string // of the game, for people and for the handshake; not empty
	Build         string // digest over the set's files in lower-case hex, so each release has another one; not empty
	Compatibility string // the compatibility version; may be empty

	Program string            // path of the executable
	Args    []string          // its arguments, before those of the player
	Env     map[string]string // variables that are set in addition to those of the host; not those that begin with COLLET_
	Folder  string            // working folder; empty is the executable's own, ResourcesFolder the folder of resources
	Wrapper []string          // a command that is put before the executable; its first word is looked up in PATH

	Ready Ready
	Exit  Exit
	Keep  []Kept // sorted by path
}

// Ready says when the program counts as started. A report of the game itself counts in any case.
type Ready struct {
	Window  bool // its first window counts, where windows can be found by process
	Seconds int  // so long alive counts; from 1 to MaxReadySeconds
}

// Exit has the exit codes that are not crashes. A code is in one of the lists.
type Exit struct {
	Clean  []int64 // the player ended the game; sorted
	Reload []int64 // the game asks to be started again, after an update if there is one; sorted
}

// Kept is a file that the player owns once it was placed.
type Kept struct {
	Path string // where it is placed; its shipped form is KeepFolder/Path
	New  bool   // a changed shipped form is placed beside it as Path.new
}

// FieldError names the field of a description that is wrong, such as "ready.seconds" or "args", and the reason.
type FieldError struct{ Field, Reason string }

func (e *FieldError) Error() string { return "description of the program: " + e.Field + " " + e.Reason }

// Shipped is the path of the file's shipped form.
func (k Kept) Shipped() string { return KeepFolder + "/" + k.Path }

// NewPath is the path beside the file for a changed shipped form.
func (k Kept) NewPath() string { return k.Path + ".new" }

// document is a description in its written form. The fields are in the order of their names.
type document struct {
	Args          []string          `json:"args"`
	Build         string            `json:"build"`
	Compatibility string            `json:"compatibility"`
	Env           map[string]string `json:"env"`
	Exit          documentExit      `json:"exit"`
	Folder        string            `json:"folder"`
	Format        int               `json:"format"`
	Keep          []documentKept    `json:"keep"`
	Name          string            `json:"name"`
	Program       string            `json:"program"`
	Ready         documentReady     `json:"ready"`
	Wrapper       []string          `json:"wrapper"`
}

type documentExit struct {
	Clean  []int64 `json:"clean"`
	Reload []int64 `json:"reload"`
}

type documentKept struct {
	New  bool   `json:"new"`
	Path string `json:"path"`
}

type documentReady struct {
	Seconds int  `json:"seconds"`
	Window  bool `json:"window"`
}

// Parse reads a description. Any form but the one that Encode writes is an error, a *FieldError where a field is to blame. A
// description of a later format is release.ErrNewFormat.
func Parse(data []byte) (Description, error) {
	if len(data) > MaxDescription {
		return Description{}, fmt.Errorf("description of the program: %d bytes; the limit is %d", len(data), MaxDescription)
	}
	var format struct {
		Format int64 `json:"format"`
	}
	if json.Unmarshal(data, &format) == nil && format.Format > Format {
		return Description{}, release.ErrNewFormat
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return Description{}, fmt.Errorf("description of the program: %w", err)
	}
	if doc.Format != Format {
		return Description{}, &FieldError{"format", fmt.Sprintf("is %d; want %d", doc.Format, Format)}
	}
	d := doc.description()
	again, err := d.Encode()
	if err != nil {
		return Description{}, err
	}
	if !bytes.Equal(again, data) {
		return Description{}, fmt.Errorf("description of the program: not in canonical form at byte %d", firstDifference(again, data))
	}
	return d, nil
}

// firstDifference is the offset of the first byte that differs.
func firstDifference(a, b []byte) int {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at
}

// description converts the written form. Empty lists and maps become nil, so that equal documents are equal values.
func (doc document) description() Description {
	d := Description{
		Name: doc.Name, Build: doc.Build, Compatibility: doc.Compatibility, Program: doc.Program, Folder: doc.Folder,
		Args: filled(doc.Args), Wrapper: filled(doc.Wrapper), Ready: Ready{Window: doc.Ready.Window, Seconds: doc.Ready.Seconds},
		Exit: Exit{Clean: filled(doc.Exit.Clean), Reload: filled(doc.Exit.Reload)},
	}
	if len(doc.Env) > 0 {
		d.Env = doc.Env
	}
	for _, k := range doc.Keep {
		d.Keep = append(d.Keep, Kept{Path: k.Path, New: k.New})
	}
	return d
}

// filled is list, or nil for an empty one.
func filled[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// Encode writes the description in its one form. The error is that of Check, or says that it is larger than MaxDescription.
func (d Description) Encode() ([]byte, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	doc := document{
		Args: list(d.Args), Build: d.Build, Compatibility: d.Compatibility, Env: maps.Clone(d.Env), Folder: d.Folder, Format: Format,
		Exit: documentExit{Clean: list(d.Exit.Clean), Reload: list(d.Exit.Reload)}, Keep: []documentKept{}, Name: d.Name,
		Program: d.Program, Ready: documentReady{Seconds: d.Ready.Seconds, Window: d.Ready.Window}, Wrapper: list(d.Wrapper),
	}
	if doc.Env == nil {
		doc.Env = map[string]string{}
	}
	for _, k := range d.Keep {
		doc.Keep = append(doc.Keep, documentKept{New: k.New, Path: k.Path})
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(doc); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(data) > MaxDescription {
		return nil, fmt.Errorf("description of the program: %d bytes; the limit is %d", len(data), MaxDescription)
	}
	return data, nil
}

// list is never nil, so that it is written as [].
func list[T any](items []T) []T { return append([]T{}, items...) }

// Check returns what is wrong with the description as a *FieldError, or nil.
func (d Description) Check() error {
	for _, check := range []func(Description) *FieldError{
		Description.checkIdentity, Description.checkCommand, Description.checkEnv, Description.checkReady, Description.checkExit, Description.checkKeep,
	} {
		if fault := check(d); fault != nil {
			return fault
		}
	}
	return nil
}

func (d Description) checkIdentity() *FieldError {
	switch {
	case d.Name == "":
		return &FieldError{"name", "is empty"}
	case d.Build == "":
		return &FieldError{"build", "is empty"}
	case len(d.Build) > MaxBuild:
		return &FieldError{"build", fmt.Sprintf("has more than %d digits", MaxBuild)}
	case strings.Trim(d.Build, "0123456789abcdef") != "":
		return &FieldError{"build", "has other characters than lower-case hex digits"}
	}
	if fault := checkText("name", d.Name, MaxName); fault != nil {
		return fault
	}
	return checkText("compatibility", d.Compatibility, MaxName)
}

func (d Description) checkCommand() *FieldError {
	if err := release.CheckPath(d.Program); err != nil {
		return &FieldError{"program", err.Error()}
	}
	if d.Folder != "" && d.Folder != ResourcesFolder {
		if err := release.CheckPath(d.Folder); err != nil {
			return &FieldError{"folder", err.Error()}
		}
	}
	if fault := checkTexts("args", d.Args); fault != nil {
		return fault
	}
	if len(d.Wrapper) > 0 && d.Wrapper[0] == "" {
		return &FieldError{"wrapper", "begins with an empty word"}
	}
	return checkTexts("wrapper", d.Wrapper)
}

func (d Description) checkEnv() *FieldError {
	if len(d.Env) > MaxArgs {
		return &FieldError{"env", fmt.Sprintf("has more than %d variables", MaxArgs)}
	}
	seen := map[string]bool{} // names in upper case: Windows takes names that differ in case for one
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		upper := strings.ToUpper(name)
		switch {
		case name == "" || strings.Contains(name, "="):
			return &FieldError{"env", fmt.Sprintf("has %q, which can't be the name of a variable", name)}
		case strings.HasPrefix(upper, reserved):
			return &FieldError{"env", fmt.Sprintf("sets %s; names that begin with %s are reserved", name, reserved)}
		case seen[upper]:
			return &FieldError{"env", fmt.Sprintf("has two variables that differ only in case: %s", name)}
		}
		seen[upper] = true
		if fault := checkText("env", name, MaxName); fault != nil {
			return fault
		}
		if fault := checkText("env."+name, d.Env[name], MaxText); fault != nil {
			return fault
		}
	}
	return nil
}

func (d Description) checkReady() *FieldError {
	if d.Ready.Seconds < 1 || d.Ready.Seconds > MaxReadySeconds {
		return &FieldError{"ready.seconds", fmt.Sprintf("is %d; want 1 to %d", d.Ready.Seconds, MaxReadySeconds)}
	}
	return nil
}

// maxExitCode is the largest exit code, which Windows has.
const maxExitCode = 1<<32 - 1

func (d Description) checkExit() *FieldError {
	for field, codes := range map[string][]int64{"exit.clean": d.Exit.Clean, "exit.reload": d.Exit.Reload} {
		if len(codes) > MaxArgs {
			return &FieldError{field, fmt.Sprintf("has more than %d codes", MaxArgs)}
		}
		for i, code := range codes {
			switch {
			case code < 0 || code > maxExitCode:
				return &FieldError{field, fmt.Sprintf("has %d; want 0 to %d", code, maxExitCode)}
			case i > 0 && codes[i-1] >= code:
				return &FieldError{field, "is not sorted, or has a code twice"}
			}
		}
	}
	for _, code := range d.Exit.Reload {
		if slices.Contains(d.Exit.Clean, code) {
			return &FieldError{"exit.reload", fmt.Sprintf("has %d, which exit.clean has, too", code)}
		}
	}
	return nil
}

func (d Description) checkKeep() *FieldError {
	if len(d.Keep) > MaxKeep {
		return &FieldError{"keep", fmt.Sprintf("has more than %d files", MaxKeep)}
	}
	taken := []release.File{{Path: d.Program}}
	for i, k := range d.Keep {
		if i > 0 && d.Keep[i-1].Path >= k.Path {
			return &FieldError{"keep", "is not sorted, or has a path twice"}
		}
		if err := release.CheckPath(k.Shipped()); err != nil {
			return &FieldError{"keep", err.Error()}
		}
		if top, _, _ := strings.Cut(release.Fold(k.Path), "/"); top == KeepFolder {
			return &FieldError{"keep", fmt.Sprintf("has %q, which lies among the shipped forms", k.Path)}
		}
		taken = append(taken, release.File{Path: k.Path})
		if k.New {
			taken = append(taken, release.File{Path: k.NewPath()})
		}
	}
	if err := release.CheckSet(taken); err != nil {
		return &FieldError{"keep", err.Error()}
	}
	return nil
}

func checkTexts(field string, texts []string) *FieldError {
	if len(texts) > MaxArgs {
		return &FieldError{field, fmt.Sprintf("has more than %d words", MaxArgs)}
	}
	for _, text := range texts {
		if fault := checkText(field, text, MaxText); fault != nil {
			return fault
		}
	}
	return nil
}

// checkText rejects what a command line, a log or JSON can't carry as it is.
func checkText(field, text string, limit int) *FieldError {
	switch {
	case len(text) > limit:
		return &FieldError{field, fmt.Sprintf("is longer than %d bytes", limit)}
	case !utf8.ValidString(text):
		return &FieldError{field, "is not valid UTF-8"}
	case strings.ContainsFunc(text, isBarred):
		return &FieldError{field, "contains a control character or a line separator"}
	}
	return nil
}

// isBarred reports control characters, and the two separators that JSON writers escape.
func isBarred(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
