package host

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/app/update"
	"collet/assets"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/platform/testlevel"
	"collet/runtime/abi"
)

// said are the content identities of all hellos.
func (j *judging) said() (contents []string) {
	for _, h := range j.met() {
		contents = append(contents, h.Content)
	}
	return contents
}

// TestContentIsTold: a client tells which packs the last update left here, whether the server chose the word or the packs have it.
func TestContentIsTold(t *testing.T) {
	derived := derivedOf(packsAndModule())
	for name, served := range map[string]string{"chosen": "packs-12", "derived": derived, "none": ""} {
		j := newJudging(t, with(production(), func(s *compat.Snapshot) { s.Content = served }), packsAndModule())
		dir := t.TempDir()
		var verdicts []string
		for range 2 {
			got := j.sync(dir, version7)
			if got.code != 0 || got.end.Outcome != update.ResourcesReady.String() {
				t.Fatalf("%s: %+v", name, got)
			}
			verdicts = append(verdicts, got.verdict)
		}
		want := served
		if served == "" {
			want = derived
		}
		if said := j.said(); said[0] != "" || said[1] != want {
			t.Errorf("%s: told %q", name, said)
		}
		first := "UPDATE_RESOURCES"
		if served == "" {
			first = "ACCEPT"
		}
		if verdicts[0] != first || verdicts[1] != "ACCEPT" {
			t.Errorf("%s: judged %v", name, verdicts)
		}
	}
}

// derivedOf is the identity of the packs among the files of a server.
func derivedOf(files map[string]string) string {
	var offered []release.File
	for name, content := range files {
		f := release.File{Path: name, Size: int64(len(content)), Digest: release.SHA256Digest(sha256.Sum256([]byte(content)))}
		if strings.HasSuffix(name, ".so") {
			f.Role = release.Binary
		}
		offered = append(offered, f)
	}
	identity, _ := contentOf(offered)
	return identity
}

// TestReplacedCatalogueIsWaitedOut: a client that meets a server in the middle of a publication waits and goes on.
func TestReplacedCatalogueIsWaitedOut(t *testing.T) {
	t.Parallel()
	whole := packsAndModule()
	whole["Maps.zip"] = "maps"
	j := newJudging(t, with(production(), func(s *compat.Snapshot) { s.Content = derivedOf(whole) }), packsAndModule())
	j.whole = whole
	got := j.sync(t.TempDir(), version7)
	if got.code != 0 || got.end.Outcome != update.ResourcesReady.String() || len(j.met()) != 2 {
		t.Errorf("%+v after %d hellos", got, len(j.met()))
	}
	if len(got.notes) == 0 || !strings.Contains(got.notes[len(got.notes)-1], "being replaced") {
		t.Errorf("notes %q", got.notes)
	}
}

// TestContentMismatchEndsIt: a server names packs that it does not offer, and goes on so. No client plays, the exit code is 16, and a
// person is told in their language; once the publication is whole the same client plays.
func TestContentMismatchEndsIt(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	for _, lang := range []string{"en", assets.Languages()[0]} {
		texts := assets.TextsFor(lang)
		words := []string{texts.Get("end.content.title"), texts.Get("end.content.next")}
		t.Run(lang, func(t *testing.T) {
			t.Parallel() // each waits until it gives up
			whole := packsAndModule()
			whole["Maps.zip"] = "maps"
			j := newJudging(t, with(production(), func(s *compat.Snapshot) { s.Content = derivedOf(whole) }), packsAndModule())
			dir := t.TempDir()
			got := j.sync(dir, version7, func(o *Options) { o.Lang = lang })
			if got.code != 16 || got.end.Outcome != update.ContentMismatch.String() {
				t.Errorf("%+v", got)
			}
			for _, text := range words {
				if !strings.Contains(got.end.Text, text) {
					t.Errorf("its words lack %q: %s", text, got.end.Text)
				}
			}
			if said := j.said(); strings.Join(said, "") != "" {
				t.Errorf("it lists packs that are not installed: %q", said)
			}
			j.mu.Lock()
			j.files = whole
			j.mu.Unlock()
			if got := j.sync(dir, version7, func(o *Options) { o.Lang = lang }); got.code != 0 {
				t.Errorf("after the publication %+v", got)
			}
		})
	}
}

// TestContentFilesThatSayNothing: what can't be read for an identity is none.
func TestContentFilesThatSayNothing(t *testing.T) {
	if h := knownHost(t, abi.Metadata{}); h.content() != "" {
		t.Error("a host without an install has packs")
	}
	h := guarded(t)
	h.meta.CompatibilityVersion = version7
	name := filepath.FromSlash(h.fs.Path(h.contentName()))
	for text, want := range map[string]string{
		"packs-12\n": "packs-12", "packs-12": "packs-12", "": "", "\n": "", "a\nb\n": "", "a\x00": "", strings.Repeat("c", 64) + "\n": strings.Repeat("c", 64),
		strings.Repeat("c", 65): "", strings.Repeat("c", 1000): "",
	} {
		putFile(t, name, []byte(text))
		if got := h.content(); got != want {
			t.Errorf("%q is read as %q", text, got)
		}
		if tags, _ := h.identity(version7); tags == nil || tags.Content != want {
			t.Errorf("%q is told as %+v", text, tags)
		}
	}
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	h.keepContent("packs-13")
	before, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(before, []byte("packs-13\n")) {
		t.Errorf("%q, %v", before, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	if h.keepContent("packs-14"); h.content() != "" {
		t.Error("a folder is an identity")
	}
}

// TestContentWithoutSHA256: the engine's generations tell no digests that an identity is made of.
func TestContentWithoutSHA256(t *testing.T) {
	files := []release.File{{Path: "Core.zip", Size: 1, Digest: release.FNVDigest(7)}, {Path: "Lathe.so", Role: release.Binary, Digest: release.FNVDigest(7)}}
	if identity, known := contentOf(files); known {
		t.Errorf("known as %s", identity)
	}
	if _, known := contentOf(files[1:]); !known {
		t.Error("a module counts")
	}
}
