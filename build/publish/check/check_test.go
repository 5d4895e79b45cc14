package check_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"collet/build/publish/check"
	"collet/netproto/product"
	"collet/netproto/release"
)

// elf is the beginning of a library for Linux on a processor.
func elf(machine uint16) string {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[18:], machine)
	return string(b)
}

// pe is the beginning of a library for Windows. With dotNet it is an assembly.
func pe(machine uint16, dotNet bool) string {
	b := make([]byte, 512)
	copy(b, "MZ")
	b[0x3c] = 0x40
	copy(b[0x40:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(b[0x44:], machine)
	binary.LittleEndian.PutUint16(b[0x40+24:], 0x10b)
	if dotNet {
		b[0x40+24+96+14*8] = 1
	}
	return string(b)
}

func archive(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.Create(name); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type content struct{ *strings.Reader }

func (content) Close() error { return nil }

// set makes a set of files: module and companions by their names, all others as resources.
func set(target string, files map[string]string) check.Set {
	var list []release.ListedFile
	for name, text := range files {
		use := release.UseResource
		if strings.HasPrefix(name, "Lathe") {
			use = release.UseOf(release.Binary, name)
		}
		if _, is := product.Target(target).HostOf("Lathe.program"); is && (name == "Lathe" || name == "Lathe.exe") {
			use = release.UseHost
		}
		list = append(list, release.ListedFile{Path: name, Use: use, Size: int64(len(text)), Mode: release.PlainMode, Sum: release.ObjectOf([]byte(text)).Sum})
	}
	return check.Set{Target: target, Files: release.NewListing(list), Open: func(path string) (check.File, error) {
		text, there := files[path]
		if !there {
			return nil, fs.ErrNotExist
		}
		return content{strings.NewReader(text)}, nil
	}}
}

// after makes a set follow another one.
func after(s, old check.Set) check.Set {
	s.Before, s.Old = 7, old.Files
	return s
}

// asProgram makes a set that of a program.
func asProgram(s check.Set, programs ...string) check.Set {
	s.IsProgram, s.Programs = true, programs
	return s
}

// TestFind: what can't be right is refused, what may be meant is asked, and all else passes. Texts of refused findings begin with "!".
func TestFind(t *testing.T) {
	t.Parallel()
	core := archive(t, "level")
	good := map[string]string{"Lathe.so": elf(62), "Core.zip": core}
	with := func(name, text string) map[string]string {
		return map[string]string{"Lathe.so": elf(62), "Core.zip": core, name: text}
	}
	many := func(n int) map[string]string {
		files := map[string]string{"Lathe.program": "{}"}
		for i := range n {
			files[fmt.Sprintf("data/%d", i)] = fmt.Sprint(i)
		}
		return files
	}
	for _, test := range []struct {
		name string
		r    check.Release
		want []string
	}{
		{"a good first release", check.Release{Sets: []check.Set{set("Linux-x64", good)}}, nil},
		{"a good next one", check.Release{Sets: []check.Set{after(set("Linux-x64", with("New.zip", core)), set("Linux-x64", good))}}, nil},
		{"a mistyped target", check.Release{Sets: []check.Set{set("linux", good)}}, []string{"!no client asks for the target linux; did you mean Linux-x64?"}},
		{"a target of a system without a name", check.Release{Sets: []check.Set{set("freebsd-unknown", good)}}, nil},
		{"a module that is a text", check.Release{Sets: []check.Set{set("Linux-x64", with("Lathe.so", "hello"))}},
			[]string{"!Linux-x64: Lathe.so is no native library of Linux-x64; name what the compiler made for Linux-x64"}},
		{"a module that is empty", check.Release{Sets: []check.Set{set("Linux-x64", with("Lathe.so", ""))}},
			[]string{"!Linux-x64: Lathe.so is no native library of Linux-x64; name what the compiler made for Linux-x64"}},
		{"a module of another processor", check.Release{Sets: []check.Set{set("Linux-x64", with("Lathe.so", elf(183)))}},
			[]string{"!Linux-x64: Lathe.so was built for Linux-arm64; name the file that was built for Linux-x64"}},
		{"the same again, unchanged", check.Release{Sets: []check.Set{after(set("Linux-x64", with("Lathe.so", "hello")), set("Linux-x64", with("Lathe.so", "hello")))}},
			[]string{"!Linux-x64: Lathe.so is no native library of Linux-x64; name what the compiler made for Linux-x64", "nothing has changed for Linux-x64 since release 7"}},
		{"a library of another system beside it", check.Release{Sets: []check.Set{set("Linux-x64", with("Lathe.dll", pe(0x14c, false)))}}, nil},
		{"an assembly of .NET", check.Release{Sets: []check.Set{set("Windows-win64", map[string]string{"Lathe.dll": pe(0x14c, true), "Core.zip": core})}}, nil},
		{"a library of 32 bits", check.Release{Sets: []check.Set{set("Windows-win64", map[string]string{"Lathe.dll": pe(0x14c, false), "Core.zip": core})}},
			[]string{"!Windows-win64: Lathe.dll was built for Windows-win32; name the file that was built for Windows-win64"}},
		{"a host of another system", check.Release{Sets: []check.Set{set("Linux-x64", with("Lathe", pe(0x8664, false)))}},
			[]string{"!Linux-x64: Lathe was built for Windows-win64; name the file that was built for Linux-x64"}},
		{"a pack that does not open", check.Release{Sets: []check.Set{set("Linux-x64", with("Art.ZIP", "PK")), set("Linux-arm64", map[string]string{"Lathe.so": elf(183), "Art.ZIP": "PK"})}},
			[]string{"Art.ZIP can't be opened as a zip archive; pack it anew, or give it another extension if it is none"}},
		{"the same pack, confirmed before", check.Release{Sets: []check.Set{after(set("Linux-x64", map[string]string{"Lathe.so": elf(62), "Art.zip": "PK", "b": "b"}), set("Linux-x64", map[string]string{"Art.zip": "PK"}))}}, nil},
		{"no packs", check.Release{Sets: []check.Set{set("Linux-x64", map[string]string{"Lathe.so": elf(62)})}},
			[]string{"the set for Linux-x64 has no Resources; put the packs into Resources"}},
		{"no packs, as before", check.Release{Sets: []check.Set{after(set("Linux-x64", map[string]string{"Lathe.so": elf(62)}), set("Linux-x64", map[string]string{"Lathe.so": elf(183)}))}}, nil},
		{"no packs any more", check.Release{Sets: []check.Set{after(set("Linux-x64", map[string]string{"Lathe.so": elf(62)}), set("Linux-x64", good))}},
			[]string{"the set for Linux-x64 has no Resources; release 7 has 1 files there"}},
		{"packs disappear", check.Release{Sets: []check.Set{after(set("Linux-x64", good), set("Linux-x64", map[string]string{"A.zip": "", "B.zip": "", "C.zip": "", "D.zip": "", "Core.zip": ""}))}},
			[]string{"A.zip, B.zip, C.zip and 1 more files of release 7 for Linux-x64 are not there any more"}},
		{"no module", check.Release{Sets: []check.Set{set("Linux-x64", map[string]string{"Core.zip": core})}},
			[]string{"the set for Linux-x64 has no native module and no program; put it into PlatformBinaries/Linux-x64"}},
		{"nothing changed", check.Release{Sets: []check.Set{after(set("Linux-x64", good), set("Linux-x64", good))}}, []string{"nothing has changed for Linux-x64 since release 7"}},
		{"a program", check.Release{Sets: []check.Set{asProgram(set("Linux-x64", map[string]string{"Lathe.program": "{}", "run": elf(62), "data.zip": "text"}), "run")}}, nil},
		{"a program of another system", check.Release{Sets: []check.Set{asProgram(set("Linux-x64", map[string]string{"Lathe.program": "{}", "run": pe(0x8664, false)}), "run")}},
			[]string{"!Linux-x64: run was built for Windows-win64; name the file that was built for Linux-x64"}},
		{"a program that a wrapper starts", check.Release{Sets: []check.Set{asProgram(set("Linux-x64", map[string]string{"Lathe.program": "{}", "run": pe(0x8664, false)}))}}, nil},
		{"a program with other names of files", check.Release{Sets: []check.Set{after(asProgram(set("Linux-x64", many(5))), set("Linux-x64", many(10)))}}, nil},
		{"a program that loses most of its files", check.Release{Sets: []check.Set{after(asProgram(set("Linux-x64", many(4))), set("Linux-x64", many(10)))}},
			[]string{"data/4, data/5, data/6 and 3 more files of release 7 for Linux-x64 are not there any more"}},
		{"a mistyped channel", check.Release{Channel: "prdo", Channels: []string{"beta", "prod"}, Sets: []check.Set{set("Linux-x64", good)}}, []string{"no release is in the channel prdo yet; did you mean prod?"}},
		{"another channel", check.Release{Channel: "nightly", Channels: []string{"beta", "prod"}, Sets: []check.Set{set("Linux-x64", good)}}, []string{"no release is in the channel nightly yet; there is beta or prod"}},
		{"the first channel", check.Release{Channel: "prdo", Sets: []check.Set{set("Linux-x64", good)}}, nil},
		{"nothing left to publish", check.Release{Channel: "prdo", Channels: []string{"prod"}}, nil},
		{"targets disappear", check.Release{Channel: "prod", Channels: []string{"prod"}, Previous: 3, Lacking: []string{"macOS-x64"}, Sets: []check.Set{set("Linux-x64", good)}},
			[]string{"release 3 of prod is for macOS-x64, too, and this one is not; with --target you publish one at a time"}},
	} {
		found, err := check.Find(test.r)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var got []string
		for _, f := range found {
			text := f.String()
			if f.Refused {
				text = "!" + text
			}
			got = append(got, text)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestTargetAdvice: common other names lead to the target that was meant.
func TestTargetAdvice(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"linux": "did you mean Linux-x64?", "Linux": "did you mean Linux-x64?", "linux-amd64": "did you mean Linux-x64?", "linux/arm64": "did you mean Linux-arm64?",
		"windows": "did you mean Windows-win64?", "win-x64": "did you mean Windows-win64?", "mac-arm64": "did you mean macOS-arm64?", "osx": "did you mean macOS-x64?",
		"Linx-x64": "did you mean Linux-x64?", "psp": "want ",
	} {
		if got := check.TargetAdvice(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, target := range product.Targets() {
		if fault := check.Target(string(target)); fault != nil {
			t.Errorf("%s: %v", target, fault)
		}
	}
}
