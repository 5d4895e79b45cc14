package console

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestConfirm: only a clear yes is one, and Ctrl-C ends a question without an answer.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, " YES\r\n": true, "yes": true, "": false, "\n": false, "n\n": false, "yesterday\n": false, strings.Repeat("y", 1000): false} {
		var said strings.Builder
		if is, err := Confirm(t.Context(), strings.NewReader(answer), &said, "Sure?"); is != want || err != nil || said.String() != "Sure? [y/N] " {
			t.Errorf("%.10q: %t, %v, %q", answer, is, err, said.String())
		}
	}
	silent, write := io.Pipe()
	defer write.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if is, err := Confirm(ctx, silent, io.Discard, "Sure?"); is || !errors.Is(err, context.Canceled) {
		t.Errorf("%t, %v", is, err)
	}
}
