package acquire

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"collet/netproto/chunk"
	"collet/netproto/release"
)

// What follows is beside Choose all that a Source decides by, and nothing of it looks at a disk: a tool that knows both sets can
// tell what a client will choose, as `collet release estimate` does.

// AskListing says what it costs to know the new listing of a release whose set patch has so many bytes (Unknown: there is
// none) and whose packed listing has so many, and how many bytes of the patch are here afterwards.
func AskListing(patch, listing int64) (cost Cost, here int64) {
	switch {
	case patch == Unknown || patch > smallPatch && listing <= firstWindow:
		return Cost{Bytes: listing, RoundTrips: 1}, 0
	case patch > smallPatch:
		return Cost{Bytes: firstWindow, RoundTrips: 1}, 0
	default:
		return Cost{Bytes: patch, RoundTrips: 1}, patch
	}
}

// AskChanges says what it costs to know the new listing and the sources out of the changes of a release, which have so many
// bytes in all and of which so many are about what follows the installed set; 0 means that this is found out in vain, and
// size 0 that there are none.
func AskChanges(size, reach int64) Cost {
	switch {
	case size == 0:
		return Cost{}
	case size <= WholeChanges:
		return Cost{Bytes: size, RoundTrips: 1}
	case reach <= firstWindow:
		return Cost{Bytes: firstWindow, RoundTrips: 1}
	default:
		return Cost{Bytes: reach, RoundTrips: 2}
	}
}

// Gap is how many bytes between two wanted pieces of an object are fetched rather than skipped.
func (l Link) Gap() int64 {
	l = l.known()
	return chunk.GapFor(l.RoundTrip, l.Rate, l.InFlight)
}

// WorthIndex reports whether an object of so many bytes with the chunk indexes of contents is worth looking at. alike are
// those of which an older version, or something like it, is on the disk.
func WorthIndex(alike []Blob, index int64, l Link) bool { return worthIndex(alike, index, l) }

const (
	// alikeFiles is how many files of the old set that are gone, and end like a new one, are looked at for its chunks, and
	// alikeBytes how many bytes they have together at most.
	alikeFiles = 4
	alikeBytes = 256 << 20
)

// Ancestors lists the files of an old set, by their place in it, that a new file may have chunks of: the one of its name, or
// those that the new set lacks and that end alike, those of a similar size first.
func Ancestors(old, fresh release.Listing, file release.ListedFile) (list []int) {
	if _, stays := old.Find(file.Path); stays {
		return []int{slices.IndexFunc(old, func(f release.ListedFile) bool { return f.Path == file.Path })}
	}
	for i, f := range old {
		if strings.EqualFold(path.Ext(f.Path), path.Ext(file.Path)) {
			if _, stays := fresh.Find(f.Path); !stays {
				list = append(list, i)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		return cmp.Compare(distance(old[a].Size, file.Size), distance(old[b].Size, file.Size))
	})
	total := int64(0)
	for n, i := range list {
		if total += old[i].Size; n == alikeFiles || total > alikeBytes {
			return list[:n]
		}
	}
	return list
}

func distance(a, b int64) int64 { return max(a-b, b-a) }
