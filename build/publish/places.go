package publish

import (
	"context"
	"maps"
	"slices"

	"collet/build/publish/places"
	"collet/netproto/release"
)

// UpdatePlaces brings places up to date with the folder, see package places. A quorum of 0 is more than half of them. If remove is set, files that
// the folder lacks are removed last.
func (f *Folder) UpdatePlaces(ctx context.Context, all []places.Place, o places.Options) (places.Report, error) {
	p, err := f.published(ctx, f.repo.Entries())
	if err != nil {
		return places.Report{}, err
	}
	return places.Update(ctx, p, all, o)
}

// Compare tells what UpdatePlaces would do at a place once these releases are in the list, too.
func (f *Folder) Compare(ctx context.Context, to places.Place, more []ReleaseSummary) (places.Difference, error) {
	entries := slices.Clone(f.repo.Entries())
	for _, r := range more {
		if !r.Already {
			entries = append(entries, r.Entry)
		}
	}
	p, err := f.published(ctx, entries)
	if err != nil {
		return places.Difference{}, err
	}
	return places.Compare(ctx, p, to)
}

// published is what places should have for a list of releases.
func (f *Folder) published(ctx context.Context, entries []release.Entry) (places.Folder, error) {
	r, err := f.releases.reachable(ctx, entries)
	if err != nil {
		return places.Folder{}, err
	}
	return places.Folder{
		FS: f.fs, Objects: slices.Sorted(maps.Keys(r.objects)), Heads: slices.Sorted(maps.Keys(r.heads)), RecentSequels: f.sequels.recent, Workers: f.workers,
		Start: func(total int64) { f.meter.startStep("upload", "", total) }, Wrote: f.meter.addBytes,
	}, nil
}
