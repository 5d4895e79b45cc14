package netproto_test

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto"
)

// TestObjectNames is the table of PROTOCOL.md, with similar invalid names.
func TestObjectNames(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for name, want := range map[string]bool{
		"metadata/timestamp.json":                       true,
		"metadata/1.root.json":                          true,
		"metadata/9007199254740991.targets.json":        true,
		"metadata/10.snapshot.json":                     true,
		"releases/" + sum + ".release":                  true,
		"objects/01/" + sum:                             true,
		"sequels/" + sum + ".sequel":                    true,
		"sequels/" + sum:                                false,
		"sequels/" + sum[:2] + "/" + sum + ".sequel":    false,
		"sequels/" + sum[1:] + ".sequel":                false,
		"":                                              false,
		"/metadata/timestamp.json":                      false,
		"metadata":                                      false,
		"metadata/":                                     false,
		"metadata/root.json":                            false,
		"metadata/0.root.json":                          false,
		"metadata/01.root.json":                         false,
		"metadata/-1.root.json":                         false,
		"metadata/1.timestamp.json":                     false,
		"metadata/1.root.json.unverified":               false,
		"metadata/1.mirrors.json":                       false,
		"metadata/1.root.json/":                         false,
		"metadata/12345678901234567.root.json":          false,
		"metadata/../metadata/timestamp.json":           false,
		"Metadata/timestamp.json":                       false,
		"releases/" + sum:                               false,
		"releases/" + sum[1:] + ".release":              false,
		"releases/" + strings.ToUpper(sum) + ".release": false,
		"releases/x/" + sum + ".release":                false,
		"objects/" + sum:                                false,
		"objects/02/" + sum:                             false,
		"objects/01/" + sum + "0":                       false,
		"objects/01/" + sum + "/":                       false,
		"objects/01/" + sum[:63] + "G":                  false,
		"objects/01/../01/" + sum:                       false,
		"objects//" + sum:                               false,
		"Resources/Core.zip":                            false,
		".collet-server/" + sum:                         false,
		"objects/01/" + sum[:62] + "\x00a":              false,
	} {
		if netproto.IsObjectName(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
		if want && len(name) > netproto.MaxObjectName {
			t.Errorf("%q has %d bytes", name, len(name))
		}
	}
}

// TestLongObjectNames are refused on both sides.
func TestLongObjectNames(t *testing.T) {
	if _, err := netproto.EncodeFrame(netproto.C1, 0, 0, &netproto.GetObject{Name: strings.Repeat("a", netproto.MaxObjectName+1)}); err == nil {
		t.Error("a long name was written")
	}
	data, err := netproto.EncodeFrame(netproto.C1, 0, 0, &netproto.GetObject{Name: strings.Repeat("a", netproto.MaxObjectName)})
	if err != nil {
		t.Fatal(err)
	}
	longer := append(bytes.Clone(data), 'a')
	longer[4]++
	longer[9+4]++
	_, err = netproto.DecodeFrame(netproto.C1, 0, 0, netproto.DefaultServerLimits(), longer)
	wantFault(t, err, netproto.IDGetObject, "name")
}

// FuzzObjectName lets no name pass that leads out of a folder or means two files.
func FuzzObjectName(f *testing.F) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, name := range []string{"metadata/timestamp.json", "metadata/1.root.json", "objects/01/" + sum, "releases/" + sum + ".release", "sequels/" + sum + ".sequel", "metadata/../x", "objects/01/..", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !netproto.IsObjectName(name) {
			return
		}
		if path.Clean(name) != name || !filepath.IsLocal(name) || len(name) > netproto.MaxObjectName || strings.ToLower(name) != name {
			t.Fatalf("%q passes", name)
		}
	})
}
