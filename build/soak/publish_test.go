package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"collet/netproto/release"
	"collet/netproto/session"
)

// offersOf is what a server tells of a publication: with its own indexes, in C1 or in an engine's generation.
func offersOf(p *publication, target string, own bool) (offers []session.Offer) {
	for i, v := range p.files {
		if v.target != "" && v.target != target {
			continue
		}
		o := session.Offer{Path: v.name, Size: int64(len(v.data)), Index: uint32(i), HasSHA256: own}
		if v.target != "" {
			o.Role = uint8(release.Binary)
		}
		if own {
			o.SHA256 = v.sha
		} else {
			o.FNV = v.fnv
		}
		offers = append(offers, o)
	}
	return offers
}

func newTestFolder(t *testing.T) *packageFolder {
	t.Helper()
	s, err := newPackageFolder(t.TempDir(), rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reloads(context.Context) error { return nil }

func TestPackageFolderKnowsWhatItPublished(t *testing.T) {
	s := newTestFolder(t)
	for range 3 {
		before := s.currentView()
		if err := s.change(t.Context(), reloads); err != nil {
			t.Fatal(err)
		}
		if s.unchangedSince(before) || !s.unchangedSince(s.currentView()) {
			t.Error("a publication went unnoticed")
		}
		newest := s.recent[len(s.recent)-1]
		for _, v := range newest.files {
			if data, err := os.ReadFile(s.path(v.shape)); err != nil || string(data) != string(v.data) {
				t.Errorf("%s: %d bytes, %v", v.name, len(data), err)
			}
		}
		for _, target := range []string{linux, windows, mobile} {
			for _, own := range []bool{true, false} {
				p, files, err := s.findPublication(s.currentView(), target, offersOf(newest, target, own))
				if err != nil || p != newest || len(files) < 6 {
					t.Errorf("%s: %v of %d files, %v", target, p, len(files), err)
				}
			}
		}
	}
	if _, _, err := s.findPublication(view{}, linux, offersOf(s.first, linux, true)); err != nil {
		t.Errorf("a client that connected before: %v", err)
	}
	if _, _, err := s.findPublication(s.currentView(), linux, offersOf(s.first, linux, true)); err == nil || !strings.Contains(err.Error(), "publication 0, after 3") {
		t.Errorf("a client that connected after: %v", err)
	}
}

func TestPackageFolderForgets(t *testing.T) {
	s := newTestFolder(t)
	for range 2 * keptPublications {
		if err := s.change(t.Context(), reloads); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.recent) != keptPublications {
		t.Errorf("%d publications are kept", len(s.recent))
	}
}

func TestWrongListsAreFound(t *testing.T) {
	s := newTestFolder(t)
	for name, change := range map[string]func(o []session.Offer) []session.Offer{
		"size":         func(o []session.Offer) []session.Offer { o[0].Size++; return o },
		"digest":       func(o []session.Offer) []session.Offer { o[3].SHA256[31]++; return o },
		"name":         func(o []session.Offer) []session.Offer { o[0].Path = "core.zip"; return o },
		"role":         func(o []session.Offer) []session.Offer { o[0].Role = uint8(release.Binary); return o },
		"order":        func(o []session.Offer) []session.Offer { o[0], o[1] = o[1], o[0]; return o },
		"one less":     func(o []session.Offer) []session.Offer { return o[1:] },
		"one too many": func(o []session.Offer) []session.Offer { return append(o, o[0]) },
		"another's":    func([]session.Offer) []session.Offer { return offersOf(s.first, windows, true) },
	} {
		if _, _, err := s.findPublication(s.currentView(), linux, change(offersOf(s.first, linux, true))); err == nil {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
	if _, _, err := s.findPublication(s.currentView(), linux, offersOf(s.first, linux, true)); err != nil {
		t.Error(err)
	}
}

func TestWrongBytesAreFound(t *testing.T) {
	s := newTestFolder(t)
	data := s.first.files[0].data
	fresh := func() *checked { return &checked{files: s.first.files, at: make([]int, len(s.first.files))} }
	c := fresh()
	for _, piece := range [][]byte{data[:10], nil, data[10:]} {
		if err := c.checkPart(0, piece); err != nil {
			t.Error(err)
		}
	}
	if err := c.whole(); err == nil || !strings.Contains(err.Error(), "Levels.zip: 0 bytes of") {
		t.Errorf("files are missing: %v", err)
	}
	other := append([]byte(nil), data...)
	other[len(other)-1]++
	for name, piece := range map[string][]byte{"another byte": other, "a byte too many": append(other[:0:0], append(data, 0)...), "another place": data[1:]} {
		var wrong *wrongError
		if err := fresh().checkPart(0, piece); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "Core.zip") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInvalidFolderMustBeRejected(t *testing.T) {
	s := newTestFolder(t)
	refuses := func(context.Context) error { return errors.New("refused") }
	if err := s.publishInvalid(t.Context(), refuses); err != nil {
		t.Error(err)
	}
	if err := s.publishInvalid(t.Context(), reloads); err == nil {
		t.Error("a server that offers anything passed")
	}
	if err := s.change(t.Context(), refuses); err == nil || s.newest() != 0 {
		t.Errorf("publication %d after a reload that failed, %v", s.newest(), err)
	}
}
