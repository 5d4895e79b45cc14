package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/platform/testlevel"
)

// sets are the contents of release n for two targets: some of them the same for both, one resource of its own.
func sets(n int) map[string]map[string]string {
	core := strings.Repeat(fmt.Sprintf("core %d ", n), 500)
	return map[string]map[string]string{
		"Linux-x64": {
			"Core.zip": core, "Textures.zip": strings.Repeat("pixel", 40_000), "Lights.zip": "lights for Linux",
			"FoGame.so": fmt.Sprintf("module %d", n), "FoGame.so.pdb": "",
		},
		"Windows-win64": {
			"Core.zip": core, "Textures.zip": strings.Repeat("pixel", 40_000), "Lights.zip": "lights for Windows",
			"FoGame.dll": fmt.Sprintf("windows module %d", n),
		},
	}
}

// standard is a release for everybody.
func standard(n int) releasetest.Release {
	return releasetest.Release{Number: uint64(n), Percent: 100, Compatibility: fmt.Sprintf("compat-%d", n), Files: sets(n), Plain: true,
		Patch: strings.Repeat("patch", 20_000), Note: "It is better.", Changes: strings.Repeat("changes", 500)}
}

// published is a release folder with these releases. All of them have the same keys.
func published(t testing.TB, releases ...releasetest.Release) *releasetest.Folder {
	t.Helper()
	templates.Lock()
	defer templates.Unlock()
	f, err := template(t, releases).Copy(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// template makes a folder, or gives the one that was made. Each is the one without its last release, and that.
func template(t testing.TB, releases []releasetest.Release) *releasetest.Folder {
	t.Helper()
	key := fmt.Sprintf("%+v", releases)
	if f := templates.made[key]; f != nil {
		return f
	}
	place := func() string { return filepath.Join(templates.folder, fmt.Sprint(len(templates.made))) }
	var f *releasetest.Folder
	var err error
	if last := len(releases) - 1; last < 0 {
		f, err = releasetest.New(place())
	} else if f, err = template(t, releases[:last]).Copy(place()); err == nil {
		err = f.Publish(releases[last])
	}
	if err != nil {
		t.Fatal(err)
	}
	templates.made[key] = f
	return f
}

func publish(t testing.TB, f *releasetest.Folder, releases ...releasetest.Release) {
	t.Helper()
	for _, r := range releases {
		if err := f.Publish(r); err != nil {
			t.Fatal(err)
		}
	}
}

// releaseSettings serve a folder in portions of 1000 bytes.
func releaseSettings(f *releasetest.Folder) config.Settings {
	set := config.ForRelease(f.Dir)
	set.Network.UpdateFileMaxPortionSize = 1000
	return set
}

// said is a hello of a client of a release.
func said(g netproto.Generation, compat, target string) *netproto.Handshake {
	m := hello(g)
	m.Compatibility, m.Target = compat, target
	return m
}

// download takes every file of a list by the requests of its generation.
func download(p *peer, files []netproto.ListedFile) map[string]string {
	p.t.Helper()
	got := map[string]string{}
	for _, f := range files {
		var content bytes.Buffer
		for uint64(content.Len()) < f.Size {
			offset := uint64(content.Len())
			if p.wire.Generation().Engine() {
				p.send(&netproto.GetUpdateFile{Index: f.Index, Offset: offset})
				content.Write(next[*netproto.UpdateFileData](p).Data)
			} else {
				p.send(&netproto.GetRange{Request: 1, Index: f.Index, Offset: offset, Length: 1 << 20})
				content.Write(next[*netproto.RangeData](p).Data)
			}
		}
		got[f.Path] = content.String()
	}
	return got
}

// TestPlainFilesOfEarlierPublishers are used where those lie in the release folder itself: only the pack of which targets have
// different ones is unpacked, and there is no room for more.
func TestPlainFilesOfEarlierPublishers(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, standard(1))
	plain, err := os.ReadDir(filepath.Join(f.Dir, "plain"))
	if err != nil || len(plain) != 2 {
		t.Fatal(plain, err)
	}
	for _, e := range plain {
		if err := os.Rename(filepath.Join(f.Dir, "plain", e.Name()), filepath.Join(f.Dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	set := releaseSettings(f)
	set.Release.CacheSize = 16
	h := start(t, set)
	for target, want := range sets(1) {
		p := h.dial(t, netproto.G2b)
		_, files := p.greet(said(netproto.G2b, "compat-0", target))
		if got := download(p, files); !maps.Equal(got, want) {
			t.Errorf("%s gets %v", target, slices.Sorted(maps.Keys(got)))
		}
		p.raw.Close()
	}
}

// TestReleaseForEveryGeneration gives clients of every generation and target the files of the release, from plain ones and
// unpacked ones, from disk and from memory.
func TestReleaseForEveryGeneration(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for _, plain := range []bool{true, false} {
		for _, memory := range []bool{false, true} {
			t.Run(fmt.Sprintf("plain %t, memory %t", plain, memory), func(t *testing.T) {
				r := standard(3)
				r.Plain = plain
				f := published(t, standard(2), r)
				set := releaseSettings(f)
				set.ServerNetwork.UpdateFilesInMemory = memory
				h := start(t, set)
				for target, want := range sets(3) {
					for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
						p := h.dial(t, g)
						answer, files := p.greet(said(g, "compat-2", target))
						if g == netproto.C1 && answer.Compatibility != "compat-3" || g.Engine() && !answer.CompatibilityOutdated {
							t.Errorf("%v is told %+v", g, answer)
						}
						if got := download(p, files); !maps.Equal(got, want) {
							t.Errorf("%v for %s gets %v", g, target, slices.Sorted(maps.Keys(got)))
						}
						p.raw.Close()
					}
				}
				p := h.dial(t, netproto.C1)
				_, files := p.greet(said(netproto.C1, "compat-3", "macOS-arm64"))
				var names []string
				for _, f := range files {
					names = append(names, f.Path)
				}
				slices.Sort(names)
				if !slices.Equal(names, []string{"Core.zip", "Textures.zip"}) {
					t.Errorf("a target without a release is offered %v", names)
				}
			})
		}
	}
}

// objectOf takes a whole file of the release folder.
func objectOf(p *peer, name string) (string, bool) {
	p.t.Helper()
	var content bytes.Buffer
	for {
		p.send(&netproto.GetObject{Request: 5, Name: name, Offset: uint64(content.Len()), Length: 1 << 20})
		m, err := p.wire.Read()
		if err != nil {
			p.t.Fatal(err)
		}
		switch m := m.(type) {
		case *netproto.NoObject:
			return "", false
		case *netproto.RangeData:
			if m.Request != 5 || m.Offset != uint64(content.Len()) {
				p.t.Fatalf("%+v", m)
			}
			if len(m.Data) == 0 {
				return content.String(), true
			}
			content.Write(m.Data)
		default:
			p.t.Fatalf("%+v", m)
		}
	}
}

// every lists the files of a release folder that have a name to ask for.
func every(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); netproto.IsObjectName(name) {
			data, err := os.ReadFile(path)
			all[name] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestObjectsOfARelease hands out everything in the folder that has a name, and nothing else.
func TestObjectsOfARelease(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for _, portion := range []int{1000, 100_000} { // copied, and straight from the file
		t.Run(fmt.Sprint(portion), func(t *testing.T) {
			f := published(t, standard(1), standard(2))
			set := releaseSettings(f)
			set.Network.UpdateFileMaxPortionSize = portion
			h := start(t, set)
			p := h.dial(t, netproto.C1)
			m := said(netproto.C1, "compat-2", "Linux-x64")
			m.Capabilities |= netproto.CapObjects
			if answer, _ := p.greet(m); answer.Capabilities != netproto.CapPipeline|netproto.CapObjects {
				t.Errorf("capabilities %d", answer.Capabilities)
			}
			for name, want := range every(t, f.Dir) {
				if got, found := objectOf(p, name); !found || got != want {
					t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
				}
			}
			sum := strings.Repeat("ab", 32)
			for _, name := range []string{
				"metadata/2.root.json", "metadata/99.targets.json", "releases/" + sum + ".release", "objects/ab/" + sum, "Resources/Core.zip", "plain/Resources/Core.zip",
				"../" + filepath.Base(f.Dir) + "/metadata/timestamp.json", "", "metadata/", "metadata/1.root.json\x00",
			} {
				if got, found := objectOf(p, name); found {
					t.Errorf("%q was handed out: %q", name, got)
				}
			}
		})
	}
}

// TestRangesOfObjects asks for parts that begin and end anywhere.
func TestRangesOfObjects(t *testing.T) {
	t.Parallel()
	f := published(t, standard(1))
	h := start(t, releaseSettings(f))
	p := h.dial(t, netproto.C1)
	m := said(netproto.C1, "compat-1", "Linux-x64")
	m.Capabilities |= netproto.CapObjects | netproto.CapUnlisted
	p.send(m)
	if answer := next[*netproto.HandshakeAnswer](p); answer.Capabilities&netproto.CapUnlisted == 0 {
		t.Fatalf("%+v", answer)
	}
	next[*netproto.Ping](p) // and no list
	patch := strings.Repeat("patch", 20_000)
	name := release.ObjectOf([]byte(patch)).Path()
	for _, test := range []struct {
		offset uint64
		length uint32
		want   string
	}{
		{0, 1, "p"}, {1, 4, "atch"}, {7, 1000, patch[7:1007]}, {7, 1001, patch[7:1007]}, {99_999, 1, "h"}, {99_998, 500, "ch"},
		{100_000, 1, ""}, {100_000, 0, ""}, {1 << 63, 5, ""},
	} {
		p.send(&netproto.GetObject{Request: 9, Name: name, Offset: test.offset, Length: test.length})
		if got := next[*netproto.RangeData](p); string(got.Data) != test.want || got.Offset != test.offset || got.Request != 9 {
			t.Errorf("%d bytes from %d: %d bytes from %d", test.length, test.offset, len(got.Data), got.Offset)
		}
	}
	p.send(&netproto.GetObject{Request: 9, Name: name, Offset: 5, Length: 0})
	if got := next[*netproto.Refuse](p); got.Reason != netproto.RefuseMalformed || got.Request != 9 {
		t.Errorf("no bytes: %+v", got)
	}
}

// TestObjectsCountInFlight refuses a client that asks for more than it may, whichever way it asks.
func TestObjectsCountInFlight(t *testing.T) {
	t.Parallel()
	f := published(t, standard(1))
	set := releaseSettings(f)
	set.Limits.RequestsInFlight = 2
	h := start(t, set)
	p := h.dial(t, netproto.C1)
	p.greet(said(netproto.C1, "compat-1", "Linux-x64"))
	// The session takes nothing while it writes, and this peer does not read.
	var many []netproto.Message
	for i := range 4000 {
		many = append(many, &netproto.GetObject{Request: uint32(2 * i), Name: "metadata/timestamp.json", Length: 1000},
			&netproto.GetRange{Request: uint32(2*i + 1), Length: 1000})
	}
	if err := p.wire.Write(many...); err != nil {
		t.Logf("the server closed early: %v", err)
	}
	h.stopped(t, func() bool { return strings.Contains(h.log.String(), "more requests unanswered than allowed") })
}

// TestWithoutAReleaseFolder answers requests for objects like those for what is not there.
func TestWithoutAReleaseFolder(t *testing.T) {
	t.Parallel()
	h := start(t, settings(t))
	p := h.dial(t, netproto.C1)
	m := hello(netproto.C1)
	m.Capabilities |= netproto.CapObjects | netproto.CapUnlisted
	if answer, files := p.greet(m); answer.Capabilities != netproto.CapPipeline || len(files) == 0 {
		t.Errorf("capabilities %d, %d files", answer.Capabilities, len(files))
	}
	if _, found := objectOf(p, "metadata/timestamp.json"); found {
		t.Error("a timestamp from nowhere")
	}
}

// TestWhichReleaseIsOffered picks, for clients that know nothing of releases, the newest that everybody is offered.
func TestWhichReleaseIsOffered(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	with := func(n int, change func(r *releasetest.Release)) releasetest.Release {
		r := standard(n)
		change(&r)
		return r
	}
	for name, test := range map[string]struct {
		releases []releasetest.Release
		set      func(s *config.Settings)
		want     string // compatibility, or a part of the error
	}{
		"the newest":      {[]releasetest.Release{standard(1), standard(2)}, nil, "compat-2"},
		"a rollout":       {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { r.Percent = 99 })}, nil, "compat-1"},
		"held":            {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { r.Hold = true })}, nil, "compat-1"},
		"killed":          {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { r.Killed = true })}, nil, "compat-1"},
		"another channel": {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { r.Channel = "beta" })}, nil, "compat-1"},
		"that channel": {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { r.Channel = "beta" })},
			func(s *config.Settings) { s.Release.Channel = "beta" }, "compat-2"},
		"no such channel": {[]releasetest.Release{standard(1)}, func(s *config.Settings) { s.Release.Channel = "nightly" }, `has no channel "nightly"; it has stable`},
		"two products": {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { r.Product = "drill" })}, nil,
			"several products in channel \"stable\"; set Release.Product to one of drill, lathe"},
		"one of two products": {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { r.Product = "drill" })},
			func(s *config.Settings) { s.Release.Product = "drill" }, "compat-2"},
		"no such product": {[]releasetest.Release{standard(1)}, func(s *config.Settings) { s.Release.Product = "saw" }, `has no product "saw" in channel "stable"; it has lathe`},
		"none for everybody": {[]releasetest.Release{with(1, func(r *releasetest.Release) { r.Percent = 50 })}, nil,
			"no release of product \"lathe\" in channel \"stable\" that all clients are offered; publish one, or roll one out to 100 percent"},
		"no releases": {nil, nil, `has no channel "stable"; it has no releases yet`},
		"targets apart": {[]releasetest.Release{standard(1), with(2, func(r *releasetest.Release) { delete(r.Files, "Windows-win64") })}, nil,
			`lathe/stable/Linux-x64/2 has "compat-2", lathe/stable/Windows-win64/1 has "compat-1"; publish the targets together`},
		"without compatibility": {[]releasetest.Release{with(1, func(r *releasetest.Release) { r.Compatibility = "" })}, nil, "can't be told to clients"},
	} {
		t.Run(name, func(t *testing.T) {
			set := releaseSettings(published(t, test.releases...))
			if test.set != nil {
				test.set(&set)
			}
			book := &logBook{}
			c, err := catalogue.Open(t.Context(), set, (&house{log: book}).logger())
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v\nwant %s", err, test.want)
				}
				var fault *catalogue.Error
				if !errors.As(err, &fault) {
					t.Errorf("%T", err)
				}
				return
			}
			defer c.Close()
			if c.Compatibility() != test.want {
				t.Errorf("compatibility %s, want %s", c.Compatibility(), test.want)
			}
			var table bytes.Buffer
			if err := c.Describe(&table); err != nil || !strings.Contains(table.String(), "Linux-x64      "+strings.TrimPrefix(test.want, "compat-")+" ") {
				t.Errorf("%v:\n%s", err, &table)
			}
		})
	}
}

