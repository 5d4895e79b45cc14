package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"collet/build/qa/screen"
)

// TestBand: a band sees changes in its own lines only. Lines that the screen does not have, and a file that is no dump, are refused.
func TestBand(t *testing.T) {
	const headerSize, colours, width, height, lineSize = 104, 2, 4, 6, 16
	h := [25]uint32{headerSize, 7, 2, 24, width, height, 11: 32, 12: lineSize, 14: 0xff0000, 15: 0xff00, 16: 0xff, 19: colours} // XWDFile.h of X.Org
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
	for _, lines := range [][2]int{{-1, 1}, {0, 0}, {0, height + 1}, {height, 1}, {4, 3}} {
		if b, err := openBand(name, lines[0], lines[1]); err == nil {
			b.frame.Close()
			t.Errorf("lines %v were taken", lines)
		}
	}
	if err := os.WriteFile(name, make([]byte, dump.Len()), 0o600); err != nil {
		t.Fatal(err)
	}
	var fault *screen.XWDError
	if _, err := openBand(name, 0, 1); !errors.As(err, &fault) {
		t.Errorf("no dump: %v", err)
	}
}
