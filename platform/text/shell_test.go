package text_test

import (
	"testing"

	"collet/platform/text"
)

func TestShellWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"/srv/release": "/srv/release", "s3://bucket/a+b@c": "s3://bucket/a+b@c", "": "''", "my game": "'my game'", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
		"mänip": "'mänip'", "a\nb": "'a\nb'",
	} {
		if got := text.ShellWord(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}
