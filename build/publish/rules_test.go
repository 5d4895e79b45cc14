package publish_test

import (
	"context"
	"slices"
	"testing"

	"collet/build/publish"
	"collet/netproto/release/trust"
)

// TestSetRules: rules are part of the folder while they are in force, for places, verify and gc, and only until then.
func TestSetRules(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	document := []byte(`{"format":1}`)
	var name string
	has := func(want bool) {
		t.Helper()
		s.with(func(f *publish.Folder) error {
			names, _, err := f.PublicFiles(context.Background())
			must(t, err)
			if got := slices.Contains(names, name); got != want {
				t.Errorf("the rules are public: %v, want %v", got, want)
			}
			if findings, _, err := f.Verify(context.Background()); err != nil || len(findings) > 0 {
				t.Errorf("%v, %v", findings, err)
			}
			p, err := f.PlanCollect(context.Background(), 1)
			if removed := slices.ContainsFunc(p.Remove, func(r publish.Removal) bool { return r.Name == name }); err != nil || removed == want {
				t.Errorf("gc removes the rules: %v, %v", removed, err)
			}
			return nil
		})
	}
	s.with(func(f *publish.Folder) error {
		err := f.SetRules(context.Background(), "", document, trust.DefaultRulesTime, s.keys.online())
		if rules := f.Rules(); err == nil && rules[0].Channel == "stable" {
			name = rules[0].Object.Path()
		}
		return err
	})
	has(true)
	s.with(func(f *publish.Folder) error {
		return f.SetRules(context.Background(), "stable", nil, 0, s.keys.online())
	})
	has(false)
}
