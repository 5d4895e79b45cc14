package sample_test

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// titled is content whose title tells where it came from.
func titled(title string) content {
	c := good()
	c.core["game.txt"] = fmt.Appendf(nil, "title=%s\nitems=3\n", title)
	return c
}

// TestPatchedPacks: packs of the writable folder take precedence, and of the delivered ones only the listed count.
func TestPatchedPacks(t *testing.T) {
	m := load(t)
	tests := []struct {
		name    string
		patched string // packs there
		list    string // empty: no list
		says    string
	}{
		{"nothing patched", "", "", "1 packs read, title Delivered"},
		{"one patched", "Core.zip", "", "1 packs read, title Patched"},
		{"all patched", "Core.zip Art.zip", "", "1 packs read, title Patched"},
		{"all listed", "", "Art.zip\nCore.zip\n", "1 packs read, title Delivered"},
		{"last line without end", "", "Art.zip\nCore.zip", "1 packs read, title Delivered"},
		{"other listed", "", "Art.zip\nCore.zip.old\nMaps/Core.zip\n", "3 packs can't be used: Core.zip: is not among the packs of this release"},
		{"none listed, patched", "Core.zip Art.zip", "\n", "1 packs read, title Patched"},
		{"one patched, the other listed", "Core.zip", "Art.zip\n", "1 packs read, title Patched"},
		{"one patched, the other not listed", "Core.zip", "Core.zip\n", "3 packs can't be used: Art.zip: is not among the packs of this release"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			delivered, both, patched := titled("Delivered").write(t), titled("Patched").write(t), t.TempDir()
			for name := range strings.FieldsSeq(test.patched) {
				if err := os.Rename(filepath.Join(both, name), filepath.Join(patched, name)); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"--headless", "--ClientResources", delivered, "--ClientResourcesPatched", patched}
			if test.list != "" {
				list := filepath.Join(t.TempDir(), "list")
				if err := os.WriteFile(list, []byte(test.list), 0o644); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--ClientResourcesList", list)
			}
			got := inside(t, m, args...)
			if len(got.logs) != 1 || got.logs[0] != test.says || got.result.Success != strings.HasPrefix(test.says, "1") {
				t.Errorf("logged %q, result %+v, want %q", got.logs, got.result, test.says)
			}
		})
	}
}

// TestPatchedPacksThatFail: what can't be read is never passed over for an older pack.
func TestPatchedPacksThatFail(t *testing.T) {
	m, delivered := load(t), titled("Delivered").write(t)
	patched := t.TempDir()
	damaged := titled("Patched")
	damaged.writeInto(t, patched, zip.Deflate)
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"damaged pack", []string{"--ClientResourcesPatched", patched}, "is compressed"},
		{"absent folder", []string{"--ClientResourcesPatched", filepath.Join(patched, "none")}, "title Delivered"},
		{"file for a folder", []string{"--ClientResourcesPatched", filepath.Join(patched, "Core.zip")}, "title Delivered"},
		{"absent list", []string{"--ClientResourcesList", filepath.Join(patched, "none")}, "none: can't be opened"},
		{"long line", []string{"--ClientResourcesList", longLine(t)}, "is not among the packs of this release"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := inside(t, m, append([]string{"--headless", "--ClientResources", delivered}, test.args...)...)
			if len(got.logs) != 1 || !strings.Contains(got.logs[0], test.says) {
				t.Errorf("logged %q, want %q", got.logs, test.says)
			}
		})
	}
}

// longLine is a list whose only line does not fit into what the game reads at once.
func longLine(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(name, []byte(strings.Repeat("x", 1199)+"Core.zip\nArt.zip\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
