package server_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestPublishWhileServing swaps the catalogue; sessions under way keep theirs, its timestamp and what was unpacked for it.
func TestPublishWhileServing(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	unpacked := func(n int) releasetest.Release { r := releasetest.Standard(n); r.Plain = false; return r }
	f := published(t, unpacked(1))
	set := servertest.ReleaseSettings(f)
	h := servertest.Start(t, set)
	old, files := h.DialForObjects(t, "compat-1")
	before, _ := servertest.FetchObject(old, "metadata/timestamp.json")
	servertest.Publish(t, f, unpacked(2))
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	now, newer := h.DialForObjects(t, "compat-2")
	after, _ := servertest.FetchObject(now, "metadata/timestamp.json")
	if again, _ := servertest.FetchObject(old, "metadata/timestamp.json"); again != before || after == before {
		t.Error("the timestamp of a session changed, or that of a new one did not")
	}
	if got := download(old, files)["Core.zip"]; got != releasetest.Sets(1)["Linux-x64"]["Core.zip"] {
		t.Error("a session under way lost its files")
	}
	if got := download(now, newer)["Core.zip"]; got != releasetest.Sets(2)["Linux-x64"]["Core.zip"] {
		t.Error("a new session got something else")
	}
	// What only the first catalogue used goes with its last session; what both use stays.
	held := func() int {
		all, err := filepath.Glob(filepath.Join(f.Dir, ".collet-server", "run-*", strings.Repeat("[0-9a-f]", 64)))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := held(); n != 10 { // core and two modules of each, textures, two lights, and the empty symbols
		t.Errorf("%d files are unpacked", n)
	}
	old.Raw.Close()
	h.WaitUntil(t, func() bool { return held() == 7 })
	if got := download(now, newer)["Textures.zip"]; got != releasetest.Sets(2)["Linux-x64"]["Textures.zip"] {
		t.Error("what both used is gone")
	}
	now.Raw.Close()
	h.Stop()
	<-h.Done
	h.Close()
	if _, err := os.Stat(filepath.Join(f.Dir, ".collet-server")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cache stays: %v", err)
	}
}

// TestRefusedPublications leave what was offered before, and are taken when they are mended.
func TestRefusedPublications(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for name, test := range map[string]struct {
		break_, mend func(f *releasetest.Folder) error
		want         string
	}{
		"half copied": {
			func(f *releasetest.Folder) error {
				return f.Rewrite(release.ObjectOf([]byte("patch 2")).Path(), func(b []byte) []byte { return b[:3] })
			},
			func(f *releasetest.Folder) error {
				return releasetest.Store(f.Dir).Save(release.ObjectOf([]byte("patch 2")).Path(), []byte("patch 2"))
			},
			"is not there, or not whole; finish copying the release folder",
		},
		"wrongly signed": {
			func(f *releasetest.Folder) error {
				return f.Rewrite("metadata/timestamp.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"sig":"`), []byte(`"sig":"00`), 1) })
			},
			func(f *releasetest.Folder) error { return f.Sign() },
			"timestamp.json",
		},
		"of another signer": {
			func(f *releasetest.Folder) error {
				if err := os.Rename(filepath.Join(f.Dir, "metadata"), filepath.Join(f.Dir, "kept")); err != nil {
					return err
				}
				other, err := releasetest.New(f.Dir)
				if err == nil {
					err = other.Publish(releasetest.Standard(9))
				}
				return err
			},
			func(f *releasetest.Folder) error {
				return errors.Join(os.RemoveAll(filepath.Join(f.Dir, "metadata")), os.Rename(filepath.Join(f.Dir, "kept"), filepath.Join(f.Dir, "metadata")))
			},
			"not signed by enough trusted keys",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := published(t, releasetest.Standard(1))
			set := servertest.ReleaseSettings(f)
			h := servertest.Start(t, set)
			next := releasetest.Standard(2)
			next.Patch = "patch 2"
			servertest.Publish(t, f, next)
			if err := test.break_(f); err != nil {
				t.Fatal(err)
			}
			err := h.Reload(t.Context(), set)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %q", err, test.want)
			}
			if got := h.Catalogue().Compatibility(); got != "compat-1" {
				t.Errorf("offers %s", got)
			}
			p, _ := h.DialForObjects(t, "compat-1")
			if _, found := servertest.FetchObject(p, "metadata/timestamp.json"); !found {
				t.Error("the old timestamp is gone")
			}
			if err := test.mend(f); err != nil {
				t.Fatal(err)
			}
			if err := h.Reload(t.Context(), set); err != nil || h.Catalogue().Compatibility() != "compat-2" {
				t.Errorf("mended: %v, offers %s", err, h.Catalogue().Compatibility())
			}
		})
	}
}

