package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/testlevel"
)

func TestColdInstall(t *testing.T) {
	for _, algorithm := range []release.Algorithm{release.SHA256, release.FNV1a64} {
		t.Run(algorithm.String(), func(t *testing.T) {
			f := newFolder(t)
			s := start{algorithm: algorithm, blobs: packs("Core.zip", "core of one", "maps/a/b.zip", "a map", "empty.zip", "")}
			s.must(f).want(t, "cold", "3 wanted, 16 bytes, 0 resumed, 3 matched, 16 written")
			f.want("installed", "Resources/Core.zip=core of one Resources/empty.zip= Resources/maps/a/b.zip=a map")
			s.must(f).want(t, "again", "0 wanted, 0 bytes, 0 resumed, 3 matched, 0 written")
		})
	}
}

// TestNothingOffered uses the empty list of an unpackaged server.
func TestNothingOffered(t *testing.T) {
	f := newFolder(t)
	start{}.must(f).want(t, "empty list", "0 wanted, 0 bytes, 0 resumed, 0 matched, 0 written")
	start{mode: update.Binaries}.must(f).want(t, "empty list", "0 wanted, 0 bytes, 0 resumed, 0 matched, 0 written")
	f.want("nothing", "")
}

// TestUpToDateStartReadsNothing checks the cost of a start with ten thousand files: it counts opens, not seconds.
func TestUpToDateStartReadsNothing(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	files := 1000
	if testlevel.Full() {
		files = 10_000
	}
	f := newFolder(t)
	var blobs []blob
	for i := range files {
		name, content := fmt.Sprintf("f%d/%d.bin", i%10, i), fmt.Sprint("content ", i)
		blobs = append(blobs, packs(name, content)...)
		f.write("Resources/"+name, content)
	}
	s := start{blobs: blobs}
	first := watch(f.open())
	g, err := s.on(t, first)
	if err != nil {
		t.Fatal(err)
	}
	g.want(t, "first", fmt.Sprintf("0 wanted, 0 bytes, 0 resumed, %d matched, 0 written", files))
	if opens := first.count("open"); opens < files {
		t.Errorf("%d opens, so the first start did not look", opens)
	}
	second := watch(f.open())
	if _, err := s.on(t, second); err != nil {
		t.Fatal(err)
	}
	if opens := second.count("open", "create"); opens > 4 {
		t.Errorf("%d opens of an up-to-date start, want those of two journal slots, the cache and the mark", opens)
	}
	for _, o := range second.ops {
		if (o.changes() || strings.HasPrefix(o.verb, "sync")) && o.name != ".collet/open" {
			t.Errorf("an up-to-date start did: %s", o)
		}
		if o.verb == "read" && o.name != "Cache/hashes" && !strings.HasPrefix(o.name, journalPrefix) {
			t.Errorf("an up-to-date start read: %s", o)
		}
	}
	if looks := second.count("stat"); looks > files+20 {
		t.Errorf("%d looks at %d files", looks, files)
	}
}

// TestFreshInstallIsRemembered checks that files hashed on arrival are not hashed again at the next start.
func TestFreshInstallIsRemembered(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: packs("Core.zip", "core", "Maps.zip", "maps")}
	s.must(f)
	w := watch(f.open())
	if _, err := s.on(t, w); err != nil {
		t.Fatal(err)
	}
	if opens := w.count("open", "create"); opens > 5 { // two slots, the lists of one, the cache, the mark
		t.Errorf("%d opens: %v", opens, w.ops)
	}
}

// TestDroppedFilesAreNotRead: the hash cache tells whether a file that the release drops is still ours. A changed one is the player's.
func TestDroppedFilesAreNotRead(t *testing.T) {
	f := newFolder(t)
	start{blobs: packs("Core.zip", "core", "Maps.zip", "maps", "Mine.zip", "ours")}.confirmed().must(f)
	f.write("Resources/Mine.zip", "mine")
	w := watch(f.open())
	if _, err := (start{blobs: packs("Core.zip", "core")}).confirmed().on(t, w); err != nil {
		t.Fatal(err)
	}
	for _, o := range w.ops {
		if o.name == "Resources/Maps.zip" && (o.verb == "open" || o.verb == "read") {
			t.Errorf("a dropped file was read: %s", o)
		}
	}
	f.want("dropped", "Recycler/2/Resources/Maps.zip=maps Resources/Core.zip=core Resources/Mine.zip=mine")
}

