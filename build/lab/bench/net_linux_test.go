package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPinnedLink runs programs at both ends of a link: they meet, and use the congestion control that was asked for.
func TestPinnedLink(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip here")
	}
	w := netLink{"test", 2 * time.Millisecond, 0}
	line, err := w.open(t.Context())
	if noLink(err) {
		t.Skipf("no link here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer line.close()
	for _, in := range []*space{line.near, line.far} {
		r, err := runIn(in, exec.CommandContext(t.Context(), "ip", "route", "show"))
		if err != nil || !strings.Contains(string(r.out), "congctl "+usualCongestion) {
			t.Errorf("%s, %v", r.out, err)
		}
	}
	dir := t.TempDir()
	put(t, dir, "hello", "hello")
	p, err := line.plain(t.Context(), dir+"/hello")
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	if err := line.listens(t.Context(), p.listener.Addr().String()); err != nil {
		t.Error(err)
	}
	if _, err := runIn(line.near, exec.CommandContext(t.Context(), "ip", "nonsense")); err == nil {
		t.Error("a program that ended badly ended well")
	}
}