// TestOlderFolderIsRefused does not go back while the server runs.
func TestOlderFolderIsRefused(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	kept := filepath.Join(t.TempDir(), "metadata")
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(f.Dir, "metadata"))); err != nil {
		t.Fatal(err)
	}
	servertest.Publish(t, f, releasetest.Standard(2))
	set := servertest.ReleaseSettings(f)
	h := servertest.Start(t, set)
	if err := os.RemoveAll(filepath.Join(f.Dir, "metadata")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(f.Dir, "metadata"), os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), set); err == nil || !strings.Contains(err.Error(), "the folder was newer before") || h.Catalogue().Compatibility() != "compat-2" {
		t.Errorf("%v; offers %s", err, h.Catalogue().Compatibility())
	}
}

// TestUnchangedFilesAreNotReadAgain hashes on a reload only what is new: a file whose content was exchanged under an
// unchanged size, time and inode is taken for the one that it was.
func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	h := servertest.Start(t, set)
	path := filepath.Join(f.Dir, "plain", "Resources", "Textures.zip")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	secretly := func(b []byte) []byte { return bytes.ToUpper(b) }
	if err := f.Rewrite("plain/Resources/Textures.zip", secretly); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	read := func() byte {
		p, files := h.DialForObjects(t, "compat-1")
		defer p.Raw.Close()
		return download(p, files)["Textures.zip"][0]
	}
	if got := read(); got != 'P' {
		t.Errorf("it was read again: %c", got)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != 'p' {
		t.Errorf("what does not fit was taken: %c", got)
	}
}

// TestUnknownObjectsAreProven hands out a file that no release leads to only if it has the digest of its name.
func TestUnknownObjectsAreProven(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	good, bad := release.ObjectOf([]byte("of an older release")).Path(), release.ObjectOf([]byte("of a newer release")).Path()
	store := releasetest.Store(f.Dir)
	for name, content := range map[string]string{good: "of an older release", bad: "of a newer"} {
		if err := store.Save(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	h := servertest.Start(t, servertest.ReleaseSettings(f))
	p, _ := h.DialForObjects(t, "compat-1")
	for range 2 {
		if got, found := servertest.FetchObject(p, good); !found || got != "of an older release" {
			t.Errorf("%q, %t", got, found)
		}
		if got, found := servertest.FetchObject(p, bad); found {
			t.Errorf("half of it was handed out: %q", got)
		}
	}
	if err := store.Save(bad, []byte("of a newer release")); err != nil {
		t.Fatal(err)
	}
	if got, found := servertest.FetchObject(p, bad); !found || got != "of a newer release" {
		t.Errorf("when it is whole: %q, %t", got, found)
	}
}

// TestKnownObjectsHaveTheirSize does not hand out what was cut short behind the server's back.
func TestKnownObjectsHaveTheirSize(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	h := servertest.Start(t, servertest.ReleaseSettings(f))
	p, _ := h.DialForObjects(t, "compat-1")
	name := release.ObjectOf([]byte(releasetest.Standard(1).Patch)).Path()
	if err := f.Rewrite(name, func(b []byte) []byte { return b[1:] }); err != nil {
		t.Fatal(err)
	}
	if got, found := servertest.FetchObject(p, name); found {
		t.Errorf("%d bytes", len(got))
	}
}

// TestCacheOfAServerThatIsGone is swept; that of one that runs stays.
func TestCacheOfAServerThatIsGone(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	r := releasetest.Standard(1)
	r.Plain = false
	f := published(t, r)
	gone := filepath.Join(f.Dir, ".collet-server", "run-1234", "leftover")
	servertest.WriteFile(t, gone, "x")
	keep := filepath.Join(f.Dir, ".collet-server", "notes.txt")
	servertest.WriteFile(t, keep, "the operator's")
	first, second := servertest.Start(t, servertest.ReleaseSettings(f)), servertest.Start(t, servertest.ReleaseSettings(f))
	if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the leftover stays: %v", err)
	}
	second.Stop()
	<-second.Done
	second.Close()
	p, files := first.DialForObjects(t, "compat-1")
	if got := download(p, files)["Core.zip"]; got != releasetest.Sets(1)["Linux-x64"]["Core.zip"] {
		t.Error("the other server's files are gone")
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}

// TestWatchedFolder takes the stamp from the timestamp alone, and tries again what was not complete.
func TestWatchedFolder(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	stamp := catalogue.Stamp(set)
	servertest.WriteFile(t, filepath.Join(f.Dir, "plain", "Resources", "More.zip"), "more")
	if catalogue.Stamp(set) != stamp {
		t.Error("plain files change the stamp")
	}
	servertest.Publish(t, f, releasetest.Standard(2))
	if catalogue.Stamp(set) == stamp {
		t.Error("a publication does not change the stamp")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var at []time.Duration
		began := time.Now()
		var watching sync.WaitGroup
		watching.Go(func() {
			server.Watch(ctx, time.Second, stamp, func() (config.Settings, error) { return set, nil }, func(context.Context) error {
				at = append(at, time.Since(began))
				if len(at) < 12 {
					return errors.New("not complete")
				}
				return nil
			})
		})
		time.Sleep(2 * time.Hour) // the last try is after 39 minutes; each second has a look at the folder
		stop()
		watching.Wait()
		if len(at) != 12 || at[0] != 2*time.Second || at[1] != 4*time.Second || at[2] != 8*time.Second || at[11]-at[10] != 10*time.Minute {
			t.Errorf("tried at %v", at)
		}
	})
}

// TestExpiredMetadataIsToldOf serves what has expired, and tells the operator.
func TestExpiredMetadataIsToldOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ago  time.Duration
		want string
	}{
		"expired": {30 * 24 * time.Hour, "Players are told that they may not be up to date"},
		"soon":    {12 * 24 * time.Hour, "end soon"},
	} {
		t.Run(name, func(t *testing.T) {
			f := published(t, releasetest.Standard(1))
			repo, err := trust.OpenRepo(releasetest.Store(f.Dir), trust.RepoOptions{Now: func() time.Time { return time.Now().Add(-test.ago) }})
			if err == nil {
				err = repo.Refresh(f.Keys)
			}
			if err != nil {
				t.Fatal(err)
			}
			h := servertest.Start(t, servertest.ReleaseSettings(f))
			h.Log.Has(t, "warn", test.want)
			if h.Catalogue().Compatibility() != "compat-1" {
				t.Error("it is not served")
			}
		})
	}
}

