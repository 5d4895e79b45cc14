package publish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"collet/build/advice"
	"collet/build/publish/upload"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/text"
)

// MirrorSummary is the result of Mirror.
type MirrorSummary struct {
	Files   int   // written
	Bytes   int64 // written
	Removed int
}

// Mirror brings an output to the state of the folder, in the folder's own write order: objects, heads, signed lists, timestamp.json. A file
// with the right size is not written again, because names are digests. Unfinished files of killed publishers are removed first. If remove
// is set, files that the folder lacks are removed last. Mirror refuses an output with a newer list of another publisher.
func (f *Folder) Mirror(ctx context.Context, out Output, remove bool) (s MirrorSummary, err error) {
	r, err := f.releases.reachable(ctx, f.repo.Entries())
	if err != nil {
		return s, err
	}
	m := &mirror{fs: f.fs, sequels: f.sequels, meter: f.meter, workers: f.workers, out: out, there: map[string]int64{}}
	err = m.update(ctx, r, remove)
	return MirrorSummary{Files: int(m.files.Load()), Bytes: m.bytes.Load(), Removed: m.removed}, err
}

// mirror is the state of one Mirror.
type mirror struct {
	fs      platform.FS
	sequels *sequelFiles
	meter   *meter
	workers int
	out     Output
	there   map[string]int64 // sizes of the output's files

	files, bytes atomic.Int64 // that were written
	removed      int
}

func (m *mirror) update(ctx context.Context, r *reach, remove bool) error {
	newest, err := m.refuseNewer(ctx)
	if err != nil {
		return err
	}
	wanted := [][]string{slices.Sorted(maps.Keys(r.objects)), slices.Sorted(maps.Keys(r.heads)), nil}
	err = platform.Walk(m.fs, "metadata", func(name string, _ fs.DirEntry) error {
		if isPublic(name) && name != timestampName {
			wanted[2] = append(wanted[2], name)
		}
		return nil
	}, nil)
	if err != nil {
		return advice.Because(err, "", "list the signed lists")
	}
	for _, folder := range []string{"objects", "releases", "metadata", sequelFolder} {
		list, err := m.out.List(ctx, folder)
		if err != nil {
			return advice.Because(err, "", "list %s of %v", folder, m.out)
		}
		maps.Copy(m.there, list)
	}
	if err := m.sweep(ctx); err != nil {
		return err
	}
	if err := m.checkLimits(wanted); err != nil {
		return err
	}
	for _, names := range wanted {
		if err := m.send(ctx, names); err != nil {
			return err
		}
	}
	if !bytes.Equal(newest, m.timestamp()) {
		if err := m.sendOne(ctx, timestampName, false); err != nil {
			return err
		}
		if err := m.out.Sync(ctx); err != nil {
			return advice.Because(err, "", "finish %v", m.out)
		}
	}
	sequels, err := m.sendSequels(ctx)
	if err != nil {
		return err
	}
	wanted = append(wanted, sequels)
	if !remove {
		return nil
	}
	return m.removeOthers(ctx, wanted)
}

// checkLimits reports files for which the output has no room, before anything is written. Those that it has stay until the end.
func (m *mirror) checkLimits(wanted [][]string) error {
	const others = "a bucket (s3://) and a registry (oci://) have no such limit"
	limits, files := limitsOf(m.out), len(m.there)
	if _, found := m.there[timestampName]; !found {
		files++
	}
	for _, names := range wanted {
		for _, name := range names {
			if n := size(m.fs, name); limits.FileSize > 0 && n > limits.FileSize {
				return advice.Wrong("split that file of the game; "+others, "%s has %s, and %v takes at most %s a file",
					name, text.Bytes(n), m.out, text.Bytes(limits.FileSize))
			}
			if _, found := m.there[name]; !found {
				files++
			}
		}
	}
	if limits.Files > 0 && files > limits.Files {
		return advice.Wrong("remove old releases with collet release gc --apply, set a lower Patches, or put small files into packs; "+others,
			"%v takes at most %d files, and the releases have %d", m.out, limits.Files, files)
	}
	return nil
}

// sweep removes unfinished files of killed publishers.
func (m *mirror) sweep(ctx context.Context) error {
	for name := range m.there {
		if !strings.HasSuffix(name, unfinishedExt) {
			continue
		}
		if err := m.out.Remove(ctx, name); err != nil {
			return advice.Because(err, "", "remove %s from %v", name, m.out)
		}
		delete(m.there, name)
		m.removed++
	}
	return nil
}

// sendSequels writes changed sequels, last of all: they are useless without the new timestamp. Those that don't fit into the output's limits
// are left out: they only save round trips.
func (m *mirror) sendSequels(ctx context.Context) (names []string, err error) {
	limits := limitsOf(m.out)
	if limits.Sequels > 0 {
		return m.sendRecentSequels(ctx, limits)
	}
	err = platform.Walk(m.fs, sequelFolder, func(name string, _ fs.DirEntry) error {
		if isPublic(name) {
			names = append(names, name)
		}
		return nil
	}, nil)
	if err != nil {
		return nil, advice.Because(err, "", "list %s", sequelFolder)
	}
	for _, name := range names {
		same, err := m.isSame(ctx, name)
		if err == nil && !same {
			err = m.sendOne(ctx, name, false)
		}
		if err != nil {
			return names, err
		}
	}
	if err := m.out.Sync(ctx); err != nil {
		return names, advice.Because(err, "", "finish %v", m.out)
	}
	return names, nil
}

