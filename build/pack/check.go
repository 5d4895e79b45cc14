package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"collet/netproto/product"
)

// checker checks a description, fills in defaults and resolves paths.
type checker struct {
	*ledger
	p      *Project
	getenv func(string) string
	root   string // Project.Dir without symbolic links
	rooms  map[string]room
	icon   int64 // see iconSize
}

func newChecker(p *Project, l *ledger, getenv func(string) string) *checker {
	root, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		root = p.Dir
	}
	return &checker{ledger: l, p: p, getenv: getenv, root: root, rooms: map[string]room{}}
}

// check runs all checks in the order of their dependencies.
func (c *checker) check() {
	c.game()
	c.client()
	c.resources()
	c.targets()
	c.variants()
	c.windows()
	c.linux()
	c.macOS()
	c.server()
	c.signing()
	c.p.builds = c.builds()
}

// missing reports a missing required key.
func (c *checker) missing(key, want string) { c.add(key, want, "is missing") }

// Limits of texts in bytes: one line of a system's dialog, and one page of text.
const (
	maxLine = 200
	maxPage = 20_000
)

// line checks a text of one line. It reports whether the text is present and usable.
func (c *checker) line(key, value string) bool {
	switch {
	case value == "":
		return false
	case len(value) > maxLine:
		c.add(key, "", "is longer than %d bytes", maxLine)
	case strings.TrimSpace(value) != value:
		c.add(key, "take them away", "begins or ends with spaces")
	case strings.IndexFunc(value, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) >= 0:
		c.add(key, "want one line of text", "has line breaks or control characters")
	}
	return !c.isBroken(key)
}

// must checks a required text against a form.
func (c *checker) must(key, value string, form *regexp.Regexp, want string) {
	if value == "" {
		c.missing(key, want)
	} else if c.line(key, value) && !form.MatchString(value) {
		c.add(key, want, "%q can't be used", value)
	}
}

// may checks an optional text against a form.
func (c *checker) may(key, value string, form *regexp.Regexp, want string) {
	if value != "" {
		c.must(key, value, form, want)
	}
}

// web checks the address of a page or folder on a web server.
func (c *checker) web(key, value string) {
	if !c.line(key, value) {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err == nil && u.User != nil:
		c.add(key, "take them out: everybody who has the package can read them", "has a user name or password")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		c.add(key, "want https://host/path", "%q is no web address", value)
	}
}

// words checks that a list has known words only, without duplicates.
func (c *checker) words(key string, values, known []string) {
	for i, v := range values {
		switch {
		case !slices.Contains(known, v):
			c.add(element(key, i), didYouMean(v, known), "%q is unknown", v)
		case slices.Contains(values[:i], v):
			c.add(element(key, i), "once is enough", "%q is there twice", v)
		}
	}
}

// kind is the expected type of a path's target.
type kind string

const (
	aFile   kind = "file"
	aFolder kind = "folder"
	either  kind = "file or folder"
)

// path resolves a path of the project in place. It reports whether the target exists.
func (c *checker) path(key string, value *string, want kind) bool {
	name := *value
	if !c.line(key, name) {
		return false
	}
	switch {
	case strings.Contains(name, `\`):
		c.add(key, "separate folders with slashes: "+strings.ReplaceAll(name, `\`, "/"), "%q has backslashes", name)
	case path.IsAbs(name) || filepath.IsAbs(name) || len(name) > 1 && name[1] == ':':
		c.add(key, "want one that is relative to the folder of "+filepath.Base(c.file), "%q is an absolute path", name)
	case !filepath.IsLocal(path.Clean(name)):
		c.add(key, "copy it into the project's folder, or move "+filepath.Base(c.file)+" up", "%q lies outside of the project", name)
	default:
		full := filepath.Join(c.p.Dir, filepath.FromSlash(path.Clean(name)))
		if c.exists(key, name, full, want) {
			*value = full
			return true
		}
	}
	return false
}

func (c *checker) exists(key, name, full string, want kind) bool {
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.add(key, c.near(name, full), "there is no %s", name)
	case err != nil:
		c.add(key, "", "%s can't be looked at: %v", name, cause(err))
	case want == aFile && info.IsDir():
		c.add(key, "want a file", "%s is a folder", name)
	case want == aFolder && !info.IsDir():
		c.add(key, "want a folder", "%s is a file", name)
	case !info.IsDir() && !info.Mode().IsRegular():
		c.add(key, "want a file or a folder", "%s is a device or a pipe", name)
	case c.escapes(full):
		c.add(key, "copy what it leads to into the project's folder", "%s is a link that leads out of the project", name)
	default:
		return true
	}
	return false
}

// cause strips operation and path from a system error.
func cause(err error) error {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return fault.Err
	}
	return err
}

// escapes reports whether symbolic links lead out of the project.
func (c *checker) escapes(full string) bool {
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return true
	}
	rel, err := filepath.Rel(c.root, real)
	return err != nil || !filepath.IsLocal(rel)
}

// maxSiblings is the number of folder entries that are searched for a similar name.
const maxSiblings = 1000

// near returns advice with the name of a similar existing file.
func (c *checker) near(name, full string) string {
	folder := filepath.Dir(full)
	f, err := os.Open(folder)
	if err != nil {
		return fmt.Sprintf("there is no folder %s either: build it first, or correct the path", path.Dir(name))
	}
	defer f.Close()
	siblings, _ := f.Readdirnames(maxSiblings) // an error only costs advice
	slices.Sort(siblings)
	if best := nearest(filepath.Base(full), siblings); best != "" {
		return fmt.Sprintf("did you mean %s?", path.Join(path.Dir(name), best))
	}
	return "build it first, or correct the path"
}

// folded maps names to one spelling that are equal on systems that ignore case.
func folded(name string) string { return strings.ToLower(name) }

// hasTarget reports whether the description lists a target.
func (c *checker) hasTarget(name string) bool {
	return slices.ContainsFunc(c.p.Targets, func(t Target) bool { return t.Name == name })
}

// targetNames are the targets of the description.
func (c *checker) targetNames() (names []string) {
	for _, t := range c.p.Targets {
		names = append(names, t.Name)
	}
	return names
}

// hasSystem reports whether a client for a system is packed.
func (c *checker) hasSystem(system string) bool {
	return slices.ContainsFunc(c.p.Targets, func(t Target) bool { return product.Target(t.Name).System() == system && t.Host != "" })
}
