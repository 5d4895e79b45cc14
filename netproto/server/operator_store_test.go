package server_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/releasetest"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/platform/testlevel"
)

// shared is a store that other servers write to as well, and one that can fail.
type shared struct {
	operator.Store
	changed chan struct{}
	fault   error
}

func (s *shared) Changed() <-chan struct{} { return s.changed }

func (s *shared) Commit(document []byte, revision uint64, record compat.Audit) error {
	if s.fault != nil {
		return s.fault
	}
	return s.Store.Commit(document, revision, record)
}

func (s *shared) Floor(account string) (int32, error) {
	floor, err := s.Store.Floor(account)
	return floor, errors.Join(err, s.fault)
}

// sharing starts a server with such a store.
func sharing(t *testing.T) (*house, *operator.Operator, *shared) {
	t.Helper()
	set := versioned(t)
	file, err := operator.OpenStore(set.Compat.Store, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	store := &shared{Store: file, changed: make(chan struct{})}
	h := &house{log: &logBook{}, done: make(chan error, 1)}
	catalogue, err := catalogue.Open(t.Context(), set, h.logger())
	if err != nil {
		t.Fatal(err)
	}
	o, err := operator.New(store, catalogue.Declared(), operator.Options{}, h.logger())
	if err != nil {
		t.Fatal(err)
	}
	h.Server = server.New(catalogue, set, h.logger())
	h.Govern(o)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return h.serve(t, listener), o, store
}

// TestSettingsOfAnotherServer are taken over when the store says that they have changed, unless they make no sense here.
func TestSettingsOfAnotherServer(t *testing.T) {
	t.Parallel()
	h, o, store := sharing(t)
	elsewhere := func(edit func(*compat.Settings)) {
		t.Helper()
		document, _, err := store.Settings()
		if err != nil {
			t.Fatal(err)
		}
		s, err := compat.ParseSettings(document, compat.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		newest, err := store.Records(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		edit(&s)
		s.Revision++
		record := compat.Chain(&newest[0], compat.Audit{Actor: "elsewhere", Source: compat.SourceAPI, Before: document, After: s.Encode(), Keys: []string{"active_min"}})
		if err := store.Commit(s.Encode(), s.Revision, record); err != nil {
			t.Fatal(err)
		}
		store.changed <- struct{}{}
		store.changed <- struct{}{} // taken when the first one was worked off
	}
	elsewhere(func(s *compat.Settings) { s.ActiveMin = 7 })
	if s := o.Settings(); s.ActiveMin != 7 || s.Revision != 2 {
		t.Errorf("the settings are %+v", s)
	}
	h.expect(t, client(6, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	change(t, o, func(s *compat.Settings) { s.ActiveMin = 6 }) // the chain goes on behind the other server's record
	if n, err := o.Audit.Verify(); n != 3 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	elsewhere(func(s *compat.Settings) { s.ActiveMax = 9 })
	if s := o.Settings(); s.ActiveMax != 8 || s.Revision != 3 {
		t.Errorf("settings for another build were taken: %+v", s)
	}
	h.log.has(t, "error", "changed elsewhere", "active_max")
}

// TestStoreThatFails changes nothing when the disk does not take it, and lets players in when a floor can't be read.
func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	h, o, store := sharing(t)
	store.fault = errors.New("no space left")
	s := o.Settings()
	s.ActiveMin = 7
	if _, err := o.Change(t.Context(), editor(), operator.Change{Revision: s.Revision, Settings: s}); !errors.Is(err, store.fault) {
		t.Errorf("changed: %v", err)
	}
	if o.Settings().ActiveMin != 5 || o.Snapshot().Active.Min != 5 {
		t.Error("handshakes are judged by what is not on disk")
	}
	h.expect(t, client(6, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept)
	h.log.has(t, "error", "floor of an account", "ann")
	store.fault = nil
	if _, err := o.Change(t.Context(), editor(), operator.Change{Revision: s.Revision, Settings: s}); err != nil {
		t.Errorf("once there is space: %v", err)
	}
	if n, err := o.Audit.Verify(); n != 2 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

// TestReleaseFolderWithVersions takes the logic version of a release from its compatibility version, and older modules from beside.
func TestReleaseFolderWithVersions(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	one := releasetest.Standard(1)
	one.Compatibility = compat.Derived(7, 0x7777)
	set := releaseSettings(published(t, one))
	older := t.TempDir()
	put(t, filepath.Join(older, "6", "Linux-x64", "Game.so"), "module of 6")
	put(t, filepath.Join(older, "6", "Linux-x64", "Game.so.compat.json"), sidecarOf(6, 1))
	set.Compat = config.Compat{Store: filepath.Join(t.TempDir(), "compat.db"), Supported: "6-8", Payloads: older}
	h, o := govern(t, set)
	p := h.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	if got := moduleIn(next[*netproto.FileList](p).Files); got == 0 || got == len("module of 6") {
		t.Errorf("a module of %d bytes is offered", got)
	}
	change(t, o, func(s *compat.Settings) { s.ActiveMax = 6 })
	p = h.expect(t, client(5, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	if got := moduleIn(next[*netproto.FileList](p).Files); got != len("module of 6") {
		t.Errorf("a module of %d bytes is offered", got)
	}
	for _, target := range o.Show().Targets {
		if target.Name == "Linux-x64" && (len(target.Payloads) != 2 || target.Payloads[0].Logic != 7 || target.Payloads[0].Active || target.Payloads[1].Patch != 1) {
			t.Errorf("%+v", target)
		}
	}
	if got := h.Catalogue().Compatibility(); got != compat.Derived(8, 0) {
		t.Errorf("the server says %q", got)
	}
}
