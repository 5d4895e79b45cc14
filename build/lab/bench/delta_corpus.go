package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// corpusScript fetches the versions that are compared. It lies beside this program's source, where make runs it.
const corpusScript = "build/lab/bench/corpus.sh"

// step is one update from a published version of something to a later one.
type step struct {
	name     string
	old, new string // a file, or a folder of files
}

// kind is the first word of a step's name: native, loose, a form of a pack, or another one.
func (s step) kind() string {
	kind, _, _ := strings.Cut(s.name, "-")
	return kind
}

// storedKind is the kind of packs that are stored.
const storedKind = "zips"

// deflatedKind tells the kinds of packs that are deflated: by Info-ZIP, by zlib at levels 6 and 9, and by 7-Zip.
func deflatedKind(kind string) bool {
	return kind == "zipd" || kind == "zipz" || kind == "zip9" || kind == "zip7"
}

// patchRelease reports whether only the last number of the version changed. Versions are the names of the files' folders.
func (s step) patchRelease() bool {
	line := func(path string) string {
		version := filepath.Base(path)
		return version[:max(strings.LastIndexByte(version, '.'), 0)]
	}
	return line(s.old) == line(s.new)
}

// usualSteps are measured unless others are asked for: of every kind one or two, and one pack in all its forms.
var usualSteps = []string{
	"native-esbuild-0.28.2", "native-libvips-1.3.4", "native-swc-1.16.22", "native-esbuildwin-0.28.2",
	"loose-three-0.186.1", "loose-three-0.187.0", "zips-three-0.187.0", "zipz-three-0.187.0",
	"native-esbuildwasm-0.28.2", "loose-monaco-0.57.0", "loose-pyodide-314.0.7", "loose-phaser-4.2.1", "zips-phaser-4.2.1", "zipd-phaser-4.2.1",
	"zipz-phaser-4.2.1", "zip9-phaser-4.2.1", "zip7-phaser-4.2.1",
}

// corpus finds the steps, and fetches them if they are not there yet.
func (b *bench) corpus(ctx context.Context) ([]step, error) {
	folder := b.Corpus
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no folder for the corpus, name one with --corpus: %w", err)
		}
		folder = filepath.Join(cache, "collet", "corpus")
	}
	all, err := readSteps(folder)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(b.out, "fetching the corpus into %s, some 5 GB\n", folder)
		cmd := exec.CommandContext(ctx, corpusScript, folder)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s %s: %w; run it by hand to see why", corpusScript, folder, err)
		}
		all, err = readSteps(folder)
	}
	return all, err
}

// readSteps reads the files STEPS* of a corpus: lines of a name, the old and the new path, relative to the folder.
func readSteps(folder string) ([]step, error) {
	lists, err := filepath.Glob(filepath.Join(folder, "STEPS*"))
	if err != nil {
		return nil, err
	}
	if len(lists) == 0 {
		return nil, fmt.Errorf("folder %s has no list of steps: %w", folder, fs.ErrNotExist)
	}
	var all []step
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			words := strings.Fields(line)
			if len(words) != 3 || slices.ContainsFunc(all, func(s step) bool { return s.name == words[0] }) {
				continue
			}
			all = append(all, step{words[0], filepath.Join(folder, words[1]), filepath.Join(folder, words[2])})
		}
	}
	return all, nil
}

// choose picks steps: those whose names are given, where a name may be the beginning of several, else all or the usual ones.
func choose(all []step, names []string, every bool, usual []string) ([]step, error) {
	if every && len(names) == 0 {
		return all, nil
	}
	if len(names) == 0 {
		names = usual
	}
	var chosen []step
	for _, name := range names {
		before := len(chosen)
		for _, s := range all {
			if strings.HasPrefix(s.name, name) {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("the corpus has no step %s; %s fetches what its folder lacks", name, corpusScript)
		}
	}
	return chosen, nil
}

// moduleFile is how the only file of a step is called in the set.
const moduleFile = "module.so"

// lay copies one side of a step into a new folder: a folder as it is, without the files that no release takes, or one file.
func lay(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		name := moduleFile
		if filepath.Ext(from) == ".zip" {
			name = "Pack.zip"
		}
		return copyFile(from, filepath.Join(to, name))
	}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(entry.Name(), ".") && rel != "."; hidden && entry.IsDir() {
			return filepath.SkipDir
		} else if hidden || !entry.Type().IsRegular() {
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

// copyFile copies one file and makes its folder.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// bundle is what a program takes that knows single files only: the only file of the folder, or a sorted tar of all of them
// without times, written to tarFile.
func bundle(folder, tarFile string) (name string, err error) {
	names, err := filesBelow(folder)
	if err != nil {
		return "", err
	}
	if len(names) == 1 {
		return filepath.Join(folder, names[0]), nil
	}
	out, err := os.Create(tarFile)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return "", err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return "", err
		}
		if _, err := w.Write(data); err != nil {
			return "", err
		}
	}
	return tarFile, w.Close()
}

// filesBelow lists the files of a folder with slashes, sorted.
func filesBelow(folder string) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}
