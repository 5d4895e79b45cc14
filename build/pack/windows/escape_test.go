package windows

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"collet/build/lab/wine"
)

// nasty are texts that mean something to a script, in whatever place they stand.
func nasty() []string {
	return []string{
		"plain", `"`, `""`, `'`, "`", `a"b'c` + "`d", "$", "$$", "$$$", "$INSTDIR", "${NAME}", "$${NAME}", "$(NAME)", "$\\n", `\`, `ends in \`, `$\"`,
		"!define NAME x", "; no comment", "# no comment", "/* no comment */", "a & b && c", "100%", "%PATH%", "%1", "Лэйс", "日本語", "😀 rocket", "é́",
		"${U+41}", "$", "{", "}", "[INSTALLDIR]", "@1@", "&amp;", "<b>", "two  spaces ", " leading", "|", "^", "~", strings.Repeat("long ", 150),
	}
}

// TestEscapedIsWhatRuns has a setup write the texts into a file: what comes out is what went in.
func TestEscapedIsWhatRuns(t *testing.T) {
	wine.Need(t)
	need(t, "makensis")
	s, err := newStage(time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.remove(&err)
	var script strings.Builder
	script.WriteString("\ufeffUnicode true\nTarget amd64-unicode\nName x\nOutFile made.exe\nSilentInstall silent\nRequestExecutionLevel user\n" +
		"!define NAME wrong\nLangString NAME 0 wrong\nSection\nFileOpen $0 \"$EXEDIR\\out\" w\n")
	for i, text := range nasty() {
		fmt.Fprintf(&script, "FileWriteUTF16LE $0 %s\nFileWriteUTF16LE $0 '%s$\\n'\n", quoted(text), escaped(text))
		if i%2 == 0 {
			fmt.Fprintf(&script, "FileWriteUTF16LE $0 `%s$\\n`\n", escaped(text))
		}
	}
	script.WriteString("FileClose $0\nSectionEnd\n")
	if err := s.write("s.nsi", []byte(script.String())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.tool(t.Context(), "nsis", "makensis", "-NOCONFIG", "-V2", "-WX", "-INPUTCHARSET", "UTF8", "s.nsi"); err != nil {
		t.Fatal(err)
	}
	if said, err := wine.For(t, wine.Options{}).Run(t.Context(), s.path("made.exe")); err != nil {
		t.Fatal(err, said)
	}
	checkLines(t, s.path("out"))
}

func checkLines(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		t.Fatal(err)
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	lines := strings.Split(string(utf16.Decode(units)), "\n")
	for i, text := range nasty() {
		if lines[0] != text+text {
			t.Errorf("%q twice came out as %q", text, lines[0])
		}
		lines = lines[1:]
		if i%2 == 0 {
			if lines[0] != text {
				t.Errorf("%q came out of backquotes as %q", text, lines[0])
			}
			lines = lines[1:]
		}
	}
}

// TestNastyNames: all of them at once as what a game is called, in both kinds of installers.
func TestNastyNames(t *testing.T) {
	for _, m := range makers(Installer{}) {
		need(t, m.tools...)
		b := lathe(t, []byte("MZ"))
		for i, text := range nasty() {
			if len(text) > 100 || raceEnabled && i%6 != 0 {
				continue
			}
			b.Product.NiceName, b.Product.Publisher, b.Product.Summary, b.Product.Homepage = text, text, text, text
			if m.name == "nsis" && text != "$(NAME)" && text != `a"b'c`+"`d" {
				continue // a compressor for each would take minutes; the texts themselves are tried above
			}
			if err := m.make(t.Context(), b, filepath.Join(t.TempDir(), "out")); err != nil {
				t.Errorf("%s, %q: %v", m.name, text, err)
			}
		}
	}
}
