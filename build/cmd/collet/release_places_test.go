package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/cmd/collet/console"
	"collet/netproto/release/trust"
)

// TestInterruptedAfterSigning: after Ctrl-C at the places sync goes on, because publish would find that nothing has changed. Before that the
// same command does.
func TestInterruptedAfterSigning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, keys := folderFlags{Dir: filepath.Join(dir, "release")}, filepath.Join(dir, "keys")
	for _, line := range [][]string{
		{"keys", "init", "--development", "--keys", keys},
		{"release", "init", "--product", "lathe", "--allow-development", "--dir", folder.Dir, "--keys", keys},
	} {
		var out bytes.Buffer
		if code := run(line, &out, &out); code != 0 {
			t.Fatalf("%q: %s", line, &out)
		}
	}
	var out bytes.Buffer
	c := console.Console{Out: &out, Err: &out}
	for _, test := range []struct {
		signed bool
		want   string
	}{{true, "collet release sync goes on"}, {false, "run the same command again"}} {
		ctx, cancel := context.WithCancel(t.Context())
		to := outputFlags{To: []string{filepath.Join(dir, "www")}}
		err := changing(ctx, c, folder, keyFlags{Keys: keys}, allowFlags{AllowDevelopment: true}, to, func(*workshop, []*trust.PrivateKey) error {
			cancel()
			if test.signed {
				return nil
			}
			return ctx.Err()
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("signed %v: %v, want %q", test.signed, err, test.want)
		}
	}
}