// TestReleaseFolderFaults refuses what is not signed, not whole or no release folder, and says why.
func TestReleaseFolderFaults(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	stranger, err := releasetest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rootFile := filepath.Join(t.TempDir(), "root.json")
	if err := os.WriteFile(rootFile, stranger.Repo.Root(), 0o644); err != nil {
		t.Fatal(err)
	}
	sources := func(f *releasetest.Folder) string { // the largest file there is: textures are in it as one object
		name, most := "", 0
		for n, content := range every(t, f.Dir) {
			if strings.HasPrefix(n, "objects/") && len(content) > most {
				name, most = n, len(content)
			}
		}
		return name
	}
	for name, test := range map[string]struct {
		break_ func(f *releasetest.Folder, s *config.Settings) error
		want   string
	}{
		"no folder": {func(f *releasetest.Folder, s *config.Settings) error { return os.RemoveAll(f.Dir) }, "name the folder with --release"},
		"not a release folder": {func(f *releasetest.Folder, s *config.Settings) error {
			return os.RemoveAll(filepath.Join(f.Dir, "metadata"))
		}, "is this a release folder?"},
		"another root": {func(f *releasetest.Folder, s *config.Settings) error { s.Release.TrustRoot = rootFile; return nil }, "not signed by enough trusted keys"},
		"no such root": {func(f *releasetest.Folder, s *config.Settings) error {
			s.Release.TrustRoot = rootFile + "x"
			return nil
		}, "--trust-root"},
		"no root at all": {func(f *releasetest.Folder, s *config.Settings) error {
			s.Release.TrustRoot = rootFile
			return os.WriteFile(rootFile+"y", []byte("{}"), 0o644)
		}, "not signed"},
		"a changed list": {func(f *releasetest.Folder, s *config.Settings) error {
			return rewrite(f, "metadata/2.targets.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"percent":100`), []byte(`"percent":099`), 1) })
		}, "2.targets.json: not the one that the signed list names"},
		"no list": {func(f *releasetest.Folder, s *config.Settings) error {
			return releasetest.Store(f.Dir).Remove("metadata/2.targets.json")
		}, "finish copying the release folder, timestamp.json last"},
		"no head": {func(f *releasetest.Folder, s *config.Settings) error {
			return os.RemoveAll(filepath.Join(f.Dir, "releases"))
		}, "finish copying"},
		"a changed head": {func(f *releasetest.Folder, s *config.Settings) error {
			return rewrite(f, f.Entries()[0].Head.HeadPath(), func(b []byte) []byte { return bytes.Replace(b, []byte("compat-1"), []byte("compat-7"), 1) })
		}, "not the one that the signed list names"},
		"no objects": {func(f *releasetest.Folder, s *config.Settings) error {
			return os.RemoveAll(filepath.Join(f.Dir, "objects"))
		}, "finish copying"},
		"half an object": {func(f *releasetest.Folder, s *config.Settings) error {
			return rewrite(f, sources(f), func(b []byte) []byte { return b[:len(b)/2] })
		}, "is not there, or not whole"},
		"no patch": {func(f *releasetest.Folder, s *config.Settings) error {
			return releasetest.Store(f.Dir).Remove(release.ObjectOf([]byte(standard(1).Patch)).Path())
		}, "is not there, or not whole"},
		"no changes": {func(f *releasetest.Folder, s *config.Settings) error {
			return releasetest.Store(f.Dir).Remove(release.ObjectOf([]byte(standard(1).Changes)).Path())
		}, "is not there, or not whole"},
		"a full cache": {func(f *releasetest.Folder, s *config.Settings) error {
			s.Release.CacheSize = 100
			return os.RemoveAll(filepath.Join(f.Dir, "plain"))
		}, "Release.CacheSize"},
		"a damaged object that is needed": {func(f *releasetest.Folder, s *config.Settings) error {
			if err := os.RemoveAll(filepath.Join(f.Dir, "plain")); err != nil {
				return err
			}
			return rewrite(f, whole(t, f, "Lights.zip"), func(b []byte) []byte { return bytes.ToUpper(b) })
		}, "another content"},
	} {
		t.Run(name, func(t *testing.T) {
			f := published(t, standard(1))
			set := releaseSettings(f)
			if err := test.break_(f, &set); err != nil {
				t.Fatal(err)
			}
			c, err := catalogue.Open(t.Context(), set, (&house{log: &logBook{}}).logger())
			if err == nil {
				c.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %q", err, test.want)
			}
			if left, _ := filepath.Glob(filepath.Join(f.Dir, ".collet-server", "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func rewrite(f *releasetest.Folder, name string, change func([]byte) []byte) error {
	data, err := os.ReadFile(filepath.Join(f.Dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.Dir, filepath.FromSlash(name)), change(data), 0o644)
}

// whole is the name of the whole object of a file for Linux that is stored as it is.
func whole(t testing.TB, f *releasetest.Folder, path string) string {
	t.Helper()
	return release.ObjectOf([]byte(sets(1)["Linux-x64"][path])).Path()
}

// TestTrustRoot takes a folder that the named root vouches for, by a rotation of its keys too.
func TestTrustRoot(t *testing.T) {
	t.Parallel()
	f := published(t, standard(1))
	set := releaseSettings(f)
	set.Release.TrustRoot = filepath.Join(t.TempDir(), "root.json")
	if err := os.WriteFile(set.Release.TrustRoot, f.Repo.Root(), 0o644); err != nil {
		t.Fatal(err)
	}
	key, err := trust.GenerateKey(false)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := f.Repo.DraftRoot(trust.RootPlan{trust.RoleTargets: {Keys: []trust.PublicKey{key.Public()}}})
	for _, k := range f.Keys {
		if err == nil {
			draft, err = trust.SignRoot(draft, k)
		}
	}
	f.Keys = append(f.Keys, key)
	if err == nil {
		err = f.Repo.InstallRoot(draft, f.Keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	publish(t, f, standard(2))
	c, err := catalogue.Open(context.Background(), set, (&house{log: &logBook{}}).logger())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Compatibility() != "compat-2" {
		t.Error(c.Compatibility())
	}
}

// TestDescriptorsOfAReleaseFolder counts the files that are open for answers over HTTP.
func TestDescriptorsOfAReleaseFolder(t *testing.T) {
	t.Parallel()
	set := releaseSettings(published(t, standard(1)))
	set.Limits.Connections, set.Limits.HTTPConnections = 100, 5000
	h := open(t, set)
	t.Cleanup(h.Close)
	h.WarnOf(6000)
	if strings.Contains(h.log.String(), "allows fewer open files") {
		t.Errorf("enough are too few:\n%s", h.log)
	}
	h.WarnOf(5000)
	h.log.has(t, "warn", "The system allows fewer open files", `"allowed":5000`)
}
