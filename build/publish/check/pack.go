package check

import (
	"archive/zip"
	"io"
	"strings"
)

// PackExt is the extension of packs.
const PackExt = ".zip"

// IsPack reports whether a file is a pack, by its name.
func IsPack(name string) bool {
	return len(name) > len(PackExt) && strings.EqualFold(name[len(name)-len(PackExt):], PackExt)
}

// Pack returns what is wrong with a pack of size bytes; nil if its table of contents can be read. Only the table is read.
func Pack(name string, r io.ReaderAt, size int64) *Fault {
	if _, err := zip.NewReader(r, size); err != nil {
		return &Fault{What: name + " can't be opened as a zip archive", Want: "pack it anew, or give it another extension if it is none"}
	}
	return nil
}
