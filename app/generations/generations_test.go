package generations

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/platform"
)

// TestFile covers what the file keeps, in which order, and what it does not believe.
func TestFile(t *testing.T) {
	folder, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s := &File{FS: folder, Name: "Cache/servers", Log: zerolog.Nop()}
	content := func() string {
		data, _ := os.ReadFile(folder.Path(s.Name))
		return string(data)
	}
	if got := s.Recall("a:1"); got != 0 {
		t.Errorf("nothing is remembered as %v", got)
	}
	s.Remember("a:1", netproto.C1)
	s.Remember("a:1", netproto.G2a)
	if content() != "" {
		t.Errorf("%q is not worth a file", content())
	}
	s.Remember("a:1", netproto.G2b)
	s.Remember("b:1", netproto.G1)
	s.Remember("a:1", netproto.G2b)
	s.Remember("a b:1", netproto.G1)
	if content() != "b:1 G1\na:1 G2b\n" || s.Recall("a:1") != netproto.G2b || s.Recall("b:1") != netproto.G1 || s.Recall(":1") != 0 {
		t.Errorf("%q", content())
	}
	s.Remember("a:1", netproto.G1)
	if s.Recall("a:1") != netproto.G1 {
		t.Errorf("%q", content())
	}
	s.Remember("a:1", netproto.C1)
	s.Remember("b:1", netproto.C1)
	if content() != "" {
		t.Errorf("%q is forgotten badly", content())
	}
	for i := range 3 * maxServers {
		s.Remember(fmt.Sprintf("host%d:1", i), netproto.G1)
	}
	if n := strings.Count(content(), "\n"); n != maxServers || s.Recall("host47:1") != netproto.G1 || s.Recall("host31:1") != 0 {
		t.Errorf("%d lines: %q", n, content())
	}
	for _, odd := range []string{"a:1 G9\n", "a:1 C1\n", "a:1\n", "a:1 G1 G1\n", "a:1G1", strings.Repeat("x", maxServersFile+1), "\x00"} {
		if err := os.WriteFile(folder.Path(s.Name), []byte(odd), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := s.Recall("a:1"); got != 0 {
			t.Errorf("%.20q is %v", odd, got)
		}
	}
}
