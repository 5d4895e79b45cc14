// Package check finds what is wrong with a game before players get it. `collet pack check` and `collet release publish` use it.
//
// There are two kinds of findings. Some can't be right, and are refused: a target that no client asks for, a native module that is no
// library of its target. Others may be meant, and a person has to confirm them: a set without packs, a pack that does not open, packs and
// targets that disappear, a channel that is new, a set that has not changed.
//
// A file is read only if its content is new, and then only its beginning or its table of contents. Names are checked by netproto/release.
package check

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"collet/build/advice"
	"collet/netproto/product"
	"collet/netproto/release"
)

// Fault is something wrong, and what to do about it.
type Fault struct {
	What string // without a dot
	Want string // advice; may be empty
}

// String formats the fault on one line.
func (f Fault) String() string {
	if f.Want == "" {
		return f.What
	}
	return f.What + "; " + f.Want
}

// Finding is a fault of a release.
type Finding struct {
	Fault
	Refused bool // it can't be right; otherwise it may be meant
}

// Release is what is about to be published. It is only read.
type Release struct {
	Channel string
	Sets    []Set // those that are not published yet

	Channels []string // those that have releases; empty before the first release
	Previous uint64   // number of the channel's newest release
	Lacking  []string // its targets that this release lacks, unless one target was chosen
}

// Set is the set of one target.
type Set struct {
	Target string
	Files  release.Listing

	IsProgram bool     // the game is a program, which has resources of its own and no module
	Programs  []string // paths of its executables, but for those that something else starts

	Before uint64          // number of the release before; 0 if there is none
	Old    release.Listing // its set

	// Open opens a file of the set by its path.
	Open func(path string) (File, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.Closer
}

// maxNamed is how many files one finding names.
const maxNamed = 3

// Find returns all findings of a release, those that are refused first. An error is one of reading.
func Find(r Release) ([]Finding, error) {
	var c collector
	for _, s := range r.Sets {
		if f := Target(s.Target); f != nil {
			c.refuse(*f)
			continue
		}
		if err := c.checkFiles(s); err != nil {
			return nil, err
		}
		c.compare(s)
	}
	if len(r.Sets) > 0 {
		c.list = append(c.list, Channel(r.Channel, r.Channels)...)
	}
	c.checkTargets(r)
	slices.SortStableFunc(c.list, func(a, b Finding) int {
		switch {
		case a.Refused == b.Refused:
			return 0
		case a.Refused:
			return -1
		default:
			return 1
		}
	})
	return c.list, nil
}

// collector collects findings. Equal ones, as of packs that all targets have, are one.
type collector struct {
	list []Finding
	read map[release.Digest]*Fault // of packs
}

func (c *collector) add(f Finding) {
	if !slices.Contains(c.list, f) {
		c.list = append(c.list, f)
	}
}

func (c *collector) refuse(f Fault) { c.add(Finding{f, true}) }

func (c *collector) ask(want, what string, args ...any) {
	c.add(Finding{Fault: Fault{fmt.Sprintf(what, args...), want}})
}

// checkFiles looks into the files of a set. What the release before has was checked then, but for modules and programs: these are few.
func (c *collector) checkFiles(s Set) error {
	old := map[release.Digest]bool{}
	for _, f := range s.Old {
		old[f.Sum] = true
	}
	target := product.Target(s.Target)
	for _, f := range s.Files {
		var look func(File) *Fault
		name := s.Target + ": " + f.Path
		switch {
		case f.Use == release.UseRuntime && strings.HasSuffix(strings.ToLower(f.Path), target.LibraryExt()):
			look = func(in File) *Fault { return Library(name, headOf(in), target) }
		case f.Use == release.UseHost:
			look = func(in File) *Fault { return Host(name, headOf(in), target) }
		case slices.Contains(s.Programs, f.Path):
			look = func(in File) *Fault { return Program(name, headOf(in), target) }
		case f.Use == release.UseResource && !s.IsProgram && IsPack(f.Path) && !old[f.Sum]:
			if err := c.checkPack(s, f); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		in, err := s.Open(f.Path)
		if err != nil {
			return err
		}
		if fault := look(in); fault != nil {
			c.refuse(*fault)
		}
		if err := in.Close(); err != nil {
			return err
		}
	}
	return nil
}

func headOf(in io.ReaderAt) []byte {
	head := make([]byte, HeadSize)
	n, _ := in.ReadAt(head, 0) // a file that can't be read has no known format
	return head[:n]
}

// checkPack opens a pack. Targets share most of them.
func (c *collector) checkPack(s Set, f release.ListedFile) error {
	if c.read == nil {
		c.read = map[release.Digest]*Fault{}
	}
	fault, done := c.read[f.Sum]
	if !done {
		in, err := s.Open(f.Path)
		if err != nil {
			return err
		}
		fault = Pack(f.Path, in, f.Size)
		if err := in.Close(); err != nil {
			return err
		}
		c.read[f.Sum] = fault
	}
	if fault != nil {
		c.add(Finding{Fault: *fault})
	}
	return nil
}

// compare compares a set with the one before. What was confirmed for that is not asked again.
func (c *collector) compare(s Set) {
	module, resource := has(s.Files, release.UseRuntime), has(s.Files, release.UseResource)
	if !module && (s.Before == 0 || has(s.Old, release.UseRuntime)) {
		c.ask("put it into "+release.BinariesFolder+"/"+s.Target, "the set for %s has no native module and no program", s.Target)
	}
	if !resource && s.Before == 0 {
		c.ask("put the packs into "+release.ResourcesFolder, "the set for %s has no %s", s.Target, release.ResourcesFolder)
	}
	if s.Before == 0 {
		return
	}
	if slices.Equal(s.Files, s.Old) {
		c.ask("", "nothing has changed for %s since release %d", s.Target, s.Before)
	}
	var gone []string
	had := 0
	for _, f := range s.Old {
		if f.Use != release.UseResource {
			continue
		}
		had++
		if _, there := s.Files.Find(f.Path); !there {
			gone = append(gone, f.Path)
		}
	}
	switch {
	case len(gone) == 0 || s.IsProgram && 2*len(gone) <= had: // programs often name files anew
	case !resource:
		c.ask("", "the set for %s has no %s; release %d has %d files there", s.Target, release.ResourcesFolder, s.Before, had)
	default:
		c.ask("", "%s of release %d for %s %s not there any more", someOf(gone), s.Before, s.Target, isOrAre(len(gone)))
	}
}

func has(l release.Listing, use release.Use) bool {
	return slices.ContainsFunc(l, func(f release.ListedFile) bool { return f.Use == use })
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// someOf names the first of several files.
func someOf(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more files", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Channel asks for a channel that is new. The first one of all is what the settings or the caller named, and no player has a release yet.
func Channel(name string, channels []string) []Finding {
	if len(channels) == 0 || slices.Contains(channels, name) {
		return nil
	}
	want := advice.Suggest(name, channels, "there is "+advice.OneOf(channels))
	return []Finding{{Fault: Fault{What: fmt.Sprintf("no release is in the channel %s yet", name), Want: want}}}
}

// checkTargets asks for targets that disappear.
func (c *collector) checkTargets(r Release) {
	for _, t := range r.Lacking {
		c.ask("with --target you publish one at a time", "release %d of %s is for %s, too, and this one is not", r.Previous, r.Channel, t)
	}
}
