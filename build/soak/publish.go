package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"collet/netproto/release"
	"collet/netproto/session"
)

const (
	compatibility = "soak-2" // what is published belongs to
	outdated      = "soak-1" // what some clients have

	linux, windows, mobile = "Linux-x64", "Windows-x64", "Android-arm64" // there are no binaries for the last one

	// publishTime bounds one publication: a few files of a few MB.
	publishTime = 30 * time.Second
	// keptPublications is how many publications a client may still be offered. A client that is offered one connects
	// while it is the newest, and a phase of load sees a handful.
	keptPublications = 8
)

// shape is one offered file: where it lies and how large its versions are, in bytes.
type shape struct {
	name, target string // no target: a pack
	least, most  int
	plain        bool // compresses well
}

// shapes are the files of every publication, as the server lists them: packs by name, then binaries by target. The large
// one is more than two portions.
func shapes() []shape {
	return []shape{
		{name: "Core.zip", least: 3_000, most: 5_000},
		{name: "Empty.zip"},
		{name: "Levels.zip", least: 2_100_000, most: 2_600_000},
		{name: "Maps.zip", least: 200_000, most: 400_000, plain: true},
		{name: "One.zip", least: 1, most: 1},
		{name: "Sounds.zip", least: 600_000, most: 1_200_000, plain: true},
		{name: "Soak.so", target: linux, least: 100_000, most: 300_000},
		{name: "Soak.dll", target: windows, least: 100_000, most: 300_000},
	}
}

// large is the index of the largest file in every list.
const large = 2

// version is one content of a file.
type version struct {
	shape
	data []byte
	sha  [32]byte
	fnv  uint64
}

