// Package places brings the places where players find a release folder to the folder's state: folders of web servers, buckets, GitHub
// releases, registries, or any number of them.
//
// # Order
//
// All places take a step before any of them takes the next one:
//
//	look        their signed list is read: one that is newer than the folder's ends everything, because another publisher wrote it
//	objects     files that never change
//	heads
//	lists       signed lists but timestamp.json
//	timestamp   makes the release visible; one place after the other, in the order of the caller
//	sequels     they only save round trips
//	removal     of files that the folder lacks, if this is asked for
//
// So no place ever has lists that name files that it lacks. A file of the right size is not written again, because names are digests.
//
// # Failures
//
// A place that fails in a step takes no part in later ones: its players go on with what they saw before. The others go on if the quorum can
// still be met; if it can't, the step is the last one for all. Until the last step before timestamp this means that no player sees the
// release anywhere. If writing a timestamp.json itself fails, the places before it have theirs already, and are complete. Another Update
// brings everything up to date that was left out.
package places

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"collet/build/advice"
	"collet/build/publish/upload"
	"collet/netproto/release/trust"
	"collet/platform"
)

const (
	// Timestamp is the file that readers fetch first.
	Timestamp = "metadata/timestamp.json"
	// Sequels is the folder of the files that save round trips.
	Sequels = "sequels"
	// UnfinishedExt ends the temporary names of files. No file of a release folder ends so.
	UnfinishedExt = ".new"
)

// Place is where a publication is written to beside the release folder: a web server's folder, a bucket, a GitHub release or a registry. Names are those of the release folder. Put and Remove may
// be called from several goroutines.
type Place interface {
	// String returns the location, without secrets.
	String() string
	// List returns the sizes of all files below a folder.
	List(ctx context.Context, folder string) (map[string]int64, error)
	// Get reads a small file. errors.Is(err, fs.ErrNotExist) holds for a missing one.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)
	// Put replaces a file atomically. lasting says that the file never changes again.
	Put(ctx context.Context, name string, data io.ReaderAt, size int64, lasting bool) error
	// Remove removes a file.
	Remove(ctx context.Context, name string) error
	// Sync returns when all written files are durable.
	Sync(ctx context.Context) error
}

// limited is a Place with limits. They are complete after a List.
type limited interface{ Limits() upload.Limits }

// limitsOf returns the limits of a place; none for one without.
func limitsOf(p Place) upload.Limits {
	if l, is := p.(limited); is {
		return l.Limits()
	}
	return upload.Limits{}
}

// Folder is what the places should have.
type Folder struct {
	FS            platform.FS
	Objects       []string // names of the files that the releases need, sorted
	Heads         []string
	RecentSequels func(most int) (recent, outdated []string) // for places that keep only some
	Workers       int                                        // files at once, for each place; at least atOnce

	Start func(total int64)          // a step begins that writes so many bytes, to all places together
	Wrote func(n int64, what string) // a file is there
}

// Options are the choices of the caller.
type Options struct {
	Quorum int  // how many places have to be brought up to date; 0 is more than half of them
	Remove bool // remove files that the folder lacks
}

// NeedOf is how many of n places have to be brought up to date: the quorum, or with 0 more than half.
func NeedOf(quorum, n int) int {
	if quorum == 0 {
		return n/2 + 1
	}
	return quorum
}

// Step is a part of an Update. The texts are for people.
type Step string

const (
	StepLook      Step = "reading its lists"
	StepObjects   Step = "writing objects"
	StepHeads     Step = "writing heads"
	StepLists     Step = "writing lists"
	StepTimestamp Step = "writing timestamp.json"
	StepSequels   Step = "writing sequels"
	StepRemoval   Step = "removing files"
)

// Result is what became of one place.
type Result struct {
	Name    string
	Files   int   // written
	Bytes   int64 // written
	Removed int

	Known  bool  // whether Before could be read
	Before int64 // version of its signed list before; 0: it had none
	Shown  bool  // its players see the folder's list
	Failed Step  // the step that failed; empty if it is up to date
	Err    error // of that step
}

// Report is what became of all places.
type Report struct {
	Version int64 // of the folder's signed list
	Need    int   // how many places had to be brought up to date
	Places  []Result
}

// Update brings places up to date with the folder. The error is ctx's, or says that fewer places than needed are up to date; errors.As finds
// the causes of the places in it. The report tells about each place in both cases.
func Update(ctx context.Context, f Folder, all []Place, o Options) (Report, error) {
	u := &updater{folder: f, need: NeedOf(o.Quorum, len(all))}
	for _, one := range all {
		u.places = append(u.places, &placeUpdate{folder: f, place: one, result: Result{Name: one.String()}})
	}
	err := u.update(ctx, o.Remove)
	r := Report{Version: u.version, Need: u.need}
	for _, p := range u.places {
		p.result.Files, p.result.Bytes = int(p.files.Load()), p.bytes.Load()
		r.Places = append(r.Places, p.result)
	}
	return r, err
}

// updater is the state of one Update.
type updater struct {
	folder  Folder
	need    int
	version int64 // of the folder's list
	stamp   []byte
	lists   []string // names of the signed lists but Timestamp
	places  []*placeUpdate
}

