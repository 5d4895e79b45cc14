package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// TestBand: a band sees changes in its own lines only.
func TestBand(t *testing.T) {
	const headerSize, colours, height, lineSize = 104, 2, 6, 16
	h := [25]uint32{0: headerSize, 5: height, 12: lineSize, 19: colours}
	var dump bytes.Buffer
	if err := binary.Write(&dump, binary.BigEndian, h); err != nil {
		t.Fatal(err)
	}
	start := headerSize + 12*colours
	dump.Write(make([]byte, start+height*lineSize-dump.Len()))
	name := filepath.Join(t.TempDir(), "screen")
	if err := os.WriteFile(name, dump.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := openBand(name, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer b.frame.Close()
	for line, want := range []bool{false, false, true, true, true, false} {
		for _, at := range []int{0, lineSize - 1} {
			changed := bytes.Clone(dump.Bytes())
			changed[start+line*lineSize+at] = 1
			if err := os.WriteFile(name, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := b.changed(); got != want || err != nil {
				t.Errorf("byte %d of line %d: %v, %v; want %v", at, line, got, err, want)
			}
		}
	}
	if _, err := openBand(name, 4, 3); err == nil {
		t.Error("a line below the screen was taken")
	}
}
