package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"strconv"

	"collet/netproto/release"
	"collet/platform"
)

// decode reads the output of encode. Every start after an update reads a set of up to ten thousand files, and encoding/json
// takes longer for it than the server for its answer. A hand-written scanner therefore reads the exact form of encode.
// Anything else, such as the lists of a later version, goes to encoding/json.
func (l *lists) decode(data []byte) error {
	s := &scanner{rest: data}
	var read lists
	if s.object(func(key string) { read.scan(s, key) }); s.odd || len(s.rest) > 0 {
		read = lists{}
		if err := json.Unmarshal(data, &read); err != nil {
			return err
		}
	}
	*l = read
	return nil
}

func (l *lists) scan(s *scanner, key string) {
	switch key {
	case "is":
		l.Is = s.digest()
	case "was":
		l.Was = s.digest()
	case "set":
		l.Set = s.entries()
	case "adopted":
		l.Adopted = s.entries()
	case "files":
		l.Files = s.entries()
	case "parts":
		l.Parts = s.entries()
	case "undo":
		l.Undo = scanAll(s, (*undo).scan)
	default:
		s.odd = true
	}
}

func (e *entry) scan(s *scanner, key string) {
	switch key {
	case "kind":
		e.Kind = s.kind()
	case "live":
		e.Live = s.text()
	case "size":
		e.Size = s.number()
	case "digest":
		e.Digest = s.digest()
	case "old":
		e.Old = s.digest()
	case "old_size":
		e.OldSize = s.number()
	case "repair":
		e.Repair = s.yes()
	case "foreign":
		e.Foreign = s.yes()
	case "aside":
		e.Aside = s.yes()
	case "broken":
		e.Broken = s.yes()
	default:
		s.odd = true
	}
}

func (u *undo) scan(s *scanner, key string) {
	switch key {
	case "kind":
		u.Kind = s.kind()
	case "live":
		u.Live = s.text()
	case "size":
		u.Size = s.number()
	case "digest":
		u.Digest = s.digest()
	case "foreign":
		u.Foreign = s.yes()
	case "gone":
		u.Gone = s.yes()
	case "proven":
		u.Proven = s.yes()
	case "reverting":
		u.Reverting = s.yes()
	default:
		s.odd = true
	}
}

// scanner reads JSON in the form of encoding/json: without spaces, and with strings that contain no escapes. Other input
// sets odd, and the scanner does not advance any more.
type scanner struct {
	rest []byte
	odd  bool
}

// expect reads a required byte.
func (s *scanner) expect(b byte) {
	if s.follows(b) {
		s.rest = s.rest[1:]
	} else {
		s.odd = true
	}
}

func (s *scanner) follows(b byte) bool { return !s.odd && len(s.rest) > 0 && s.rest[0] == b }

// object reads an object. It calls field with each key; field reads the value.
func (s *scanner) object(field func(key string)) {
	s.expect('{')
	for more := !s.follows('}'); more && !s.odd; {
		key := s.quoted()
		s.expect(':')
		field(string(key))
		if more = s.follows(','); more {
			s.expect(',')
		}
	}
	s.expect('}')
}

func (s *scanner) entries() []entry { return scanAll(s, (*entry).scan) }

// scanAll reads an array of objects.
func scanAll[T any](s *scanner, scan func(item *T, s *scanner, key string)) (all []T) {
	s.expect('[')
	all = make([]T, 0, bytes.Count(s.rest, []byte("},{"))+1)
	for more := true; more && !s.odd; {
		all = append(all, *new(T))
		item := &all[len(all)-1]
		s.object(func(key string) { scan(item, s, key) })
		if more = s.follows(','); more {
			s.expect(',')
		}
	}
	s.expect(']')
	return all
}

// quoted reads a string without escapes.
func (s *scanner) quoted() []byte {
	s.expect('"')
	end := bytes.IndexByte(s.rest, '"')
	if s.odd || end < 0 || bytes.IndexByte(s.rest[:end], '\\') >= 0 {
		s.odd = true
		return nil
	}
	text := s.rest[:end]
	s.rest = s.rest[end+1:]
	return text
}

func (s *scanner) text() string { return string(s.quoted()) }

// kind reads a kind; the known ones are not copied.
func (s *scanner) kind() Kind {
	text := s.quoted()
	for _, k := range []Kind{Pack, Module, Companion} {
		if string(text) == string(k) {
			return k
		}
	}
	return Kind(text)
}

func (s *scanner) digest() (d release.Digest) {
	if err := d.UnmarshalText(s.quoted()); err != nil {
		s.odd = true
	}
	return d
}

func (s *scanner) number() int64 {
	n := 0
	for n < len(s.rest) && (s.rest[n] >= '0' && s.rest[n] <= '9' || n == 0 && s.rest[n] == '-') {
		n++
	}
	number, err := strconv.ParseInt(string(s.rest[:n]), 10, 64)
	if err != nil {
		s.odd = true
	}
	s.rest = s.rest[n:]
	return number
}

// yes reads true, the only value that encode writes for a flag.
func (s *scanner) yes() bool {
	rest, is := bytes.CutPrefix(s.rest, []byte("true"))
	s.odd = s.odd || !is
	s.rest = rest
	return is
}

// readLists reads a slot's lists. ok is false if they do not match the digest in the journal.
func readLists(fsys platform.FS, name string, want release.Digest) (l lists, ok bool, err error) {
	data, err := platform.ReadFile(fsys, name, maxLists)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, platform.ErrTooLong) {
		return lists{}, false, nil
	}
	if err != nil {
		return lists{}, false, err
	}
	got, err := release.SHA256.DigestOf(bytes.NewReader(data))
	ok = err == nil && got == want && l.decode(data) == nil
	return l, ok, nil
}