func (u *updater) update(ctx context.Context, remove bool) error {
	if err := u.readFolder(); err != nil {
		return err
	}
	if err := u.each(ctx, StepLook, func(ctx context.Context, p *placeUpdate) error { return p.look(ctx, u.version) }); err != nil {
		return err
	}
	if err := u.each(ctx, StepLook, func(_ context.Context, p *placeUpdate) error {
		return p.checkLimits(u.folder.Objects, u.folder.Heads, u.lists)
	}); err != nil {
		return err
	}
	for _, s := range []struct {
		step  Step
		names []string
	}{{StepObjects, u.folder.Objects}, {StepHeads, u.folder.Heads}, {StepLists, u.lists}} {
		if err := u.send(ctx, s.step, s.names); err != nil {
			return err
		}
	}
	if err := u.sendTimestamps(ctx); err != nil {
		return err
	}
	if err := u.each(ctx, StepSequels, func(ctx context.Context, p *placeUpdate) error { return p.sendSequels(ctx) }); err != nil || !remove {
		return err
	}
	return u.each(ctx, StepRemoval, func(ctx context.Context, p *placeUpdate) error {
		return p.removeOthers(ctx, u.folder.Objects, u.folder.Heads, u.lists, []string{Timestamp}, p.sequels)
	})
}

// readFolder reads the folder's own lists.
func (u *updater) readFolder() (err error) {
	if u.stamp, err = platform.ReadFile(u.folder.FS, Timestamp, trust.MaxTimestamp); err != nil {
		return advice.Because(err, "", "read our own signed list")
	}
	if u.version, err = versionOf(u.stamp); err != nil {
		return advice.Because(err, "", "read our own signed list")
	}
	err = platform.Walk(u.folder.FS, "metadata", func(name string, _ fs.DirEntry) error {
		if IsPublic(name) && name != Timestamp {
			u.lists = append(u.lists, name)
		}
		return nil
	}, nil)
	if err != nil {
		return advice.Because(err, "", "list the signed lists")
	}
	return nil
}

// versionOf reads the version of signed metadata.
func versionOf(data []byte) (int64, error) {
	var document struct{ Signed struct{ Version int64 } }
	err := json.Unmarshal(data, &document)
	return document.Signed.Version, err
}

// living are the places that have not failed.
func (u *updater) living() []*placeUpdate {
	return slices.DeleteFunc(slices.Clone(u.places), func(p *placeUpdate) bool { return p.result.Err != nil })
}

// each takes a step at all living places at once, and judges the quorum.
func (u *updater) each(ctx context.Context, step Step, work func(context.Context, *placeUpdate) error) error {
	var wait sync.WaitGroup
	for _, p := range u.living() {
		wait.Go(func() { p.fail(step, work(ctx, p)) })
	}
	wait.Wait()
	return u.judge(ctx)
}

// judge reports whether the update can go on.
func (u *updater) judge(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var lost []error
	for _, p := range u.places {
		var newer *NewerError
		switch {
		case errors.As(p.result.Err, &newer):
			return newer
		case p.result.Err != nil && len(u.places) > 1:
			lost = append(lost, p.result.Err)
		case p.result.Err != nil:
			return p.result.Err
		}
	}
	if len(u.places)-len(lost) >= u.need {
		return nil
	}
	return &QuorumError{Need: u.need, Places: len(u.places), Lost: lost}
}

// QuorumError says that too few places can be brought up to date.
type QuorumError struct {
	Need, Places int
	Lost         []error // why places failed; each one names its place
}

func (e *QuorumError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d places failed, and %d have to be up to date", len(e.Lost), e.Places, e.Need)
	for _, err := range e.Lost {
		text.WriteString("; " + err.Error())
	}
	return text.String()
}

// Unwrap returns the failures.
func (e *QuorumError) Unwrap() []error { return e.Lost }

// send writes the files that each place lacks.
func (u *updater) send(ctx context.Context, step Step, names []string) error {
	total := int64(0)
	for _, p := range u.living() {
		total += p.plan(names)
	}
	if total > 0 {
		u.folder.Start(total)
	}
	return u.each(ctx, step, func(ctx context.Context, p *placeUpdate) error {
		return p.sendPlanned(ctx, len(u.places) > 1)
	})
}

// sendTimestamps makes the release visible, at one place after the other. It stops when the quorum can't be met any more.
func (u *updater) sendTimestamps(ctx context.Context) error {
	for _, p := range u.living() {
		if !bytes.Equal(p.stamp, u.stamp) {
			p.fail(StepTimestamp, p.sendTimestamp(ctx))
		}
		p.result.Shown = p.result.Err == nil
		if err := u.judge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Difference is what an Update would do at a place.
type Difference struct {
	Version, Before int64 // of the signed lists of folder and place; 0: the place has none
	Files           int   // to write
	Bytes           int64
}

// Compare compares a place with the folder and changes nothing.
func Compare(ctx context.Context, f Folder, to Place) (d Difference, err error) {
	u := &updater{folder: f}
	if err := u.readFolder(); err != nil {
		return d, err
	}
	p := &placeUpdate{folder: f, place: to}
	if err := p.read(ctx, u.version); err != nil {
		return d, err
	}
	if err := p.checkLimits(f.Objects, f.Heads, u.lists); err != nil {
		return d, err
	}
	d.Version, d.Before = u.version, p.result.Before
	for _, names := range [][]string{f.Objects, f.Heads, u.lists} {
		d.Bytes += p.plan(names)
		d.Files += len(p.missing)
	}
	return d, nil
}

// IsPublic reports whether a name is published, and not the temporary name of an unfinished file.
func IsPublic(name string) bool {
	top, _, deep := strings.Cut(name, "/")
	return deep && slices.Contains(folders(), top) && !strings.HasSuffix(name, UnfinishedExt)
}

// folders are the published folders.
func folders() []string { return []string{"objects", "releases", "metadata", Sequels} }

// setOf makes a set of names.
func setOf(lists ...[]string) map[string]bool {
	set := map[string]bool{}
	for _, names := range lists {
		for _, name := range names {
			set[name] = true
		}
	}
	return set
}

// sorted are the names of a listing.
func sorted(list map[string]int64) []string { return slices.Sorted(maps.Keys(list)) }