func newVersion(s shape, r *rand.Rand) *version {
	v := &version{shape: s, data: make([]byte, s.least+r.IntN(s.most-s.least+1))}
	noise := rand.NewChaCha8([32]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
	noise.Read(v.data)
	if s.plain {
		for i := range v.data {
			v.data[i] = "lathe"[v.data[i]&3]
		}
	}
	sha, fnv := release.SHA256.NewHash(), release.FNV1a64.NewHash()
	sha.Write(v.data)
	fnv.Write(v.data)
	v.sha, _ = release.SHA256.SumOf(sha).SHA256()
	v.fnv, _ = release.FNV1a64.SumOf(fnv).FNV()
	return v
}

// is reports whether the server's offer is this content.
func (v *version) is(o session.Offer) bool {
	return o.Path == v.name && o.Size == int64(len(v.data)) && (o.Role == uint8(release.Binary)) == (v.target != "") &&
		(o.HasSHA256 && o.SHA256 == v.sha || !o.HasSHA256 && o.FNV == v.fnv)
}

// publication is all that was offered at a time.
type publication struct {
	number int
	files  []*version // in the order of shapes
}

// matches reports whether the offers are exactly this publication for the target, and returns its files in that order.
func (p *publication) matches(target string, offers []session.Offer) ([]*version, bool) {
	var files []*version
	for _, v := range p.files {
		if v.target == "" || v.target == target {
			files = append(files, v)
		}
	}
	return files, slices.EqualFunc(files, offers, (*version).is)
}

// packageFolder is the folder that the server offers, with what was published in it. change and publishInvalid are for one goroutine at
// a time, the other methods for any.
type packageFolder struct {
	dir    string
	random *rand.Rand // of publish

	mu     sync.Mutex
	first  *publication
	recent []*publication // the last ones, the newest last; one of them may not be offered yet
	moves  int            // odd while the folder is not what the server offers
	offers int            // number of the newest publication that is offered for certain
}

// newPackageFolder lays out the first publication.
func newPackageFolder(dir string, r *rand.Rand) (*packageFolder, error) {
	s := &packageFolder{dir: dir, random: r, first: &publication{}}
	for _, shape := range shapes() {
		v := newVersion(shape, r)
		if err := os.MkdirAll(filepath.Dir(s.path(shape)), 0o755); err != nil {
			return nil, err
		}
		if err := s.writeVersion(v); err != nil {
			return nil, err
		}
		s.first.files = append(s.first.files, v)
	}
	s.recent = []*publication{s.first}
	return s, nil
}

func (s *packageFolder) path(f shape) string {
	if f.target == "" {
		return filepath.Join(s.dir, "Resources", f.name)
	}
	return filepath.Join(s.dir, "PlatformBinaries", f.target, f.name)
}

// writeVersion renames a content into its place, as docs/OPERATING.md tells publishers to.
func (s *packageFolder) writeVersion(v *version) error {
	aside := filepath.Join(s.dir, "next")
	if err := os.WriteFile(aside, v.data, 0o644); err != nil {
		return err
	}
	return os.Rename(aside, s.path(v.shape))
}

// change makes new versions of some files and reloads.
func (s *packageFolder) change(ctx context.Context, reload func(context.Context) error) error {
	s.mu.Lock()
	old := s.recent[len(s.recent)-1]
	s.mu.Unlock()
	next := &publication{number: old.number + 1, files: slices.Clone(old.files)}
	changed := s.random.Perm(len(next.files))[:1+s.random.IntN(len(next.files))]
	for _, i := range changed {
		next.files[i] = newVersion(next.files[i].shape, s.random)
	}
	s.mu.Lock()
	s.moves++
	s.recent = append(s.recent, next)
	s.recent = s.recent[max(0, len(s.recent)-keptPublications):]
	s.mu.Unlock()
	var faults []error
	for _, i := range changed {
		faults = append(faults, s.writeVersion(next.files[i]))
	}
	err := errors.Join(append(faults, reload(ctx))...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moves++; err == nil {
		s.offers = next.number
	}
	return err
}

// spoil makes the folder one that can't be offered, asks for a reload, which must fail, and mends the folder.
func (s *packageFolder) publishInvalid(ctx context.Context, reload func(context.Context) error) error {
	inTheWay := filepath.Join(s.dir, "PlatformBinaries", linux, "a folder")
	if err := os.Mkdir(inTheWay, 0o755); err != nil {
		return err
	}
	err := reload(ctx)
	if gone := os.Remove(inTheWay); gone != nil {
		return gone
	}
	if err == nil {
		return errors.New("a folder among the platform binaries was taken")
	}
	return nil
}

// view is what a client can know of the folder when it connects.
type view struct{ moves, offers int }

func (s *packageFolder) currentView() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view{s.moves, s.offers}
}

// calm reports whether folder and catalogue were the same all the time since.
func (s *packageFolder) unchangedSince(since view) bool {
	return since.moves%2 == 0 && s.currentView().moves == since.moves
}

// newest is the newest publication that is offered for certain.
func (s *packageFolder) newest() int { return s.currentView().offers }

// findPublication returns the publication that a client was offered. since is currentView from before it connected.
func (s *packageFolder) findPublication(since view, target string, offers []session.Offer) (*publication, []*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range slices.Backward(s.recent) {
		files, is := p.matches(target, offers)
		switch {
		case !is:
		case p.number < since.offers:
			return nil, nil, fmt.Errorf("the list is that of publication %d, after %d was reloaded", p.number, since.offers)
		default:
			return p, files, nil
		}
	}
	return nil, nil, fmt.Errorf("the list of %d files is none that was published", len(offers))
}

// checked compares bytes as they arrive with what was published.
type checked struct {
	files []*version
	at    []int // bytes that came of each
	total int64
}

func (c *checked) checkPart(i int, data []byte) error {
	v, at := c.files[i], c.at[i]
	if at+len(data) > len(v.data) || !bytes.Equal(v.data[at:at+len(data)], data) {
		return &wrongError{v.name, at, len(data)}
	}
	c.at[i] += len(data)
	c.total += int64(len(data))
	return nil
}

// whole returns an error unless everything came.
func (c *checked) whole() error {
	for i, v := range c.files {
		if c.at[i] != len(v.data) {
			return fmt.Errorf("%s: %d bytes of %d", v.name, c.at[i], len(v.data))
		}
	}
	return nil
}

// wrongError says that other bytes came than were published. No disturbance excuses it.
type wrongError struct {
	name   string
	at, by int
}

func (e *wrongError) Error() string {
	return fmt.Sprintf("%s: the %d bytes from %d on are not those that were published", e.name, e.by, e.at)
}
