package windows

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"collet/platform/testlevel"
)

// nasty are texts that mean something to a script, in whatever place they stand.
func nasty() []string {
	return []string{
		"plain", `"`, `""`, `'`, "`", `a"b'c` + "`d", "$", "$$", "$$$", "$INSTDIR", "${NAME}", "$${NAME}", "$(NAME)", "$\\n", `\`, `ends in \`, `$\"`,
		"!define NAME x", "; no comment", "# no comment", "/* no comment */", "a & b && c", "100%", "%PATH%", "%1", "Лэйс", "日本語", "😀 rocket", "é́",
		"${U+41}", "$", "{", "}", "[INSTALLDIR]", "@1@", "&amp;", "<b>", "two  spaces ", " leading", "|", "^", "~", strings.Repeat("long ", 150),
	}
}

// TestEscapedScript holds the script of a setup that writes the texts into a file, and that file, to those in testdata. A test in
// build/lab/installers runs the setup of that script on Windows, and there what comes out is what went in.
func TestEscapedScript(t *testing.T) {
	var script, lines bytes.Buffer
	script.WriteString("\ufeffUnicode true\nTarget amd64-unicode\nName x\nOutFile made.exe\nSilentInstall silent\nRequestExecutionLevel user\n" +
		"!define NAME wrong\nLangString NAME 0 wrong\nSection\nFileOpen $0 \"$EXEDIR\\out\" w\n")
	for i, text := range nasty() {
		fmt.Fprintf(&script, "FileWriteUTF16LE $0 %s\nFileWriteUTF16LE $0 '%s$\\n'\n", quoted(text), escaped(text))
		fmt.Fprintf(&lines, "%s%s\n", text, text)
		if i%2 == 0 {
			fmt.Fprintf(&script, "FileWriteUTF16LE $0 `%s$\\n`\n", escaped(text))
			fmt.Fprintf(&lines, "%s\n", text)
		}
	}
	script.WriteString("FileClose $0\nSectionEnd\n")
	golden(t, "escaped.nsi", script.Bytes())
	golden(t, "escaped.txt", lines.Bytes())
}

// TestNastyNames: all of them at once as what a game is called, in both kinds of installers.
func TestNastyNames(t *testing.T) {
	testlevel.Lab(t)
	for _, m := range makers(Installer{}) {
		need(t, m.tools...)
		b := lathe(t, []byte("MZ"))
		for _, text := range nasty() {
			if len(text) > 100 {
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
