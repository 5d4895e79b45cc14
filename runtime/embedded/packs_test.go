package embedded_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"image"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/bmp"
)

// packs writes what the game reads into a folder of the test.
func packs(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	writePack(t, filepath.Join(folder, "Core.zip"), map[string][]byte{"game.txt": []byte("title=Test\nitems=3\n")})
	writePack(t, filepath.Join(folder, "Art.zip"), map[string][]byte{
		"font.bmp": picture(t, 128, 96), "player.bmp": picture(t, 20, 20), "item.bmp": picture(t, 10, 10),
	})
	return folder
}

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	rgb := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range rgb.Pix {
		rgb.Pix[i] = 0xFF
	}
	if err := bmp.Encode(&out, rgb); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func writePack(t *testing.T, path string, entries map[string][]byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, data := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
