package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// declared is a build of logic version 8 that supports 5 to 8, with modules of 7 for Linux.
func declared() *compat.Declared {
	return &compat.Declared{
		Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Build: compat.Build{Logic: 8, ID: "server-8"},
		Targets: map[string]compat.Target{"Linux-x64": {Payloads: []compat.Payload{{Logic: 7}}}, "Windows-win64": {Payloads: []compat.Payload{{Logic: compat.NoLogic, Undeclared: true, Why: "there is no sidecar"}}}},
	}
}

// opened is an operator of a new store.
func opened(t testing.TB) *operator.Operator {
	t.Helper()
	o, err := operator.Open(filepath.Join(t.TempDir(), "compat.db"), declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// boot opens a store under a build, runs what a test wants with it, and closes it again.
func boot(t *testing.T, path string, d *compat.Declared, opt operator.Options, with func(o *operator.Operator)) (err error) {
	t.Helper()
	o, err := operator.Open(path, d, opt, zerolog.Nop())
	if err != nil {
		return err
	}
	with(o)
	if _, err := o.Audit.Verify(); err != nil {
		t.Error(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	return nil
}

// TestT7BootTable takes a store from build to build. B2 is TestT7B2, power cuts are TestT7PowerCut.
func TestT7BootTable(t *testing.T) {
	type step struct {
		name      string
		supported compat.Range
		build     string
		accept    bool
		edit      func(*compat.Settings) // before the server ends
		active    string
		steps     []string // what the start did or warned of
		actor     string   // of the newest record at the start; empty: there is no new one
		refused   bool
	}
	path, records := filepath.Join(t.TempDir(), "compat.db"), 0
	for _, s := range []step{
		{name: "B1", supported: compat.Range{Min: 5, Max: 8}, build: "b8", active: "5-8", steps: []string{"B1", "B6", "B7"}, actor: "boot"},
		{name: "nothing new", supported: compat.Range{Min: 5, Max: 8}, build: "b8", active: "5-8", steps: []string{"B6", "B7"}},
		{name: "B3", supported: compat.Range{Min: 6, Max: 8}, build: "b8a", active: "6-8", steps: []string{"B3", "B6", "B7"}, actor: "boot-forced"},
		{name: "dormant", supported: compat.Range{Min: 6, Max: 9}, build: "b9", active: "6-8", steps: []string{"B6", "B7"}},
		{name: "dormant, then told to upgrade", supported: compat.Range{Min: 6, Max: 9}, build: "b9", active: "6-8", steps: []string{"B6", "B7"}, edit: func(s *compat.Settings) { s.AutoUpgrade = true }},
		{name: "B5", supported: compat.Range{Min: 6, Max: 10}, build: "b10", active: "6-10", steps: []string{"B5", "B6", "B7"}, actor: "boot-auto"},
		{name: "B4", supported: compat.Range{Min: 6, Max: 9}, build: "b9", refused: true},
		{name: "B4 again", supported: compat.Range{Min: 6, Max: 9}, build: "b9", refused: true},
		{name: "B4 accepted", supported: compat.Range{Min: 6, Max: 9}, build: "b9", accept: true, active: "6-9", steps: []string{"B4", "B6", "B7"}, actor: "boot-forced"},
		{name: "B3 above all", supported: compat.Range{Min: 12, Max: 13}, build: "b13", active: "12-13", steps: []string{"B3", "B5", "B6", "B7"}, actor: "boot-auto"},
		{name: "no versions any more", build: "b0", refused: true},
	} {
		d := declared()
		d.Supported, d.Build.Logic, d.Build.ID = s.supported, s.supported.Max, s.build
		if d.Versioned = s.supported.Max > 0; !d.Versioned {
			d.Compatibility = "spring-2026"
		}
		err := boot(t, path, d, operator.Options{AcceptRollback: s.accept}, func(o *operator.Operator) {
			var did []string
			for _, b := range o.Show().Boot {
				if !slices.Contains(did, b.Step) {
					did = append(did, b.Step)
				}
			}
			if active := o.Settings().Active().String(); active != s.active || !slices.Equal(did, s.steps) {
				t.Errorf("%s: active %s by %v, want %s by %v", s.name, active, did, s.active, s.steps)
			}
			newest, err := o.Audit.Records(0, 100)
			if s.actor != "" {
				records++
			}
			if err != nil || len(newest) != records || s.actor != "" && (newest[0].Actor != s.actor || newest[0].Source != compat.SourceBoot || newest[0].Build != s.build || newest[0].Comment == "") {
				t.Errorf("%s: want %d records, the newest of %q, got %d: %+v, %v", s.name, records, s.actor, len(newest), newest[0], err)
			}
			if s.edit != nil {
				change(t, o, s.edit)
				records++
			}
		})
		var rollback *compat.RollbackError
		if errors.As(err, &rollback) != s.refused || err != nil && !s.refused {
			t.Fatalf("%s: %v", s.name, err)
		}
		if s.name == "B4" && (!strings.Contains(err.Error(), `"b10"`) || !strings.Contains(err.Error(), `"b9"`) || !strings.Contains(err.Error(), "--accept-rollback")) {
			t.Errorf("the refusal does not say what is what: %v", err)
		}
	}
}

// editor is an actor with RoleAdmin.
func editor() operator.Actor {
	return operator.Actor{Name: "ops", Role: operator.RoleAdmin, Source: compat.SourceAPI, Remote: "192.0.2.1"}
}

// change changes the settings or fails the test.
func change(t testing.TB, o *operator.Operator, edit func(*compat.Settings)) operator.Outcome {
	t.Helper()
	s := o.Settings()
	edit(&s)
	out, err := o.Change(context.Background(), editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "a test", Confirm: true})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestT8ConcurrentChanges lets several change what all of them have seen: one succeeds.
func TestT8ConcurrentChanges(t *testing.T) {
	o := opened(t)
	seen := o.Settings()
	const several = 8
	results := make(chan error, several)
	for i := range several {
		go func() {
			s := seen
			s.Messages = map[string]string{compat.PopupMaintenance: fmt.Sprint("text ", i)}
			_, err := o.Change(context.Background(), editor(), operator.Change{Revision: seen.Revision, Settings: s})
			results <- err
		}()
	}
	won := 0
	for range several {
		err := <-results
		var stale *operator.StaleError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &stale) || stale.Asked != seen.Revision || stale.Current != seen.Revision+1:
			t.Errorf("lost with %v", err)
		}
	}
	if won != 1 || o.Settings().Revision != seen.Revision+1 {
		t.Errorf("%d changes won, revision %d", won, o.Settings().Revision)
	}
}

// TestRollback goes back to an earlier revision, with the care of any lowering.
func TestRollback(t *testing.T) {
	o := opened(t)
	first := o.Settings()
	change(t, o, func(s *compat.Settings) { s.ActiveMin = 7 })
	now := o.Settings().Revision
	if _, err := o.Rollback(t.Context(), editor(), first.Revision, operator.Change{Revision: now, Comment: "too early"}); err == nil {
		t.Error("went back without a confirmation")
	}
	if _, err := o.Rollback(t.Context(), editor(), 99, operator.Change{Revision: now, Comment: "x", Confirm: true}); !errors.Is(err, operator.ErrUnknown) {
		t.Errorf("to a revision that never was: %v", err)
	}
	out, err := o.Rollback(t.Context(), editor(), first.Revision, operator.Change{Revision: now, Comment: "too early", Confirm: true})
	if err != nil || out.Settings.ActiveMin != first.ActiveMin || out.Settings.Revision != now+1 {
		t.Errorf("went back to %+v, %v", out, err)
	}
}

// TestChangesThatAreRefused leaves settings and log as they were.
func TestChangesThatAreRefused(t *testing.T) {
	o := opened(t)
	good := o.Settings()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx  context.Context
		by   operator.Actor
		edit func(*operator.Change)
		want any
	}{
		"viewer":       {t.Context(), operator.Actor{Name: "eve", Role: operator.RoleView}, func(c *operator.Change) {}, new(*operator.ForbiddenError)},
		"no name":      {t.Context(), operator.Actor{Role: operator.RoleAdmin}, func(c *operator.Change) {}, new(*operator.InputError)},
		"stale":        {t.Context(), editor(), func(c *operator.Change) { c.Revision-- }, new(*operator.StaleError)},
		"out of range": {t.Context(), editor(), func(c *operator.Change) { c.Settings.ActiveMax = 9 }, new(*compat.SettingsError)},
		"policy":       {t.Context(), editor(), func(c *operator.Change) { c.Settings.Components = compat.PolicyWarn }, new(*compat.SettingsError)},
		"long":         {t.Context(), editor(), func(c *operator.Change) { c.Comment = strings.Repeat("x", operator.MaxComment+1) }, new(*operator.InputError)},
		"gone":         {ended, editor(), func(c *operator.Change) { c.Settings.ActiveMin = 6 }, nil},
	} {
		wish := operator.Change{Revision: good.Revision, Settings: good}
		c.edit(&wish)
		_, err := o.Change(c.ctx, c.by, wish)
		if err == nil || c.want != nil && !errors.As(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	same, err := o.Change(t.Context(), editor(), operator.Change{Revision: good.Revision, Settings: good})
	if err != nil || len(same.Changed) != 0 || same.Settings.Revision != good.Revision {
		t.Errorf("a change of nothing came to %+v, %v", same, err)
	}
	if records, err := o.Audit.Records(0, 10); err != nil || len(records) != 1 {
		t.Errorf("the log has %+v, %v", records, err)
	}
}

// TestLogIsReadWhileItGrows gives each reader the records of one moment.
func TestLogIsReadWhileItGrows(t *testing.T) {
	store := stored(t, filepath.Join(t.TempDir(), "compat.db"))
	o, err := operator.New(store, declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	log, head, err := store.Log()
	if err != nil {
		t.Fatal(err)
	}
	change(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
	text, err := io.ReadAll(log)
	if err != nil || log.Close() != nil || head != 1 || strings.Count(string(text), "\n") != 1 {
		t.Errorf("%d records of %d, %v", strings.Count(string(text), "\n"), head, err)
	}
	var record compat.Audit
	if err := json.Unmarshal(text, &record); err != nil || record.Actor != compat.ActorBoot {
		t.Errorf("%s: %v", text, err)
	}
}

// TestFirstToken opens everything, once.
func TestFirstToken(t *testing.T) {
	o := opened(t)
	secret, err := o.Tokens.CreateFirst()
	if err != nil {
		t.Fatal(err)
	}
	if by, known := o.Tokens.Authenticate(secret); !known || by.Name != "first" || by.Role != operator.RoleAdmin {
		t.Errorf("%+v, %t", by, known)
	}
	if _, err := o.Tokens.CreateFirst(); err == nil {
		t.Error("there are two first tokens")
	}
	if records, err := o.Audit.Records(0, 1); err != nil || records[0].Keys[0] != "tokens.first" || records[0].Source != compat.SourceBoot {
		t.Errorf("%+v, %v", records, err)
	}
}