func TestManyPacksCostFewSyncs(t *testing.T) {
	const files = 300
	f := newFolder(t)
	var pairs []string
	for i := range files {
		pairs = append(pairs, fmt.Sprint(i, ".zip"), "x")
	}
	w := watch(f.open())
	if _, err := (start{blobs: packs(pairs...)}).on(t, w); err != nil {
		t.Fatal(err)
	}
	if n := w.count("sync folder"); n > 10 {
		t.Errorf("%d syncs of folders for %d packs in one", n, files)
	}
}

func TestOnlyWhatChanged(t *testing.T) {
	f := newFolder(t)
	start{blobs: packs("Core.zip", "core", "Maps.zip", "old maps", "Gone.zip", "gone")}.must(f)
	f.write("Resources/mine.txt", "the player's")
	s := start{blobs: packs("Core.zip", "core", "Maps.zip", "new maps", "More.zip", "more")}
	s.must(f).want(t, "update", "2 wanted, 12 bytes, 0 resumed, 3 matched, 12 written")
	f.want("updated", "Resources/Core.zip=core Resources/Maps.zip=new maps "+
		"Resources/More.zip=more Resources/mine.txt=the player's")
}

// TestHiddenEditIsNoticed changes a file but not its size and time.
func TestHiddenEditIsNoticed(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: packs("Core.zip", "core")}
	s.must(f)
	name := filepath.Join(f.dir, "Resources", "Core.zip")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if runsWithoutInodes() {
		t.Skip("this system has only size and time")
	}
	for after := info; platform.IdentityOf(after).Changed.Equal(platform.IdentityOf(info).Changed); { // the file system's clock goes in steps
		f.write("Resources/Core.zip", "COPE")
		if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if after, err = os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
	s.must(f).want(t, "after the edit", "1 wanted, 4 bytes, 0 resumed, 1 matched, 4 written")
	f.want("healed", "Resources/Core.zip=core")
}

