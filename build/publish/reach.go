package publish

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"collet/build/advice"
	"collet/build/publish/parallel"
	"collet/build/publish/places"
	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// reach is the set of files that the signed list refers to, by name in the release folder.
type reach struct {
	heads   map[string]release.Object
	objects map[string]release.Object
	sources map[release.Digest]release.Source // whole objects, by blob
	sizes   map[release.Digest]int64          // of blobs
}

// reachable follows the signed list. It also reads the indexes, because they name packs.
func (r *releases) reachable(ctx context.Context, entries []release.Entry) (*reach, error) {
	found := &reach{heads: map[string]release.Object{}, objects: map[string]release.Object{}, sources: map[release.Digest]release.Source{}, sizes: map[release.Digest]int64{}}
	for _, s := range slices.Concat(r.repo.Rules(), r.replacedRules()) {
		found.addObjects(s.Object)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := r.head(e)
		if err != nil {
			return nil, err
		}
		o, err := r.readLists(e)
		if err != nil {
			return nil, err
		}
		found.heads[e.Head.HeadPath()] = e.Head
		found.addObjects(listsOf(h)...)
		contents, err := r.contentsOf(h, o)
		if err != nil {
			return nil, err
		}
		found.addObjects(contents...)
		for _, s := range o.sources {
			found.sources[s.Content] = s
		}
		maps.Copy(found.sizes, setSums(o.listing))
	}
	packs, err := r.packsOf(slices.Collect(maps.Values(found.sources)))
	found.addObjects(packs...)
	return found, err
}

// listsOf are the objects that a head names.
func listsOf(h release.Head) []release.Object {
	objects := append([]release.Object{h.Listing.Object, h.Sources, h.Changes}, slices.Collect(maps.Values(h.Notes))...)
	for _, p := range h.Patches {
		objects = append(objects, p.Object)
	}
	return objects
}

// contentsOf are the objects that the lists of a release name: whole objects, indexes, and the parts of the solid form.
func (r *releases) contentsOf(h release.Head, o releaseLists) (objects []release.Object, err error) {
	for _, s := range o.sources {
		objects = append(objects, s.Whole, s.Index)
	}
	form, err := r.solidForm(h)
	if err != nil {
		return nil, advice.Because(err, "run collet release verify", "solid form of release %s", o.entry.Path())
	}
	for _, g := range form.Groups {
		objects = append(objects, g.Parts...)
	}
	return objects, nil
}

// packsOf are the packs that indexes name.
func (r *releases) packsOf(sources []release.Source) (packs []release.Object, err error) {
	x := &indexes{releases: r}
	for _, s := range sortBySet(sources) {
		ix, err := x.readIndex(s)
		if err != nil {
			return nil, advice.Because(err, "run collet release verify", "chunk indexes %s", s.Index.Path())
		}
		for _, p := range ix.Packs {
			packs = append(packs, packObject(p))
		}
	}
	return packs, nil
}

func (r *reach) addObjects(objects ...release.Object) {
	for _, o := range objects {
		if !o.IsZero() {
			r.objects[o.Path()] = o
		}
	}
}

// packObject converts a chunk pack to an object.
func packObject(p chunk.PackRef) release.Object {
	return release.Object{Sum: release.SHA256Digest(p.Digest), Size: p.Size}
}

// Removal is one file that Collect removes.
type Removal struct {
	Name string
	Size int64
}

// CollectPlan lists what Collect removes.
type CollectPlan struct {
	Drop   []release.Entry // entries that leave the signed list
	Remove []Removal       // files that are unreferenced then
	Bytes  int64           // of those files
}

// keepMetadata is the number of old versions of a signed list that stay. A client with a cached older timestamp.json needs the versions
// that it names.
const keepMetadata = 20

// PlanCollect lists the removable releases, those beyond keep (0: the settings') of each channel and target that no client needs, and every
// file that no remaining release refers to.
func (f *Folder) PlanCollect(ctx context.Context, keep int) (p CollectPlan, err error) {
	if keep == 0 {
		keep = f.settings.Keep
	}
	entries := f.repo.Entries()
	kept := release.Prune(entries, keep)
	for _, e := range entries {
		if !slices.ContainsFunc(kept, func(k release.Entry) bool { return k.Path() == e.Path() }) {
			p.Drop = append(p.Drop, e)
		}
	}
	stays, err := f.releases.reachable(ctx, kept)
	if err != nil {
		return p, err
	}
	newest := newestLists(f.fs)
	for _, folder := range []string{"releases", "objects", "metadata"} {
		err := platform.Walk(f.fs, folder, func(name string, e fs.DirEntry) error {
			info, err := e.Info()
			if err != nil || stays.keeps(name, newest) {
				return err
			}
			p.Remove = append(p.Remove, Removal{name, info.Size()})
			p.Bytes += info.Size()
			return nil
		}, nil)
		if err != nil {
			return p, advice.Because(err, "", "look through %s", folder)
		}
	}
	return p, nil
}

// newestLists maps each numbered list to its highest version.
func newestLists(fsys platform.FS) map[string]int64 {
	versions := map[string]int64{}
	_ = platform.Walk(fsys, "metadata", func(name string, _ fs.DirEntry) error {
		if version, kind, ok := versionOf(name); ok {
			versions[kind] = max(versions[kind], version)
		}
		return nil
	}, nil)
	return versions
}

