package deflate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"

	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// An expanded set patch is a header and a set patch (delta.SetPatch) between two expanded listings. The expanded old listing is the old
// listing and an entry for the form of each file that the header names. The expanded new listing has the forms of the rebuilt files in place
// of the files. The path of a form is that of its file with FormSuffix. Numbers are unsigned LEB128:
//
//	magic   "CX" 1      the version names the encoders of Params and the rules of scan, too
//	coded   size of the header as it lies there<<1, plus 1 if it is compressed with brotli
//	raw     size of the header, if it is compressed
//	header  SHA-256 of the expanded new listing, 32 bytes
//	        number of old forms; of each: its file's place in the old listing, less that of the one before, less 1 (at first −1);
//	        size, SHA-256 and recipe of the form
//	        number of rebuilt files; of each, in the order of their forms in the expanded new listing: size and SHA-256 of the file, and
//	        the recipe
//	patch   to the end: a set patch with sums
//
// A recipe is the number of its runs, and of each the number of streams and their parameters, a byte.
const (
	patchMagic   = "CX"
	patchVersion = 1
	// FormSuffix is what the path of a form has behind that of its file. A set with such a file gets no expanded set patch.
	FormSuffix = ".expanded"
)

// Caps of a receiver. A publisher respects them.
const (
	// maxHeader is the size of the largest header in bytes. It is held in memory.
	maxHeader = 8 << 20
	// headerWindow is brotli's largest window for a header, as a power of two.
	headerWindow = 20
	// MaxForms is the largest number of forms in an expanded set patch, of old and of new files each.
	MaxForms = 4096
	// MaxForm is the size of the largest form in bytes: 64 GiB. A form is on the disk while the patch is applied.
	MaxForm = 64 << 30
)

// form is the form of one file.
type form struct {
	file   int // of the old listing; of a new file: its form's index in the expanded new listing
	size   int64
	sum    release.Digest // of the form of an old file; of a new file itself
	recipe Recipe
}

// header is what precedes the set patch.
type header struct {
	to   release.Digest // of the expanded new listing
	olds []form
	news []form // size is that of the file
}

func (h *header) encode() []byte {
	sum := func(b []byte, d release.Digest) []byte {
		raw, _ := d.SHA256()
		return append(b, raw[:]...)
	}
	b := sum(nil, h.to)
	b = binary.AppendUvarint(b, uint64(len(h.olds)))
	before := -1
	for _, f := range h.olds {
		b = binary.AppendUvarint(b, uint64(f.file-before-1))
		b = f.recipe.Append(sum(binary.AppendUvarint(b, uint64(f.size)), f.sum))
		before = f.file
	}
	b = binary.AppendUvarint(b, uint64(len(h.news)))
	for _, f := range h.news {
		b = f.recipe.Append(sum(binary.AppendUvarint(b, uint64(f.size)), f.sum))
	}
	return b
}

// write writes the header with its frame.
func (h *header) write(out io.Writer) (int64, error) {
	raw := h.encode()
	if len(raw) > maxHeader {
		return 0, fmt.Errorf("write expanded set patch: the header has %d bytes, the most is %d: %w", len(raw), maxHeader, delta.ErrPatchTooLarge)
	}
	var packed bytes.Buffer
	w := brotli.NewWriterOptions(&packed, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: chunk.WindowFor(len(raw), headerWindow)})
	_, err := w.Write(raw)
	if err = errors.Join(err, w.Close()); err != nil {
		return 0, err
	}
	b := append([]byte(patchMagic), patchVersion)
	if size := binary.AppendUvarint(nil, uint64(len(raw))); packed.Len()+len(size) < len(raw) {
		b = append(append(binary.AppendUvarint(b, uint64(packed.Len())<<1|1), size...), packed.Bytes()...)
	} else {
		b = append(binary.AppendUvarint(b, uint64(len(raw))<<1), raw...)
	}
	n, err := out.Write(b)
	return int64(n), err
}

// malformed is a *release.FormatError of an expanded set patch.
func malformed(reason string, err error) error {
	if err != nil {
		reason += ": " + err.Error()
	}
	return &release.FormatError{Document: "expanded set patch", Reason: reason}
}

