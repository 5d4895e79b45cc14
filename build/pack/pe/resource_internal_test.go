package pe

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/tc-hib/winres"
)

// FuzzPlace: headers of all kinds cost neither the process nor more memory than resources may take.
func FuzzPlace(f *testing.F) {
	set := &winres.ResourceSet{}
	if err := set.Set(winres.RT_RCDATA, winres.ID(1), 0, []byte("some bytes")); err != nil {
		f.Fatal(err)
	}
	f.Add(tinyImage())
	f.Fuzz(func(t *testing.T, image []byte) {
		h, err := parse(image)
		if err != nil {
			return
		}
		if kept, err := existing(image); err == nil && kept == nil {
			t.Error("neither resources nor an error")
		}
		if out, err := h.place(image, set); err == nil && len(out) > 2*len(image)+maxResources {
			t.Errorf("%d bytes became %d", len(image), len(out))
		}
	})
}

// tinyImage is a PE32+ file with one section and sixteen empty data directories.
func tinyImage() []byte {
	image := make([]byte, 0x600)
	copy(image, "MZ")
	image[peOffset] = 0x40
	copy(image[0x40:], "PE\x00\x00\x64\x86\x01")
	binary.LittleEndian.PutUint16(image[0x40+20:], 240)
	o := image[0x58:]
	binary.LittleEndian.PutUint16(o, magic64)
	for at, value := range map[int]uint32{32: 0x1000, 36: 0x200, 56: 0x2000, 60: 0x200, 108: 16} {
		binary.LittleEndian.PutUint32(o[at:], value)
	}
	section := o[240:]
	copy(section, ".text")
	for at, value := range map[int]uint32{8: 0x400, 12: 0x1000, 16: 0x400, 20: 0x200} {
		binary.LittleEndian.PutUint32(section[at:], value)
	}
	return image
}

// TestPlaceKeepsWhatFollows: bytes behind the last section are no section's, and still somebody's.
func TestPlaceKeepsWhatFollows(t *testing.T) {
	image := append(tinyImage(), "an overlay"...)
	set := &winres.ResourceSet{}
	if err := set.Set(winres.RT_RCDATA, winres.ID(1), 0, []byte("some bytes")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once a section is added, and once it grows
		h, err := parse(image)
		if err != nil {
			t.Fatal(err)
		}
		if image, err = h.place(image, set); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(image, []byte("an overlay")) {
			t.Fatalf("it ends in %q", image[len(image)-20:])
		}
		if err := set.Set(winres.RT_RCDATA, winres.ID(2), 0, make([]byte, 5000)); err != nil {
			t.Fatal(err)
		}
	}
}