// versionOf parses the name of a numbered list.
func versionOf(name string) (version int64, kind string, ok bool) {
	digits, kind, found := strings.Cut(path.Base(name), ".")
	version, err := strconv.ParseInt(digits, 10, 64)
	return version, kind, found && err == nil
}

// keeps reports whether a file of the release folder is needed. All roots stay: a client that is years old follows them one by one.
func (r *reach) keeps(name string, newest map[string]int64) bool {
	if version, kind, ok := versionOf(name); path.Dir(name) == "metadata" {
		switch {
		case !ok:
			return !strings.HasSuffix(name, places.UnfinishedExt)
		case kind == "root.json":
			return true
		default:
			return version+keepMetadata > newest[kind]
		}
	}
	_, head := r.heads[name]
	_, object := r.objects[name]
	return head || object
}

// Collect executes a plan: first the list, then the files. A client that is downloading a dropped release asks again and gets a newer one.
func (f *Folder) Collect(ctx context.Context, p CollectPlan, keys []*trust.PrivateKey) error {
	if len(p.Drop) > 0 {
		entries := slices.DeleteFunc(f.repo.Entries(), func(e release.Entry) bool {
			return slices.ContainsFunc(p.Drop, func(d release.Entry) bool { return d.Path() == e.Path() })
		})
		if err := f.CheckKeys(keys, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp); err != nil {
			return err
		}
		if err := f.commit(ctx, entries, keys); err != nil || f.options.Propose != nil {
			return err
		}
		if err := f.sequels.update(ctx); err != nil {
			return err
		}
	}
	for _, r := range p.Remove {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := platform.RemoveIfThere(f.fs, r.Name); err != nil {
			return advice.Because(err, "", "remove %s", r.Name)
		}
	}
	return nil
}

// PublicFiles returns the names of all files that clients may ask for, and that of the root that does not exist yet.
func (f *Folder) PublicFiles(ctx context.Context) (names []string, nextRoot string, err error) {
	r, err := f.releases.reachable(ctx, f.repo.Entries())
	if err != nil {
		return nil, "", err
	}
	names = slices.Concat(slices.Collect(maps.Keys(r.heads)), slices.Collect(maps.Keys(r.objects)), f.repo.Lists(), []string{places.Timestamp})
	err = platform.Walk(f.fs, sequelFolder, func(name string, _ fs.DirEntry) error {
		names = append(names, name)
		return nil
	}, nil)
	last := f.repo.RootInfo().Version
	for v := int64(1); v <= last; v++ {
		names = append(names, fmt.Sprintf("metadata/%d.root.json", v))
	}
	slices.Sort(names)
	return slices.Compact(names), fmt.Sprintf("metadata/%d.root.json", last+1), err
}

// Finding is one defect that Verify found.
type Finding struct {
	Name string // file, or release
	Err  error
}

// Verify reads all files that the signed list refers to and checks their digests: heads, lists, notes, patches, packs, and the decoded
// bytes of every whole object. It returns the defects and the number of bytes read.
func (f *Folder) Verify(ctx context.Context) (findings []Finding, checked int64, err error) {
	entries := f.repo.Entries()
	var good []release.Entry
	for _, e := range entries { // a release with unreadable lists must not hide the others
		if _, err := f.releases.reachable(ctx, []release.Entry{e}); err != nil {
			findings = append(findings, Finding{e.Path(), err})
			continue
		}
		good = append(good, e)
	}
	r, err := f.releases.reachable(ctx, good)
	if err != nil {
		return findings, 0, err
	}
	more, checked, err := f.verifyReach(ctx, r)
	return append(findings, more...), checked, err
}

// verifyReach is Verify for these files.
func (f *Folder) verifyReach(ctx context.Context, r *reach) (findings []Finding, checked int64, err error) {
	wholes := map[string]release.Source{}
	for _, s := range r.sources {
		wholes[s.Whole.Path()] = s
	}
	names := slices.Sorted(maps.Keys(r.objects))
	total := int64(0)
	for _, o := range r.objects {
		total += o.Size
	}
	f.meter.startStep("verify", "", total)
	errs := make([]error, len(names))
	err = parallel.Each(ctx, f.workers, len(names), func(ctx context.Context, i int) error {
		o := r.objects[names[i]]
		errs[i] = verifyObject(ctx, f.fs, o, wholes[names[i]], r.sizes)
		f.meter.addBytes(o.Size, names[i])
		return nil
	})
	for i, err := range errs {
		if err != nil {
			findings = append(findings, Finding{names[i], err})
		}
	}
	return findings, total, err
}

// verifyObject checks one object. s is its source if it is a whole object.
func verifyObject(ctx context.Context, fsys platform.FS, o release.Object, s release.Source, sizes map[release.Digest]int64) error {
	if n := platform.Size(fsys, o.Path()); n != o.Size {
		if n < 0 {
			return fmt.Errorf("it is missing: %w", fs.ErrNotExist)
		}
		return fmt.Errorf("it has %d bytes instead of %d", n, o.Size)
	}
	in, err := openFile(fsys, o.Path())
	if err != nil {
		return err
	}
	defer in.Close()
	if s.Content.IsZero() {
		return verifyBytes(in, o)
	}
	return verifyWhole(ctx, in, s, sizes[s.Content])
}
