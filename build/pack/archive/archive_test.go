package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/netproto/deflate"
)

// when is a time that has odd seconds and another day in most time zones.
var when = time.Date(2024, time.March, 1, 0, 30, 1, 5, time.UTC)

// long is a path that ustar can't say.
var long = strings.Repeat("long", 30) + "/" + strings.Repeat("name", 28)

// sample has everything that an archive can hold; its files lie in folder.
func sample(t *testing.T, folder string) []bundle.Entry {
	t.Helper()
	file := filepath.Join(folder, "module.bin")
	if err := os.WriteFile(file, bytes.Repeat([]byte("machine code "), 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	return []bundle.Entry{
		{Path: "Game.app/Contents/MacOS/game", Mode: bundle.Program, From: file},
		{Path: "Game.app/Contents/Resources/ö ü.txt", Mode: bundle.Plain, Data: []byte("umlaut")},
		{Path: "Game.app/Contents/current", Link: "MacOS/game"},
		{Path: "empty", Mode: bundle.Plain},
		{Path: long, Mode: bundle.Plain, Data: []byte("deep")},
	}
}

func tree(t *testing.T, entries []bundle.Entry) bundle.Tree {
	t.Helper()
	tree, err := bundle.NewTree(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

type maker func(context.Context, bundle.Tree, string, archive.Options) error

// makers are all formats, by extension.
var makers = map[string]maker{
	"zip": archive.Zip, "tar.gz": archive.TarGz, "tar.zst": archive.TarZst,
	"tar": func(ctx context.Context, t bundle.Tree, out string, o archive.Options) error {
		return archive.File(ctx, out, func(f *os.File) error { return archive.EncodeTar(ctx, t, f, o) })
	},
	"deflated.zip": func(ctx context.Context, t bundle.Tree, out string, o archive.Options) error {
		o.Deflate = true
		return archive.Zip(ctx, t, out, o)
	},
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestBytes makes every format from trees that differ in what must not count.
func TestBytes(t *testing.T) {
	dir := t.TempDir()
	entries := sample(t, t.TempDir())
	moved := sample(t, t.TempDir())
	slices.Reverse(moved)
	if err := os.Chmod(moved[len(moved)-1].From, 0o444); err != nil {
		t.Fatal(err)
	}
	shuffled := bundle.Tree{moved[2], moved[0], moved[4], moved[1], moved[3]}
	for ext, make := range makers {
		a, b := filepath.Join(dir, "a."+ext), filepath.Join(dir, "b."+ext)
		if err := make(t.Context(), tree(t, entries), a, archive.Options{Time: when}); err != nil {
			t.Fatal(err)
		}
		zone := when.In(time.FixedZone("far", -11*3600))
		if err := make(t.Context(), shuffled, b, archive.Options{Time: zone}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, a), read(t, b)) {
			t.Errorf("%s: bytes differ", ext)
		}
	}
}

// TestGolden pins the formats that no library can change. Other bytes are a new download of every pack for every player.
func TestGolden(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for ext, want := range map[string]string{
		"zip":          "5459be4f7e0c9aa7a1d78f4ae5b341356847b3ca92f3ccf57b21add197a5eb5f",
		"deflated.zip": "439511e7171e16581a083a1a04e9bf0644afa30c4915446b4296e3f552cad2e0",
		"tar":          "1bcf239b82271e7c084818468dd0188a79bda055bf70c0b5845d62e638112735",
	} {
		if err := makers[ext](t.Context(), tree(t, sample(t, t.TempDir())), out, archive.Options{Time: when}); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(read(t, out))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: sha256 %s, want %s", ext, got, want)
		}
	}
}

// TestDeflatedIsMadeAgain: a publisher finds how to make every entry of a compressed zip again, bit for bit.
func TestDeflatedIsMadeAgain(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.zip")
	var text []byte
	for i := range 9000 {
		text = fmt.Appendf(text, "line %d of a file. ", i*i)
	}
	var files []bundle.Entry
	for i, size := range []int{1, 40_000, len(text)} {
		files = append(files, bundle.Entry{Path: fmt.Sprint(i), Mode: 0o644, Data: text[:size]})
	}
	if err := archive.Zip(t.Context(), tree(t, files), out, archive.Options{Deflate: true}); err != nil {
		t.Fatal(err)
	}
	data := read(t, out)
	recipe, _, err := deflate.AnalyzeForm(t.Context(), bytes.NewReader(data), int64(len(data)), 1<<20, 1)
	if got, want := fmt.Sprintf("%x", recipe.Append(nil)), "010306"; err != nil || got != want {
		t.Errorf("the recipe is %s, want %s: %v", got, want, err)
	}
}

// TestDeflateFails: an error of the output ends the compression, and no goroutine stays.
func TestDeflateFails(t *testing.T) {
	noise := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	files := tree(t, []bundle.Entry{{Path: "noise", Mode: 0o644, Data: noise}})
	full := errors.New("the disk is full")
	synctest.Test(t, func(t *testing.T) {
		if err := archive.EncodeZip(t.Context(), files, failing{full}, archive.Options{Deflate: true}); !errors.Is(err, full) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := archive.EncodeZip(ctx, files, io.Discard, archive.Options{Deflate: true}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// failing is a full disk.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestZipEntries(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.zip")
	for _, compressed := range []bool{false, true} {
		if err := archive.Zip(t.Context(), tree(t, sample(t, t.TempDir())), out, archive.Options{Deflate: compressed}); err != nil {
			t.Fatal(err)
		}
		r, err := zip.OpenReader(out)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, f := range r.File {
			deflated := compressed && f.UncompressedSize64 > 0 && f.Mode()&fs.ModeSymlink == 0
			if (f.Method == zip.Deflate) != deflated || (f.Flags&8 != 0) != deflated {
				t.Errorf("%s: method %d, flags %#x", f.Name, f.Method, f.Flags)
			}
			if !f.Modified.Equal(archive.Epoch) || len(f.Extra) != 0 {
				t.Errorf("%s: time %v, extra %x", f.Name, f.Modified, f.Extra)
			}
		}
		if mode := r.File[0].Mode(); mode != 0o755 {
			t.Errorf("program has mode %v", mode)
		}
		if mode := r.File[2].Mode(); mode&fs.ModeSymlink == 0 {
			t.Errorf("link has mode %v", mode)
		}
	}
}

func TestTarEntries(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.tar.zst")
	if err := archive.TarZst(t.Context(), tree(t, sample(t, t.TempDir())), out, archive.Options{Time: when}); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(bytes.NewReader(read(t, out)))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(when.Truncate(time.Second)) {
			t.Errorf("%s: %d/%d %q/%q %v", h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.ModTime)
		}
		pax := h.Name == long || strings.Contains(h.Name, "ö")
		if (h.Format == tar.FormatPAX) != pax {
			t.Errorf("%s: format %v", h.Name, h.Format)
		}
	}
}

func TestProgressCountsEveryByte(t *testing.T) {
	for ext, make := range makers {
		sum := int64(0)
		o := archive.Options{Progress: func(n int64) { sum += n }}
		if err := make(t.Context(), tree(t, sample(t, t.TempDir())), filepath.Join(t.TempDir(), "out"), o); err != nil {
			t.Fatal(err)
		}
		want := int64(13*9000 + len("umlaut") + len("deep"))
		if strings.HasSuffix(ext, "zip") {
			want += int64(len("MacOS/game"))
		}
		if sum != want {
			t.Errorf("%s: told of %d bytes, want %d", ext, sum, want)
		}
	}
}

// TestWholeOrNot stops every maker in several ways and finds what was there before, and nothing else.
func TestWholeOrNot(t *testing.T) {
	entries := sample(t, t.TempDir())
	missing := slices.Clone(entries)
	missing[0].From += ".missing"
	for ext, make := range makers {
		dir := t.TempDir()
		out := filepath.Join(dir, "out."+ext)
		if err := os.WriteFile(out, []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := make(t.Context(), tree(t, missing), out, archive.Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: missing file: %v", ext, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o := archive.Options{Progress: func(int64) { cancel() }}
		if err := make(ctx, tree(t, entries), out, o); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: interrupt: %v", ext, err)
		}
		found, err := os.ReadDir(dir)
		if err != nil || len(found) != 1 || string(read(t, out)) != "before" {
			t.Errorf("%s: left %v, %v", ext, found, err)
		}
	}
}

// TestChangingFile lets a file grow, shrink or change while it is packed.
func TestChangingFile(t *testing.T) {
	for name, now := range map[string]string{"grown": "0123456789+", "shrunk": "012345678", "changed": "012345678X"} {
		for _, ext := range []string{"zip", "tar"} {
			file := filepath.Join(t.TempDir(), "file")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("0123456789")
			first := bundle.Entry{Path: "a", Mode: bundle.Plain, Data: []byte("first")}
			o := archive.Options{Progress: func(int64) { write(now) }}
			entries := bundle.Tree{first, {Path: "b", Mode: bundle.Plain, From: file}}
			err := makers[ext](t.Context(), entries, filepath.Join(t.TempDir(), "out"), o)
			// What changed before it was opened is simply what is packed; the second call comes after the read.
			if err != nil && !strings.Contains(err.Error(), "changed while it was packed") {
				t.Errorf("%s, %s: %v", name, ext, err)
			}
		}
	}
}

func TestZipRefusesYears(t *testing.T) {
	for _, year := range []int{1979, 2108} {
		o := archive.Options{Time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}
		if err := archive.EncodeZip(t.Context(), nil, io.Discard, o); err == nil {
			t.Errorf("year %d is taken", year)
		}
	}
}
