package desk

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"collet/netproto/launcher/wire"
)

// planInput is all that a plan depends on. It is read-only.
type planInput struct {
	ours   []wire.File // sorted by path
	theirs []wire.File // sorted by path, each path once
	// own plans for our own mode: files of different size are also compared by blocks, and small files are not compared.
	own bool
	// keep reports whether a file of theirs stays although ours lacks it.
	keep func(path string) bool
	// doubtful are paths whose bytes on the device may differ from its layout, with the size of the interrupted write.
	// Released devices don't scan the disk again.
	doubtful map[string]uint64
	// blocked are paths that could not be written. An empty folder, which no layout lists, may be in the way.
	blocked map[string]bool
	// without are paths that were given up.
	without map[string]bool
}

// plan is the list of changes that makes their tree ours. Deletes come before writes on the wire.
type plan struct {
	deletes []string // in order: files, then the folders that a file of ours needs the name of, deepest first
	writes  []fileWrite
	kept    []wire.File // of theirs, absent from ours
	same    int         // files
	room    int         // deletes that make room, or sweep, and may have no target
	swept   []string    // doubtful paths that are empty after the deletes
}

// fileWrite is one file that has to be written.
type fileWrite struct {
	file   wire.File
	block  uint32   // bytes
	ask    bool     // hashes of blocks tell which ones differ
	blocks []uint32 // to send, rising; nil is all
	alone  bool     // it failed before: written last, alone; only for released devices
}

// count is the number of blocks of the whole file; an empty file has one, without data.
func (w fileWrite) count() uint32 { return uint32(wire.BlockCount(w.file.Size, uint64(w.block))) }

// length is that of one block in bytes.
func (w fileWrite) length(index uint32) int {
	begin := uint64(index) * uint64(w.block)
	return int(min(uint64(w.block), w.file.Size-min(begin, w.file.Size)))
}

// bytes is the number of bytes to send.
func (w fileWrite) bytes() (n int64) {
	if w.blocks == nil {
		return int64(w.file.Size)
	}
	for _, index := range w.blocks {
		n += int64(w.length(index))
	}
	return n
}

// makePlan compares two trees.
func makePlan(in planInput) plan {
	var p plan
	listed, folders := in.folders()
	var clear []string // names that are a folder there, or may be
	for ours, theirs := range pairs(in.ours, in.theirs) {
		switch {
		case ours == nil && in.without[theirs.Path]:
		case ours == nil && in.keep(theirs.Path):
			p.kept = append(p.kept, *theirs)
		case ours == nil:
			p.deletes = append(p.deletes, theirs.Path)
		case in.without[ours.Path]:
		case theirs != nil && *ours == *theirs && !in.doubts(ours.Path):
			p.same++
		default:
			if folders[ours.Path] || in.blocked[ours.Path] && !in.own || in.unsure(ours, theirs) {
				clear = append(clear, ours.Path)
				theirs = nil
			}
			p.writes = append(p.writes, in.write(ours, theirs))
		}
	}
	clear = append(clear, p.sweep(in, listed, folders)...)
	p.makeRoom(clear, folders)
	return p
}

// folders returns the folders of their files, and those together with folders that an interrupted write may have made.
func (in planInput) folders() (listed, all map[string]bool) {
	listed = foldersOf(in.theirs)
	broken := make([]wire.File, 0, len(in.doubtful))
	for path := range in.doubtful {
		broken = append(broken, wire.File{Path: path})
	}
	all = foldersOf(broken)
	maps.Copy(all, listed)
	return listed, all
}

// sweep deletes leftovers of interrupted writes that neither we nor any layout has, longest paths first. It returns
// those that may have become folders.
func (p *plan) sweep(in planInput, listed, all map[string]bool) (clear []string) {
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(in.doubtful))) {
		if hasPath(in.ours, path) {
			continue
		}
		p.swept = append(p.swept, path)
		switch {
		case hasPath(in.theirs, path) || listed[path] || in.keep(path):
		case all[path]:
			clear = append(clear, path)
		default:
			p.deletes = append(p.deletes, path)
			p.room++
		}
	}
	return clear
}

// hasPath looks for a path in sorted files.
func hasPath(files []wire.File, path string) bool {
	_, found := slices.BinarySearchFunc(files, path, func(f wire.File, path string) int { return strings.Compare(f.Path, path) })
	return found
}

