package pe

import (
	"bytes"
	"encoding/binary"
	"errors"
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

// TestPlaceKeepsWhatFollows: bytes behind the last section belong to no section, and must stay.
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

// middleImage is a PE32+ file with resources between two other sections, and with so many that its headers have no room for another.
func middleImage(t *testing.T, sections int) []byte {
	t.Helper()
	const headers, table = 0x400, 0x58 + 240
	image := make([]byte, headers+0x200*sections)
	copy(image, tinyImage()[:table])
	binary.LittleEndian.PutUint16(image[0x46:], uint16(sections))
	o := image[0x58:]
	binary.LittleEndian.PutUint32(o[56:], uint32(0x1000*(sections+1)))
	binary.LittleEndian.PutUint32(o[60:], headers)
	binary.LittleEndian.PutUint32(o[112+2*8:], 0x2000) // resources
	binary.LittleEndian.PutUint32(o[112+2*8+4:], 0x200)
	binary.LittleEndian.PutUint32(o[112+5*8:], 0x3000) // relocations: not behind everything else
	for i := range sections {
		section := image[table+40*i:]
		copy(section, []string{".text", ".rsrc", ".reloc", ".debug"}[min(i, 3)])
		for at, value := range map[int]int{8: 0x200, 12: 0x1000 * (i + 1), 16: 0x200, 20: headers + 0x200*i} {
			binary.LittleEndian.PutUint32(section[at:], uint32(value))
		}
		if i != 1 { // an empty directory of resources
			copy(image[headers+0x200*i:], bytes.Repeat([]byte{byte('a' + i)}, 0x200))
		}
	}
	return image
}

// TestPlaceInTheMiddle: resources that can't grow where they are get a section at the end, if there is room to name it, and
// nothing is written twice.
func TestPlaceInTheMiddle(t *testing.T) {
	set := &winres.ResourceSet{}
	if err := set.Set(winres.RT_RCDATA, winres.ID(1), 0, make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	for sections, fits := range map[int]bool{4: true, 16: true, 17: false} {
		image := append(middleImage(t, sections), "an overlay"...)
		h, err := parse(image)
		if err != nil {
			t.Fatal(err)
		}
		done, err := h.place(image, set)
		if !fits && errors.Is(err, NoRoom) {
			continue
		}
		if err != nil || !fits {
			t.Fatalf("%d sections: %v", sections, err)
		}
		if n := bytes.Count(done, bytes.Repeat([]byte("d"), 0x200)); n != 1 {
			t.Errorf("the fourth of %d sections is in it %d times", sections, n)
		}
		if len(done) > len(image)+5000+2*0x200+0x200 || !bytes.HasSuffix(done, []byte("an overlay")) {
			t.Errorf("%d sections: %d bytes became %d", sections, len(image), len(done))
		}
	}
}
