package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/rs/zerolog"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// When says under which circumstances a start ends in some way. The words stand in reports.
type When string

const (
	// Always is whatever a server says: the install can't be opened.
	Always When = "always"
	// Unchanged is that the server offers the live set.
	Unchanged When = "unchanged"
	// Updated is that it offers another one.
	Updated When = "updated"
	// Larger is that it offers another one with more than Ending.Files new or changed files.
	Larger When = "larger"
)

// Ending is how the next start ends as far as the disk decides it.
type Ending struct {
	When    When         `json:"when"`
	Cause   update.Cause `json:"cause"`           // update.NoCause: the disk is fine
	Exit    int          `json:"exit"`            // of the process
	Key     string       `json:"key,omitempty"`   // of the headline in assets/lang, without ".title"
	Subject string       `json:"subject"`         // the file or folder that it is about, absolute; empty where the disk is fine
	Error   string       `json:"error,omitempty"` // what the log says
	Files   int64        `json:"files"`           // Updated: up to how many new and changed files it ends so, below 0: any number that a release has; Larger: from how many on it surely does
	Bytes   int64        `json:"bytes"`           // Updated: for how many bytes of them there is room; below 0: it is not known
}

// maxForetold is the number of files up to which Foretell tries for how many there is room.
const maxForetold = 250

// Foretell says how the next start ends, as far as the disk decides that and not a server. It changes nothing and guesses nothing: the
// recovery runs, then an update to the set that is live, and to others with some more files, each on a view of the folder that keeps
// its changes to itself and refuses what the disk would. found is what Inspect found a moment ago; signed says that
// updates come as signed releases. The error is that of ctx.
func Foretell(ctx context.Context, fsys, base platform.FS, found Inspection, signed bool) ([]Ending, error) {
	t := &teller{base: base, found: found, signed: signed, wrong: map[string]bool{}}
	for _, f := range found.Next.Damaged {
		t.wrong[f.Name] = true
	}
	view := newRehearsal(fsys, false)
	unneeded(view, found.Names.Runtime+".log")
	d, err := t.open(ctx, view)
	if err != nil {
		return t.endings(ctx, Ending{When: Always}, err)
	}
	unneeded(view, path.Join(StateDir, BellFile))
	t.set = d.journal.lists.Set
	if !d.Unclean() {
		_ = view.Remove(path.Join(StateDir, openFile)) // the next rehearsal makes it anew
	}
	_ = d.letGo() // nothing is held
	var endings []Ending
	if len(t.set) > 0 {
		endings, err = t.endings(ctx, Ending{When: Unchanged}, t.repair(ctx, view))
	}
	if err != nil {
		return nil, err
	}
	more, err := t.updates(ctx, view)
	return append(endings, more...), err
}

// Names of the host's own files in an install, for which Foretell keeps room.
const (
	// BellFile says where the running host can be reached; inside of StateDir.
	BellFile = "bell"
	// GuardFile holds what the last update installed and on whose word; inside of Names.Cache.
	GuardFile = "last-update"
	// ReleaseFolder holds what is kept of signed releases between starts; inside of Names.Cache.
	ReleaseFolder = "release"
)

// unneeded makes a file that the client makes if it can, and does without.
func unneeded(view *rehearsal, name string) {
	if f, err := view.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		_ = f.Close()
	}
}

// teller rehearses starts.
type teller struct {
	base   platform.FS
	found  Inspection
	signed bool
	set    []entry
	wrong  map[string]bool // live names of the set that hold something else
}

// endings is one ending, told by an error; nil is a good one.
func (t *teller) endings(ctx context.Context, e Ending, err error) ([]Ending, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		return []Ending{e}, nil
	}
	var fault *update.Fault
	if !errors.As(err, &fault) {
		fault = &update.Fault{Cause: update.DiskFault, Err: err}
	}
	end := update.EndOf(update.Failed, fault.Cause)
	var way *platform.InTheWayError
	var space *SpaceError
	switch {
	case fault.Cause == update.DiskFault && errors.As(fault.Err, &way):
		end.Key = update.KeyInTheWay
	case fault.Cause == update.DiskFull && errors.As(fault.Err, &space) && space.NoNames():
		end.Key = update.KeyNoNames
	}
	e.Cause, e.Exit, e.Key, e.Subject, e.Error = fault.Cause, end.Exit, end.Key, fault.Subject, err.Error()
	return []Ending{e}, nil
}