// TestPlainFilesMoveOn goes on with the files of a release while a publisher replaces the plain ones, before the server has
// taken the next release over.
func TestPlainFilesMoveOn(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	h := servertest.Start(t, set)
	p, files := h.DialForObjects(t, "compat-1")
	servertest.Publish(t, f, releasetest.Standard(2))
	q, later := h.DialForObjects(t, "compat-1")
	for who, got := range map[string]map[string]string{"an older session": download(p, files), "a newer one": download(q, later)} {
		for name, want := range releasetest.Sets(1)["Linux-x64"] {
			if got[name] != want {
				t.Errorf("%s: %s has %d bytes, want %d", who, name, len(got[name]), len(want))
			}
		}
	}
}

// TestUnreadableIndexIsToldOf serves a release whose chunk index is of a later kind.
func TestUnreadableIndexIsToldOf(t *testing.T) {
	t.Parallel()
	later := release.ObjectOf([]byte("CCS9 and more"))
	f := published(t, releasetest.Standard(1))
	h := servertest.Start(t, servertest.ReleaseSettings(f))
	if strings.Contains(h.Log.String(), "chunk index") {
		t.Errorf("a good index is complained of:\n%s", h.Log)
	}
	r := releasetest.Standard(2)
	r.Index = "CCS9 and more"
	servertest.Publish(t, f, r)
	again := servertest.Start(t, servertest.ReleaseSettings(f))
	again.Log.Has(t, "warn", "A chunk index can't be read", later.Path())
	if again.Catalogue().Compatibility() != "compat-2" {
		t.Error("it is not served")
	}
}

// TestWithheldWhilePlaying: a target whose last release is taken back keeps the sessions of clients that read the signed list, whatever
// settings are saved then. A client that can't read it would not be let in again.
func TestWithheldWhilePlaying(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	set.Compat.Store = filepath.Join(t.TempDir(), "compat.db")
	h, o := servertest.StartWithoutToken(t, set)
	reads, _ := h.DialForObjects(t, "compat-1")
	other := h.Dial(t, netproto.C1)
	other.Greet(servertest.HandshakeOf(netproto.C1, "compat-1", "Linux-x64"))
	if err := f.Edit(func(e *release.Entry) { e.Hold = true }); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	s, soon := o.Settings(), time.Duration(0)
	s.Developers = []string{"ann"}
	if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: s.Revision, Settings: s, Kick: &soon}); err != nil {
		t.Fatal(err)
	}
	said := other.ReadToEnd()
	if refusal, is := said[len(said)-1].(*netproto.Refuse); !is || refusal.Reason != netproto.RefuseGoingDown {
		t.Errorf("the last words to a client that can't read the list were %+v", said[len(said)-1])
	}
	h.Log.WaitFor(t, "Sessions were ended that the compatibility settings would not let in again")
	if _, found := servertest.FetchObject(reads, "metadata/timestamp.json"); !found {
		t.Error("the session of a client that reads the list was ended")
	}
}
