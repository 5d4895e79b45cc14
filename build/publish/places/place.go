package places

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"collet/build/advice"
	"collet/build/publish/parallel"
	"collet/build/publish/upload"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/text"
)

// atOnce is the number of concurrent writes, since a store takes tens of milliseconds to answer each.
const atOnce = 8

// again is the advice after a write that failed. The command itself can't be repeated: publish would find that nothing has changed.
const again = "collet release sync goes on where it stopped, with the same --to"

// afterWrite is the advice after a write that failed.
func afterWrite(err error) string {
	switch {
	case platform.IsDiskFull(err):
		return "make room there: " + again
	case errors.Is(err, fs.ErrPermission):
		return "let this user write there: " + again
	default:
		return again
	}
}

// placeUpdate is the state of one place in an Update.
type placeUpdate struct {
	folder  Folder
	place   Place
	result  Result
	stamp   []byte           // its Timestamp before; nil without one
	there   map[string]int64 // sizes of its files
	missing []string         // what the present step writes
	sequels []string         // that it keeps

	files, bytes atomic.Int64 // that were written
}

// fail records the failure of a step.
func (p *placeUpdate) fail(step Step, err error) {
	if err != nil {
		p.result.Failed, p.result.Err = step, err
	}
}

// look reads the state of the place, and removes unfinished files of killed publishers.
func (p *placeUpdate) look(ctx context.Context, version int64) error {
	if err := p.read(ctx, version); err != nil {
		return err
	}
	for _, name := range sorted(p.there) {
		if !strings.HasSuffix(name, UnfinishedExt) {
			continue
		}
		if err := p.remove(ctx, name); err != nil {
			return err
		}
		delete(p.there, name)
	}
	return nil
}

// read reads the state of the place.
func (p *placeUpdate) read(ctx context.Context, version int64) error {
	if err := p.refuseNewer(ctx, version); err != nil {
		return err
	}
	p.there = map[string]int64{}
	for _, folder := range folders() {
		list, err := p.place.List(ctx, folder)
		if err != nil {
			return advice.Because(err, "", "list %s of %v", folder, p.place)
		}
		maps.Copy(p.there, list)
	}
	return nil
}

// NewerError says that a place has a newer list than the folder: going on would take back what another publisher did.
type NewerError struct {
	Place        string
	Theirs, Ours int64 // versions
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has version %d of the signed list, newer than %d here: another publisher writes there; fetch that release folder and publish from it",
		e.Place, e.Theirs, e.Ours)
}

// refuseNewer reads the place's timestamp and compares it with the folder's.
func (p *placeUpdate) refuseNewer(ctx context.Context, version int64) error {
	data, err := p.place.Get(ctx, Timestamp, trust.MaxTimestamp)
	if errors.Is(err, fs.ErrNotExist) {
		p.result.Known = true
		return nil
	}
	if err != nil {
		return advice.Because(err, "", "read the signed list of %v", p.place)
	}
	theirs, err := versionOf(data)
	if err != nil {
		return advice.Because(err, "remove it if it is not in use", "%s of %v", Timestamp, p.place)
	}
	p.stamp, p.result.Known, p.result.Before = data, true, theirs
	if theirs > version {
		return &NewerError{Place: p.place.String(), Theirs: theirs, Ours: version}
	}
	return nil
}

// checkLimits reports files for which the place has no room, before anything is written. Those that it has stay until the end.
func (p *placeUpdate) checkLimits(wanted ...[]string) error {
	const others = "a bucket (s3://) and a registry (oci://) have no such limit"
	limits, files := limitsOf(p.place), len(p.there)
	if limits.FileSize == 0 && limits.Files == 0 {
		return nil
	}
	if _, found := p.there[Timestamp]; !found {
		files++
	}
	for _, names := range wanted {
		for _, name := range names {
			if n := platform.Size(p.folder.FS, name); limits.FileSize > 0 && n > limits.FileSize {
				return advice.Wrong("split that file of the game; "+others, "%s has %s, and %v takes at most %s a file",
					name, text.Bytes(n), p.place, text.Bytes(limits.FileSize))
			}
			if _, found := p.there[name]; !found {
				files++
			}
		}
	}
	if limits.Files > 0 && files > limits.Files {
		return advice.Wrong("remove old releases with collet release gc --apply, set a lower Patches, or put small files into packs; "+others,
			"%v takes at most %d files, and the releases have %d", p.place, limits.Files, files)
	}
	return nil
}

// plan notes which files the place lacks, and returns their bytes.
func (p *placeUpdate) plan(names []string) (total int64) {
	p.missing = nil
	for _, name := range names {
		n := platform.Size(p.folder.FS, name)
		if have, found := p.there[name]; !found || have != n {
			p.missing = append(p.missing, name)
			total += n
		}
	}
	return total
}

