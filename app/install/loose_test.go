package install_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// syncing is a disk that can sync in parallel and records the requests.
type syncing struct {
	platform.FS
	together bool
	mu       sync.Mutex
	asked    [][]string
	answer   func(call int, names []string) error
}

func (s *syncing) SyncsTogether() bool { return s.together }

func (s *syncing) SyncFiles(names []string) error {
	s.mu.Lock()
	s.asked = append(s.asked, slices.Clone(names))
	call := len(s.asked)
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(call, names)
	}
	return nil
}

func (s *syncing) SyncDirs(names []string, pass func(error) bool) error {
	for _, name := range names {
		if err := s.SyncDir(name); err != nil && !pass(err) {
			return err
		}
	}
	return nil
}

// smallFiles are n packs.
func smallFiles(n int) []blob {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("%03d.txt", i), fmt.Sprintf("text %d", i))
	}
	return packs(pairs...)
}

// TestSyncsMeanwhile checks that many small files are synced while others arrive, each once, and all of them before any is
// live.
func TestSyncsMeanwhile(t *testing.T) {
	f := newFolder(t)
	disk := &syncing{FS: f.open()}
	set := smallFiles(100)
	if _, err := (start{blobs: set}).on(t, disk); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(slices.Values(slices.Concat(disk.asked...)))
	if len(names) != len(set) || len(slices.Compact(names)) != len(set) || len(disk.asked) < 2 {
		t.Errorf("%d files were synced in %d calls", len(names), len(disk.asked))
	}
	if got := f.files()["Resources/042.txt"]; got != "text 42" {
		t.Errorf("it is %q", got)
	}
}

// TestSyncsTogether checks that a disk that syncs many files as fast as a few gets them all at once.
func TestSyncsTogether(t *testing.T) {
	f := newFolder(t)
	disk := &syncing{FS: f.open(), together: true}
	if _, err := (start{blobs: smallFiles(100)}).on(t, disk); err != nil || len(disk.asked) != 1 || len(disk.asked[0]) != 100 {
		t.Errorf("%v; %d calls", err, len(disk.asked))
	}
}

// TestManyBytesAreSyncedMeanwhile checks that such a disk gets many bytes before the end.
func TestManyBytesAreSyncedMeanwhile(t *testing.T) {
	f := newFolder(t)
	disk := &syncing{FS: f.open(), together: true}
	var pairs []string
	for i := range 40 {
		pairs = append(pairs, fmt.Sprintf("%03d.txt", i), strings.Repeat(fmt.Sprintf("text %03d", i), 1<<17))
	}
	set := packs(pairs...)
	if _, err := (start{blobs: set, portion: 1 << 20}).on(t, disk); err != nil || len(disk.asked) < 2 {
		t.Errorf("%v; %d calls", err, len(disk.asked))
	}
}

// TestSyncMeanwhileIsWaitedFor checks that a commit waits for the end of the sync.
func TestSyncMeanwhileIsWaitedFor(t *testing.T) {
	f := newFolder(t)
	synced := map[string]bool{}
	disk := &syncing{FS: f.open()}
	disk.answer = func(_ int, names []string) error {
		disk.mu.Lock()
		defer disk.mu.Unlock()
		for _, name := range names {
			if live, _ := filepath.Glob(filepath.Join(f.dir, strings.Replace(name, "~", "", 1))); len(live) > 0 {
				t.Errorf("%s is live already", name)
			}
			synced[name] = true
		}
		return nil
	}
	if _, err := (start{blobs: smallFiles(70)}).on(t, disk); err != nil || len(synced) != 70 {
		t.Errorf("%d were synced: %v", len(synced), err)
	}
}

// TestSyncMeanwhileFails checks that files of a failed sync are discarded, whichever call fails, and that the next start
// fetches them again.
func TestSyncMeanwhileFails(t *testing.T) {
	set := smallFiles(100)
	for call := 1; call <= 2; call++ {
		f := newFolder(t)
		var failed []string
		disk := &syncing{FS: f.open()}
		disk.answer = func(n int, names []string) error {
			if n != call {
				return nil
			}
			failed = names
			return errors.New("input/output error")
		}
		_, err := start{blobs: set}.on(t, disk)
		wantFault(t, "sync", err, update.DiskFault)
		for _, name := range failed {
			if _, err := disk.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("call %d: %s is still there", call, name)
			}
		}
		if len(failed) == 0 {
			t.Errorf("call %d: nothing was synced", call)
		}
		start{blobs: set}.must(f)
		if got := f.files()["Resources/042.txt"]; got != "text 42" {
			t.Errorf("call %d: it is %q", call, got)
		}
	}
}

// unsynced is a disk that can't sync files with this suffix.
type unsynced struct {
	platform.FS
	name string
}

func (u unsynced) OpenFile(name string, flag int, mode fs.FileMode) (platform.File, error) {
	f, err := u.FS.OpenFile(name, flag, mode)
	if err == nil && strings.HasSuffix(name, u.name) {
		f = unsyncedFile{f}
	}
	return f, err
}

type unsyncedFile struct{ platform.File }

func (unsyncedFile) Sync() error { return errors.New("input/output error") }

// TestLargeFileIsSynced checks that a large file is synced by itself, and discarded if the sync fails.
func TestLargeFileIsSynced(t *testing.T) {
	f := newFolder(t)
	set, part := packs("Large.zip", strings.Repeat("large", mib/4)), "Resources/~Large.zip"
	_, err := start{blobs: set}.on(t, unsynced{f.open(), part})
	wantFault(t, "sync", err, update.DiskFault)
	if _, err := f.open().Lstat(part); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the part is still there: %v", err)
	}
	start{blobs: set}.must(f)
	if got := f.files()["Resources/Large.zip"]; got != set[0].content {
		t.Errorf("it has %d bytes", len(got))
	}
}

// TestAbandonWaits checks that Abandon and Close wait for the sync in progress.
func TestAbandonWaits(t *testing.T) {
	for name, end := range map[string]func(*install.Dir) error{"abandon": (*install.Dir).Abandon, "close": (*install.Dir).Close} {
		f := newFolder(t)
		over := false
		begun, goOn := make(chan bool), make(chan bool)
		disk := &syncing{FS: f.open(), answer: func(int, []string) error {
			close(begun)
			<-goOn
			over = true
			return nil
		}}
		d, err := open(disk, false)
		if err != nil {
			t.Fatal(err)
		}
		set := smallFiles(40)
		if _, err := d.Plan(t.Context(), update.Resources, offer(t, release.SHA256, set), func(string, int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		for i := range 33 {
			if err := errors.Join(d.Advance(t.Context(), i), d.Write(i, []byte(set[i].content)), d.Finish(t.Context(), i)); err != nil {
				t.Fatal(err)
			}
		}
		<-begun
		go close(goOn)
		if err := end(d); err != nil || !over {
			t.Errorf("%s: %v, and the sync is over: %v", name, err, over)
		}
		if err := d.Close(); name == "abandon" && err != nil {
			t.Error(err)
		}
	}
}
