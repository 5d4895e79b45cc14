package netproto

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"
)

// MetadataFile is the name of the file with the metadata version of an engine's client packs, in the top folder of one
// of them (docs/PROTOCOL.md).
const MetadataFile = "Metadata.fometa-client"

// MaxMetadata is the length of the longest metadata version in bytes. The engine's has 16 characters. 256 leaves room
// for a manually forced one and keeps the answer a small frame.
const MaxMetadata = 256

const (
	// metadataMagic begins the file.
	metadataMagic uint32 = 0x46444D46
	// metadataLayout is the only known version of the file's layout.
	metadataLayout uint16 = 1
	// maxDirectory is the size in bytes of the largest table of contents that is read of one pack: some 200 000 files. A
	// larger pack counts as one without a metadata version.
	maxDirectory = 32 << 20
)

// ErrNoMetadata says that a pack has no metadata version, or is no archive.
var ErrNoMetadata = errors.New("no metadata version")

// ParseMetadata reads the metadata version from the beginning of its file:
//
//	u32 magic 0x46444D46 · u16 layout 1 · u16 length · text
//
// The rest belongs to the engine. A version is text of 1 to MaxMetadata bytes.
func ParseMetadata(file []byte) (string, error) {
	const head = 4 + 2 + 2
	switch {
	case len(file) < head:
		return "", fmt.Errorf("%s: %d bytes are too few", MetadataFile, len(file))
	case binary.LittleEndian.Uint32(file) != metadataMagic:
		return "", fmt.Errorf("%s: begins with %#08x", MetadataFile, binary.LittleEndian.Uint32(file))
	case binary.LittleEndian.Uint16(file[4:]) != metadataLayout:
		return "", fmt.Errorf("%s: layout %d is unknown", MetadataFile, binary.LittleEndian.Uint16(file[4:]))
	}
	n := int(binary.LittleEndian.Uint16(file[6:]))
	if n == 0 || n > MaxMetadata || n > len(file)-head || !utf8.Valid(file[head:head+n]) {
		return "", fmt.Errorf("%s: a version of %d bytes is none", MetadataFile, n)
	}
	return string(file[head : head+n]), nil
}

// PackMetadata reads the metadata version of one pack of size bytes. ErrNoMetadata says that it has none, like most
// packs; other errors are those of a damaged file or of the disk.
func PackMetadata(pack io.ReaderAt, size int64) (string, error) {
	if !isArchive(pack, size) {
		return "", ErrNoMetadata
	}
	archive, err := zip.NewReader(pack, size)
	if errors.Is(err, zip.ErrFormat) {
		return "", ErrNoMetadata
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return "", err
	}
	f, err := archive.Open(MetadataFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoMetadata
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	const most = 4 + 2 + 2 + MaxMetadata
	beginning, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", fmt.Errorf("%s: %w", MetadataFile, err)
	}
	return ParseMetadata(beginning)
}

// isArchive reports whether the end of a file has a table of contents of at most maxDirectory bytes.
func isArchive(pack io.ReaderAt, size int64) bool {
	const tail, sizeAt = 22, 12 // of the end record without a comment, as in all packs
	var end [tail + 1<<10]byte
	n := min(size, int64(len(end)))
	if _, err := pack.ReadAt(end[:n], size-n); n < tail || err != nil && err != io.EOF {
		return false
	}
	at := bytes.LastIndex(end[:n], []byte("PK\x05\x06"))
	if at < 0 || int64(at+tail) > n {
		return false
	}
	return binary.LittleEndian.Uint32(end[at+sizeAt:]) <= maxDirectory
}
