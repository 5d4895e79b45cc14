package acquire

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"collet/netproto/chunk"
	"collet/netproto/release"
)

// Together with Choose, these functions make all decisions of a Source. They don't access a disk, so a tool with both sets can predict
// the plan of a client, as `collet release estimate` does.

// AskListing is the cost of getting the listing of a release. patch is the size of its set patch (Unknown: no patch), listing the size
// of its packed listing, in bytes. here is how many bytes of the patch have been fetched afterwards.
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

// AskChanges is the cost of getting the listing and the sources from the changes of a release. size is their size in bytes, 0 if the
// release has none. reach is the size of the part after the installed set; 0 if they don't reach back to it, which is only known after
// fetching their beginning.
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

// Gap is the largest gap in bytes between two wanted ranges of an object that is fetched rather than skipped.
func (l Link) Gap() int64 {
	l = l.known()
	return chunk.GapFor(l.RoundTrip, l.Rate, l.InFlight)
}

const (
	// alikeFiles is how many removed files of the old set with the extension of a new file are searched for its chunks. alikeBytes
	// is their largest size together.
	alikeFiles = 4
	alikeBytes = 256 << 20
)

// Ancestors lists the indexes of files of an old set that may share chunks with a new file: the one of its name, else removed files with
// the same extension, those of similar size first.
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