// TestRecentChangeIsNotBelieved checks that a recently changed file is hashed again, because a further change might not
// show.
func TestRecentChangeIsNotBelieved(t *testing.T) {
	const step = 20 * time.Millisecond
	for _, test := range []struct {
		age   time.Duration
		reads bool
	}{{step / 2, true}, {2 * time.Second, false}} {
		f := newFolder(t)
		f.write("Resources/Core.zip", "core")
		info, err := os.Stat(filepath.Join(f.dir, "Resources", "Core.zip"))
		if err != nil {
			t.Fatal(err)
		}
		for turn := range 2 {
			w := watch(f.open())
			d, err := install.Open(context.Background(), install.Config{
				FS: w, Names: names(), Trust: install.TrustFNV, Log: zerolog.Nop(), Now: func() time.Time { return info.ModTime().Add(test.age) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (start{blobs: packs("Core.zip", "core")}).update(t, d); err != nil {
				t.Fatal(err)
			}
			read := slices.ContainsFunc(w.ops, func(o op) bool { return o.verb == "read" && o.name == "Resources/Core.zip" })
			if want := turn == 0 || test.reads; read != want {
				t.Errorf("%s after the change, start %d: hashed %v", test.age, turn+1, read)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestVerifyBelievesNothing replaces the content of a file but keeps its identity, so that the cache is wrong. Only a
// verification can detect it.
func TestVerifyBelievesNothing(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: append(packs("Core.zip", "core"), binaries("Lathe.so", "module")...)}
	s.must(f)
	module := s
	module.mode = update.Binaries
	module.must(f)
	w := watch(f.open())
	s.verify = true
	g, err := s.on(t, w)
	if err != nil {
		t.Fatal(err)
	}
	g.want(t, "verify", "0 wanted, 0 bytes, 0 resumed, 1 matched, 0 written")
	read := map[string]bool{}
	for _, o := range w.ops {
		if o.verb == "read" {
			read[o.name] = true
		}
	}
	if !read["Resources/Core.zip"] || !read["Lathe.so"] {
		t.Errorf("verified without reading: %v", read)
	}
}

// begin leaves a part: a start interrupted after n bytes of the first missing file.
func begin(t *testing.T, f folder, s start, n int) {
	t.Helper()
	d := f.mustOpen()
	plan, err := d.Plan(context.Background(), max(s.mode, update.Resources), offer(t, release.SHA256, s.blobs), func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	rest := s.blobs[plan.Wants[0].File.Index].content[plan.Wants[0].Offset():]
	if err := d.Write(0, []byte(rest[:n])); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestResumeAfterRestart(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: packs("Core.zip", "0123456789", "Maps.zip", "maps")}
	begin(t, f, s, 4)
	f.want("interrupted", "Resources/~Core.zip=0123")
	begin(t, f, s, 3)
	f.want("interrupted again", "Resources/~Core.zip=0123456")
	s.must(f).want(t, "resumed", "2 wanted, 14 bytes, 7 resumed, 2 matched, 7 written")
	f.want("complete", "Resources/Core.zip=0123456789 Resources/Maps.zip=maps")
}

// TestResumeAfterReconnect keeps the Dir: an Updater abandons and plans again.
func TestResumeAfterReconnect(t *testing.T) {
	f := newFolder(t)
	d := f.mustOpen()
	s := start{blobs: packs("Core.zip", "0123456789")}
	plan := func() update.Plan {
		t.Helper()
		p, err := d.Plan(context.Background(), update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plan()
	if err := errors.Join(d.Write(0, []byte("01")), d.Write(0, []byte("23")), d.Abandon(), d.Abandon()); err != nil {
		t.Fatal(err)
	}
	if p := plan(); p.Wants[0].Offset() != 4 || p.Resumed != 4 {
		t.Errorf("plan %+v", p)
	}
	// A retry also plans again without an Abandon in between.
	if err := d.Write(0, []byte("45")); err != nil {
		t.Fatal(err)
	}
	if p := plan(); p.Wants[0].Offset() != 6 {
		t.Errorf("plan %+v", p)
	}
	if err := errors.Join(d.Write(0, []byte("6789")), d.Finish(context.Background(), 0), d.Commit(context.Background())); err != nil {
		t.Fatal(err)
	}
	f.want("complete", "Resources/Core.zip=0123456789")
	if d.State() != install.Swapped {
		t.Errorf("state %q", d.State())
	}
}

func TestPartsThatCanNotBeUsed(t *testing.T) {
	old := start{blobs: packs("Core.zip", "old content")}
	tests := []struct {
		name    string
		prepare func(f folder)
	}{
		{"of another digest", func(f folder) { begin(t, f, old, 5) }},
		{"of another digest, complete", func(f folder) { begin(t, f, old, 11) }},
		{"that no journal knows", func(f folder) { f.write("Resources/~Core.zip", "new ") }},
		{"longer than announced", func(f folder) {
			begin(t, f, start{blobs: packs("Core.zip", "new content")}, 11)
			f.write("Resources/~Core.zip", "new content and more")
		}},
		{"that is a link", func(f folder) {
			begin(t, f, start{blobs: packs("Core.zip", "new content")}, 4)
			f.remove("Resources/~Core.zip")
			f.write("victim", "victim")
			if err := os.Symlink("../victim", filepath.Join(f.dir, "Resources", "~Core.zip")); err != nil {
				t.Skip(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFolder(t)
			test.prepare(f)
			g := start{blobs: packs("Core.zip", "new content")}.must(f)
			g.want(t, "update", "1 wanted, 11 bytes, 0 resumed, 1 matched, 11 written")
			if got := strings.TrimSuffix(f.tree(), " victim=victim"); got != "Resources/Core.zip=new content" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// TestWrongPartIsThrownAway resumes parts with wrong bytes, as left by a power cut.
func TestWrongPartIsThrownAway(t *testing.T) {
	for name, part := range map[string]string{"complete": "XXXXXXXXXX", "half": "XXXXX", "zeros": "\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			s := start{blobs: packs("Core.zip", "0123456789")}
			begin(t, f, s, len(part))
			f.write("Resources/~Core.zip", part)
			_, err := s.on(t, f.open())
			fault := wantFault(t, "first", err, update.DamagedDownload)
			if fault.Subject != "Core.zip" || !fault.Transient {
				t.Errorf("fault %+v", fault)
			}
			f.want("thrown away", "Resources/")
			s.must(f).want(t, "then", "1 wanted, 10 bytes, 0 resumed, 1 matched, 10 written")
			f.want("complete", "Resources/Core.zip=0123456789")
		})
	}
}

// TestDamagedDownload has the server send wrong bytes; the same Dir is used afterwards.
func TestDamagedDownload(t *testing.T) {
	f, ctx := newFolder(t), context.Background()
	d := f.mustOpen()
	s := start{blobs: packs("Core.zip", "0123456789")}
	if _, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(0, []byte("012345678X")); err != nil {
		t.Fatal(err)
	}
	err := d.Finish(ctx, 0)
	wantFault(t, "finish", err, update.DamagedDownload)
	want := digest(t, release.SHA256, "0123456789").String()
	if got := digest(t, release.SHA256, "012345678X").String(); !strings.Contains(err.Error(), got) || !strings.Contains(err.Error(), want) {
		t.Errorf("says %v", err)
	}
	f.want("thrown away", "Resources/")
	if err := errors.Join(d.Write(0, []byte("0123456789")), d.Finish(ctx, 0), d.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	f.want("complete", "Resources/Core.zip=0123456789")
}

// TestPartChangesUnderway simulates another program that writes into a planned part.
func TestPartChangesUnderway(t *testing.T) {
	for name, part := range map[string]string{"shorter": "01", "longer": "012345678", "full": "0123456789", "gone": ""} {
		t.Run(name, func(t *testing.T) {
			f, ctx := newFolder(t), context.Background()
			s := start{blobs: packs("Core.zip", "0123456789")}
			begin(t, f, s, 5)
			d := f.mustOpen()
			if _, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {}); err != nil {
				t.Fatal(err)
			}
			f.write("Resources/~Core.zip", part)
			err := d.Write(0, []byte("56789"))
			if err == nil {
				err = d.Finish(ctx, 0)
			}
			fault, _ := errors.AsType[*update.Fault](err)
			if fault == nil || !fault.Transient {
				t.Fatalf("says %v", err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			s.must(f)
			f.want("complete", "Resources/Core.zip=0123456789")
		})
	}
}

func TestTooShortIsDamaged(t *testing.T) {
	f, ctx := newFolder(t), context.Background()
	d := f.mustOpen()
	s := start{blobs: packs("Core.zip", "0123456789")}
	if _, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	wantFault(t, "short", errors.Join(d.Write(0, []byte("012")), d.Finish(ctx, 0)), update.DamagedDownload)
}

func TestServerSendsTooMuch(t *testing.T) {
	f, ctx := newFolder(t), context.Background()
	d := f.mustOpen()
	s := start{blobs: packs("Core.zip", "0123456789", "Empty.zip", "")}
	if _, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(0, []byte("01234")); err != nil {
		t.Fatal(err)
	}
	wantFault(t, "one byte more", d.Write(0, []byte("56789X")), update.ServerFault)
	wantFault(t, "into an empty file", d.Write(1, []byte("X")), update.ServerFault)
	f.want("nothing of it", "Resources/~Core.zip=01234 Resources/~Empty.zip=")
	if err := errors.Join(d.Write(0, []byte("56789")), d.Finish(ctx, 0), d.Finish(ctx, 1), d.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	f.want("complete", "Resources/Core.zip=0123456789 Resources/Empty.zip=")
}

// TestPartsSurviveTheOtherMode keeps the part of a module during an update of packs only, and uses the part of a pack in an
// update of the whole set.
func TestPartsSurviveTheOtherMode(t *testing.T) {
	f := newFolder(t)
	s := all(binaries("Lathe.so", "0123456789"), packs("Core.zip", "core", "Maps.zip", "9876543210"))
	begin(t, f, s, 6)
	other := s
	other.mode, other.blobs = update.Resources, append(s.blobs[:2:2], packs("Maps.zip", "98765")...)
	other.must(f)
	f.want("packs updated", "Resources/Core.zip=core Resources/Maps.zip=98765 ~Lathe.so=012345")
	begin(t, f, start{blobs: s.blobs}, 3)
	f.want("a pack begun", "Resources/Core.zip=core Resources/Maps.zip=98765 Resources/~Maps.zip=987 ~Lathe.so=012345")
	s.must(f).want(t, "resumed", "2 wanted, 20 bytes, 9 resumed, 1 matched, 11 written")
	f.want("complete", "Lathe.so=0123456789 Resources/Core.zip=core Resources/Maps.zip=9876543210")
}

// TestPartsOfDroppedFilesGoAway checks that parts of dropped files are removed.
func TestPartsOfDroppedFilesGoAway(t *testing.T) {
	f := newFolder(t)
	begin(t, f, start{blobs: packs("Gone.zip", "0123456789")}, 6)
	f.want("interrupted", "Resources/~Gone.zip=012345")
	start{blobs: packs("Core.zip", "core")}.must(f)
	f.want("dropped", "Resources/Core.zip=core")
}

// TestNoHandleStaysOpen checks that all files are closed, including the current part: Windows can't rename open files.
func TestNoHandleStaysOpen(t *testing.T) {
	f, ctx := newFolder(t), context.Background()
	w := watch(f.open())
	d, err := open(w, false)
	if err != nil {
		t.Fatal(err)
	}
	s := start{blobs: packs("A.zip", "0123456789", "B.zip", "b")}
	if _, err := s.update(t, d); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{
		d.Abandon,
		func() error { return d.Finish(ctx, 0) },
		func() error {
			_, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {})
			return err
		},
		d.Close,
	} {
		s.blobs[0].content += "x"
		if _, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(0, []byte("01")); err != nil {
			t.Fatal(err)
		}
		_ = end()
		if opened, closed := w.count("open", "create")-w.missing, w.count("close"); opened != closed {
			t.Errorf("%d opened, %d closed", opened, closed)
		}
	}
}

// TestFinishIsCancelled checks that the part stays after a cancelled check.
func TestFinishIsCancelled(t *testing.T) {
	f := newFolder(t)
	d := f.mustOpen()
	s := start{blobs: packs("Core.zip", "0123456789")}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(0, []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := d.Finish(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("finish: %v", err)
	}
	f.want("kept", "Resources/~Core.zip=0123456789")
}

// TestPlanIsCancelled cancels while a large file is hashed.
func TestPlanIsCancelled(t *testing.T) {
	f := newFolder(t)
	content := strings.Repeat("x", 3<<20)
	f.write("Resources/Core.zip", content)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told []int64
	d := f.mustOpen()
	_, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, packs("Core.zip", content)), func(file string, done, size int64) {
		if file == "" {
			return // the call with the number of bytes to hash in all
		}
		if told = append(told, done); file != "Resources/Core.zip" || size != int64(len(content)) {
			t.Errorf("progress of %s: %d of %d", file, done, size)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) || len(told) != 1 {
		t.Errorf("stopped after %d reads: %v", len(told), err)
	}
	if _, fault := errors.AsType[*update.Fault](err); fault {
		t.Errorf("called a fault: %v", err)
	}
}

// TestCalledOutOfOrder makes wrong calls, which must not damage an install.
func TestCalledOutOfOrder(t *testing.T) {
	f, ctx := newFolder(t), context.Background()
	d := f.mustOpen()
	for name, err := range map[string]error{
		"write": d.Write(0, nil), "finish": d.Finish(ctx, 0), "commit": d.Commit(ctx),
	} {
		if fault := wantFault(t, name, err, update.DiskFault); !strings.Contains(fault.Error(), "internal error") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := start{blobs: packs("Core.zip", "0123")}
	if _, err := d.Plan(ctx, update.Resources, offer(t, release.SHA256, s.blobs), func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	wantFault(t, "a file beyond the plan", d.Write(1, nil), update.DiskFault)
	wantFault(t, "a file before the plan", d.Write(-1, nil), update.DiskFault)
	wantFault(t, "commit of an unfinished file", d.Commit(ctx), update.DiskFault)
	if d.State() != install.Staging {
		t.Errorf("state %q", d.State())
	}
	if err := errors.Join(d.Promote(ctx), d.Confirm(), d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	s.must(f)
	f.want("complete", "Resources/Core.zip=0123")
}
