package doctor

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/build/qa/report"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform"
)

// TestDoctorOfAProgram describes a program that updates itself; its files are no strays.
func TestDoctorOfAProgram(t *testing.T) {
	dir, _ := fixture(t, installs("old"))
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	ext := product.Target(report.ThisTarget()).ProgramName("")
	if err := platform.WriteFile(fsys, "Lathe"+ext, []byte("one")); err != nil {
		t.Fatal(err)
	}
	d, err := Diagnose(t.Context(), Options{Dir: dir})
	if err != nil || d.Program != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	own := openOwn(t, fsys, ext)
	digest, err := release.SHA256.DigestOf(strings.NewReader("two"))
	if err != nil {
		t.Fatal(err)
	}
	offer := []release.File{{Path: "Lathe" + ext, Size: 3, Digest: digest, Role: release.Binary}}
	if _, err = own.Plan(t.Context(), update.Binaries, offer, func(string, int64, int64) {}); err == nil {
		err = own.Write(0, []byte("two"))
	}
	if err == nil {
		err = own.Finish(t.Context(), 0)
	}
	if err == nil {
		err = own.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	tells(t, dir, "waits for its trial")
	if err := own.TrialFailed("it did not run", false); err != nil {
		t.Fatal(err)
	}
	tells(t, dir, "failed once: it did not run")
	if err := own.Prove(t.Context()); err != nil {
		t.Fatal(err)
	}
	tells(t, dir, "Lathe"+ext+".bak was the one before")
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openOwn(t, fsys, ext).Close(); err != nil {
		t.Fatal(err)
	}
	tells(t, dir, "program     updates itself\n")
}

func openOwn(t *testing.T, fsys platform.FS, ext string) *install.Program {
	t.Helper()
	d, err := install.OpenProgram(t.Context(), install.Config{FS: install.ProgramView(fsys), Names: install.ProgramNames("Lathe", "", ext), Trust: install.TrustSHA256, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func tells(t *testing.T, dir, text string) {
	t.Helper()
	d, err := Diagnose(t.Context(), Options{Dir: dir, Name: "Lathe"})
	if err != nil {
		t.Fatal(err)
	}
	var story bytes.Buffer
	if err := d.Summary(&story); err != nil || !strings.Contains(story.String(), text) {
		t.Errorf("does not say %q: %v\n%s", text, err, &story)
	}
	for _, s := range d.Install.Strays {
		if s.Name != "mine.txt" {
			t.Errorf("%q is a stray", s.Name)
		}
	}
	reports(t, d)
}
