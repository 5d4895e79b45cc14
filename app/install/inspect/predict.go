package inspect

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

	"collet/app/diskfault"
	"collet/app/install"
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

// maxSearched is the largest number of free files for which Predict searches the limit.
const maxSearched = 250

// Predict predicts how the next start ends, as far as that depends on the disk and not on a server. It changes nothing. It
// runs the recovery, an update to the live set, and updates to sets with more files. Each runs on an overlay that keeps its
// changes in memory and fails where the disk would. found is a recent result of Folder. signed means that updates come as
// signed releases. The error is that of ctx.
func Predict(ctx context.Context, fsys, base platform.FS, found Report, signed bool) ([]Ending, error) {
	p := &predictor{base: base, found: found, signed: signed, wrong: map[string]bool{}}
	for _, f := range found.Next.Damaged {
		p.wrong[f.Name] = true
	}
	disk := newOverlay(fsys, false)
	createOptional(disk, found.Names.Runtime+".log")
	d, err := p.open(ctx, disk)
	if err != nil {
		return endings(ctx, Ending{When: Always}, err)
	}
	createOptional(disk, path.Join(install.StateDir, install.BellFile))
	p.set = install.ViewOf(d).Files()
	if !d.Unclean() {
		_ = disk.Remove(path.Join(install.StateDir, install.OpenFile)) // the next rehearsal creates it again
	}
	_ = install.Kill(d) // no lock is held
	var list []Ending
	if len(p.set) > 0 {
		list, err = endings(ctx, Ending{When: Unchanged}, p.repair(ctx, disk))
	}
	if err != nil {
		return nil, err
	}
	more, err := p.updates(ctx, disk)
	return append(list, more...), err
}

// createOptional creates a file that the client creates if possible but does not require.
func createOptional(disk *overlay, name string) {
	if f, err := disk.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		_ = f.Close()
	}
}

// predictor rehearses starts.
type predictor struct {
	base   platform.FS
	found  Report
	signed bool
	set    []install.File
	wrong  map[string]bool // live names of the set with other content
}

// endings returns one ending for an error; nil is a good one.
func endings(ctx context.Context, e Ending, err error) ([]Ending, error) {
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
	var way *platform.ObstacleError
	var space *diskfault.SpaceError
	switch {
	case fault.Cause == update.DiskFault && errors.As(fault.Err, &way):
		end.Key = update.KeyInTheWay
	case fault.Cause == update.DiskFull && errors.As(fault.Err, &space) && space.NoNames():
		end.Key = update.KeyNoNames
	}
	e.Cause, e.Exit, e.Key, e.Subject, e.Error = fault.Cause, end.Exit, end.Key, fault.Subject, err.Error()
	return []Ending{e}, nil
}

// open opens the install on an overlay. It reads only the files of the set that are known to be wrong.
func (p *predictor) open(ctx context.Context, disk *overlay) (*install.Dir, error) {
	return install.Rehearse(ctx, install.Config{
		FS: disk, Base: p.base, Names: p.found.Names, Trust: install.TrustFNV, Log: zerolog.Nop(),
	}, func(live string) bool { return !p.wrong[live] })
}

// repair rehearses an update to the live set, which fetches damaged files.
func (p *predictor) repair(ctx context.Context, disk *overlay) error {
	d, err := p.begin(ctx, disk.clone(), false)
	if err != nil {
		return err
	}
	defer func() { _ = install.Kill(d) }() // at most a shared lock of the base is held
	plan, err := d.Plan(ctx, update.Binaries, p.offer(false, 0), func(string, int64, int64) {})
	if err != nil || len(plan.Wants) == 0 {
		return err
	}
	return p.update(ctx, disk.clone(), p.offer(true, 0))
}

