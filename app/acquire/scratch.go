package acquire

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path"

	"collet/app/download"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/span"
)

// scratchFileName has the contents that a set patch without digests made, until they are copied to the install. It is never synced. A
// leftover of an earlier process is removed at the next start: the patch is in the spool, and applying it again takes less than a
// second.
const scratchFileName = "made" + release.UnverifiedSuffix

// copyPage is how many bytes are copied at once.
const copyPage = 256 << 10

// scratchFile has the new contents of a set patch, concatenated in a file. It is their delta.SetSink. Once the listing has verified the
// contents, find returns the range of each.
type scratchFile struct {
	fs   platform.FS
	name string
	file platform.File
	out  *bufio.Writer
	list []delta.SetContent
	ends []int64
	at   map[release.Digest]download.Range // set once the contents are verified
}

// createScratch creates the scratch file for contents in a folder, in place of the one before.
func createScratch(fs platform.FS, folder string, list []delta.SetContent) (*scratchFile, error) {
	m := &scratchFile{fs: fs, name: path.Join(folder, scratchFileName), list: list}
	end := int64(0)
	for _, c := range list {
		end += c.Size
		m.ends = append(m.ends, end)
	}
	var err error
	if m.file, err = m.fs.OpenFile(m.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
		return nil, err
	}
	m.out = bufio.NewWriterSize(m.file, copyPage)
	return m, nil
}

// Begin implements delta.SetSink. Contents arrive in order and with their sizes, so each follows the one before.
func (m *scratchFile) Begin(int) (io.Writer, error) { return m.out, nil }

// End implements delta.SetSink.
func (m *scratchFile) End(int) error { return nil }

// recordVerified records the ranges of verified contents by their digests.
func (m *scratchFile) recordVerified(list []delta.SetContent) error {
	m.at = map[release.Digest]download.Range{}
	for i, c := range list {
		m.at[c.Sum] = span.Of(m.ends[i]-c.Size, m.ends[i])
	}
	return m.out.Flush()
}

// find returns the range of a content. A nil scratch file is empty.
func (m *scratchFile) find(sum release.Digest) (download.Range, bool) {
	if m == nil {
		return download.Range{}, false
	}
	r, found := m.at[sum]
	return r, found
}

// drop removes the file.
func (m *scratchFile) drop() error {
	if m == nil {
		return nil
	}
	return errors.Join(m.file.Close(), platform.RemoveIfThere(m.fs, m.name))
}
