package windows

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/pack/bundle"
	"collet/platform/testlevel"
)

var update = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

type maker struct {
	name  string
	tools []string
	make  func(context.Context, bundle.Bundle, string) error
}

func makers(i Installer) []maker {
	return []maker{{"nsis", []string{"makensis"}, i.NSIS}, {"msi", []string{"wixl", "msibuild", "msiinfo"}, i.MSI}}
}

// need skips where a tool is missing.
func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is missing (Debian: nsis wixl msitools)", tool)
		}
	}
}

// TestGolden compares scripts with those in testdata, which were read and tried.
func TestGolden(t *testing.T) {
	b := lathe(t, []byte("MZ"))
	setup, _, err := Installer{}.script(b)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "setup.nsi", setup)
	p, err := Installer{Scope: User, DesktopShortcut: true}.msiProduct(b)
	if err != nil {
		t.Fatal(err)
	}
	product, err := p.script()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "product.wxs", []byte(string(product)+"\n<!-- "+strings.Join(p.texts, " | ")+" -->\n"))
	golden(t, "RemoveFile.idt", []byte(strings.ReplaceAll(p.removeRows(), "\r", "")))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", name), got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil && bytes.Equal(got, want) {
		return
	}
	failed := filepath.Join("testdata", "failed")
	if err := os.MkdirAll(failed, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(failed, name), got, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s is not as in testdata; see testdata/failed; go test -update takes it, if it is right", name)
}

// TestSameBytes makes each installer twice: in other folders, at other times, with another umask, time zone and language, from
// files with other times and modes.
func TestSameBytes(t *testing.T) {
	testlevel.Lab(t)
	var before time.Time
	made := map[string][]byte{}
	for n, zone := range []string{"UTC", "Asia/Tokyo"} {
		t.Setenv("TZ", zone)
		t.Setenv("LC_ALL", []string{"C", "ru_RU.UTF-8"}[n])
		<-time.After(time.Until(before.Add(time.Second))) // clocks of tools count seconds
		for _, i := range []Installer{{}, {Scope: User, DesktopShortcut: true}, {Scope: Machine}} {
			for _, m := range makers(i) {
				need(t, m.tools...)
				b := onDisk(t, lathe(t, []byte("MZ and so on")), time.Unix(1e9+int64(n)*12345, 0))
				out := filepath.Join(t.TempDir(), "out")
				if err := m.make(t.Context(), b, out); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s, %+v", m.name, i)
				if other := made[name]; n == 1 && !bytes.Equal(data, other) {
					t.Errorf("%s: %d and %d bytes that differ", name, len(other), len(data))
				}
				made[name] = data
			}
		}
		before = time.Now()
	}
}

// onDisk has the files of a bundle in a folder, with this time.
func onDisk(t *testing.T, b bundle.Bundle, when time.Time) bundle.Bundle {
	t.Helper()
	dir := t.TempDir()
	for i := range b.Tree {
		e := &b.Tree[i]
		e.From = filepath.Join(dir, stagedName(len(b.Tree)-i))
		if err := os.WriteFile(e.From, e.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		e.Data = nil
		if err := os.Chtimes(e.From, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestCodesOfPackages: what stays the same between versions and what does not.
func TestCodesOfPackages(t *testing.T) {
	codes := func(change func(*bundle.Bundle), i Installer) (product, component string) {
		b := lathe(t, []byte("MZ"))
		change(&b)
		p, err := i.msiProduct(b)
		if err != nil {
			t.Fatal(err)
		}
		return p.ProductCode, p.Folder.Files[0].GUID
	}
	product, component := codes(func(*bundle.Bundle) {}, Installer{})
	for _, c := range []struct {
		name         string
		change       func(*bundle.Bundle)
		i            Installer
		sameP, sameC bool
	}{
		{"again", func(*bundle.Bundle) {}, Installer{}, true, true},
		{"machine is what Ask means", func(*bundle.Bundle) {}, Installer{Scope: Machine}, true, true},
		{"another version", func(b *bundle.Bundle) { b.Product.Version = "1.4.3" }, Installer{}, false, true},
		{"other bytes", func(b *bundle.Bundle) { b.Tree[0].Data = []byte("y") }, Installer{}, false, true},
		{"for a user", func(*bundle.Bundle) {}, Installer{Scope: User}, false, false},
		{"another game", func(b *bundle.Bundle) { b.Product.UpgradeCode = derived(upgradeCode, "x") }, Installer{}, false, false},
	} {
		p, cc := codes(c.change, c.i)
		if (p == product) != c.sameP || (cc == component) != c.sameC {
			t.Errorf("%s: product %s and %s, component %s and %s", c.name, product, p, component, cc)
		}
	}
}

// TestMissingTool: the error says what to install.
func TestMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, m := range makers(Installer{}) {
		err := m.make(t.Context(), lathe(t, []byte("MZ")), filepath.Join(t.TempDir(), "out"))
		if err == nil || !strings.Contains(err.Error(), "apt-get install") {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestToolFails: the error has the tool's last words.
func TestToolFails(t *testing.T) {
	dir := t.TempDir()
	for _, m := range makers(Installer{}) {
		script := "#!/bin/sh\necho reason of " + m.tools[0] + "\nexit 3\n"
		if err := os.WriteFile(filepath.Join(dir, m.tools[0]), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":/bin:/usr/bin")
		err := m.make(t.Context(), lathe(t, []byte("MZ")), filepath.Join(t.TempDir(), "out"))
		if err == nil || !strings.Contains(err.Error(), "reason of "+m.tools[0]) {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestCancelled: a context that ends is heard, and leaves nothing.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, m := range makers(Installer{}) {
		out := filepath.Join(t.TempDir(), "out")
		if err := m.make(ctx, lathe(t, []byte("MZ")), out); err == nil {
			t.Errorf("%s went on", m.name)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s left a file", m.name)
		}
	}
}

func FuzzPinSummary(f *testing.F) {
	set := make([]byte, 28, 200)
	set = append(set, summaryFormat...)
	set = append(set, 48, 0, 0, 0, 80, 0, 0, 0, 2, 0, 0, 0, 12, 0, 0, 0, 24, 0, 0, 0, 13, 0, 0, 0, 36, 0, 0, 0)
	set = append(set, 0x40, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x40, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	if err := pinSummary(set, time.Unix(0, 0)); err != nil {
		f.Fatal(err)
	}
	f.Add(set)
	f.Fuzz(func(t *testing.T, data []byte) {
		before := len(data)
		if pinSummary(data, time.Unix(1, 0)) == nil && len(data) != before {
			t.Error("its length changed")
		}
	})
}
