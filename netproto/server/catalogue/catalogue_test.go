package catalogue_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// listing is a catalogue as "target/path" in the order of the index.
func listing(c *catalogue.Catalogue) []string {
	var names []string
	for e := range c.Entries() {
		names = append(names, e.Target+"/"+e.Path)
	}
	return names
}

func TestCatalogueOrder(t *testing.T) {
	files := fixture()
	files["Resources/Embedded.zip"] = "linked into the client"
	files["Resources/nested/Deep.zip"] = "below"
	binaries := []string{
		"Android-arm64/libmain.so", "Linux-x64/FoGame.so", "Linux-x64/FoGame.so.pdb",
		"Windows-win64/FoGame.dll", "macOS-arm64/FoGame.debuginfo",
	}
	tests := []struct {
		name    string
		entries []string
		want    []string
	}{
		{"no list: every pack, sorted, Embedded left out", nil, []string{"/Core.zip", "/Textures.zip", "/Tiny.zip"}},
		{"a list keeps its order and skips Embedded", []string{"Tiny", "Embedded", "Core"}, []string{"/Tiny.zip", "/Core.zip"}},
		{"an entry may lie in a folder", []string{"nested/Deep"}, []string{"/nested/Deep.zip"}},
		{"an empty list offers no packs", []string{}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := config.ForFolder(pack(t, files), compatibility)
			set.Baking.ClientResourceEntries = test.entries
			c, err := catalogue.Open(t.Context(), set, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := listing(c), append(test.want, binaries...); !reflect.DeepEqual(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
			if got := c.Targets(); !reflect.DeepEqual(got, []string{"Android-arm64", "Linux-x64", "Windows-win64", "macOS-arm64"}) {
				t.Errorf("targets %q", got)
			}
		})
	}
}

func TestCatalogueDigests(t *testing.T) {
	pattern := make([]byte, 700_001) // more than two buffers, and not a multiple of one
	for i := range pattern {
		pattern[i] = byte(i % 251)
	}
	files := map[string]string{"Resources/A.zip": string(pattern), "Resources/B.zip": "", "Resources/C.zip": "foobar"}
	for _, inMemory := range []bool{false, true} {
		set := config.ForFolder(pack(t, files), compatibility)
		set.ServerNetwork.UpdateFilesInMemory = inMemory
		c, err := catalogue.Open(t.Context(), set, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		for e := range c.Entries() {
			content := []byte(files["Resources/"+e.Path])
			sum := fnv.New64a()
			sum.Write(content)
			if e.FNV != sum.Sum64() || e.Digest != release.SHA256Digest(sha256.Sum256(content)) || e.Size != int64(len(content)) {
				t.Errorf("%s: %s", c.Storage(), fmt.Sprint(e))
			}
		}
		if c.Bytes() != 700_007 || c.Compatibility() != compatibility {
			t.Errorf("%d bytes of %q", c.Bytes(), c.Compatibility())
		}
	}
}

func TestFoobarHasTheReferencesDigest(t *testing.T) {
	c, err := catalogue.Open(t.Context(), config.ForFolder(pack(t, map[string]string{"Resources/A.zip": "foobar"}), "v"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	for e := range c.Entries() {
		if e.FNV != 0x85944171f73967e8 { // as the engine's own client computed it
			t.Errorf("got %x", e.FNV)
		}
	}
}

func TestCatalogueFaults(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		set   func(*config.Settings)
		where string // part of the path that is blamed
		want  string
	}{
		{"no resources", map[string]string{"x": ""}, nil, "Resources", "create the folder"},
		{"missing pack", map[string]string{"Resources/A.zip": ""},
			func(s *config.Settings) { s.Baking.ClientResourceEntries = []string{"A", "B"} }, "B.zip", `take "B" out of Baking.ClientResourceEntries`},
		{"folder for a pack", map[string]string{"Resources/A.zip/x": ""},
			func(s *config.Settings) { s.Baking.ClientResourceEntries = []string{"A"} }, "A.zip", "is a folder"},
		{"folder in a target", map[string]string{"Resources/A.zip": "", "PlatformBinaries/Linux-x64/sub/x.so": ""}, nil,
			"sub", "is a folder; only files that lie directly in the target's folder can be offered"},
		{"file beside targets", map[string]string{"Resources/A.zip": "", "PlatformBinaries/FoGame.so": ""}, nil,
			"FoGame.so", "into a folder named after their target"},
		{"a program", map[string]string{"Resources/A.zip": "", "PlatformBinaries/Linux-x64/FoGame.program": "{}"}, nil,
			"FoGame.program", "is the description of a program, of which every file can be code; publish the game"},
		{"unfinished file", map[string]string{"Resources/A.zip": "", "PlatformBinaries/Linux-x64/~x.so": ""}, nil,
			"Linux-x64", "marks unfinished files"},
		{"names that differ by case", map[string]string{"Resources/A.zip": "", "PlatformBinaries/Linux-x64/a.zip": ""}, nil,
			"Linux-x64", "same file"},
		{"device name", map[string]string{"Resources/A.zip": "", "Resources/con.zip": ""}, nil, "every target", "device name"},
		{"platform binaries is a file", map[string]string{"Resources/A.zip": "", "PlatformBinaries": ""}, nil, "PlatformBinaries", "set Baking.PlatformBinaries"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := config.ForFolder(pack(t, test.files), compatibility)
			if test.set != nil {
				test.set(&set)
			}
			_, err := catalogue.Open(t.Context(), set, zerolog.Nop())
			var fault *catalogue.Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a *Error", err)
			}
			if !strings.HasSuffix(fault.Path, test.where) || !strings.Contains(err.Error(), test.want) || fault.Hint == "" {
				t.Errorf("got %q about %q, want …%q…", err, fault.Path, test.want)
			}
		})
	}
}

func TestOpenRefusesSettingsThatAreWrong(t *testing.T) {
	_, err := catalogue.Open(t.Context(), config.ForFolder(t.TempDir(), ""), zerolog.Nop())
	var fault *config.Error
	if !errors.As(err, &fault) || fault.Key != "CompatibilityVersion" {
		t.Errorf("got %v", err)
	}
}

func TestUnreadableFileIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("permissions don't bind this user")
	}
	root := pack(t, fixture())
	paths := []string{filepath.Join(root, "Resources", "Core.zip"), filepath.Join(root, "PlatformBinaries", "Linux-x64", "FoGame.so")}
	for _, path := range paths {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	_, err := catalogue.Open(t.Context(), config.ForFolder(root, compatibility), zerolog.Nop())
	for _, path := range paths {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %s in it", err, path)
		}
	}
}

