package publish_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"collet/app/download"
	"collet/build/publish"
	"collet/build/publish/places"
	"collet/netproto/release"
	"collet/netproto/release/location"
	"collet/platform"
	"collet/platform/testlevel"
)

var gitHubToken = map[string]string{"GH_TOKEN": "token"}

// openService opens an output of a service, which is closed at the test's end.
func openService(t *testing.T, address string, env map[string]string, notice func(string)) places.Place {
	t.Helper()
	out, closer, err := publish.OpenPlace(address, func(name string) string { return env[name] }, notice)
	must(t, err)
	t.Cleanup(func() { must(t, closer.Close()) })
	return out
}

// readable compares what clients read at an address with the release folder.
func (s *fixture) readable(t *testing.T, address string) {
	t.Helper()
	mirror, err := download.NewHTTPMirror(address, download.HTTPOptions{})
	must(t, err)
	defer func() { must(t, mirror.Close()) }()
	n := 0
	for _, folder := range []string{"metadata", "releases", "objects"} {
		for _, name := range filesBelow(t, s.fs, folder) {
			want, err := platform.ReadFile(s.fs, name, 10<<20)
			must(t, err)
			body, err := mirror.Get(t.Context(), name, 0, -1, 10<<20)
			must(t, err)
			got, err := io.ReadAll(body)
			must(t, errors.Join(err, body.Close()))
			if n++; !bytes.Equal(got, want) {
				t.Errorf("%s has %d bytes, want %d", name, len(got), len(want))
			}
		}
	}
	if n == 0 {
		t.Error("nothing to compare")
	}
}

