//go:build unix

package launcher_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"collet/netproto/launcher"
)

// TestPipeIsNotWaitedFor: a pipe in the folder is named as a problem, and nothing waits for its writer.
func TestPipeIsNotWaitedFor(t *testing.T) {
	root, o := newData(t, map[string]string{"a": "1"})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	tree := launcher.NewTree(open(t, root), launcher.TreeOptions{})
	layout, problems, err := tree.Scan(t.Context())
	if err != nil || len(problems) != 1 || problems[0].Path != "pipe" {
		t.Errorf("problems %v, %v", problems, err)
	}
	expect(t, layout, map[string]string{"a": "1"})
	if _, err := tree.Blocks(t.Context(), "pipe", 10); err == nil {
		t.Error("a pipe has blocks")
	}
	desk := greeted(t, o)
	desk.answers(&launcher.RequestFileBlockHashes{Path: "pipe", BlockSize: 10}, &launcher.ResponseFileBlockHashes{Path: "pipe", Hashes: []launcher.Hash{}})
	if r := desk.write("pipe", "a file now", 100); r != launcher.Success {
		t.Errorf("a pipe in the place of a file: %v", r)
	}
}
