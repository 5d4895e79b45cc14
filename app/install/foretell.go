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

// When is the condition under which a start ends in some way. Reports contain these words.
type When string

const (
	// Always holds whatever a server answers: the install can't be opened.
	Always When = "always"
	// Unchanged holds if the server offers the live set.
	Unchanged When = "unchanged"
	// Updated holds if the server offers another set.
	Updated When = "updated"
	// Larger holds if the server offers another set with more than Ending.Files new or changed files.
	Larger When = "larger"
)

// Ending is the predicted result of the next start, as far as it depends on the disk.
type Ending struct {
	When    When         `json:"when"`
	Cause   update.Cause `json:"cause"`           // update.NoCause: the disk is fine
	Exit    int          `json:"exit"`            // of the process
	Key     string       `json:"key,omitempty"`   // of the headline in assets/lang, without ".title"
	Subject string       `json:"subject"`         // the affected file or folder, absolute; empty if the disk is fine
	Error   string       `json:"error,omitempty"` // the error text in the log
	Files   int64        `json:"files"`           // Updated: most new and changed files, below 0: unlimited; Larger: certain above it
	Bytes   int64        `json:"bytes"`           // Updated: room for their bytes; below 0: unknown
}

// maxForetold is the largest number of free files for which Foretell searches the limit.
const maxForetold = 250

// Foretell predicts how the next start ends, as far as that depends on the disk and not on a server. It changes nothing. It
// runs the recovery, an update to the live set, and updates to sets with more files. Each runs on a view that keeps its
// changes in memory and fails where the disk would. found is a recent result of Inspect. signed means that updates come as
// signed releases. The error is that of ctx.
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
		_ = view.Remove(path.Join(StateDir, openFile)) // the next rehearsal creates it again
	}
	_ = d.letGo() // no lock is held
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

// Names of the host's own files in an install. Foretell reserves room for them.
const (
	// BellFile holds the address of the running host; inside StateDir.
	BellFile = "bell"
	// GuardFile records the last update and the server that requested it; inside Names.Cache.
	GuardFile = "last-update"
	// ReleaseFolder holds cached data of signed releases; inside Names.Cache.
	ReleaseFolder = "release"
)

// unneeded creates a file that the client creates if possible but does not require.
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
	wrong  map[string]bool // live names of the set with other content
}

// endings returns one ending for an error; nil is a good one.
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

// open opens the install on a view. It reads only the files of the set that are known to be wrong.
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

// repair rehearses an update to the live set, which fetches damaged files.
func (t *teller) repair(ctx context.Context, view *rehearsal) error {
	d, err := t.begin(ctx, view.again(), false)
	if err != nil {
		return err
	}
	defer func() { _ = d.letGo() }() // at most a shared lock of the base is held
	plan, err := d.Plan(ctx, update.Binaries, t.offer(false, 0), func(string, int64, int64) {})
	if err != nil || len(plan.Wants) == 0 {
		return err
	}
	return t.play(ctx, view.again(), t.offer(true, 0))
}

// updates rehearses updates with one new file, and with as many as there is room for.
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
	// A large file needs another file for its block checksums, and the number of large files is unknown. The host may
	// create one, too.
	good.Files = search(func(n int64) bool { return try(n, n+1) == nil })
	larger, err := t.endings(ctx, Ending{When: Larger, Files: search(func(n int64) bool { return try(n, 0) == nil })}, failure)
	return append([]Ending{good}, larger...), err
}

// begin opens the install like an update and stores cached data of signed releases.
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

// keep does what app/acquire does before an update. Without a download, failing to store verified data is no error.
func (t *teller) keep(view *rehearsal, fetches bool) error {
	err := view.MkdirAll(path.Join(t.found.Names.Cache, ReleaseFolder), 0o755)
	if err != nil && !fetches && (errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) || platform.IsDiskFull(err)) {
		return nil
	}
	return err
}

// play rehearses an update from its plan to the swap. New files have stand-in content; see offer.
func (t *teller) play(ctx context.Context, view *rehearsal, offer []release.File) error {
	d, err := t.begin(ctx, view, true)
	if err != nil {
		return err
	}
	defer func() { _ = d.letGo() }() // at most a shared lock of the base is held
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

// standIn is the content of files with unknown content.
const standIn = "x"

// changed is the live name of the pack that a rehearsed update replaces: the smallest one, because it is read and its
// backup is kept in folders of its own. It is empty without a suitable pack.
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

// offer is the live set as a server would offer it, with more files changed or added. With stands, damaged files have
// stand-in content, which is available locally. Damaged companions are left out: they do not cause an update.
func (t *teller) offer(stands bool, more int64) (files []release.File) {
	digest, err := release.SHA256.DigestOf(strings.NewReader(standIn))
	if err != nil {
		return nil // reading from memory never fails
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
