package location_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/release/location"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	sum    = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	object = "objects/2c/" + sum
	head   = "releases/" + sum + ".release"
	stamp  = "metadata/timestamp.json"
)

func TestURLs(t *testing.T) {
	for _, c := range []struct{ address, text, host, object, stamp, manifest string }{
		{"https://me:pw@cdn.example.org/games/lathe/", "https://cdn.example.org/games/lathe/", "cdn.example.org",
			"https://me:pw@cdn.example.org/games/lathe/" + object, "https://me:pw@cdn.example.org/games/lathe/" + stamp, ""},
		{"http://h:1", "http://h:1", "h:1", "http://h:1/" + object, "http://h:1/" + stamp, ""},
		{"github://Lathe-Team/lathe.game", "github://Lathe-Team/lathe.game?tag=collet", "github.com",
			"https://github.com/Lathe-Team/lathe.game/releases/download/collet/objects.2c." + sum,
			"https://github.com/Lathe-Team/lathe.game/releases/download/collet/metadata.timestamp.json", ""},
		{"github://o/r?tag=v1&endpoint=ghe.example.org", "github://o/r?endpoint=ghe.example.org&tag=v1", "ghe.example.org",
			"https://ghe.example.org/o/r/releases/download/v1/objects.2c." + sum, "https://ghe.example.org/o/r/releases/download/v1/metadata.timestamp.json", ""},
		{"github://o/r?endpoint=http://127.0.0.1:1", "github://o/r?endpoint=http%3A%2F%2F127.0.0.1%3A1&tag=collet", "127.0.0.1:1",
			"http://127.0.0.1:1/o/r/releases/download/collet/objects.2c." + sum, "http://127.0.0.1:1/o/r/releases/download/collet/metadata.timestamp.json", ""},
		{"oci://ghcr.io/team/lathe", "oci://ghcr.io/team/lathe:collet", "ghcr.io",
			"https://ghcr.io/v2/team/lathe/blobs/sha256:" + sum, "", "https://ghcr.io/v2/team/lathe/manifests/collet"},
		{"oci://ghcr.io/team/lathe:beta?plain-http", "oci://ghcr.io/team/lathe:beta?plain-http", "ghcr.io",
			"http://ghcr.io/v2/team/lathe/blobs/sha256:" + sum, "", "http://ghcr.io/v2/team/lathe/manifests/beta"},
		{"oci://localhost:5000/lathe", "oci://localhost:5000/lathe:collet", "localhost:5000",
			"http://localhost:5000/v2/lathe/blobs/sha256:" + sum, "", "http://localhost:5000/v2/lathe/manifests/collet"},
		{"oci://[::1]:5000/lathe", "oci://[::1]:5000/lathe:collet", "[::1]:5000",
			"http://[::1]:5000/v2/lathe/blobs/sha256:" + sum, "", "http://[::1]:5000/v2/lathe/manifests/collet"},
		{"oci://10.0.0.1/lathe?plain-http=false", "oci://10.0.0.1/lathe:collet", "10.0.0.1",
			"https://10.0.0.1/v2/lathe/blobs/sha256:" + sum, "", "https://10.0.0.1/v2/lathe/manifests/collet"},
	} {
		at, err := location.Parse(c.address)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		url := func(name string) string {
			if u := at.FileURL(name); u != nil {
				return u.String()
			}
			return ""
		}
		manifest := ""
		if u := at.ManifestURL(); u != nil {
			manifest = u.String()
		}
		if at.String() != c.text || at.Host != c.host || url(object) != c.object || url(stamp) != c.stamp || manifest != c.manifest {
			t.Errorf("%s: %s, %s, %s, %s, %s", c.address, at, at.Host, url(object), url(stamp), manifest)
		}
		if at.Kind == location.Registry && url(head) != c.object {
			t.Errorf("%s: a head is at %s", c.address, url(head))
		}
		if at.Kind == location.Registry && url("sequels/"+sum+".sequel") != "" {
			t.Errorf("%s has a URL for a sequel", c.address)
		}
		if again, err := location.Parse(at.String()); err != nil || again.String() != at.String() {
			t.Errorf("%s: its text gives %s, %v", c.address, again, err)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"": "want http://HOST/PATH", "here": "want http://HOST/PATH", "ftp://h/x": "want http://HOST/PATH", "http:///x": "want http://HOST/PATH",
		"http://h/?q=secret": "want http://HOST/PATH", "http://h/?": "want http://HOST/PATH", "http://h/#f": "want http://HOST/PATH",
		"http://me:secret@h/%zz": "want http://HOST/PATH", "http://h/" + strings.Repeat("x", 1024): "want http://HOST/PATH",
		"github://o": "want github://OWNER/REPO", "github://o/r/x": "want github://OWNER/REPO", "github://o/r?tag=": "want github://OWNER/REPO",
		"github://o/r?tag=a&tag=b": "want github://OWNER/REPO", "github://o/r?tags=a": "want github://OWNER/REPO", "github://o/r?tag=a/b": "want github://OWNER/REPO",
		"github://me:secret@o/r": "want github://OWNER/REPO", "github://o/r?endpoint=ftp://h": "want github://OWNER/REPO",
		"github://o/r?endpoint=h/x": "want github://OWNER/REPO", "github://o/r?endpoint=": "want github://OWNER/REPO",
		"oci://h": "want oci://HOST", "oci://h/": "want oci://HOST", "oci://h/UPPER": "lower-case", "oci://h/a//b": "want oci://HOST", "oci://h/r:": "want oci://HOST",
		"oci://h/r:a/b": "want oci://HOST", "oci://h/r@sha256:" + sum: "want oci://HOST", "oci://me:secret@h/r": "want oci://HOST",
		"oci://h/r?plain-http=perhaps": "want oci://HOST", "oci://h/r?insecure": "want oci://HOST", "oci://h/r:" + strings.Repeat("x", 101): "want oci://HOST",
	} {
		_, err := location.Parse(address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}

func TestAssets(t *testing.T) {
	for _, name := range []string{object, head, stamp, "metadata/12.root.json", "metadata/3.targets.json", "metadata/3.snapshot.json", stamp + ".new", "sequels/" + sum + ".sequel"} {
		asset := location.AssetName(name)
		if back, found := location.AssetFile(asset); !found || back != name {
			t.Errorf("%s is %s, and that is %s", name, asset, back)
		}
	}
	for _, asset := range []string{"Lathe-1.2-setup.exe", "releases.txt", "metadata.zip", "objects.2c." + sum + ".zip", "objects." + sum, "sequels." + sum} {
		if name, found := location.AssetFile(asset); found {
			t.Errorf("%s counts as %s", asset, name)
		}
	}
}

func files() []location.File {
	return []location.File{
		{Name: object, Sum: sum, Size: 5}, {Name: head, Sum: sum, Size: 5}, {Name: stamp, Sum: sum, Size: 5, Data: []byte("hello")},
		{Name: "metadata/1.root.json", Sum: sum, Size: 5},
	}
}

// TestManifestGolden compares a manifest with its golden file. A change of it is a new format.
func TestManifestGolden(t *testing.T) {
	data, err := location.EncodeManifest(files())
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	if err := json.Indent(&shown, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "manifest.json")
	if *update {
		if err := os.WriteFile(name, shown.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(shown.Bytes(), want) {
		t.Errorf("%v\n%s", err, shown.Bytes())
	}
	back, err := location.DecodeManifest(want)
	if err != nil || !reflect.DeepEqual(back, files()) {
		t.Errorf("%v\n%+v", err, back)
	}
}

func TestBadManifests(t *testing.T) {
	good, err := location.EncodeManifest(files())
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string][2]string{
		"another artefact":       {"application/vnd.collet.release.v1", "application/x"},
		"another digest":         {"sha256:2cf2", "sha512:2cf2"},
		"a short digest":         {"sha256:2cf2", "sha256:"},
		"a negative size":        {`"size":5`, `"size":-5`},
		"more data than it says": {`"size":5,"data"`, `"size":4,"data"`},
		"no name":                {"metadata/1.root.json", ""},
		"a long name":            {"metadata/1.root.json", strings.Repeat("x", 129)},
		"no JSON":                {"{", "["},
		"no base64":              {"aGVsbG8=", "?"},
	} {
		bad := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(bad, good) {
			t.Errorf("%s: nothing to change", what)
		}
		if list, err := location.DecodeManifest(bad); err == nil {
			t.Errorf("%s: %+v", what, list)
		}
	}
	if _, err := location.DecodeManifest(make([]byte, location.MaxManifest+1)); err == nil {
		t.Error("too long")
	}
	if _, err := location.EncodeManifest(make([]location.File, location.MaxFiles+1)); err == nil {
		t.Error("too many")
	}
}

func FuzzDecodeManifest(f *testing.F) {
	good, err := location.EncodeManifest(files())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := location.DecodeManifest(data)
		if err != nil {
			return
		}
		for _, file := range list {
			if file.Name == "" || len(file.Sum) != 64 || file.Size < 0 || len(file.Data) > location.MaxEmbedded {
				t.Errorf("%+v", file)
			}
		}
	})
}

func TestSignedAddresses(t *testing.T) {
	const address = "https://me:pw@cdn.example.org/games/lathe?sv=1&sig=a%2Fb%3D"
	if _, err := location.Parse(address); err == nil {
		t.Error("a list for everybody may have a signature")
	}
	at, err := location.ParsePrivate(address)
	if err != nil {
		t.Fatal(err)
	}
	if got := at.FileURL(stamp).String(); got != "https://me:pw@cdn.example.org/games/lathe/"+stamp+"?sv=1&sig=a%2Fb%3D" {
		t.Errorf("a file is at %s", got)
	}
	for _, shown := range []string{at.String(), location.Shown(address)} {
		if shown != "https://cdn.example.org/games/lathe" {
			t.Errorf("it is shown as %s", shown)
		}
	}
	if shown := location.Shown("https://me:pw@h/%zz?sig=x"); strings.Contains(shown, "pw") || strings.Contains(shown, "sig") {
		t.Errorf("what can't be read is shown as %s", shown)
	}
	if !at.HasSignature() || !at.IsSafe() {
		t.Error("it has a signature, and is encrypted")
	}
	for _, wrong := range []string{"https://h/?" + strings.Repeat("x", 5000), "https://h/?a#f", "github://o/r?sig=1", "oci://h/r?sig=1"} {
		if _, err := location.ParsePrivate(wrong); err == nil || strings.Contains(err.Error(), "sig") {
			t.Errorf("%.40s: %v", wrong, err)
		}
	}
}

func TestOrigin(t *testing.T) {
	for address, want := range map[string]struct {
		origin string
		safe   bool
	}{
		"https://CDN.example.org/a?b":   {"https://cdn.example.org:443", true},
		"http://cdn.example.org":        {"http://cdn.example.org:80", false},
		"http://cdn.example.org:8080/x": {"http://cdn.example.org:8080", false},
		"http://127.0.0.1:1/x":          {"http://127.0.0.1:1", true},
		"http://localhost":              {"http://localhost:80", true},
		"http://[::1]:1/":               {"http://[::1]:1", true},
		"http://localhost.example.org/": {"http://localhost.example.org:80", false},
		"oci://ghcr.io/team/lathe":      {"https://ghcr.io:443", true},
		"github://o/r":                  {"https://github.com:443", true},
	} {
		at, err := location.ParsePrivate(address)
		if err != nil || at.Origin() != want.origin || at.IsSafe() != want.safe {
			t.Errorf("%s: %s, %v, %v", address, at.Origin(), at.IsSafe(), err)
		}
	}
}