// readHeader reads the header for an old listing. An error of the reader is returned unchanged.
func readHeader(r *bufio.Reader, old release.Listing) (*header, error) {
	var magic [3]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return nil, cutOff(err)
	}
	if string(magic[:2]) != patchMagic || magic[2] != patchVersion {
		return nil, malformed(fmt.Sprintf("it begins with %x, which this version does not know", magic), nil)
	}
	coded, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, cutOff(err)
	}
	raw := coded >> 1
	if coded&1 == 1 {
		if raw, err = binary.ReadUvarint(r); err != nil {
			return nil, cutOff(err)
		}
	}
	if coded>>1 > maxHeader || raw > maxHeader {
		return nil, malformed("its header is too large", nil)
	}
	there := &bytes.Buffer{}
	if n, err := io.Copy(there, io.LimitReader(r, int64(coded>>1))); err != nil || n < int64(coded>>1) {
		return nil, cutOff(errors.Join(err, io.ErrUnexpectedEOF))
	}
	b := there.Bytes()
	if coded&1 == 1 {
		var plain bytes.Buffer
		in, err := chunk.Inflate(brotli.NewReader(nil), there, headerWindow)
		if err == nil {
			_, err = io.Copy(&plain, io.LimitReader(in, int64(raw)+1))
		}
		if err != nil || plain.Len() != int(raw) {
			return nil, malformed("its header is damaged", err)
		}
		b = plain.Bytes()
	}
	h := &header{}
	if err := h.parse(b, old); err != nil {
		return nil, malformed("its header", err)
	}
	return h, nil
}

// cutOff is the error for a reader that ended too early; another error is returned unchanged.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("it is cut off", nil)
	}
	return err
}

func (h *header) parse(b []byte, old release.Listing) (err error) {
	if h.to, b, err = readSum(b); err != nil {
		return err
	}
	count, b, err := readNumber(b, MaxForms)
	before := -1
	for range count {
		var gap uint64
		if gap, b, err = readNumber(b, uint64(len(old))); err != nil {
			return err
		}
		if before += 1 + int(gap); before >= len(old) {
			return fmt.Errorf("it names file %d of %d", before, len(old))
		}
		f := form{file: before}
		if b, err = f.parse(b, MaxForm); err != nil {
			return err
		}
		h.olds = append(h.olds, f)
	}
	if err != nil {
		return err
	}
	count, b, err = readNumber(b, MaxForms)
	for range count {
		f := form{}
		if b, err = f.parse(b, release.MaxFile); err != nil {
			return err
		}
		h.news = append(h.news, f)
	}
	if err == nil && len(b) > 0 {
		err = errors.New("it goes on behind its end")
	}
	return err
}

func (f *form) parse(b []byte, most uint64) (rest []byte, err error) {
	size, b, err := readNumber(b, most)
	if err != nil {
		return nil, err
	}
	f.size = int64(size)
	if f.sum, b, err = readSum(b); err != nil {
		return nil, err
	}
	f.recipe, b, err = ReadRecipe(b)
	return b, err
}

func readSum(b []byte) (release.Digest, []byte, error) {
	var raw [32]byte
	if len(b) < len(raw) {
		return release.Digest{}, nil, errCutOff
	}
	copy(raw[:], b)
	return release.SHA256Digest(raw), b[len(raw):], nil
}

// isForm reports whether a path is that of a form.
func isForm(path string) bool { return strings.HasSuffix(path, FormSuffix) }

// expandOld is the expanded old listing. formIndex says which form each of its entries is, −1 for a file. fileIndex is the place of a file, or
// of the form's file, in the old listing.
func (h *header) expandOld(old release.Listing) (list release.Listing, formIndex, fileIndex []int) {
	var all []entry
	for i, f := range old {
		all = append(all, entry{f, -1, i})
	}
	for n, f := range h.olds {
		e := entry{old[f.file], n, f.file}
		e.Path, e.Size, e.Sum = e.Path+FormSuffix, f.size, f.sum
		all = append(all, e)
	}
	return sortEntries(all)
}

// entry is a file or a form of an expanded listing.
type entry struct {
	release.ListedFile
	form, file int // as expandOld returns them
}

// sortEntries sorts the entries of an expanded listing by their paths.
func sortEntries(all []entry) (list release.Listing, formIndex, fileIndex []int) {
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	for _, e := range all {
		list, formIndex, fileIndex = append(list, e.ListedFile), append(formIndex, e.form), append(fileIndex, e.file)
	}
	return list, formIndex, fileIndex
}

// collapse is the new listing of an expanded one: each form gives way to its file. It sets the place of each form.
func (h *header) collapse(expanded release.Listing) (release.Listing, error) {
	var files []release.ListedFile
	n := 0
	for i, f := range expanded {
		if isForm(f.Path) {
			if n == len(h.news) {
				return nil, malformed("it has more forms than recipes", nil)
			}
			h.news[n].file = i
			f.Path, f.Size, f.Sum = strings.TrimSuffix(f.Path, FormSuffix), h.news[n].size, h.news[n].sum
			n++
		}
		files = append(files, f)
	}
	if n < len(h.news) {
		return nil, malformed("it has more recipes than forms", nil)
	}
	return release.NewListing(files), nil
}
