package splash

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"collet/assets"
)

// TestFontFolders of each system.
func TestFontFolders(t *testing.T) {
	for _, c := range []struct {
		system string
		env    map[string]string
		want   string
	}{
		{"linux", map[string]string{"HOME": "/home/ada"}, "/home/ada/.local/share/fonts /home/ada/.fonts /usr/local/share/fonts /usr/share/fonts /run/host/fonts"},
		{"linux", map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "/d", "XDG_DATA_DIRS": "/a:/b"}, "/d/fonts /home/ada/.fonts /a/fonts /b/fonts /run/host/fonts"},
		{"windows", map[string]string{"LOCALAPPDATA": "/l", "WINDIR": "/w"}, "/l/Microsoft/Windows/Fonts /w/Fonts"},
		{"darwin", map[string]string{"HOME": "/Users/ada"}, "/Users/ada/Library/Fonts /Library/Fonts /System/Library/Fonts"},
	} {
		got := strings.Join(fontFolders(c.system, func(key string) string { return c.env[key] }), " ")
		if got = filepath.ToSlash(got); got != c.want {
			t.Errorf("%s: %s, want %s", c.system, got, c.want)
		}
	}
}

// TestFindFonts: the order is that of the patterns, then that of the folders; unset variables name no folder.
func TestFindFonts(t *testing.T) {
	near, far := t.TempDir(), t.TempDir()
	for _, name := range []string{filepath.Join(near, "b.ttf"), filepath.Join(far, "deep", "er", "a.ttc"), filepath.Join(far, "b.ttf"), filepath.Join(far, "other.ttf")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := findFonts([]string{filepath.Join("", "fonts"), near, far, filepath.Join(far, "missing")}, []string{"a.ttc#2", "no.ttf", "b*"})
	want := []fontFile{{filepath.Join(far, "deep", "er", "a.ttc"), 2}, {filepath.Join(near, "b.ttf"), 0}, {filepath.Join(far, "b.ttf"), 0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestLoadFont takes a font that has the letters, and no other file.
func TestLoadFont(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) fontFile {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return fontFile{file, 0}
	}
	own := theme.DefaultTextFont().Content()
	font := write("own.ttf", own)
	data, err := font.load()
	if bad := font.check("Aäж"); bad != nil || err != nil || len(data) == 0 || len(data) >= len(own) {
		t.Fatalf("%d bytes of %d, %v", len(data), len(own), err)
	}
	test.NewTempApp(t)
	if got, want := textWidth("Wäж", 20, fyne.NewStaticResource("cut.ttf", data)), textWidth("Wäж", 20, theme.DefaultTextFont()); got < want || got > want*1.05 { // no kerning
		t.Errorf("the text is %v wide, want %v", got, want)
	}
	for name, c := range map[string]struct {
		font    fontFile
		letters string
	}{
		"a letter that is not there": {font, "A中"}, "another number": {fontFile{font.file, 1}, "A"}, "no file": {fontFile{filepath.Join(dir, "none"), 0}, "A"},
		"a folder": {fontFile{dir, 0}, "A"}, "no font": {write("text.ttf", []byte("a text")), "A"}, "an empty file": {write("empty.ttf", nil), "A"},
	} {
		if err := c.font.check(c.letters); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
	half := write("half.ttf", own[:len(own)/2])
	for _, broken := range []fontFile{{filepath.Join(dir, "none"), 0}, half} {
		if broken.Name() != filepath.Base(broken.file) || len(broken.Content()) != len(own) {
			t.Errorf("%s is not replaced", broken.file)
		}
	}
}

// TestTextsForAWindow: without a font for a language the window is in English, and a terminal is not.
func TestTextsForAWindow(t *testing.T) {
	for _, key := range []string{"HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "LOCALAPPDATA", "WINDIR"} {
		t.Setenv(key, t.TempDir())
	}
	for _, language := range assets.Languages() {
		fonts := assets.AboutOf(language).Fonts
		want := language
		if fonts != nil && runtime.GOOS != "darwin" { // whose folders no variable names
			want = "en"
			if _, err := faceOf(assets.TextsFor(language)); !errors.Is(err, ErrNoFace) {
				t.Errorf("%s: %v", language, err)
			}
		}
		if got := TextsFor(language, true).Language(); got != want && runtime.GOOS != "darwin" {
			t.Errorf("%s: a window speaks %s", language, got)
		}
		if got := TextsFor(language, false).Language(); got != language {
			t.Errorf("%s: a terminal speaks %s", language, got)
		}
	}
	if face, err := faceOf(assets.Texts{}); face != nil || err != nil {
		t.Error(face, err)
	}
}

// TestWords is the table of where a line may break.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"two words": "two| words", "path/with.dots": "path/with.dots", "": "",
		"更新已下载，现在启动。":                  "更|新|已|下|载，|现|在|启|动。",
		"（inode 已用完）：/a/path":          "（inode| 已|用|完）：|/a/path",
		"アップデート":                       "アッ|プ|デー|ト",
		"サーバー play.example.org:4000 が": "サー|バー| play.example.org:4000| が",
	} {
		var got []string
		for i, w := range words(text) {
			if !w.glued && i > 0 {
				w.text = " " + w.text
			}
			got = append(got, w.text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
}
