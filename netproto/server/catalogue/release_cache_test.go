package catalogue

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"collet/netproto/release"
	"collet/netproto/server/config"
	"collet/platform/testlevel"
)

// TestServersShareACache: several servers open and leave one cache folder again and again; none loses what it has unpacked, none fails,
// and nothing is left behind.
func TestServersShareACache(t *testing.T) {
	testlevel.Slow(t)
	for name, set := range map[string]config.Release{
		"named by the operator": {Cache: filepath.Join(t.TempDir(), "cache"), CacheSize: 1 << 20},
		"of a release folder":   {Folder: t.TempDir(), CacheSize: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			const servers, rounds = 6, 60
			var all sync.WaitGroup
			for server := range servers {
				all.Go(func() {
					content := fmt.Sprint("what server ", server, " has unpacked")
					hash := release.SHA256.NewHash()
					io.WriteString(hash, content)
					digest := release.SHA256.SumOf(hash)
					for range rounds {
						c := newCache(set) // that of a server that starts
						path, err := c.holdBlob(digest, int64(len(content)), func(out io.Writer) error {
							_, err := io.WriteString(out, content)
							return err
						})
						if err != nil {
							t.Errorf("server %d: %v", server, err)
							return
						}
						if got, err := os.ReadFile(path); err != nil || string(got) != content {
							t.Errorf("server %d has %q, %v", server, got, err)
						}
						c.dropBlob(digest)
					}
				})
			}
			all.Wait()
			if left, _ := filepath.Glob(filepath.Join(set.CacheFolder(), "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
