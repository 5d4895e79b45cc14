//go:build !cgo

package embedded_test

import (
	"errors"
	"testing"

	"collet/runtime/abi"
	"collet/runtime/embedded"
)

func TestAbsent(t *testing.T) {
	if embedded.Available() {
		t.Error("there is a built-in client without cgo")
	}
	m, err := embedded.Open()
	if m != nil || !errors.Is(err, embedded.ErrAbsent) {
		t.Errorf("opened %v, error %v", m, err)
	}
	if _, err := new(embedded.Module).Run(nil, abi.Services{}); !errors.Is(err, embedded.ErrAbsent) {
		t.Errorf("Run: %v", err)
	}
}