func (in planInput) doubts(path string) bool {
	_, doubtful := in.doubtful[path]
	return doubtful
}

// unsure reports whether the length of the file on the device is unknown, so that old bytes behind its end could remain.
// If the interrupted write had the size that both lists name, nothing can be behind it.
func (in planInput) unsure(ours, theirs *wire.File) bool {
	size, doubtful := in.doubtful[ours.Path]
	return doubtful && (theirs == nil || theirs.Size != ours.Size || size != ours.Size)
}

// write says how one file is written over theirs, which is nil if the path is free.
func (in planInput) write(ours, theirs *wire.File) fileWrite {
	w := fileWrite{file: *ours, block: BlockReleased, alone: in.blocked[ours.Path] && !in.own}
	if in.own {
		w.block = ownBlock(ours.Size)
	}
	if theirs == nil || ours.Size == 0 || theirs.Size == 0 || in.blocked[ours.Path] {
		return w
	}
	several := min(ours.Size, theirs.Size) > uint64(w.block) && blocksCountable(ours.Size, w.block)
	// A released device truncates a file of another size to nothing, so all blocks have to be sent.
	w.ask = several && (in.own || ours.Size == theirs.Size)
	return w
}

// blocksCountable reports whether the number of hashes stays below the cap on an answer.
func blocksCountable(size uint64, block uint32) bool { return size/uint64(block) < wire.MaxBlocks }

// ownBlock is the block size in our own mode: 64 KiB, so that a small change costs little. It is larger where a file
// would have over 16384 blocks, whose hashes are half a megabyte.
func ownBlock(size uint64) uint32 {
	block := uint64(64 << 10)
	for block < wire.MaxBulk-(4<<10) && size/block > 16<<10 {
		block *= 2
	}
	return uint32(min(block, wire.MaxBulk-(4<<10)))
}

// makeRoom deletes folders whose name a file needs, including their kept files. A device refuses to write over a folder,
// and released ones never remove an empty one. Deleting a missing path succeeds.
func (p *plan) makeRoom(clear []string, folders map[string]bool) {
	slices.SortFunc(clear, func(a, b string) int { return len(b) - len(a) }) // nested ones first
	for _, name := range clear {
		inside := func(other string) bool { return strings.HasPrefix(other, name+"/") }
		p.kept = slices.DeleteFunc(p.kept, func(f wire.File) bool {
			if inside(f.Path) {
				p.deletes = append(p.deletes, f.Path)
				return true
			}
			return false
		})
		var below []string
		for folder := range folders {
			if inside(folder) {
				below = append(below, folder)
			}
		}
		slices.SortFunc(below, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		p.deletes = append(append(p.deletes, below...), name)
		p.room += len(below) + 1
	}
}

// foldersOf is the set of folders that files lie in.
func foldersOf(files []wire.File) map[string]bool {
	folders := make(map[string]bool)
	for _, f := range files {
		for at := strings.LastIndexByte(f.Path, '/'); at > 0 && !folders[f.Path[:at]]; at = strings.LastIndexByte(f.Path[:at], '/') {
			folders[f.Path[:at]] = true
		}
	}
	return folders
}

// pairs yields the files of two sorted lists by path; the side without the path is nil.
func pairs(ours, theirs []wire.File) func(yield func(ours, theirs *wire.File) bool) {
	return func(yield func(ours, theirs *wire.File) bool) {
		for i, j := 0, 0; i < len(ours) || j < len(theirs); {
			var a, b *wire.File
			order := 0
			switch {
			case i == len(ours):
				order = 1
			case j == len(theirs):
				order = -1
			default:
				order = strings.Compare(ours[i].Path, theirs[j].Path)
			}
			if order <= 0 {
				a, i = &ours[i], i+1
			}
			if order >= 0 {
				b, j = &theirs[j], j+1
			}
			if !yield(a, b) {
				return
			}
		}
	}
}

// differing returns the blocks to send, given the hashes of theirs: those that differ and those that are missing. It is
// never empty, since a device may require at least one block of each file.
func differing(ours, theirs []wire.Hash) []uint32 {
	blocks := []uint32{}
	for i, hash := range ours {
		if i >= len(theirs) || theirs[i] != hash {
			blocks = append(blocks, uint32(i))
		}
	}
	if len(blocks) == 0 {
		blocks = append(blocks, 0)
	}
	return blocks
}