// open opens the install on a view. Files of the set that are not known to be wrong need not be read.
func (t *teller) open(ctx context.Context, view *rehearsal) (*Dir, error) {
	d, err := Open(ctx, Config{FS: view, Base: t.base, Names: t.found.Names, Trust: TrustFNV, Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	if err := d.loadLists(); err != nil {
		return nil, errors.Join(d.fault(err), d.letGo())
	}
	d.cfg.Verify = false
	for _, e := range d.journal.lists.Set {
		if info, err := view.Lstat(e.Live); err == nil && !t.wrong[e.Live] {
			d.cache.store(view.Path(e.Live), platform.IdentityOf(info), e.Digest)
		}
	}
	return d, nil
}

// repair is an update to the live set: it fetches what is damaged.
func (t *teller) repair(ctx context.Context, view *rehearsal) error {
	d, err := t.begin(ctx, view.again(), false)
	if err != nil {
		return err
	}
	defer func() { _ = d.letGo() }() // nothing is held but a share of what lies below
	plan, err := d.Plan(ctx, update.Binaries, t.offer(false, 0), func(string, int64, int64) {})
	if err != nil || len(plan.Wants) == 0 {
		return err
	}
	return t.play(ctx, view.again(), t.offer(true, 0))
}

// updates are updates that bring one file, and as many as there is room for.
func (t *teller) updates(ctx context.Context, view *rehearsal) ([]Ending, error) {
	try := func(files, beside int64) error {
		view := view.again()
		if err := view.room.take(0, 0, beside); err != nil {
			return err
		}
		return t.play(ctx, view, t.offer(true, files))
	}
	good := Ending{When: Updated, Files: -1, Bytes: -1}
	if free := view.room.bytes; free != noLimit {
		good.Bytes = max(0, free-reserve)
	}
	err := try(1, 0)
	if err != nil || view.room.files > maxForetold {
		return t.endings(ctx, good, err)
	}
	failure := try(view.room.files+1, 0) // each file takes one
	if failure == nil || ctx.Err() != nil {
		return t.endings(ctx, good, nil)
	}
	search := func(fits func(files int64) bool) int64 {
		return int64(sort.Search(int(view.room.files), func(n int) bool { return ctx.Err() != nil || !fits(int64(n)+1) }))
	}
	// A large file takes another one for the sums of its blocks, and nothing says how many of them are large. The host may make one, too.
	good.Files = search(func(n int64) bool { return try(n, n+1) == nil })
	larger, err := t.endings(ctx, Ending{When: Larger, Files: search(func(n int64) bool { return try(n, 0) == nil })}, failure)
	return append([]Ending{good}, larger...), err
}

// begin opens the install as an update does, and keeps what is known of signed releases.
func (t *teller) begin(ctx context.Context, view *rehearsal, fetches bool) (*Dir, error) {
	d, err := t.open(ctx, view)
	if err != nil || !t.signed {
		return d, err
	}
	if err := t.keep(view, fetches); err != nil {
		return nil, errors.Join(d.fault(err), d.letGo())
	}
	return d, nil
}

// keep does what app/acquire does before an update. What was verified is kept only where that is possible.
func (t *teller) keep(view *rehearsal, fetches bool) error {
	err := view.MkdirAll(path.Join(t.found.Names.Cache, ReleaseFolder), 0o755)
	if err != nil && !fetches && (errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) || platform.IsDiskFull(err)) {
		return nil
	}
	return err
}

// play makes an update from its plan to the swap. What an offer has anew is stand-ins; see offer.
func (t *teller) play(ctx context.Context, view *rehearsal, offer []release.File) error {
	d, err := t.begin(ctx, view, true)
	if err != nil {
		return err
	}
	defer func() { _ = d.letGo() }() // nothing is held but a share of what lies below
	plan, err := d.Plan(ctx, update.Binaries, offer, func(string, int64, int64) {})
	for n, want := range plan.Wants {
		if err == nil {
			err = d.Write(n, []byte(standIn)[:want.File.Size])
		}
		if err == nil {
			err = d.Finish(ctx, n)
		}
	}
	if err == nil {
		err = d.Commit(ctx)
	}
	if err == nil {
		err = d.Promote(ctx)
	}
	return err
}

// standIn is the content of files that are not known.
const standIn = "x"

// changed is the live name of the pack that an update replaces, beside those that it brings: the smallest one, because it is read, and
// what it was is kept in folders of its own. Empty: there is no pack.
func (t *teller) changed() (live string) {
	least := int64(maxRead)
	for _, e := range t.set {
		if e.Kind == pack && e.Size <= least && !t.wrong[e.Live] {
			live, least = e.Live, e.Size
		}
	}
	return live
}

// maxRead is the largest pack in bytes that is read to rehearse an update.
const maxRead = 256 << 20

// offer is the live set as a server offers it, with so many files changed or more. With stands, what is damaged has another content,
// which can be had here. Damaged symbols are no reason for an update.
func (t *teller) offer(stands bool, more int64) (files []release.File) {
	digest, err := release.SHA256.DigestOf(strings.NewReader(standIn))
	if err != nil {
		return nil // memory can be read
	}
	changed := ""
	if more > 0 {
		changed = t.changed()
	}
	for _, e := range t.set {
		f := release.File{Path: e.Live, Size: e.Size, Digest: e.Digest, Role: release.Binary, Index: uint32(len(files))}
		if e.Kind == pack {
			f.Path, f.Role = strings.TrimPrefix(e.Live, t.found.Names.Resources+"/"), release.Resource
		}
		switch wrong := t.wrong[e.Live]; {
		case wrong && e.Kind == companion:
			continue
		case e.Live == changed:
			more--
			fallthrough
		case wrong && stands:
			f.Size, f.Digest = int64(len(standIn)), digest
		}
		files = append(files, f)
	}
	for n := range more {
		files = append(files, release.File{
			Path: fmt.Sprintf("collet-doctor-%d.zip", n), Size: int64(len(standIn)), Digest: digest, Role: release.Resource, Index: uint32(len(files)),
		})
	}
	return files
}
