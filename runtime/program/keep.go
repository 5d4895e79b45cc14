package program

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxKept is the largest record of placed files in bytes.
const maxKept = 1 << 20

// keptForms has the SHA-256 of the shipped form that was last placed or offered, by path.
type keptForms map[string]string

// placeKept places the files that the player owns. A file that exists is never changed. With Kept.New a shipped form that changed
// since the last call is placed beside it. A file that can't be placed is reported to warn, and the rest goes on.
func (m *Module) placeKept(warn func(string)) {
	if len(m.d.Keep) == 0 {
		return
	}
	before := readKept(m.o.Kept)
	now := keptForms{}
	for _, k := range m.d.Keep {
		sum, err := m.placeOne(k, before[k.Path])
		if err != nil {
			warn(fmt.Sprintf("kept file %s: %v", k.Path, err))
			sum = before[k.Path]
		}
		if sum != "" {
			now[k.Path] = sum
		}
	}
	if err := now.write(m.o.Kept, before); err != nil {
		warn(fmt.Sprintf("record of kept files: %v", err))
	}
}

// placeOne places one file and returns the SHA-256 of its shipped form. before is that of the last call; empty if there was none.
func (m *Module) placeOne(k Kept, before string) (string, error) {
	shipped, live := m.path(k.Shipped()), m.path(k.Path)
	sum, err := sumOf(shipped)
	if err != nil {
		return "", err
	}
	_, err = os.Lstat(live)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sum, place(shipped, live)
	case err != nil:
		return "", err
	case !k.New || before == "" || sum == before:
		return sum, nil
	}
	if same, err := sumOf(live); err == nil && same == sum {
		return sum, nil
	}
	return sum, place(shipped, m.path(k.NewPath()))
}

func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// place copies a file to a name, which then has either what it had or the whole copy, also after a power cut.
func place(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return replace(to, in)
}

// replace writes a file beside its name, syncs it and renames it.
func replace(name string, content io.Reader) error {
	next := name + ".collet-next"
	out, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(next, name)
	}
	if err != nil {
		_ = os.Remove(next)
		return err
	}
	if folder, err := os.Open(filepath.Dir(name)); err == nil {
		_ = folder.Sync() // Windows can't, and there a rename needs none
		folder.Close()
	}
	return nil
}

// readKept reads the record. A missing or damaged one is empty: then nothing is placed beside files that exist.
func readKept(name string) keptForms {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	forms := keptForms{}
	if json.NewDecoder(io.LimitReader(f, maxKept)).Decode(&forms) != nil {
		return nil
	}
	return forms
}

// write writes the record if it differs from before.
func (k keptForms) write(name string, before keptForms) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if old, err := json.Marshal(before); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return replace(name, bytes.NewReader(data))
}