// sendPlanned writes the missing files, several at a time, and makes them durable. named says that the progress names the place.
func (p *placeUpdate) sendPlanned(ctx context.Context, named bool) error {
	if len(p.missing) == 0 {
		return nil
	}
	workers := cmp.Or(limitsOf(p.place).Uploads, max(atOnce, p.folder.Workers))
	err := parallel.Each(ctx, workers, len(p.missing), func(ctx context.Context, i int) error {
		name := p.missing[i]
		err := p.sendOne(ctx, name, true)
		if err == nil && named {
			name = p.result.Name + ": " + name
		}
		if err == nil {
			p.folder.Wrote(platform.Size(p.folder.FS, p.missing[i]), name)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.sync(ctx)
}

// sendOne writes one file.
func (p *placeUpdate) sendOne(ctx context.Context, name string, lasting bool) error {
	in, err := p.folder.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return advice.Because(err, "", "read %s", name)
	}
	defer in.Close()
	n := platform.Size(p.folder.FS, name)
	if err := p.place.Put(ctx, name, in, n, lasting); err != nil {
		return advice.Because(err, afterWrite(err), "write %s to %v", name, p.place)
	}
	p.files.Add(1)
	p.bytes.Add(n)
	return nil
}

// sync makes written files durable.
func (p *placeUpdate) sync(ctx context.Context) error {
	err := p.place.Sync(ctx)
	if err == nil {
		return nil
	}
	return advice.Because(err, afterWrite(err), "finish %v", p.place)
}

// sendTimestamp makes the release visible.
func (p *placeUpdate) sendTimestamp(ctx context.Context) error {
	if err := p.sendOne(ctx, Timestamp, false); err != nil {
		return err
	}
	return p.sync(ctx)
}

// sendSequels writes changed sequels, last of all: they are useless without the new timestamp. Those that don't fit into the place's limits
// are left out: they only save round trips.
func (p *placeUpdate) sendSequels(ctx context.Context) error {
	limits := limitsOf(p.place)
	if limits.Sequels > 0 {
		return p.sendRecentSequels(ctx, limits)
	}
	err := platform.Walk(p.folder.FS, Sequels, func(name string, _ fs.DirEntry) error {
		if IsPublic(name) {
			p.sequels = append(p.sequels, name)
		}
		return nil
	}, nil)
	if err != nil {
		return advice.Because(err, "", "list %s", Sequels)
	}
	for _, name := range p.sequels {
		same, err := p.isSame(ctx, name)
		if err == nil && !same {
			err = p.sendOne(ctx, name, false)
		}
		if err != nil {
			return err
		}
	}
	return p.sync(ctx)
}

// sendRecentSequels is sendSequels for a place that keeps the sequels to the last releases only. It removes those before them.
func (p *placeUpdate) sendRecentSequels(ctx context.Context, limits upload.Limits) error {
	names, outdated := p.folder.RecentSequels(limits.Sequels)
	files := p.files.Load() + int64(len(p.there))
	for _, name := range names {
		n := platform.Size(p.folder.FS, name)
		if _, found := p.there[name]; n <= 0 || n > limits.SequelSize || !found && limits.Files > 0 && files >= int64(limits.Files) {
			outdated = append(outdated, name)
			continue
		}
		same, err := p.hasSame(ctx, name) // a registry lists none
		if err == nil && !same {
			files++
			err = p.sendOne(ctx, name, false)
		}
		if err != nil {
			return err
		}
		p.sequels = append(p.sequels, name)
	}
	for name := range p.there {
		if strings.HasPrefix(name, Sequels+"/") && !slices.Contains(names, name) {
			outdated = append(outdated, name)
		}
	}
	for _, name := range outdated {
		if err := p.place.Remove(ctx, name); err != nil {
			return advice.Because(err, "", "remove %s from %v", name, p.place)
		}
	}
	return nil
}

// isSame compares a file with the place's copy.
func (p *placeUpdate) isSame(ctx context.Context, name string) (bool, error) {
	if n, found := p.there[name]; !found || n != platform.Size(p.folder.FS, name) {
		return false, nil
	}
	return p.hasSame(ctx, name)
}

// hasSame is isSame for a file that may not be listed.
func (p *placeUpdate) hasSame(ctx context.Context, name string) (bool, error) {
	theirs, err := p.place.Get(ctx, name, release.MaxSequel)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, advice.Because(err, "", "read %s of %v", name, p.place)
	}
	ours, err := platform.ReadFile(p.folder.FS, name, release.MaxSequel)
	if err != nil {
		return false, advice.Because(err, "", "read %s", name)
	}
	return bytes.Equal(ours, theirs), nil
}

// remove removes a file.
func (p *placeUpdate) remove(ctx context.Context, name string) error {
	if err := p.place.Remove(ctx, name); err != nil {
		return advice.Because(err, "", "remove %s from %v", name, p.place)
	}
	p.result.Removed++
	return nil
}

// removeOthers removes the files that were there before and are not wanted.
func (p *placeUpdate) removeOthers(ctx context.Context, wanted ...[]string) error {
	wants := setOf(wanted...)
	for _, name := range sorted(p.there) {
		if wants[name] || !IsPublic(name) {
			continue
		}
		if err := p.remove(ctx, name); err != nil {
			return err
		}
	}
	return p.sync(ctx)
}
