package wire_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/netproto/launcher/wire"
)

// escapes says how a path could leave the folder, independently of CheckPath.
func escapes(path string) string {
	switch {
	case path == "" || len(path) > 512:
		return "has no fit length"
	case strings.ContainsAny(path, "\\\x00\n\r"):
		return "holds characters that separate or end"
	case strings.HasPrefix(path, "/") || len(path) > 1 && path[1] == ':':
		return "is absolute"
	case strings.HasPrefix(strings.ToLower(path), wire.StateFolder+"/"):
		return "leads to unfinished files"
	}
	for element := range strings.SplitSeq(path, "/") {
		if element == "" || element == "." || element == ".." {
			return "has the element " + element
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return "is not local"
	}
	return ""
}

func TestCheckPath(t *testing.T) {
	for _, path := range []string{
		"a", "a/b/c.txt", "sub/part.bin", ".hidden", "with space/ü.txt", "a..b", "...", "con1", "console.txt", "Größe/ß",
	} {
		if path == "..." && runtime.GOOS == "windows" {
			continue
		}
		if err := wire.CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{
		"", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./a", "a/.", "a//b", "a/", `a\b`, `..\x`, `\\host\x`,
		"C:/x", "c:x", "c:", "a\x00b", "a\nb", "a\x7f", "\xff\xfe", "con", "CON.txt", "a/nul", "aux.c", "com1", "lpt9.log", "conin$", "NUL .txt",
		".collet-remote", ".collet-remote/x", ".Collet-Remote/parts/1", strings.Repeat("a/", 256) + "b",
	} {
		var fault *wire.PathError
		if err := wire.CheckPath(path); !errors.As(err, &fault) || fault.Path != path || fault.Reason == "" {
			t.Errorf("%q is taken: %v", path, err)
		}
	}
}

// TestNamesOfOneSystem: what means something else only on Windows is an ordinary name elsewhere.
func TestNamesOfOneSystem(t *testing.T) {
	for _, path := range []string{"~lock.odt", "ab:c", "what?", "dir./x", "save~1", "e\u0301.txt", strings.Repeat("long/", 60) + "x"} {
		if err := wire.CheckPath(path); (err == nil) != (runtime.GOOS != "windows") {
			t.Errorf("%q: %v", path, err)
		}
	}
}
