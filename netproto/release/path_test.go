package release_test

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"collet/netproto/release"
	"collet/platform/testlevel"
)

// accepted are paths that mean one file everywhere.
var accepted = []string{
	"Core.zip", "a", "deep/er/Core.zip", "Lathe.so", "Lathe.so.pdb", "Lathe.exe", ".hidden", "..hidden", "a..b", "...a",
	"with space.zip", " leading", "tab-less", "a~b.zip", "a~", "a~b~", "x~1x", "1~x.zip", "a.b~1", "2024", "12.zip",
	"Ресурсы/Карта.zip", "資源.zip", "données.zip", "straße.zip", "데이터.zip", "が.zip", "हिंदी.zip", "emoji-🎮.zip",
	"CONSOLE", "CO", "COM", "COM10", "COMX", "LPT", "NULL", "auxiliary.txt", "xCON", "con-fig", "CON_",
	"a+b=c;d,e[f](g){h}!@#$%^&'`", strings.Repeat("x", release.MaxPath), "x/" + strings.Repeat("y", release.MaxPath-2),
}

// refused are paths with the words of their reason.
var refused = []struct{ path, reason string }{
	{"", "is empty"},
	{strings.Repeat("x", release.MaxPath+1), "longer than 240 bytes"},
	{strings.Repeat("ж", release.MaxPath/2) + "x", "longer than 240 bytes"},
	{"a\xff", "not valid UTF-8"}, {"\xc0\xae\xc0\xae/x", "not valid UTF-8"}, {"\xed\xa0\x80", "not valid UTF-8"},
	{"/", "absolute"}, {"/etc/passwd", "absolute"}, {"//server/share", "absolute"},
	{"a//b", "empty element"}, {"a/", "empty element"}, {"a/b//", "empty element"},
	{".", "leaves the folder"}, {"..", "leaves the folder"}, {"../x", "leaves the folder"}, {"a/../b", "leaves the folder"},
	{"a/./b", "leaves the folder"}, {"a/..", "leaves the folder"}, {"./a", "leaves the folder"},
	{"~Core.zip", "begins with ~"}, {"~", "begins with ~"}, {"a/~b", "begins with ~"}, {"~a/b", "begins with ~"},
	{"a.", "ends in a dot or a space"}, {"a ", "ends in a dot or a space"}, {"a./b", "ends in a dot or a space"},
	{"a /b", "ends in a dot or a space"}, {"...", "ends in a dot or a space"}, {".. ", "ends in a dot or a space"}, {" ", "ends in a dot or a space"},
	{`..\x`, "which Windows refuses"}, {`a\b`, "which Windows refuses"}, {`\\server\share`, "which Windows refuses"},
	{"C:", "which Windows refuses"}, {"C:/x", "which Windows refuses"}, {"c:x", "which Windows refuses"}, {"a:stream", "which Windows refuses"},
	{"a*", "which Windows refuses"}, {"a?", "which Windows refuses"}, {`a"b`, "which Windows refuses"},
	{"a<b", "which Windows refuses"}, {"a>b", "which Windows refuses"}, {"a|b", "which Windows refuses"},
	{"a\x00b", "can't be seen"}, {"a\nb", "can't be seen"}, {"a\tb", "can't be seen"}, {"a\x7fb", "can't be seen"}, {"a\u0085b", "can't be seen"},
	{"a\u200cb", "can't be seen"}, {"a\u200bb", "can't be seen"}, {"\ufeffa", "can't be seen"}, {"a\u202ezip.exe", "can't be seen"},
	{"a\u2028b", "can't be seen"}, {"a\u00a0b", "can't be seen"}, {"a\u00adb", "can't be seen"}, {"a\uf03ab", "can't be seen"},
	{"cafe\u0301.zip", "U+0065"}, {"и\u0306.zip", "U+0438"}, {"か\u3099.zip", "U+304B"}, {"\u1112\u1161\u11ab.zip", "U+1112"},
	{"\u0627\u0653", "U+0627"}, {"\uf900.zip", "U+F900"}, {"\U0002f800.zip", "U+2F800"}, {"\u1f71", "U+1F71"}, {"a\u0387", "U+0387"}, {"\u0958", "U+0958"},
	{"a/q\u0307\u0323", "U+0071"}, {"\u212b", "U+212B"},
	{"CON", "device name"}, {"con", "device name"}, {"Con.zip", "device name"}, {"a/NUL", "device name"}, {"nul.tar.gz", "device name"},
	{"PRN/x", "device name"}, {"aux.h", "device name"}, {"COM1", "device name"}, {"com9.txt", "device name"}, {"LPT0", "device name"},
	{"lpt9", "device name"}, {"COM¹", "device name"}, {"COM².x", "device name"}, {"LPT³", "device name"}, {"CONIN$", "device name"},
	{"conout$.txt", "device name"}, {"CLOCK$", "device name"}, {"NUL .txt", "device name"}, {"COM1 .x", "device name"},
	{"PROGRA~1", "short form"}, {"RESOUR~1/Core.zip", "short form"}, {"CORE~12.ZIP", "short form"}, {"a~1", "short form"}, {"a~1.b.c", "short form"},
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, p := range accepted {
		if err := release.CheckPath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, test := range refused {
		err := release.CheckPath(test.path)
		var fault *release.PathError
		if !errors.As(err, &fault) {
			t.Errorf("%q was taken, or refused by another type: %v", test.path, err)
			continue
		}
		if fault.Path != test.path || !strings.Contains(fault.Reason, test.reason) {
			t.Errorf("%q: refused because it %q, want %q", test.path, fault.Reason, test.reason)
		}
	}
}

func TestPathErrorIsPrintable(t *testing.T) {
	t.Parallel()
	err := &release.PathError{Path: "a\x1b[31m\nb", Reason: "is red"}
	if got, want := err.Error(), `path "a\x1b[31m\nb": is red`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEveryReservedName: each device, in each folder, case and with each extension.
func TestEveryReservedName(t *testing.T) {
	t.Parallel()
	devices := []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"}
	for _, digit := range "0123456789¹²³" {
		devices = append(devices, "COM"+string(digit), "LPT"+string(digit))
	}
	for _, device := range devices {
		for _, p := range []string{device, strings.ToLower(device), device + ".zip", "a/" + device, device + "/a", device + ".", device + " .x.y"} {
			if release.CheckPath(p) == nil {
				t.Errorf("%q was taken", p)
			}
		}
		for _, p := range []string{device + "x", "x" + device, device + "-1.zip"} {
			if err := release.CheckPath(p); err != nil {
				t.Errorf("%q: %v", p, err)
			}
		}
	}
}

// TestFoldAgreesWithUnicode: characters that differ only by case fold to the same, all of them.
func TestFoldAgreesWithUnicode(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r > 0x1ffff && int(r)%testlevel.Stride(16, 64) != 0 { // no letter up there has a case
			continue
		}
		folded, others := release.Fold(string(r)), []rune{unicode.SimpleFold(r), unicode.ToUpper(r), unicode.ToLower(r), unicode.ToTitle(r)}
		for _, other := range others {
			if other == r {
				continue
			}
			if got := release.Fold(string(other)); got != folded {
				t.Errorf("%U folds to %q and %U to %q", r, folded, other, got)
			}
		}
		if release.Fold(folded) != folded {
			t.Errorf("%U: folding twice gives something else", r)
		}
	}
	for _, pair := range [][2]string{{"STRASSE", "straße"}, {"STRAẞE", "strasse"}, {"\u212Bngstr\u00F6m", "\u00E5NGSTR\u00D6M"}, {"ΛΌΓΟΣ", "λόγος"}, {"Карта", "КАРТА"}, {"ﬁ", "FI"}, {"\u1f71", "\u03ac"}, {"\u00b7", "\u0387"}, {"e\u0301", "É"}, {"ﬃ", "ffi"}} {
		if release.Fold(pair[0]) != release.Fold(pair[1]) {
			t.Errorf("%q and %q fold apart", pair[0], pair[1])
		}
	}
	if release.Fold("a/B.zip") != "a/b.zip" {
		t.Error("folding changed more than case")
	}
}

func files(paths ...string) (list []release.File) {
	for _, p := range paths {
		list = append(list, release.File{Path: p})
	}
	return list
}

func TestCheckSet(t *testing.T) {
	t.Parallel()
	tests := []struct {
		paths  []string
		fault  string // the path that is refused
		reason string
	}{
		{nil, "", ""},
		{[]string{"a", "b", "a.zip", "c/a", "c/b", "C2/a", "ab/c"}, "", ""},
		{[]string{"Maps/a", "maps/b"}, "", ""}, // one folder on some systems, two files on all
		{[]string{"a", "a"}, "a", `same file as "a"`},
		{[]string{"a.zip", "x", "A.ZIP"}, "A.ZIP", `same file as "a.zip"`},
		{[]string{"maps/Карта", "MAPS/карта"}, "MAPS/карта", `same file as "maps/Карта"`},
		{[]string{"straße", "STRASSE"}, "STRASSE", `same file as "straße"`},
		{[]string{"ﬁ.zip", "fi.zip"}, "fi.zip", "same file"},
		{[]string{"ά", "Ά"}, "Ά", "same file"},
		{[]string{"ά", "\u1f71"}, "\u1f71", "another way"}, // letters with tonos and oxia
		{[]string{"a·", "a\u0387"}, "a\u0387", "another way"},
		{[]string{"\u212A", "k"}, "\u212A", "another way"}, // the Kelvin sign
		{[]string{"ΐ", "ϊ\u0301"}, "ϊ\u0301", "another way"},
		{[]string{"ŉ", "ʼn"}, "ʼn", "same file"},
		{[]string{"a", "a/b"}, "a/b", `folder where "a" is a file`},
		{[]string{"A/b/c", "a/B"}, "A/b/c", `folder where "a/B" is a file`},
		{[]string{"x/y/z", "q", "X"}, "x/y/z", `folder where "X" is a file`},
		{[]string{"fine", "../evil"}, "../evil", "leaves the folder"},
		{[]string{"fine", ""}, "", "is empty"},
	}
	for _, test := range tests {
		err := release.CheckSet(files(test.paths...))
		if test.reason == "" {
			if err != nil {
				t.Errorf("%q: %v", test.paths, err)
			}
			continue
		}
		var fault *release.PathError
		if !errors.As(err, &fault) || fault.Path != test.fault || !strings.Contains(fault.Reason, test.reason) {
			t.Errorf("%q: got %v, want %q: %s", test.paths, err, test.fault, test.reason)
		}
	}
}

func TestCheckSetIsBounded(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	list := make([]release.File, release.MaxSet+1)
	for i := range list {
		list[i].Path = fmt.Sprintf("folder%d/file%d", i%100, i)
	}
	if err := release.CheckSet(list[:release.MaxSet]); err != nil {
		t.Errorf("the largest list: %v", err)
	}
	var fault *release.PathError
	if err := release.CheckSet(list); !errors.As(err, &fault) || fault.Path != list[release.MaxSet].Path {
		t.Errorf("one more: %v", err)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	for role, want := range map[release.Role]struct {
		number uint8
		word   string
	}{release.Resource: {0, "resource"}, release.Binary: {1, "binary"}, 7: {7, "unknown"}} {
		if uint8(role) != want.number || role.String() != want.word {
			t.Errorf("role %d is %q, want %d %q", role, role, want.number, want.word)
		}
	}
}

// TestAcceptedPathsExist makes every accepted path on this machine's disk and finds it there under the same name.
func TestAcceptedPathsExist(t *testing.T) {
	t.Parallel()
	for _, p := range accepted {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.FromSlash(p)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Errorf("%q: %v", p, err)
		}
		if err := root.WriteFile(name, []byte(p), 0o644); err != nil {
			t.Errorf("%q: %v", p, err)
		}
		if data, err := root.ReadFile(name); err != nil || string(data) != p {
			t.Errorf("%q: read back %q, %v", p, data, err)
		}
		root.Close()
	}
}

// FuzzCheckPath: an accepted path has every property that the rest of the program builds on.
func FuzzCheckPath(f *testing.F) {
	for _, p := range accepted {
		f.Add(p)
	}
	for _, test := range refused {
		f.Add(test.path)
	}
	f.Fuzz(func(t *testing.T, p string) {
		err := release.CheckPath(p)
		if set := release.CheckSet(files(p)); (set == nil) != (err == nil) {
			t.Fatalf("%q: CheckPath says %v, CheckSet %v", p, err, set)
		}
		if err != nil {
			var fault *release.PathError
			if !errors.As(err, &fault) || fault.Path != p || fault.Reason == "" {
				t.Fatalf("%q: %v", p, err)
			}
			return
		}
		if !utf8.ValidString(p) || len(p) == 0 || len(p) > release.MaxPath {
			t.Fatalf("%q: bad text was taken", p)
		}
		if path.Clean(p) != p || path.IsAbs(p) || !filepath.IsLocal(filepath.FromSlash(p)) || strings.HasPrefix(path.Clean("x/"+p), "..") {
			t.Fatalf("%q leaves its folder, or is another path when cleaned", p)
		}
		for element := range strings.SplitSeq(p, "/") {
			if strings.ContainsAny(element, "\\:*?\"<>|\x00") || strings.HasPrefix(element, "~") || strings.TrimRight(element, " .") != element {
				t.Fatalf("%q has the element %q", p, element)
			}
		}
		if strings.ContainsFunc(p, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
			t.Fatalf("%q holds what can't be seen", p)
		}
		if release.CheckSet(files(p, strings.ToUpper(p))) == nil || release.CheckSet(files(p, p+"/x")) == nil && len(p)+2 <= release.MaxPath {
			t.Fatalf("%q does not collide with itself", p)
		}
	})
}
