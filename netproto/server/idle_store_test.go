package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// boot opens a store as a server does at its start, runs what a test wants with it, and closes it again.
func boot(t *testing.T, set config.Settings, with func(o *operator.Operator)) error {
	t.Helper()
	catalogue, err := catalogue.Open(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer catalogue.Close()
	o, err := operator.Open(set.Compat.Store, catalogue.Declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		return err
	}
	with(o)
	return o.Close()
}

// TestOpenIdle opens the store of a server that does not run: everything is known that its build brings, nothing is written by looking,
// and a server that comes meanwhile waits in vain.
func TestOpenIdle(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := servertest.VersionedSettings(t)
	if _, err := server.OpenIdle(t.Context(), set, zerolog.Nop()); err == nil {
		t.Error("a store that never was")
	}
	if err := boot(t, set, func(*operator.Operator) {}); err != nil {
		t.Fatal(err)
	}
	set.Compat.Supported = "7-9" // another build: what it would reconcile at its start
	o, err := server.OpenIdle(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	show := o.Show()
	if show.Settings.Revision != 1 || show.Settings.Active().String() != "5-8" || show.Supported.String() != "7-9" || len(show.Boot) != 0 {
		t.Errorf("%+v", show)
	}
	for _, target := range show.Targets {
		if target.Name == "Linux-x64" && (len(target.Payloads) != 2 || target.Payloads[0].Logic != 7) {
			t.Errorf("%+v", target)
		}
	}
	var held *operator.StoreError
	if _, err := server.OpenIdle(t.Context(), set, zerolog.Nop()); !errors.As(err, &held) || !held.Held {
		t.Errorf("a second one: %v", err)
	}
	s := o.Settings()
	if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: 1, Settings: s}); err == nil {
		t.Error("a range that the build does not support is kept as if it were right")
	}
	s.ActiveMin = 7
	if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: 1, Settings: s, Comment: "5 is old"}); err != nil {
		t.Error(err)
	}
	if n, err := o.Audit.Verify(); n != 2 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if err := boot(t, set, func(o *operator.Operator) {
		if o.Settings().Revision != 2 || o.Settings().Active() != (compat.Range{Min: 7, Max: 8}) {
			t.Errorf("%+v", o.Settings())
		}
	}); err != nil {
		t.Error(err)
	}
}

// TestOpenIdleReadsNoPacks: a package of any size is opened at once, and a pack that can't be read is no reason not to.
func TestOpenIdleReadsNoPacks(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.Compat.Content = config.ContentOfPacks
	if err := boot(t, set, func(*operator.Operator) {}); err != nil {
		t.Fatal(err)
	}
	huge := filepath.Join(set.Baking.ClientResources, "Huge.zip")
	servertest.WriteFile(t, huge, "")
	if err := os.Truncate(huge, 1<<40); err != nil { // no disk has so much to read
		t.Skip(err)
	}
	o, err := server.OpenIdle(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if s := o.Snapshot(); s.Content != "" {
		t.Errorf("packs that were not read are %q", s.Content)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