func TestMissingPlatformBinariesOfferPacksOnly(t *testing.T) {
	c, err := catalogue.Open(t.Context(), config.ForFolder(pack(t, map[string]string{"Resources/A.zip": "a"}), "v"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if got := listing(c); !reflect.DeepEqual(got, []string{"/A.zip"}) || len(c.Targets()) != 0 {
		t.Errorf("got %q for %q", got, c.Targets())
	}
}

func TestOpenStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := catalogue.Open(ctx, settings(t), zerolog.Nop()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOddOffersAreWarnedOf(t *testing.T) {
	files := fixture()
	files["PlatformBinaries/Linux-64/FoGame.so"] = "mistyped"
	set := config.ForFolder(pack(t, files), compatibility)
	var log logBook
	if _, err := catalogue.Open(t.Context(), set, zerolog.New(&log)); err != nil {
		t.Fatal(err)
	}
	log.has(t, "warn", "Linux-64", "No client asks for this target; did you mean Linux-x64?")
	log.has(t, "warn", "macOS-arm64", "none ends in .dylib, and none in .program")
	if strings.Contains(log.String(), "Nothing is offered") {
		t.Error("warned of an empty offer")
	}
	set = config.ForFolder(t.TempDir(), compatibility)
	set.Baking.ClientResourceEntries = []string{}
	if _, err := catalogue.Open(t.Context(), set, zerolog.New(&log)); err != nil {
		t.Fatal(err)
	}
	log.has(t, "warn", "Nothing is offered")
}

func TestDescribeShowsEveryFileAndTarget(t *testing.T) {
	c, err := catalogue.Open(t.Context(), settings(t), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.Describe(&out); err != nil {
		t.Fatal(err)
	}
	for e := range c.Entries() {
		sum, _ := e.Digest.SHA256()
		want := []string{e.Path, fmt.Sprint(e.Size), fmt.Sprintf("%016x", e.FNV), fmt.Sprintf("%x", sum)}
		if !hasLine(out.String(), want...) {
			t.Errorf("no line with %q in\n%s", want, &out)
		}
	}
	for _, want := range [][]string{
		{"Linux-x64", "5", "yes"}, {"Windows-win64", "4", "yes"}, {"Android-arm64", "store only"},
		{"macOS-arm64", "no module"}, {"any other target", "3", "no"},
	} {
		if !hasLine(out.String(), want...) {
			t.Errorf("no line with %q in\n%s", want, &out)
		}
	}
}

func hasLine(text string, parts ...string) bool {
	for line := range strings.Lines(text) {
		found := true
		for _, part := range parts {
			found = found && strings.Contains(line, part)
		}
		if found {
			return true
		}
	}
	return false
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the special files of Linux")
	}
	tests := []struct{ points, want string }{
		{"/dev/null", "is no regular file"},
		{"/proc/version", "changed while it was being read"}, // has content and says that it is empty
		{"nowhere", "no such file"},
	}
	for _, test := range tests {
		root := pack(t, fixture())
		link := filepath.Join(root, "PlatformBinaries", "Linux-x64", "Link.so")
		if err := os.Symlink(test.points, link); err != nil {
			t.Fatal(err)
		}
		_, err := catalogue.Open(t.Context(), config.ForFolder(root, compatibility), zerolog.Nop())
		var fault *catalogue.Error
		if !errors.As(err, &fault) || fault.Path != link || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.points, err)
		}
	}
}

// TestPacksInSubfoldersAreWarnedOf: the engine's clients can't install them.
func TestPacksInSubfoldersAreWarnedOf(t *testing.T) {
	set := config.ForFolder(pack(t, map[string]string{"Resources/Core.zip": "core", "Resources/maps/City.zip": "city"}), compatibility)
	for entries, warned := range map[string]bool{"Core": false, "Core maps/City": true} {
		set.Baking.ClientResourceEntries = strings.Fields(entries)
		var log logBook
		c, err := catalogue.Open(t.Context(), set, zerolog.New(&log))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "subfolder") != warned {
			t.Errorf("%s: %s", entries, &log)
		}
		if warned {
			log.has(t, "warn", "The engine's clients can't install this pack", "maps/City.zip")
		}
		c.Close()
	}
}

// TestMisspelledPacksAreLeftOut: a name in the form NFD, as some disks give it, keeps neither the server nor the other packs back.
func TestMisspelledPacksAreLeftOut(t *testing.T) {
	set := config.ForFolder(pack(t, map[string]string{"Resources/Core.zip": "core", "Resources/Cafe\u0301.zip": "nfd"}), compatibility)
	var log logBook
	c, err := catalogue.Open(t.Context(), set, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var names []string
	for e := range c.Entries() {
		names = append(names, e.Path)
	}
	if strings.Join(names, " ") != "Core.zip" {
		t.Errorf("offered %q", names)
	}
	log.has(t, "warn", "This pack is not offered", "Cafe\u0301.zip")
}
