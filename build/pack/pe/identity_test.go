package pe_test

import (
	"bytes"
	"image/png"
	"testing"

	"collet/build/pack/pe"
)

// TestReadIdentity reads back what SetResources writes, and what a resource compiler does.
func TestReadIdentity(t *testing.T) {
	bare := mingw(t, "", "-s")
	if id, err := pe.ReadIdentity(bytes.NewReader(bare)); err != nil || id != (pe.Identity{}) {
		t.Errorf("without resources: %+v, %v", id, err)
	}
	packed, err := pe.SetResources(bare, lathe(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := pe.ReadIdentity(bytes.NewReader(packed))
	if err != nil || id.Name != lathe(t).Name || id.Publisher != "Example Games" || id.Version != "1.4.2" {
		t.Errorf("%+v, %v", id, err)
	}
	want, err := png.Decode(bytes.NewReader(square(t, 256)))
	if err != nil {
		t.Fatal(err)
	}
	if id.Icon == nil || id.Icon.Bounds() != want.Bounds() || id.Icon.At(3, 200) != want.At(3, 200) {
		t.Errorf("the icon differs from the one that was set")
	}
	if _, err := pe.ReadIdentity(bytes.NewReader(packed[:len(packed)/2])); err == nil {
		t.Error("half a program has an identity")
	}
}

// FuzzReadIdentity: a damaged program gives an error or a harmless identity.
func FuzzReadIdentity(f *testing.F) {
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := pe.ReadIdentity(bytes.NewReader(data))
		if err != nil && id.Icon != nil {
			t.Error("an error with an icon")
		}
	})
}