// updates rehearses updates with one new file, and with as many as there is room for.
func (p *predictor) updates(ctx context.Context, disk *overlay) ([]Ending, error) {
	try := func(files, beside int64) error {
		disk := disk.clone()
		if err := disk.room.take(0, 0, beside); err != nil {
			return err
		}
		return p.update(ctx, disk, p.offer(true, files))
	}
	good := Ending{When: Updated, Files: -1, Bytes: -1}
	if free := disk.room.bytes; free != noLimit {
		good.Bytes = max(0, free-diskfault.Reserve)
	}
	err := try(1, 0)
	if err != nil || disk.room.files > maxSearched {
		return endings(ctx, good, err)
	}
	failure := try(disk.room.files+1, 0) // each file takes one
	if failure == nil || ctx.Err() != nil {
		return endings(ctx, good, nil)
	}
	search := func(fits func(files int64) bool) int64 {
		return int64(sort.Search(int(disk.room.files), func(n int) bool { return ctx.Err() != nil || !fits(int64(n)+1) }))
	}
	// A large file needs another file for its block checksums, and the number of large files is unknown. The host may
	// create one, too.
	good.Files = search(func(n int64) bool { return try(n, n+1) == nil })
	larger, err := endings(ctx, Ending{When: Larger, Files: search(func(n int64) bool { return try(n, 0) == nil })}, failure)
	return append([]Ending{good}, larger...), err
}

// begin opens the install like an update and stores cached data of signed releases.
func (p *predictor) begin(ctx context.Context, disk *overlay, fetches bool) (*install.Dir, error) {
	d, err := p.open(ctx, disk)
	if err != nil || !p.signed {
		return d, err
	}
	if err := p.storeMetadata(disk, fetches); err != nil {
		return nil, errors.Join(install.FaultOf(disk, 0, err), install.Kill(d))
	}
	return d, nil
}

// storeMetadata does what app/acquire does before an update. Without a download, failing to store verified data is no error.
func (p *predictor) storeMetadata(disk *overlay, fetches bool) error {
	err := disk.MkdirAll(path.Join(p.found.Names.Cache, install.ReleaseFolder), 0o755)
	if err != nil && !fetches && (errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) || platform.IsDiskFull(err)) {
		return nil
	}
	return err
}

// update rehearses an update from its plan to the swap. New files have stand-in content; see offer.
func (p *predictor) update(ctx context.Context, disk *overlay, offer []release.File) error {
	d, err := p.begin(ctx, disk, true)
	if err != nil {
		return err
	}
	defer func() { _ = install.Kill(d) }() // at most a shared lock of the base is held
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

// changedPack is the live name of the pack that a rehearsed update replaces: the smallest one, because it is read and its
// backup is kept in folders of its own. It is empty without a suitable pack.
func (p *predictor) changedPack() (live string) {
	least := int64(maxRead)
	for _, e := range p.set {
		if e.Kind == install.Pack && e.Size <= least && !p.wrong[e.Live] {
			live, least = e.Live, e.Size
		}
	}
	return live
}

// maxRead is the largest pack in bytes that is read to rehearse an update.
const maxRead = 256 << 20

// offer is the live set as a server would offer it, with more files changed or added. With replaced, damaged files have
// stand-in content, which is available locally. Damaged companions are left out: they do not cause an update.
func (p *predictor) offer(replaced bool, more int64) (files []release.File) {
	digest, err := release.SHA256.DigestOf(strings.NewReader(standIn))
	if err != nil {
		return nil // reading from memory never fails
	}
	changed := ""
	if more > 0 {
		changed = p.changedPack()
	}
	for _, e := range p.set {
		f := release.File{Path: e.Live, Size: e.Size, Digest: e.Digest, Role: release.Binary, Index: uint32(len(files))}
		if e.Kind == install.Pack {
			f.Path, f.Role = strings.TrimPrefix(e.Live, p.found.Names.Resources+"/"), release.Resource
		}
		switch wrong := p.wrong[e.Live]; {
		case wrong && e.Kind == install.Companion:
			continue
		case e.Live == changed:
			more--
			fallthrough
		case wrong && replaced:
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
