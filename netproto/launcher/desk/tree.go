package desk

import (
	"errors"
	"fmt"
	"sync"

	"collet/netproto/launcher/wire"
)

// errUnknownBase says that a device based its answer on a layout unknown here, or that the result has another digest
// than declared. A request without known layouts helps.
var errUnknownBase = errors.New("it named a layout that is not known here")

// theirTree collects the tree of a device from its answers.
type theirTree struct {
	layout  *wire.Layout // nil until the answer is complete
	files   []wire.File
	base    wire.Hash
	removed []string
	begun   bool
	parts   map[wire.Hash]wire.FilePart
}

// handleMessage handles one message; heard reports whether it belongs to the answer. Errors are faults of the device.
func (t *theirTree) handleMessage(m wire.Message, known *layouts) (heard bool, err error) {
	switch m := m.(type) {
	case *wire.ResponseFileLayout:
		t.layout = wire.NewLayout(m.Files)
	case *wire.DraftFileLayout:
		return true, t.takeDraft(m)
	case *wire.ResponseTree:
		return true, t.handleOwnTree(m, known)
	default:
		return false, nil
	}
	return true, nil
}

func (t *theirTree) takeDraft(m *wire.DraftFileLayout) error {
	if m.Flags&wire.DraftEmpty == 0 {
		if len(t.files) == wire.MaxFiles {
			return fmt.Errorf("it has more than %d files: clear its folder", wire.MaxFiles)
		}
		t.files = append(t.files, m.File)
	}
	if m.Flags&(wire.DraftLast|wire.DraftEmpty) != 0 {
		t.layout = wire.NewLayout(t.files)
	}
	return nil
}

// handleOwnTree handles one message of the answer in our own mode.
func (t *theirTree) handleOwnTree(m *wire.ResponseTree, known *layouts) error {
	if !t.begun {
		t.begun, t.base, t.parts = true, m.Base, make(map[wire.Hash]wire.FilePart)
	}
	if len(t.files)+len(m.Files) > wire.MaxFiles || len(t.removed)+len(m.Removed) > wire.MaxFiles {
		return fmt.Errorf("it has more than %d files: clear its folder", wire.MaxFiles)
	}
	t.files = append(t.files, m.Files...)
	t.removed = append(t.removed, m.Removed...)
	if m.Flags&wire.TreeLast == 0 {
		return nil
	}
	for _, part := range m.Parts {
		t.parts[part.Hash] = part
	}
	return t.finish(m.Digest, known)
}

// finish applies the answer to its base.
func (t *theirTree) finish(digest wire.Hash, known *layouts) error {
	base := new(wire.Layout)
	if t.base != (wire.Hash{}) {
		if base = known.get(t.base); base == nil {
			return errUnknownBase
		}
	}
	layout := base
	if len(t.files)+len(t.removed) > 0 || t.base == (wire.Hash{}) {
		layout = base.With(t.removed, t.files)
	}
	if layout.Digest() != digest {
		return errUnknownBase
	}
	t.layout = layout
	return nil
}

// layouts caches trees by digest, and the current one of each device. Safe for concurrent use.
type layouts struct {
	mu      sync.Mutex
	trees   map[wire.Hash]*wire.Layout
	order   []wire.Hash          // oldest first
	devices map[string]wire.Hash // of each device, if known
}

func newLayouts() *layouts {
	return &layouts{trees: make(map[wire.Hash]*wire.Layout), devices: make(map[string]wire.Hash)}
}

// maxLayouts is how many trees are kept: each takes some ten megabytes at wire.MaxFiles. One request names them all.
const maxLayouts = wire.MaxDigests

func (l *layouts) add(tree *wire.Layout) {
	digest := tree.Digest()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trees[digest] != nil {
		return
	}
	l.trees[digest] = tree
	if l.order = append(l.order, digest); len(l.order) > maxLayouts {
		delete(l.trees, l.order[0])
		l.order = l.order[1:]
	}
}

// set records the current tree of a device.
func (l *layouts) set(device string, tree *wire.Layout) {
	l.add(tree)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.devices[device] = tree.Digest()
}

// forget records that the tree of a device is unknown.
func (l *layouts) forget(device string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.devices, device)
}

// get is nil for an unknown tree.
func (l *layouts) get(digest wire.Hash) *wire.Layout {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trees[digest]
}

// last is the last recorded tree of a device if it is still cached, else zero.
func (l *layouts) last(device string) wire.Hash {
	l.mu.Lock()
	defer l.mu.Unlock()
	if digest := l.devices[device]; l.trees[digest] != nil {
		return digest
	}
	return wire.Hash{}
}

// digests are all cached digests, that of the device first, then the newest.
func (l *layouts) digests(device string) []wire.Hash {
	last := l.last(device)
	l.mu.Lock()
	defer l.mu.Unlock()
	var digests []wire.Hash
	if last != (wire.Hash{}) {
		digests = append(digests, last)
	}
	for i := len(l.order) - 1; i >= 0; i-- {
		if l.order[i] != last {
			digests = append(digests, l.order[i])
		}
	}
	return digests
}

// findBases finds files on the device with the content of a file to write, which was renamed, moved or copied here. It
// takes only files that this push leaves, or can delete at its end, and only where copying is cheaper than sending.
func findBases(in planInput, p plan) map[string]string {
	bases := make(map[string]string)
	wanted := make(map[wire.Hash]bool)
	for _, w := range p.writes {
		if w.file.Size > smallFile && !in.blocked[w.file.Path] {
			wanted[w.file.Hash] = true
		}
	}
	if len(wanted) == 0 {
		return bases
	}
	written := make(map[string]bool, len(p.writes))
	for _, w := range p.writes {
		written[w.file.Path] = true
	}
	byHash := make(map[wire.Hash]wire.File)
	folders := foldersOf(in.ours)
	for _, f := range in.theirs {
		if wanted[f.Hash] && !written[f.Path] && !folders[f.Path] && !anyAbove(f.Path, written) {
			byHash[f.Hash] = f
		}
	}
	for _, w := range p.writes {
		if f, is := byHash[w.file.Hash]; is && f.Size == w.file.Size && w.file.Size > smallFile && !in.blocked[w.file.Path] {
			bases[w.file.Path] = f.Path
		}
	}
	return bases
}

// anyAbove reports whether a set has the path of a folder above a path.
func anyAbove(path string, set map[string]bool) bool {
	for at, c := range []byte(path) {
		if c == '/' && set[path[:at]] {
			return true
		}
	}
	return false
}
