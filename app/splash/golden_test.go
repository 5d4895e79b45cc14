package splash

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

// golden compares got with a file in testdata. It writes a different result to testdata/failed.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		save(t, file, got)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with go test -update", err)
	}
	if string(want) != got {
		failed := filepath.Join("testdata", "failed", name)
		save(t, failed, got)
		t.Errorf("%s is not what it was; what it is now is in %s", file, failed)
	}
}

func save(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
