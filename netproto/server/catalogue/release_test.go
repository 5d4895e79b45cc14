package catalogue_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/platform/testlevel"
)

// templates are the release folders with which tests begin. TestMain sets and removes them.
var templates *releasetest.Templates

func TestMain(m *testing.M) {
	var err error
	if templates, err = releasetest.NewTemplates(); err != nil {
		panic(err)
	}
	code := m.Run()
	templates.Remove()
	os.Exit(code)
}

// published is a release folder with these releases. All of them have the same keys.
func published(t testing.TB, releases ...releasetest.Release) *releasetest.Folder {
	t.Helper()
	f, err := templates.Copy(t.TempDir(), releases...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// filesOf are the files of a release folder.
func filesOf(t testing.TB, f *releasetest.Folder) map[string]string {
	t.Helper()
	all, err := f.Files()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWhichReleaseIsOffered picks, for clients that know nothing of releases, the newest that everybody is offered.
func TestWhichReleaseIsOffered(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	with := func(n int, change func(r *releasetest.Release)) releasetest.Release {
		r := releasetest.Standard(n)
		change(&r)
		return r
	}
	for name, test := range map[string]struct {
		releases []releasetest.Release
		set      func(s *config.Settings)
		want     string // compatibility, or a part of the error
	}{
		"the newest":      {[]releasetest.Release{releasetest.Standard(1), releasetest.Standard(2)}, nil, "compat-2"},
		"a rollout":       {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { r.Percent = 99 })}, nil, "compat-1"},
		"held":            {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { r.Hold = true })}, nil, "compat-1"},
		"killed":          {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { r.Killed = true })}, nil, "compat-1"},
		"another channel": {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { r.Channel = "beta" })}, nil, "compat-1"},
		"that channel": {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { r.Channel = "beta" })},
			func(s *config.Settings) { s.Release.Channel = "beta" }, "compat-2"},
		"no such channel": {[]releasetest.Release{releasetest.Standard(1)}, func(s *config.Settings) { s.Release.Channel = "nightly" }, `has no channel "nightly"; it has stable`},
		"two products": {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { r.Product = "drill" })}, nil,
			"several products in channel \"stable\"; set Release.Product to one of drill, lathe"},
		"one of two products": {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { r.Product = "drill" })},
			func(s *config.Settings) { s.Release.Product = "drill" }, "compat-2"},
		"no such product": {[]releasetest.Release{releasetest.Standard(1)}, func(s *config.Settings) { s.Release.Product = "saw" }, `has no product "saw" in channel "stable"; it has lathe`},
		"none for everybody": {[]releasetest.Release{with(1, func(r *releasetest.Release) { r.Percent = 50 })}, nil,
			""},
		"only a killed one": {[]releasetest.Release{with(1, func(r *releasetest.Release) { r.Killed = true })}, nil, ""},
		"no releases":       {nil, nil, `has no channel "stable"; it has no releases yet`},
		"targets apart": {[]releasetest.Release{releasetest.Standard(1), with(2, func(r *releasetest.Release) { delete(r.Files, "Windows-win64") })}, nil,
			`lathe/stable/Linux-x64/2 has "compat-2", lathe/stable/Windows-win64/1 has "compat-1"; publish the targets together`},
		"without compatibility": {[]releasetest.Release{with(1, func(r *releasetest.Release) { r.Compatibility = "" })}, nil, "can't be told to clients"},
	} {
		t.Run(name, func(t *testing.T) {
			set := config.ForRelease(published(t, test.releases...).Dir)
			if test.set != nil {
				test.set(&set)
			}
			c, err := catalogue.Open(t.Context(), set, zerolog.Nop())
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
			line := "Linux-x64      " + strings.TrimPrefix(test.want, "compat-") + " "
			if test.want == "" {
				line = "Linux-x64 (none for everybody)      0      0      no module"
			}
			if err := c.Describe(&table); err != nil || !strings.Contains(table.String(), line) {
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
		for n, content := range filesOf(t, f) {
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
			return f.Rewrite("metadata/2.targets.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"percent":100`), []byte(`"percent":099`), 1) })
		}, "2.targets.json: not the one that the signed list names"},
		"no list": {func(f *releasetest.Folder, s *config.Settings) error {
			return releasetest.Store(f.Dir).Remove("metadata/2.targets.json")
		}, "finish copying the release folder, timestamp.json last"},
		"no head": {func(f *releasetest.Folder, s *config.Settings) error {
			return os.RemoveAll(filepath.Join(f.Dir, "releases"))
		}, "finish copying"},
		"a changed head": {func(f *releasetest.Folder, s *config.Settings) error {
			return f.Rewrite(f.Entries()[0].Head.HeadPath(), func(b []byte) []byte { return bytes.Replace(b, []byte("compat-1"), []byte("compat-7"), 1) })
		}, "not the one that the signed list names"},
		"no objects": {func(f *releasetest.Folder, s *config.Settings) error {
			return os.RemoveAll(filepath.Join(f.Dir, "objects"))
		}, "finish copying"},
		"half an object": {func(f *releasetest.Folder, s *config.Settings) error {
			return f.Rewrite(sources(f), func(b []byte) []byte { return b[:len(b)/2] })
		}, "is not there, or not whole"},
		"no patch": {func(f *releasetest.Folder, s *config.Settings) error {
			return releasetest.Store(f.Dir).Remove(release.ObjectOf([]byte(releasetest.Standard(1).Patch)).Path())
		}, "is not there, or not whole"},
		"no changes": {func(f *releasetest.Folder, s *config.Settings) error {
			return releasetest.Store(f.Dir).Remove(release.ObjectOf([]byte(releasetest.Standard(1).Changes)).Path())
		}, "is not there, or not whole"},
		"a full cache": {func(f *releasetest.Folder, s *config.Settings) error {
			s.Release.CacheSize = 100
			return os.RemoveAll(filepath.Join(f.Dir, "plain"))
		}, "Release.CacheSize"},
		"a damaged object that is needed": {func(f *releasetest.Folder, s *config.Settings) error {
			if err := os.RemoveAll(filepath.Join(f.Dir, "plain")); err != nil {
				return err
			}
			return f.Rewrite(release.ObjectOf([]byte(releasetest.Sets(1)["Linux-x64"]["Lights.zip"])).Path(), func(b []byte) []byte { return bytes.ToUpper(b) })
		}, "another content"},
	} {
		t.Run(name, func(t *testing.T) {
			f := published(t, releasetest.Standard(1))
			set := config.ForRelease(f.Dir)
			if err := test.break_(f, &set); err != nil {
				t.Fatal(err)
			}
			c, err := catalogue.Open(t.Context(), set, zerolog.Nop())
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

// TestTrustRoot takes a folder that the named root vouches for, by a rotation of its keys too.
func TestTrustRoot(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	set := config.ForRelease(f.Dir)
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
	if err := f.Publish(releasetest.Standard(2)); err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Open(context.Background(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Compatibility() != "compat-2" {
		t.Error(c.Compatibility())
	}
}

// TestPacksBelongToARelease refuses a release of which a pack is missing or cut short.
func TestPacksBelongToARelease(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"missing": os.Remove, "cut short": func(path string) error { return os.Truncate(path, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			f := published(t, releasetest.Standard(1))
			pack, most := "", 0
			for n, content := range filesOf(t, f) {
				if strings.HasPrefix(n, "objects/") && strings.Contains(content, "pixelpixel") && len(content) > most {
					pack, most = n, len(content)
				}
			}
			if most < 200_000 {
				t.Fatalf("no pack: the largest object with pixels has %d bytes", most)
			}
			if err := spoil(filepath.Join(f.Dir, filepath.FromSlash(pack))); err != nil {
				t.Fatal(err)
			}
			if c, err := catalogue.Open(t.Context(), config.ForRelease(f.Dir), zerolog.Nop()); err == nil || !strings.Contains(err.Error(), pack) {
				t.Errorf("%v", err)
				if err == nil {
					c.Close()
				}
			}
		})
	}
}
