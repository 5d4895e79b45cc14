package release_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/release"
)

var badSources = []struct{ old, with, reason string }{
	{`"encoding":"zstd"`, `"encoding":"gzip"`, "none of zstd, brotli and stored"},
	{`"encoding":"zstd"`, `"encoding":"stored"`, "a stored object is not the content"},
	{`"entry":5`, `"entry":200000`, "no plain number"},
	{`,"index":{"entry":0`, `,"index":{"entry":0,"entry":0`, `want ",\"object\":"`},
	{`,"index":`, `,"Index":`, `want ",\"whole\":"`},
	{`[{`, `[`, `want "{\"content\":"`},
}

func TestBadSources(t *testing.T) {
	t.Parallel()
	for _, bad := range badSources {
		s, err := release.ParseSources(replaced(t, "sources-full.json", bad.old, bad.with))
		if fault := formatFault(err); fault == nil || fault.Document != "sources" || !strings.Contains(fault.Reason, bad.reason) || s != nil {
			t.Errorf("%s → %s: %v, %v, want %s", bad.old, bad.with, s, err, bad.reason)
		}
	}
	doubled := fullSources()
	doubled = append(doubled, doubled[len(doubled)-1])
	for name, s := range map[string]release.Sources{
		"one content twice":         doubled,
		"out of order":              {fullSources()[1], fullSources()[0]},
		"an entry without an index": {{Content: sha("a"), Whole: object("b"), Encoding: release.EncodedZstd, Entry: 1}},
		"no encoding":               {{Content: sha("a"), Whole: object("b")}},
		"no whole object":           {{Content: sha("a"), Encoding: release.EncodedZstd}},
		"an object too large":       {{Content: sha("a"), Whole: release.Object{Sum: sha("b"), Size: release.MaxObject + 1}, Encoding: release.EncodedZstd}},
		"stored under another name": {{Content: sha("a"), Whole: object("b"), Encoding: release.EncodedStored}},
	} {
		if data, err := s.Encode(); err == nil || formatFault(err) != nil {
			t.Errorf("%s: %s, %v", name, data, err)
		}
	}
}

func TestFindSource(t *testing.T) {
	t.Parallel()
	s := fullSources()
	for _, e := range s {
		if got, found := s.Find(e.Content); !found || got != e {
			t.Errorf("%s: %+v, %v", e.Content, got, found)
		}
	}
	for _, d := range []release.Digest{sha("nothing"), {}, release.FNVDigest(1)} {
		if got, found := s.Find(d); found {
			t.Errorf("%s: %+v", d, got)
		}
	}
}

func TestPackedSources(t *testing.T) {
	t.Parallel()
	s := fullSources()
	data, ref, err := s.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := release.UnpackSources(data, ref); err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := (release.Sources{{}}).Pack(); err == nil {
		t.Error("nothing was packed")
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	o := object("abc")
	const digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if o.Path() != "objects/ba/"+digits || o.HeadPath() != "releases/"+digits+".release" || o.Size != 3 || o.IsZero() {
		t.Errorf("%+v %s %s", o, o.Path(), o.HeadPath())
	}
	if !(release.Object{}).IsZero() {
		t.Error("no object is one")
	}
	if err := o.Verify([]byte("abc")); err != nil {
		t.Error(err)
	}
	var wrong *release.ObjectError
	for _, data := range []string{"", "ab", "abcd", "abd"} {
		if err := o.Verify([]byte(data)); !errors.As(err, &wrong) || wrong.Object != o || wrong.Reason == "" {
			t.Errorf("%q: %v", data, err)
		}
	}
}
