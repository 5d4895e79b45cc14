package screen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// Band detects changes in some lines of a Screen, at a low enough cost for a thousand checks a second. It is not safe for concurrent use.
// Close it.
type Band struct {
	frame  *os.File
	offset int64
	first  []byte
	now    []byte
}

// WatchBand records the current content of the given lines.
func (s *Screen) WatchBand(from, lines int) (*Band, error) {
	f, err := os.Open(s.Frame())
	if err != nil {
		return nil, err
	}
	b := &Band{frame: f}
	if err := b.remember(from, lines); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

func (b *Band) remember(from, lines int) error {
	var h xwdHeader
	if err := binary.Read(b.frame, binary.BigEndian, &h); err != nil {
		return err
	}
	if reason := h.fault(); reason != "" {
		return &XWDError{reason}
	}
	if from < 0 || lines < 1 || from+lines > int(h.Height) {
		return fmt.Errorf("lines %d to %d of a screen with %d", from, from+lines, h.Height)
	}
	b.offset = int64(4*xwdWords) + h.skip() + int64(from)*int64(h.BytesPerLine)
	b.first, b.now = make([]byte, lines*int(h.BytesPerLine)), make([]byte, lines*int(h.BytesPerLine))
	_, err := b.frame.ReadAt(b.first, b.offset)
	return err
}

// Changed reports whether the lines differ from the recorded ones.
func (b *Band) Changed() (bool, error) {
	_, err := b.frame.ReadAt(b.now, b.offset)
	return !bytes.Equal(b.now, b.first), err
}

// Close closes the screen's file.
func (b *Band) Close() error { return b.frame.Close() }
