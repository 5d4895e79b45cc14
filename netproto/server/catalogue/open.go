package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"collet/netproto/product"
	"collet/netproto/release"
	"collet/netproto/server/config"
	"collet/platform"
)

// Error says which file or folder prevents a catalogue from being built, with a hint. The operator can fix it.
type Error struct {
	Subject string // purpose of the path, for example "client resources"
	Path    string
	Err     error
	Hint    string // may be empty
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %q: %v", e.Subject, e.Path, platform.Reason(e.Err))
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap gives the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Open finds, checks and hashes everything that the settings offer. It reads every file once and takes as long as the disk needs;
// it stops early when ctx ends. On failure the catalogue is nil and no file stays open.
//
// Errors are *config.Error, *Error (several joined for several files or folders), or ctx's.
func Open(ctx context.Context, set config.Settings, log zerolog.Logger) (*Catalogue, error) {
	return Reopen(ctx, set, nil, log)
}

// Reopen is Open with a previous catalogue, or nil, whose digests and trust state are reused.
func Reopen(ctx context.Context, set config.Settings, before *Catalogue, log zerolog.Logger) (*Catalogue, error) {
	if err := set.Validate(); err != nil {
		return nil, err
	}
	var c *Catalogue
	var err error
	if set.Release.Folder != "" {
		c, err = openRelease(ctx, set, before, log)
	} else {
		c, err = openPlain(ctx, set, log)
	}
	if err != nil {
		return nil, err
	}
	if err := c.declareBuild(ctx, set); err != nil {
		c.Close()
		return nil, err
	}
	warnContent(c, log)
	return c, nil
}

// openPlain builds a catalogue from Baking's folders.
func openPlain(ctx context.Context, set config.Settings, log zerolog.Logger) (*Catalogue, error) {
	packs, packsFault := findPacks(set.Baking, log)
	binaries, binariesFault := findBinaries(set.Baking.PlatformBinaries)
	if err := errors.Join(packsFault, binariesFault); err != nil {
		return nil, err
	}
	if set.Compat.Versioned() {
		binaries = withoutSidecars(binaries)
	}
	found := slices.Concat(packs, binaries)
	load := func(ctx context.Context, i int) error {
		return found[i].loadContent(ctx, set.ServerNetwork.UpdateFilesInMemory, i)
	}
	if err := loadAll(ctx, found, load); err != nil {
		closeFiles(found, nil)
		return nil, err
	}
	c, err := assemble(set, found)
	if err == nil {
		c.metadata, err = metadataOf(set, found, log)
	}
	if err != nil {
		closeFiles(found, nil)
		return nil, err
	}
	warnMistakes(c, log)
	return c, nil
}

// embeddedEntry is the entry of Baking.ClientResourceEntries that is part of the client's program and never served.
const embeddedEntry = "Embedded"

// findPacks lists the common files: the configured entries in their order, or every pack of the folder except those whose names
// are not in Unicode's form NFC, which no client could install.
func findPacks(b config.Baking, log zerolog.Logger) ([]*File, error) {
	entries := b.ClientResourceEntries
	if entries == nil {
		all, err := packsIn(b.ClientResources)
		if err != nil {
			return nil, err
		}
		for _, entry := range all {
			if release.IsMisspelled(entry + config.PackExt) {
				log.Warn().Str("file", entry+config.PackExt).Msg("This pack is not offered: its name is not in Unicode's form NFC, which clients need; rename it")
				continue
			}
			entries = append(entries, entry)
		}
	}
	var found []*File
	var faults []error
	for _, entry := range entries {
		if entry == embeddedEntry {
			continue
		}
		f := newFile(entry+config.PackExt, filepath.Join(b.ClientResources, filepath.FromSlash(entry)+config.PackExt), "")
		if err := f.mustBeReadable(); err != nil {
			faults = append(faults, &Error{Subject: "resource pack", Path: f.path, Err: err,
				Hint: fmt.Sprintf("put the pack there or take %q out of Baking.ClientResourceEntries", entry)})
		}
		found = append(found, f)
	}
	return found, errors.Join(faults...)
}

// packsIn names every pack that lies directly in the folder, sorted, without its extension.
func packsIn(folder string) ([]string, error) {
	children, err := os.ReadDir(folder)
	if err != nil {
		return nil, &Error{Subject: "client resources", Path: folder, Err: err,
			Hint: "create the folder with the resource packs in it, or set Baking.ClientResources"}
	}
	var entries []string
	for _, child := range children {
		if entry, isPack := strings.CutSuffix(child.Name(), config.PackExt); isPack && !child.IsDir() {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

// maxTargets is the largest number of target folders. The source has eighteen names; the cap detects a wrong path.
const maxTargets = 256

// findBinaries lists the files of every target folder, sorted by target and name. A missing folder offers nothing, as in
// the source.
func findBinaries(folder string) ([]*File, error) {
	targets, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Subject: "platform binaries", Path: folder, Err: err, Hint: "set Baking.PlatformBinaries to a readable folder"}
	}
	if len(targets) > maxTargets {
		return nil, &Error{Subject: "platform binaries", Path: folder,
			Err: fmt.Errorf("has %d entries, at most %d are allowed", len(targets), maxTargets), Hint: "is this the right folder?"}
	}
	var found []*File
	var faults []error
	for _, target := range targets {
		own, err := findTarget(filepath.Join(folder, target.Name()), target.Name())
		faults, found = append(faults, err), append(found, own...)
	}
	return found, errors.Join(faults...)
}

// findTarget lists one target's files. Clients receive only their names, so a subfolder could lose files or make two names
// collide; it is refused.
func findTarget(folder, target string) ([]*File, error) {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = errors.New("is a file beside the target folders")
	}
	if err != nil {
		return nil, &Error{Subject: "platform binaries", Path: folder, Err: err,
			Hint: "put native modules into a folder named after their target, like Linux-x64"}
	}
	children, err := os.ReadDir(folder)
	if err != nil {
		return nil, &Error{Subject: "target folder", Path: folder, Err: err, Hint: "make it readable for the server"}
	}
	found := make([]*File, 0, len(children))
	var faults []error
	for _, child := range children {
		f := newFile(child.Name(), filepath.Join(folder, child.Name()), target)
		if err := f.mustBeReadable(); err != nil {
			faults = append(faults, &Error{Subject: "platform binary", Path: f.path, Err: err,
				Hint: "only files that lie directly in the target's folder can be offered"})
		}
		if strings.HasSuffix(f.Path, product.DescriptionExt) {
			faults = append(faults, &Error{Subject: "platform binary", Path: f.path, Err: errors.New("is the description of a program, of which every file can be code"),
				Hint: "publish the game with collet release publish, and set Release.Folder"})
		}
		found = append(found, f)
	}
	return found, errors.Join(faults...)
}

func newFile(name, path, target string) *File {
	f := &File{path: path}
	f.Path, f.Target, f.Role = name, target, release.Resource
	if target != "" {
		f.Role = release.Binary
	}
	return f
}

// mustBeReadable checks the type before opening, because opening a pipe would block. It finds missing and unreadable files before
// hours of hashing.
func (f *File) mustBeReadable() error {
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a folder")
	case !info.Mode().IsRegular():
		return errors.New("is no regular file")
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	return in.Close()
}

// maxHashers is the largest number of files that are hashed at once; more do not help a disk.
const maxHashers = 4

// loadAll loads the files with a few workers and returns when all of them have stopped. The error is that of the first failed
// file in the list.
func loadAll(ctx context.Context, files []*File, load func(ctx context.Context, i int) error) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(min(maxHashers, runtime.GOMAXPROCS(0)))
	faults := make([]error, len(files))
	for i := range files {
		workers.Go(func() error {
			faults[i] = load(ctx, i)
			return faults[i]
		})
	}
	_ = workers.Wait() // firstFault chooses among all
	return firstFault(files, faults)
}

// firstFault returns a file's own fault rather than the cancellation of the others.
func firstFault(files []*File, faults []error) error {
	var cancelled error
	for i, err := range faults {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
			cancelled = err
		default:
			return &Error{Subject: "file", Path: files[i].path, Err: err, Hint: "make it readable for the server, or take it away"}
		}
	}
	return cancelled
}
