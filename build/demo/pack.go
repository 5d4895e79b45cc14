package demo

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"hash/crc32"
	"os"
	"slices"
)

const (
	// zipDate is 1 January 1980, the first day that a zip can say. All entries have it, so that packs never differ by
	// when they were made.
	zipDate = 1<<5 | 1
	// zipVersion is the version of the format that an entry which is stored and not compressed needs: 1.0.
	zipVersion = 10
	// zipUTF8 is the flag of names that are UTF-8.
	zipUTF8 = 1 << 11
)

// entry is one file of a pack.
type entry struct {
	name string // slash-separated
	data []byte
}

// writePack writes a zip whose bytes depend on nothing but the entries: sorted, stored without compression (packs are
// compressed in transit), with one pinned date, and with sizes and checksums in front of the data, so that a simple
// reader can go through it.
func writePack(path string, entries []entry) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(encodePack(buffered, entries), buffered.Flush(), f.Close())
}

func encodePack(buffered *bufio.Writer, entries []entry) error {
	w := zip.NewWriter(buffered)
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, e := range sorted {
		size := uint64(len(e.data))
		raw, err := w.CreateRaw(&zip.FileHeader{
			Name: e.name, Method: zip.Store, Flags: zipUTF8,
			//lint:ignore SA1019 CreateRaw writes this field as it stands and ignores the newer one.
			ModifiedDate:   zipDate,
			CreatorVersion: zipVersion, ReaderVersion: zipVersion,
			CRC32: crc32.ChecksumIEEE(e.data), CompressedSize64: size, UncompressedSize64: size,
		})
		if err != nil {
			return err
		}
		if _, err := bytes.NewReader(e.data).WriteTo(raw); err != nil {
			return err
		}
	}
	return w.Close()
}
