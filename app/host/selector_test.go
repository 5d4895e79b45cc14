package host

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// twoRoots is a delivered module and a writable root, with files made in either.
func twoPaths(t *testing.T, own, delivered string) paths {
	t.Helper()
	r := paths{install: t.TempDir(), data: t.TempDir()}
	for folder, names := range map[string]string{r.data: own, r.install: delivered} {
		for name := range strings.FieldsSeq(names) {
			full := filepath.Join(folder, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(name), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// put writes a selector as it is; W and I stand for the folders.
func (r paths) put(t *testing.T, text string) {
	t.Helper()
	name := filepath.Join(r.data, "ClientRuntimeHost", "Lathe.so.path")
	text = strings.NewReplacer("W/", r.data+"/", "I/", r.install+"/").Replace(text)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestReadSelector(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this table are those of other systems; TestWriteSelector runs everywhere")
	}
	tests := []struct {
		name, text string
		want, says string
	}{
		{"own", "W/Lathe.so\n", "W/Lathe.so", ""},
		{"delivered", "I/Lathe.so\n", "I/Lathe.so", ""},
		{"deeper", "W/versions/3/Lathe.so\n", "W/versions/3/Lathe.so", ""},
		{"unclean", "W/versions/../Lathe.so\n", "W/Lathe.so", ""},
		{"only staged", "W/staged/Lathe.so\n", "W/staged/Lathe.so", ""},
		{"gone", "W/gone/Lathe.so\n", "", ""},
		{"a folder", "W/folder/Lathe.so\n", "", ""},
		{"link inside", "W/inner/Lathe.so\n", "W/inner/Lathe.so", ""},
		{"link to outside", "W/outer/Lathe.so\n", "", ""},
		{"empty", "", "", "newline"},
		{"torn", "W/Lathe.so", "", "newline"},
		{"only a newline", "\n", "", "absolute"},
		{"two lines", "W/Lathe.so\nW/Lathe.so\n", "", "more than one"},
		{"carriage return", "W/Lathe.so\r\n", "", "more than one"},
		{"zero byte", "W/\x00/Lathe.so\n", "", "more than one"},
		{"relative", "Lathe.so\n", "", "absolute"},
		{"other module", "W/Other.so\n", "", "not called"},
		{"other case", "W/lathe.so\n", "", "not called"},
		{"a part", "W/Lathe.so-staging\n", "", "not called"},
		{"outside", "/usr/lib/Lathe.so\n", "", "outside"},
		{"out by dots", "W/../Lathe.so\n", "", "outside"},
		{"folder that begins the same", "W/../Lathe.so/../W2/Lathe.so\n", "", "outside"},
		{"longest", "W/" + strings.Repeat("./", 1900) + "Lathe.so\n", "W/Lathe.so", ""},
		{"too long", "W/" + strings.Repeat("./", 2048) + "Lathe.so\n", "", "longer"},
	}
	r := twoPaths(t, "Lathe.so Other.so versions/3/Lathe.so staged/Lathe.so-staging folder/Lathe.so/x real/Lathe.so", "Lathe.so")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "Lathe.so"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("real", filepath.Join(r.data, "inner")), os.Symlink(outside, filepath.Join(r.data, "outer"))); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r.put(t, test.text)
			got, err := readSelector(r, "Lathe.so")
			got = strings.NewReplacer(r.data+"/", "W/", r.install+"/", "I/").Replace(got)
			if got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, %v, want %q, %q", got, err, test.want, test.says)
			}
		})
	}
}

func TestWriteSelector(t *testing.T) {
	r := twoPaths(t, "Lathe.so", "Lathe.so")
	if name, err := readSelector(r, "Lathe.so"); name != "" || err != nil {
		t.Errorf("without a selector: %q, %v", name, err)
	}
	for _, folder := range []string{r.data, r.install} {
		want := filepath.Join(folder, "Lathe.so")
		if err := writeSelector(r, "Lathe.so", want); err != nil {
			t.Fatal(err)
		}
		if got, err := readSelector(r, "Lathe.so"); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	for _, bad := range []string{filepath.Join(r.data, "Other.so"), filepath.Join(t.TempDir(), "Lathe.so"), "Lathe.so"} {
		if err := writeSelector(r, "Lathe.so", bad); err == nil {
			t.Errorf("%q was written", bad)
		}
	}
	if got, _ := readSelector(r, "Lathe.so"); got != filepath.Join(r.install, "Lathe.so") {
		t.Errorf("a refused selector changed the old one to %q", got)
	}
	entries, err := os.ReadDir(filepath.Join(r.data, "ClientRuntimeHost"))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the selector lies something: %v, %v", entries, err)
	}
	r.data = r.install
	if name, err := readSelector(r, "Lathe.so"); name != "" || err != nil {
		t.Errorf("a portable client has a selector: %q, %v", name, err)
	}
}