// filesBelow lists the files below a folder.
func filesBelow(t *testing.T, fsys platform.FS, folder string) (names []string) {
	t.Helper()
	entries, err := fsys.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		if name := folder + "/" + e.Name(); e.IsDir() {
			names = append(names, filesBelow(t, fsys, name)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

func unnoticed(t *testing.T) func(string) {
	return func(text string) { t.Errorf("it says %q", text) }
}

func TestMirrorToGitHub(t *testing.T) {
	t.Parallel()
	f := newFakeGitHub(t)
	f.tag, f.next = "collet", 1
	f.assets = []fakeAsset{{ID: 1, Name: "metadata.1.root.json", State: "starter"}} // its upload was interrupted
	s := newFixture(t)
	s.holds(f.address(), gitHubToken)
	for _, name := range f.names() {
		if _, ours := location.AssetFile(name); !ours || strings.HasSuffix(name, ".new") {
			t.Errorf("asset %s", name)
		}
	}
	// timestamp.json is replaced by a complete upload, and everything else precedes it.
	var changes []string
	for _, line := range f.log {
		if strings.Contains(line, "timestamp") {
			changes = append(changes, line)
		}
	}
	want := []string{"upload metadata.timestamp.json", "upload metadata.timestamp.json.new", "delete metadata.timestamp.json", "rename metadata.timestamp.json",
		"delete metadata.timestamp.json"} // the last one is the test's own
	if !slices.Equal(changes, want) {
		t.Errorf("%q", changes)
	}
	at := slices.Index(f.log, "rename metadata.timestamp.json")
	for _, line := range f.log[at:] {
		if strings.HasPrefix(line, "upload") && !strings.HasPrefix(line, "upload sequels.") {
			t.Errorf("%s comes after the timestamp", line)
		}
	}
}

// TestMirrorToGitHubEndsInTheGap ends a publication between removing the old timestamp.json and naming the new one. The next one completes
// it, and assets of people stay.
func TestMirrorToGitHubEndsInTheGap(t *testing.T) {
	t.Parallel()
	f := newFakeGitHub(t)
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	out := openService(t, f.address(), gitHubToken, unnoticed(t))
	s.updatePlace(out, false)
	f.mu.Lock()
	f.assets = append(f.assets, fakeAsset{ID: 999, Name: "Lathe-setup.exe", State: "uploaded"})
	f.fail = func(r *http.Request) int {
		if r.Method == http.MethodPatch {
			return http.StatusUnprocessableEntity
		}
		return 0
	}
	f.mu.Unlock()
	s.publish(game(t, small(2)), publish.Request{})
	folder := s.open()
	_, err := updatePlaceOf(context.Background(), folder, out, false)
	must(t, folder.Close())
	if err == nil || !strings.Contains(err.Error(), "the test says so") || slices.Contains(f.names(), "metadata.timestamp.json") {
		t.Fatalf("%v, %q", err, f.names())
	}
	f.fail = nil
	s.readable(t, f.address()) // a client finds the new timestamp.json meanwhile
	again := openService(t, f.address(), gitHubToken, unnoticed(t))
	s.updatePlace(again, true)
	s.readable(t, f.address())
	r, err := s.read(downloaded(t, again), query("stable", linux, 0))
	if names := f.names(); err != nil || r.Number != 2 || slices.Contains(names, "metadata.timestamp.json.new") || !slices.Contains(names, "Lathe-setup.exe") {
		t.Errorf("release %d, %v, %q", r.Number, err, names)
	}
}

// seen is what a client sees at an address of the files that the release folder has.
func (s *fixture) seen(t *testing.T, address string) platform.FS {
	t.Helper()
	mirror, err := download.NewHTTPMirror(address, download.HTTPOptions{})
	must(t, err)
	defer func() { must(t, mirror.Close()) }()
	dir := t.TempDir()
	for _, folder := range []string{"metadata", "releases", "objects"} {
		for _, name := range filesBelow(t, s.fs, folder) {
			body, err := mirror.Get(t.Context(), name, 0, -1, 10<<20)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			must(t, err)
			data, err := io.ReadAll(body)
			must(t, errors.Join(err, body.Close()))
			writeTree(t, dir, tree{name: string(data)})
		}
	}
	return openDir(t, dir)
}

// TestServicesStopAnywhere ends an update of a service after every write, or after every third one. Clients see the old release or the
// new one, whole, and the next publication completes it.
func TestServicesStopAnywhere(t *testing.T) {
	testlevel.Slow(t)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	registry, gitHub := newFakeRegistry(t), newFakeGitHub(t)
	refuse := 0 // the number of writes before GitHub refuses all; below 0: none
	gitHub.fail = func(r *http.Request) int {
		if r.Method == http.MethodGet || refuse < 0 {
			return 0
		}
		if refuse == 0 {
			return http.StatusConflict
		}
		refuse--
		return 0
	}
	for name, service := range map[string]struct {
		address string
		mu      *sync.Mutex // a request may still end after its client has gone
		limit   func(writes int)
		save    func() (restore func())
	}{
		"registry": {registry.address(), &registry.mu, func(writes int) { registry.writes = writes }, func() func() {
			blobs, tags := maps.Clone(registry.blobs), maps.Clone(registry.tags)
			return func() { registry.blobs, registry.tags = maps.Clone(blobs), maps.Clone(tags) }
		}},
		"GitHub": {gitHub.address(), &gitHub.mu, func(writes int) { refuse = writes }, func() func() {
			assets := slices.Clone(gitHub.assets)
			return func() { gitHub.assets = slices.Clone(assets) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			locked := func(do func()) {
				service.mu.Lock()
				defer service.mu.Unlock()
				do()
			}
			s := newFixture(t)
			open := func() places.Place { return openService(t, service.address, gitHubToken, unnoticed(t)) }
			locked(func() { service.limit(-1) })
			s.publish(game(t, small(1)), publish.Request{})
			s.updatePlace(open(), false)
			var restore func()
			locked(func() { restore = service.save() })
			s.publish(game(t, small(2)), publish.Request{})
			news := 0
			for writes := 0; ; writes += testlevel.Stride(3, 3) {
				locked(func() {
					restore()
					service.limit(writes)
				})
				folder := s.open()
				_, stopped := updatePlaceOf(t.Context(), folder, open(), true)
				must(t, folder.Close())
				locked(func() { service.limit(-1) })
				client := s.seen(t, service.address)
				r, err := s.read(client, query("stable", linux, 0))
				must(t, err)
				got, err := r.files(client)
				must(t, errors.Join(err, same(got, small(int(r.Number)).setOf(linux))))
				if r.Number == 2 {
					news++
				}
				s.updatePlace(open(), true)
				if r, err := s.read(s.seen(t, service.address), query("stable", linux, 0)); err != nil || r.Number != 2 {
					t.Errorf("after %d writes and a second run: release %d, %v", writes, r.Number, err)
				}
				if stopped == nil {
					if t.Logf("%d writes", writes); writes < 10 || news == 0 || news > writes {
						t.Errorf("%d writes, and the new release after %d of them", writes, news)
					}
					return
				}
			}
		})
	}
}

func TestGitHubLimits(t *testing.T) {
	t.Parallel()
	f := newFakeGitHub(t)
	f.tag = "collet"
	for n := range location.MaxAssets - 10 {
		f.assets = append(f.assets, fakeAsset{ID: int64(n + 1), Name: "page-" + strconv.Itoa(n), State: "uploaded"})
	}
	f.next = 5000
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	folder := s.open()
	_, err := updatePlaceOf(context.Background(), folder, openService(t, f.address(), gitHubToken, unnoticed(t)), false)
	must(t, folder.Close())
	if err == nil || !strings.Contains(err.Error(), "takes at most 9 files") || !strings.Contains(err.Error(), "collet release gc --apply") || len(f.log) != 0 {
		t.Errorf("%v; %q", err, f.log)
	}
}

func TestGitHubFaultsAreNamed(t *testing.T) {
	t.Parallel()
	f := newFakeGitHub(t)
	for _, c := range []struct{ address, token, want string }{
		{"github://team", "token", "want github://OWNER/REPO"},
		{f.address(), "", "set GITHUB_TOKEN"},
		{f.address(), "other", "Bad credentials; the token in GITHUB_TOKEN needs the permission contents: write"},
		{"github://team/other?endpoint=" + f.url, "token", "check the name of the repository"},
		{"gitlab://team/lathe", "token", "is no place for a publication; want a folder"},
	} {
		out, closer, err := publish.OpenPlace(c.address, func(name string) string { return map[string]string{"GITHUB_TOKEN": c.token}[name] }, unnoticed(t))
		if err == nil {
			err = out.Put(t.Context(), "metadata/1.root.json", bytes.NewReader([]byte("x")), 1, true)
			must(t, closer.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.address, err)
		}
	}
}

func TestMirrorToARegistry(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	f := newFakeRegistry(t)
	s := newFixture(t)
	s.holds(f.address(), nil)
	// Blobs precede the manifests that name them; the manifest with the timestamp comes last, but for those of sequels.
	tags := slices.DeleteFunc(slices.Clone(f.log), func(line string) bool {
		return !strings.HasPrefix(line, "tag ") || strings.HasPrefix(line, "tag collet-sequel-")
	})
	if tags[len(tags)-1] != "tag collet" || !slices.Contains(tags, "tag collet-objects-0") || len(f.tags) < 4 {
		t.Errorf("%q", f.log)
	}
	for _, file := range f.files(t, "collet") {
		if embedded := file.Name == "metadata/timestamp.json"; embedded != (file.Data != nil) || !strings.HasPrefix(file.Name, "metadata/") {
			t.Errorf("%s has %d bytes in the manifest", file.Name, len(file.Data))
		}
	}
	for _, file := range f.files(t, "collet-objects-0") {
		if !strings.HasPrefix(file.Name, "objects/") && !strings.HasPrefix(file.Name, "releases/") {
			t.Errorf("%s keeps %s", "collet-objects-0", file.Name)
		}
	}
}

// TestServicesHaveSequels: clients of the last five releases, and those without one, get their sequel; that to an earlier release is not left
// there with old lists.
func TestServicesHaveSequels(t *testing.T) {
	testlevel.Slow(t)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for name, address := range map[string]string{"registry": newFakeRegistry(t).address(), "GitHub": newFakeGitHub(t).address()} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			const last = 8
			for n := range last {
				s.publish(game(t, small(n+1)), publish.Request{})
				s.updatePlace(openService(t, address, gitHubToken, unnoticed(t)), false)
			}
			mirror, err := download.NewHTTPMirror(address, download.HTTPOptions{})
			must(t, err)
			defer func() { must(t, mirror.Close()) }()
			newest := s.wants(query("stable", linux, 0), last, small(last).setOf(linux))
			for n := range last {
				entry := newest.Entry
				entry.Number = uint64(n)
				for _, name := range []string{entry.RelativeSequelPath(), entry.PackedSequelPath()} {
					if n == 0 && name == entry.RelativeSequelPath() {
						continue // new players have nothing that it could leave out
					}
					body, err := mirror.Get(t.Context(), name, 0, -1, release.MaxSequel)
					if outdated := n > 0 && n < last-5; outdated != errors.Is(err, fs.ErrNotExist) {
						t.Errorf("sequel to release %d: %v", n, err)
					}
					if err != nil {
						continue
					}
					got, err := io.ReadAll(body)
					must(t, errors.Join(err, body.Close()))
					want, err := platform.ReadFile(s.fs, name, release.MaxSequel)
					must(t, err)
					if !bytes.Equal(got, want) {
						t.Errorf("sequel to release %d has %d bytes, want %d", n, len(got), len(want))
					}
				}
			}
		})
	}
}

// TestRegistryListsTheNewest: readers find the newest versions of the lists; the others are kept from the garbage collection.
func TestRegistryListsTheNewest(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	f := newFakeRegistry(t)
	out := openService(t, f.address(), nil, unnoticed(t))
	names := []string{"metadata/timestamp.json"}
	for n := 1; n <= 14; n++ {
		names = append(names, fmt.Sprintf("metadata/%d.root.json", n), fmt.Sprintf("metadata/%d.targets.json", n+30), fmt.Sprintf("metadata/%d.snapshot.json", n))
	}
	for _, name := range names {
		must(t, out.Put(t.Context(), name, strings.NewReader(name), int64(len(name)), true))
	}
	must(t, out.Sync(t.Context()))
	listed := map[string]bool{}
	for _, file := range f.files(t, "collet") {
		listed[file.Name] = true
	}
	for _, name := range names {
		var n int
		_, _ = fmt.Sscanf(name, "metadata/%d.", &n) // 0 for the timestamp
		if want := !strings.HasSuffix(name, "targets.json") && !strings.HasSuffix(name, "snapshot.json") || n > 34 || n > 4 && n <= 14; listed[name] != want {
			t.Errorf("%s: listed is %v", name, listed[name])
		}
	}
	if kept := len(f.files(t, "collet-objects-0")); kept+len(listed) != len(names) {
		t.Errorf("%d files are listed and %d kept, of %d", len(listed), kept, len(names))
	}
	list, err := openService(t, f.address(), nil, unnoticed(t)).List(t.Context(), "metadata")
	if err != nil || len(list) != len(names) {
		t.Errorf("another publisher finds %d files, %v", len(list), err)
	}
}

// TestRegistryForgets removes what a publisher no longer has, so that the registry's garbage collection can.
func TestRegistryForgets(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	f := newFakeRegistry(t)
	f.tags["collet-objects-1"], _ = location.EncodeManifest([]location.File{{Name: "objects/aa/" + strings.Repeat("a", 64), Sum: strings.Repeat("a", 64), Size: 1}})
	f.tags["collet-objects-0"] = f.tags["collet-objects-1"] // of a larger publication
	f.blobs["sha256:"+strings.Repeat("a", 64)] = []byte("a")
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	if sum := s.updatePlace(openService(t, f.address(), nil, unnoticed(t)), true); sum.Removed != 1 {
		t.Errorf("%+v", sum)
	}
	s.readable(t, f.address())
	if n := len(f.files(t, "collet-objects-1")); n != 0 {
		t.Errorf("%d objects stay in the second list", n)
	}
	for _, file := range f.files(t, "collet-objects-0") {
		if strings.Contains(file.Name, "aaaa") {
			t.Errorf("%s stays", file.Name)
		}
	}
}

func TestRegistryFaultsAreNamed(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	f := newFakeRegistry(t)
	f.forbidden = true
	out := openService(t, f.address(), nil, unnoticed(t))
	if err := out.Put(t.Context(), "metadata/1.root.json", bytes.NewReader([]byte("x")), 1, true); err == nil || !strings.Contains(err.Error(), "run docker login "+f.host) {
		t.Errorf("%v", err)
	}
	f.tags["collet"] = []byte(`{"layers":[{"digest":"sha256:x"}]}`)
	if _, err := openService(t, f.address(), nil, unnoticed(t)).List(t.Context(), "metadata"); err == nil || !strings.Contains(err.Error(), "is in use for something else") {
		t.Errorf("%v", err)
	}
	if _, _, err := publish.OpenPlace("oci://h/R", nil, nil); err == nil || !strings.Contains(err.Error(), "lower-case") {
		t.Errorf("%v", err)
	}
	if _, err := out.Get(t.Context(), "metadata/2.root.json", 10); errors.Is(err, nil) {
		t.Error("a file that is not there")
	}
}
