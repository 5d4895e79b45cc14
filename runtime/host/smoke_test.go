package host_test

import (
	"path/filepath"
	"testing"

	"collet/runtime/abi"
	"collet/runtime/host"
	"collet/runtime/sample"
)

func TestSmoke(t *testing.T) {
	out := filepath.Join(t.TempDir(), "echo.so")
	if err := sample.BuildFault(t.Context(), "echo", out); err != nil {
		t.Fatal(err)
	}
	m, err := host.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	ready := false
	r, err := m.Run([]string{"a", "b", "c d"}, abi.Services{Ready: func() { ready = true }, Log: func(l int32, s string) { got = append(got, s) }})
	t.Log(m.Metadata(), r, err, got, ready, m.Close())
}