// TestReselect is which module a host takes, and what the selector says afterwards.
func TestReselect(t *testing.T) {
	const none = ""
	tests := []struct {
		name           string
		own, delivered string // files
		selector       string
		swapped        bool
		library        string
		chosen         string
		after          string // what the selector names
	}{
		{"delivered only", none, "Lathe.so", none, false, "I/Lathe.so", "I/Lathe.so", none},
		{"delivered only, swapped", none, "Lathe.so", none, true, "I/Lathe.so", "I/Lathe.so", "I/Lathe.so"},
		{"both", "Lathe.so", "Lathe.so", none, false, "W/Lathe.so", "W/Lathe.so", none},
		{"both, swapped", "Lathe.so", "Lathe.so", none, true, "W/Lathe.so", "W/Lathe.so", "W/Lathe.so"},
		{"stopped before the selector", "Lathe.so", "Lathe.so", "I/Lathe.so", false, "W/Lathe.so", "W/Lathe.so", "W/Lathe.so"},
		{"the delivered one took its place", none, "Lathe.so", "W/Lathe.so", false, "I/Lathe.so", "I/Lathe.so", none},
		{"a foreign choice", "Lathe.so v/Lathe.so", "Lathe.so", "W/v/Lathe.so", false, "W/Lathe.so", "W/v/Lathe.so", "W/v/Lathe.so"},
		{"a foreign choice, then a swap", "Lathe.so v/Lathe.so", "Lathe.so", "W/v/Lathe.so", true, "W/Lathe.so", "W/Lathe.so", "W/Lathe.so"},
		{"a bad one", "Lathe.so", "Lathe.so", "/etc/Lathe.so", false, "W/Lathe.so", "W/Lathe.so", none},
		{"a bad one, then a swap", "Lathe.so", "Lathe.so", "/etc/Lathe.so", true, "W/Lathe.so", "W/Lathe.so", "W/Lathe.so"},
		{"no module at all", none, none, none, true, "W/Lathe.so", none, none},
		{"staged only", "Lathe.so-staging", "Lathe.so", "W/Lathe.so", false, "I/Lathe.so", "I/Lathe.so", none},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := hostWith(setup{base: "Lathe", target: "Linux-x64", paths: twoPaths(t, test.own, test.delivered)})
			short := strings.NewReplacer(filepath.ToSlash(h.paths.data)+"/", "W/", filepath.ToSlash(h.paths.install)+"/", "I/")
			if test.selector != none {
				h.paths.put(t, test.selector+"\n")
			}
			h.modules().reselect(test.swapped)
			if got := short.Replace(filepath.ToSlash(h.modules().library())); got != test.library {
				t.Errorf("library %q, want %q", got, test.library)
			}
			if got := short.Replace(filepath.ToSlash(h.choose().path)); got != test.chosen {
				t.Errorf("chosen %q, want %q", got, test.chosen)
			}
			if got := short.Replace(filepath.ToSlash(h.modules().selected())); got != test.after {
				t.Errorf("selector names %q, want %q", got, test.after)
			}
		})
	}
}

// FuzzSelector: whatever a selector says, it leads to a module of this name inside of the folders, or nowhere.
func FuzzSelector(f *testing.F) {
	data, install := filepath.FromSlash("/data/Lathe"), filepath.FromSlash("/opt/Lathe")
	if runtime.GOOS == "windows" {
		data, install = "C:"+data, "C:"+install
	}
	for _, seed := range []string{"/data/Lathe/Lathe.so\n", "/opt/Lathe/x/../Lathe.so\n", "/data/Lathe/../../etc/Lathe.so\n", "\n", "Lathe.so\n",
		"/data/Lathe/Lathe.so\r\n", "/data/Lathe\x00/Lathe.so\n", "//data//Lathe//Lathe.so\n", "/data/LatheX/Lathe.so\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		name, err := parseSelector(text, "Lathe.so", data, install)
		if (err == nil) != (name != "") {
			t.Fatalf("%q: %q, %v", text, name, err)
		}
		if err != nil {
			return
		}
		inside := strings.HasPrefix(name, data+string(filepath.Separator)) || strings.HasPrefix(name, install+string(filepath.Separator))
		if !inside || filepath.Base(name) != "Lathe.so" || filepath.Clean(name) != name || len(text) > maxSelector {
			t.Errorf("%q became %q", text, name)
		}
		if again, err := parseSelector([]byte(name+"\n"), "Lathe.so", data, install); again != name || err != nil {
			t.Errorf("%q is %q the second time, %v", name, again, err)
		}
	})
}
