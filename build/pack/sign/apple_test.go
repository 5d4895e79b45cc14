package sign_test

import (
	"os"
	"path/filepath"
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

// Whatever does what Apple's tools do may be named instead; here they are not.
func TestAppleByCommand(t *testing.T) {
	tools(t, "sh")
	dir, bin := t.TempDir(), t.TempDir()
	xcrun := "#!/bin/sh\necho \"$@\" >>" + dir + "/xcrun.log\n"
	if err := os.WriteFile(filepath.Join(bin, "xcrun"), []byte(xcrun), 0o700); err != nil {
		t.Fatal(err)
	}
	spec := sign.AppleSpec{Command: []string{"sh", "-c", `echo "sealed with $KEY" >"$0"/seal`, "{file}"}, NotarizeCommand: []string{"no-such-tool", "{file}"}, Env: []string{"KEY"}}
	o := sign.Options{Look: environment{"KEY": "much secret"}.look, Test: true}
	a, err := sign.NewApple(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no-such-tool is missing") || !strings.Contains(err.Error(), "on a Mac only") {
		t.Error(err)
	}
	if err := a.Notarize(t.Context(), "a.zip"); err == nil || !strings.Contains(err.Error(), "no-such-tool is missing") {
		t.Error(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	spec.NotarizeCommand = []string{"xcrun", "notarytool", "{file}"}
	if a, err = sign.NewApple(spec, o); err != nil {
		t.Fatal(err)
	}
	if signed, err := a.Check(t.Context()); err != nil || !signed.Test() {
		t.Errorf("%+v, %v", signed, err)
	}
	for _, err := range []error{a.Sign(t.Context(), dir), a.Notarize(t.Context(), "a.zip"), a.Staple(t.Context(), "L.app")} {
		if err != nil {
			t.Error(err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "seal")); string(got) != "sealed with much secret\n" {
		t.Errorf("%q", got)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "xcrun.log")); string(got) != "notarytool a.zip\nstapler staple L.app\n" {
		t.Errorf("%q", got)
	}
}
