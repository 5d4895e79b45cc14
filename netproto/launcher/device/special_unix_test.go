//go:build unix

package device_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// TestPipeIsNotWaitedFor: a pipe in the folder is named as a problem, and nothing waits for its writer.
func TestPipeIsNotWaitedFor(t *testing.T) {
	root, o := newData(t, map[string]string{"a": "1"})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	folder := tree.New(launchertest.Open(t, root), tree.Options{})
	layout, problems, err := folder.Scan(t.Context())
	if err != nil || len(problems) != 1 || problems[0].Path != "pipe" {
		t.Errorf("problems %v, %v", problems, err)
	}
	launchertest.Expect(t, layout, map[string]string{"a": "1"})
	if _, err := folder.Blocks(t.Context(), "pipe", 10); err == nil {
		t.Error("a pipe has blocks")
	}
	desk := greeted(t, o)
	desk.answers(&wire.RequestFileBlockHashes{Path: "pipe", BlockSize: 10}, &wire.ResponseFileBlockHashes{Path: "pipe", Hashes: []wire.Hash{}})
	if r := desk.write("pipe", "a file now", 100); r != wire.Success {
		t.Errorf("a pipe in the place of a file: %v", r)
	}
}
