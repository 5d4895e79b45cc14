package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLangCheck: languages that are complete, one that is begun, one that is not there, and a folder without any.
func TestLangCheck(t *testing.T) {
	tree := filepath.Join("..", "..", "..", "assets", "lang")
	says(t, 0, "en: complete", "", "lang", "check", "--dir", tree)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "en"), os.DirFS(filepath.Join(tree, "en"))); err != nil {
		t.Fatal(err)
	}
	says(t, 1, "ko/window.json: is not there: copy en/window.json", "", "lang", "check", "ko", "--dir", dir)
	says(t, 1, "ko: missing 4, wrong 0", "", "lang", "check", "ko", "--dir", dir)
	if err := os.CopyFS(filepath.Join(dir, "ko"), os.DirFS(filepath.Join(tree, "en"))); err != nil {
		t.Fatal(err)
	}
	says(t, 1, `ko/window.json: "next.offline" is not translated`, "", "lang", "check", "ko", "--dir", dir)
	says(t, 1, "", `"Korean" is no language`, "lang", "check", "Korean", "--dir", dir)
	says(t, 2, "", "is no folder of languages", "lang", "check", "--dir", t.TempDir())
}
