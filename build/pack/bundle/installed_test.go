package bundle_test

import (
	"slices"
	"testing"

	"collet/build/pack/bundle"
)

func TestInstalledHasTheMarker(t *testing.T) {
	tree, err := bundle.NewTree(plain("Lathe.exe"))
	if err != nil {
		t.Fatal(err)
	}
	installed, err := tree.Installed()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(installed, func(e bundle.Entry) bool { return e.Path == "INSTALLED" && len(e.Data) > 0 }) {
		t.Errorf("no marker in %v", installed)
	}
	if _, err := installed.Installed(); err == nil {
		t.Error("a tree with a marker was taken: only installers put one there")
	}
}

// TestLinkArgs: a link may hold anything, and must not reach the host's own flags.
func TestLinkArgs(t *testing.T) {
	if args := bundle.LinkArgs(); len(args) == 0 || args[0] != "--" {
		t.Errorf("links follow %q, want -- first", args)
	}
}
