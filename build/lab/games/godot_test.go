package games

import (
	"bytes"
	"crypto/md5"
	"embed"
	"encoding/binary"
	"maps"
	"os"
	"path"
	"slices"
	"testing"
)

// project is a game for Godot 3.
//
//go:embed testdata/godot
var project embed.FS

// godotPack writes the project, with a colour as its level and a sound of a megabyte, as a pack of Godot 3: a head, a list with offsets and
// digests, and the contents.
func godotPack(t *testing.T, name, level string) {
	t.Helper()
	files := map[string]string{"level.txt": level + "\n", "sound.bin": string(noise(level[0], 1_000_000))}
	const folder = "testdata/godot"
	entries, err := project.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		data, err := project.ReadFile(path.Join(folder, e.Name()))
		must(t, err)
		files[e.Name()] = string(data)
	}
	paths := slices.Sorted(maps.Keys(files))
	full := func(file string) []byte {
		text := []byte("res://" + file)
		return append(text, make([]byte, -len(text)&3)...)
	}
	const head = 5*4 + 16*4 + 4 // magic, format and version in four numbers; reserved; count
	at := head
	for _, file := range paths {
		at += 4 + len(full(file)) + 8 + 8 + md5.Size
	}
	var list, contents bytes.Buffer
	number := func(n any) { must(t, binary.Write(&list, binary.LittleEndian, n)) }
	list.WriteString("GDPC")
	for _, n := range []uint32{1, 3, 2, 3} {
		number(n)
	}
	list.Write(make([]byte, 16*4))
	number(uint32(len(paths)))
	for _, file := range paths {
		sum := md5.Sum([]byte(files[file]))
		number(uint32(len(full(file))))
		list.Write(full(file))
		number(uint64(at + contents.Len()))
		number(uint64(len(files[file])))
		list.Write(sum[:])
		contents.WriteString(files[file])
	}
	must(t, os.WriteFile(name, append(list.Bytes(), contents.Bytes()...), 0o644))
}
