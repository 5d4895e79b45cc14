package operator_test

import (
	"errors"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// shared is a store that other servers write to as well, and one that can fail.
type shared struct {
	operator.Store
	changed chan struct{}
	fault   error
}

func (s *shared) Changed() <-chan struct{} { return s.changed }

func (s *shared) Commit(c operator.Commit) error {
	if s.fault != nil {
		return s.fault
	}
	return s.Store.Commit(c)
}

func (s *shared) Floor(account string) (int32, error) {
	floor, err := s.Store.Floor(account)
	return floor, errors.Join(err, s.fault)
}

// sharing starts a server with such a store.
func sharing(t *testing.T) (*servertest.Server, *operator.Operator, *shared) {
	t.Helper()
	set := servertest.VersionedSettings(t)
	file, err := operator.OpenStore(set.Compat.Store, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	store := &shared{Store: file, changed: make(chan struct{})}
	h := servertest.New()
	catalogue, err := catalogue.Open(t.Context(), set, h.Logger())
	if err != nil {
		t.Fatal(err)
	}
	o, err := operator.New(store, catalogue.Declared(), operator.Options{}, h.Logger())
	if err != nil {
		t.Fatal(err)
	}
	h.Server = server.New(catalogue, set, h.Logger())
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
	return h.ServeOn(t, listener), o, store
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
		if err := store.Commit(operator.Commit{Record: record, Document: s.Encode(), Revision: s.Revision}); err != nil {
			t.Fatal(err)
		}
		store.changed <- struct{}{}
		store.changed <- struct{}{} // taken when the first one was worked off
	}
	elsewhere(func(s *compat.Settings) { s.ActiveMin = 7 })
	if s := o.Settings(); s.ActiveMin != 7 || s.Revision != 2 {
		t.Errorf("the settings are %+v", s)
	}
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64"), compat.UpdateBinaries, compat.RuleTooOld)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = 6 }) // the chain goes on behind the other server's record
	if n, err := o.Audit.Verify(); n != 3 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	elsewhere(func(s *compat.Settings) { s.ActiveMax = 9 })
	if s := o.Settings(); s.ActiveMax != 8 || s.Revision != 3 {
		t.Errorf("settings for another build were taken: %+v", s)
	}
	h.Log.Has(t, "error", "changed elsewhere", "active_max")
}

// TestStoreThatFails changes nothing when the disk does not take it, and lets players in when a floor can't be read.
func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	h, o, store := sharing(t)
	store.fault = errors.New("no space left")
	s := o.Settings()
	s.ActiveMin = 7
	if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "old"}); !errors.Is(err, store.fault) {
		t.Errorf("changed: %v", err)
	}
	if o.Settings().ActiveMin != 5 || o.Snapshot().Active.Min != 5 {
		t.Error("handshakes are judged by what is not on disk")
	}
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept)
	h.Log.Has(t, "error", "floor of an account", "ann")
	store.fault = nil
	if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "old"}); err != nil {
		t.Errorf("once there is space: %v", err)
	}
	if n, err := o.Audit.Verify(); n != 2 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}