// sendRecentSequels is sendSequels for an output that keeps the sequels to the last releases only. It removes those before them.
func (m *mirror) sendRecentSequels(ctx context.Context, limits upload.Limits) (sent []string, err error) {
	names, outdated := m.sequels.recent(limits.Sequels)
	files := m.files.Load() + int64(len(m.there))
	for _, name := range names {
		n := size(m.fs, name)
		if _, found := m.there[name]; n == 0 || n > limits.SequelSize || !found && limits.Files > 0 && files >= int64(limits.Files) {
			outdated = append(outdated, name)
			continue
		}
		same, err := m.hasSame(ctx, name) // a registry lists none
		if err == nil && !same {
			files++
			err = m.sendOne(ctx, name, false)
		}
		if err != nil {
			return sent, err
		}
		sent = append(sent, name)
	}
	for name := range m.there {
		if strings.HasPrefix(name, sequelFolder+"/") && !slices.Contains(names, name) {
			outdated = append(outdated, name)
		}
	}
	for _, name := range outdated {
		if err := m.out.Remove(ctx, name); err != nil {
			return sent, advice.Because(err, "", "remove %s from %v", name, m.out)
		}
	}
	return sent, nil
}

// isSame compares a file with the output's copy.
func (m *mirror) isSame(ctx context.Context, name string) (bool, error) {
	if n, found := m.there[name]; !found || n != size(m.fs, name) {
		return false, nil
	}
	return m.hasSame(ctx, name)
}

// hasSame is isSame for a file that may not be listed.
func (m *mirror) hasSame(ctx context.Context, name string) (bool, error) {
	theirs, err := m.out.Get(ctx, name, release.MaxSequel)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, advice.Because(err, "", "read %s of %v", name, m.out)
	}
	ours, err := platform.ReadFile(m.fs, name, release.MaxSequel)
	if err != nil {
		return false, advice.Because(err, "", "read %s", name)
	}
	return bytes.Equal(ours, theirs), nil
}

// timestamp returns the folder's own timestamp.json.
func (m *mirror) timestamp() []byte {
	data, err := platform.ReadFile(m.fs, timestampName, trust.MaxTimestamp)
	if err != nil {
		return nil
	}
	return data
}

// refuseNewer compares the output's timestamp with the folder's and returns it.
func (m *mirror) refuseNewer(ctx context.Context) ([]byte, error) {
	data, err := m.out.Get(ctx, timestampName, trust.MaxTimestamp)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, advice.Because(err, "", "read the signed list of %v", m.out)
	}
	var theirs, ours struct{ Signed struct{ Version int64 } }
	if err := json.Unmarshal(data, &theirs); err != nil {
		return nil, advice.Because(err, "remove it if it is not in use", "%s of %v", timestampName, m.out)
	}
	if err := json.Unmarshal(m.timestamp(), &ours); err != nil {
		return nil, advice.Because(err, "", "read our own signed list")
	}
	if theirs.Signed.Version > ours.Signed.Version {
		return nil, advice.Wrong("fetch that release folder and publish from it", "%v has version %d of the signed list, newer than %d here: another publisher writes there", m.out, theirs.Signed.Version, ours.Signed.Version)
	}
	return data, nil
}

// send writes the files that the output lacks, several at a time, and makes them durable.
func (m *mirror) send(ctx context.Context, names []string) error {
	var missing []string
	total := int64(0)
	for _, name := range names {
		n := size(m.fs, name)
		if have, found := m.there[name]; !found || have != n {
			missing = append(missing, name)
			total += n
		}
	}
	if len(missing) == 0 {
		return nil
	}
	m.meter.startStep("upload", "", total)
	atOnce := cmp.Or(limitsOf(m.out).Uploads, max(uploads, m.workers))
	err := spread(ctx, atOnce, len(missing), func(ctx context.Context, i int) error {
		err := m.sendOne(ctx, missing[i], true)
		if err == nil {
			m.meter.addBytes(size(m.fs, missing[i]), missing[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := m.out.Sync(ctx); err != nil {
		return advice.Because(err, room(err), "finish %v", m.out)
	}
	return nil
}

// uploads is the number of concurrent writes, since a store takes tens of milliseconds to answer each.
const uploads = 8

func (m *mirror) sendOne(ctx context.Context, name string, lasting bool) error {
	in, err := openFile(m.fs, name)
	if err != nil {
		return advice.Because(err, "", "read %s", name)
	}
	defer in.Close()
	n := size(m.fs, name)
	if err := m.out.Put(ctx, name, in, n, lasting); err != nil {
		return advice.Because(err, "run the same command again: it goes on where it stopped", "write %s to %v", name, m.out)
	}
	m.files.Add(1)
	m.bytes.Add(n)
	return nil
}

// removeOthers removes files that the folder lacks.
func (m *mirror) removeOthers(ctx context.Context, wanted [][]string) error {
	keep := map[string]bool{timestampName: true}
	for _, names := range wanted {
		for _, name := range names {
			keep[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.there)) {
		if keep[name] || !isPublic(name) {
			continue
		}
		if err := m.out.Remove(ctx, name); err != nil {
			return advice.Because(err, "", "remove %s from %v", name, m.out)
		}
		m.removed++
	}
	if err := m.out.Sync(ctx); err != nil {
		return advice.Because(err, "", "finish %v", m.out)
	}
	return nil
}
