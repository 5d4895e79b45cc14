package sample_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// content is what goes into the two packs, by entry.
type content struct{ core, art map[string][]byte }

// good is what the game takes.
func good() content {
	return content{
		core: map[string][]byte{"game.txt": []byte("# a comment\r\ntitle=Lathe Test\ngreeting=Hello there.\nbackground=#18212d\n" +
			"panel=#24374c\naccent=#9cc4e8\nitems=12\nunknown=x\n")},
		art: map[string][]byte{
			"font.bmp": encode(font16x6()), "player.bmp": encode(disc(96, color.NRGBA{0xD9, 0x78, 0x42, 0xFF})),
			"item.bmp": encode(disc(40, color.NRGBA{0xE0, 0xAD, 0x47, 0xFF})),
		},
	}
}

// write makes both packs in a folder of the test, with entries that are stored.
func (c content) write(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	c.writeInto(t, folder, zip.Store)
	return folder
}

func (c content) writeInto(t *testing.T, folder string, method uint16) {
	t.Helper()
	for name, entries := range map[string]map[string][]byte{"Core.zip": c.core, "Art.zip": c.art} {
		if err := os.WriteFile(filepath.Join(folder, name), pack(t, entries, method), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func pack(t *testing.T, entries map[string][]byte, method uint16) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if err := z.SetComment("a comment behind the directory"); err != nil {
		t.Fatal(err)
	}
	for name, data := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func encode(m image.Image) []byte {
	var out bytes.Buffer
	if err := bmp.Encode(&out, m); err != nil {
		panic(errors.New("a buffer takes everything: " + err.Error()))
	}
	return out.Bytes()
}

var magenta = color.NRGBA{0xFF, 0x00, 0xFF, 0xFF}

// disc is a sprite: a disc with a hole.
func disc(size int, c color.NRGBA) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			dx, dy := 2*x+1-size, 2*y+1-size
			m.SetNRGBA(x, y, magenta)
			if r := dx*dx + dy*dy; r < size*size && 6*r > size*size {
				m.SetNRGBA(x, y, c)
			}
		}
	}
	return m
}

// font16x6 is the font picture: printable ASCII in 16 columns and 6 rows.
func font16x6() image.Image {
	face := basicfont.Face7x13
	m := image.NewNRGBA(image.Rect(0, 0, 16*face.Advance, 6*face.Height))
	draw.Draw(m, m.Bounds(), image.NewUniform(magenta), image.Point{}, draw.Src)
	for c := ' '; c <= '~'; c++ {
		cell := int(c - ' ')
		d := font.Drawer{Dst: m, Src: image.White, Face: face, Dot: fixed.P(cell%16*face.Advance, cell/16*face.Height+face.Ascent)}
		d.DrawString(string(c))
	}
	return m
}

// patch returns data with a number written at a place, counted from the end if at is negative.
func patch(data []byte, at int, value uint32) []byte {
	data = bytes.Clone(data)
	if at < 0 {
		at += len(data)
	}
	binary.LittleEndian.PutUint32(data[at:], value)
	return data
}
