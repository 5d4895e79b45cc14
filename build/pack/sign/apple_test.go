package sign_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/build/pack/sign"
)

func TestApple(t *testing.T) {
	spec := sign.AppleSpec{
		Command:         []string{"codesign", "--force", "--options", "runtime", "--timestamp", "--sign", "Developer ID Application: Example Games", "{file}"},
		NotarizeCommand: []string{"xcrun", "notarytool", "submit", "{file}", "--keychain-profile", "much secret", "--wait"},
		Env:             []string{"PROFILE"},
	}
	env := environment{"PROFILE": "much secret"}
	a, err := sign.NewApple(spec, sign.Options{Look: env.look})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"codesign --force --options runtime --timestamp --sign 'Developer ID Application: Example Games' 'The Lathe.app'",
		"xcrun notarytool submit a.zip --keychain-profile '[secret]' --wait",
		"xcrun stapler staple 'The Lathe.app'",
	}
	if got := a.Plan("The Lathe.app", "a.zip"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if runtime.GOOS != "darwin" {
		for _, do := range []func() error{
			func() error { return a.Sign(t.Context(), "The Lathe.app") },
			func() error { return a.Notarize(t.Context(), "a.zip") },
			func() error { return a.Staple(t.Context(), "The Lathe.app") },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), "run on a Mac: ") {
				t.Error(err)
			}
		}
	}
	spec.NotarizeCommand = nil
	if a, err = sign.NewApple(spec, sign.Options{Look: env.look}); err != nil || len(a.Plan("a", "b")) != 1 {
		t.Error(a, err)
	}
	if a.Notarize(t.Context(), "a.zip") != nil || a.Staple(t.Context(), "a.zip") != nil {
		t.Error("what is not wanted was tried")
	}
	if _, err := sign.NewApple(sign.AppleSpec{NotarizeCommand: []string{"xcrun"}}, sign.Options{}); err == nil {
		t.Error("notarized without a signature")
	}
	if _, err := sign.NewApple(spec, sign.Options{Look: environment{}.look}); err == nil || !strings.Contains(err.Error(), "PROFILE is not set") {
		t.Error(err)
	}
	if a, err := sign.NewApple(sign.AppleSpec{}, sign.Options{}); a != nil || err != nil {
		t.Error(a, err)
	}
}
