package splash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
	typeface "github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/font/opentype/tables"

	"collet/assets"
)

// The window's own font has the letters of Latin, Greek and Cyrillic. Fonts of East Asia have ten to twenty megabytes, so the client has
// none: it takes the system's, from the list in assets/lang/<tag>/about.json.

const (
	maxFontFiles = 20_000   // of a search; a system with all fonts of Debian has 8,000
	maxFontFile  = 64 << 20 // bytes; the largest in the lists has 20 MB
)

// ErrNoFace is the error of a language whose letters no font of this system has.
var ErrNoFace = errors.New("no font of this system has the letters of the language")

// TextsFor are the texts for a locale. With a window they are English where the system has no font for the language, since the player
// would see boxes instead of letters.
func TextsFor(locale string, window bool) assets.Texts {
	texts := assets.TextsFor(locale)
	if window {
		if _, err := faceOf(texts); err != nil {
			return assets.TextsFor("en")
		}
	}
	return texts
}

// faceOf is the system's font for a language, or nil where the window's own has its letters.
func faceOf(texts assets.Texts) (fyne.Resource, error) {
	if texts.Language() == "" {
		return nil, nil
	}
	fonts := assets.AboutOf(texts.Language()).Fonts
	if fonts == nil {
		return nil, nil
	}
	for _, f := range findFonts(fontFolders(runtime.GOOS, os.Getenv), fonts[runtime.GOOS]) {
		if f.check(texts.Letters()) == nil {
			return &f, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoFace, texts.Language())
}

// fontFolders are where a system has its fonts, the player's own first.
func fontFolders(system string, env func(string) string) (folders []string) {
	home := env("HOME")
	switch system {
	case "windows":
		return []string{filepath.Join(env("LOCALAPPDATA"), "Microsoft", "Windows", "Fonts"), filepath.Join(env("WINDIR"), "Fonts")}
	case "darwin":
		return []string{filepath.Join(home, "Library", "Fonts"), "/Library/Fonts", "/System/Library/Fonts"}
	}
	data := env("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	folders = []string{filepath.Join(data, "fonts"), filepath.Join(home, ".fonts")}
	shared := env("XDG_DATA_DIRS")
	if shared == "" {
		shared = "/usr/local/share:/usr/share"
	}
	for dir := range strings.SplitSeq(shared, ":") {
		folders = append(folders, filepath.Join(dir, "fonts"))
	}
	return append(folders, "/run/host/fonts") // in a sandbox of Flatpak
}

// fontFile is a font: a file, and its number in it.
type fontFile struct {
	file   string
	number int
}

// findFonts are the fonts of the patterns in some folders and those below, in the order of the patterns. A pattern is that of
// path.Match for the name of a file, and may end in # and a number.
func findFonts(folders, patterns []string) (found []fontFile) {
	byPattern := make([][]fontFile, len(patterns))
	left := maxFontFiles
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue // the variable that names it is not set
		}
		_ = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err != nil || entry.IsDir() {
				return nil // what can't be read has no font for us
			}
			for i, pattern := range patterns {
				name, number, _ := strings.Cut(pattern, "#")
				if is, err := path.Match(name, entry.Name()); err == nil && is {
					n, _ := strconv.Atoi(number) // without a number the first one
					byPattern[i] = append(byPattern[i], fontFile{file, n})
				}
			}
			return nil
		})
	}
	return slices.Concat(byPattern...)
}

// open calls use with the font.
func (f *fontFile) open(use func(font *opentype.Loader) error) error {
	file, err := os.Open(f.file)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFontFile {
		return fmt.Errorf("%s is no file of at most %d bytes", f.file, maxFontFile)
	}
	fonts, err := opentype.NewLoaders(file)
	if err != nil {
		return err
	}
	if f.number >= len(fonts) {
		return fmt.Errorf("%s has %d fonts, and number %d is asked for", f.file, len(fonts), f.number)
	}
	return use(fonts[f.number])
}

// check is an error for a font that can't be read, or lacks one of the letters.
func (f *fontFile) check(letters string) error {
	return f.open(func(font *opentype.Loader) error { return hasLetters(font, letters) })
}

// load reads those tables that drawing needs, as a file of one font.
func (f *fontFile) load() (data []byte, err error) {
	err = f.open(func(font *opentype.Loader) error {
		var kept []opentype.Table
		for _, tag := range font.Tables() {
			if !slices.Contains(drawn(), tag.String()) {
				continue
			}
			content, err := font.RawTable(tag)
			if err != nil {
				return err
			}
			kept = append(kept, opentype.Table{Tag: tag, Content: content})
		}
		data = opentype.WriteTTF(kept)
		return nil
	})
	return data, err
}

// Name implements fyne.Resource.
func (f *fontFile) Name() string { return filepath.Base(f.file) }

// Content implements fyne.Resource. Fyne asks once and keeps what it parsed, so the bytes are not kept here. A file that can be read no
// longer is replaced by the window's own font, whose missing letters Fyne looks for in the system.
func (f *fontFile) Content() []byte {
	data, err := f.load()
	if err != nil {
		return theme.DefaultTextFont().Content()
	}
	return data
}

// drawn are the tables that a line of text is drawn with, from left to right: nothing vertical, no small bitmaps, no alternatives.
func drawn() []string {
	return []string{"CFF ", "CFF2", "OS/2", "avar", "cmap", "cvt ", "fpgm", "fvar", "glyf", "gvar", "head", "hhea", "hmtx", "loca", "maxp", "name", "post", "prep"}
}

// hasLetters is an error for a font that lacks one.
func hasLetters(font *opentype.Loader, letters string) error {
	raw, err := font.RawTable(opentype.MustNewTag("cmap"))
	if err != nil {
		return err
	}
	parsed, _, err := tables.ParseCmap(raw)
	if err != nil {
		return err
	}
	glyphs, _, err := typeface.ProcessCmap(parsed, tables.FPNone)
	if err != nil {
		return err
	}
	for _, r := range letters {
		if _, has := glyphs.Lookup(r); !has {
			return fmt.Errorf("it lacks %q", r)
		}
	}
	return nil
}
