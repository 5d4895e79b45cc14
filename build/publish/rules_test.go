package publish_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/publish"
	"collet/netproto/release/trust"
	"collet/platform"
)

// ruleIn signs rules for a day; nil withdraws them. It returns their name in the folder.
func (s *fixture) ruleIn(channel string, document []byte) (name string) {
	s.t.Helper()
	s.with(func(f *publish.Folder) error {
		err := f.SetRules(context.Background(), channel, document, 24*time.Hour, s.keys.online())
		for _, r := range f.Rules() {
			if err == nil && (channel == "" || r.Channel == channel) {
				name = r.Object.Path()
			}
		}
		return err
	})
	return name
}

// TestSetRules: rules stay in the folder and at its places while a signed list that is valid may name them, and are removed after that.
func TestSetRules(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	web := openDir(t, t.TempDir())
	has := func(what, name string, want bool) {
		t.Helper()
		s.with(func(f *publish.Folder) error {
			names, _, err := f.PublicFiles(context.Background())
			must(t, err)
			if got := slices.Contains(names, name); got != want {
				t.Errorf("%s: public: %v, want %v", what, got, want)
			}
			if findings, _, err := f.Verify(context.Background()); err != nil || len(findings) > 0 {
				t.Errorf("%s: %v, %v", what, findings, err)
			}
			p, err := f.PlanCollect(context.Background(), 1)
			if removed := slices.ContainsFunc(p.Remove, func(r publish.Removal) bool { return r.Name == name }); err != nil || removed == want {
				t.Errorf("%s: gc removes it: %v, %v", what, removed, err)
			}
			return nil
		})
		s.updatePlace(publish.FolderPlace(web), true)
		if got := platform.Size(web, name) > 0; got != want {
			t.Errorf("%s: at the other place: %v, want %v", what, got, want)
		}
	}
	one := s.ruleIn("", []byte(`{"format":1}`))
	has("the first", one, true)
	s.clock = s.clock.Add(time.Hour)
	two := s.ruleIn("stable", []byte(`{"format":1} `))
	has("the first, replaced", one, true)
	has("the second", two, true)
	s.ruleIn("stable", nil)
	has("the first, withdrawn", one, true)
	has("the second, withdrawn", two, true)
	s.clock = s.clock.Add(23*time.Hour + time.Minute)
	has("the first, expired", one, false)
	has("the second, not yet", two, true)
	s.clock = s.clock.Add(time.Hour)
	has("the second, expired", two, false)

	three := s.ruleIn("stable", []byte(`{"format":1}  `))
	s.ruleIn("stable", nil)
	has("the third, withdrawn", three, true)
	must(t, errors.Join(s.fs.Remove(three), web.Remove(three))) // as an earlier program's gc does
	s.updatePlace(publish.FolderPlace(web), true)
	s.with(func(f *publish.Folder) error {
		findings, _, err := f.Verify(context.Background())
		if len(findings) > 0 {
			t.Errorf("the third, gone: %v", findings)
		}
		return err
	})
	must(t, platform.WriteFile(s.fs, ".collet/rules.json", []byte("[{}]")))
	four := s.ruleIn("stable", []byte(`{"format":1}   `))
	has("one after a damaged list", four, true)
}

// TestRulesOf reads what is in force, and says so when it is not what was signed.
func TestRulesOf(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	read := func() (rules trust.StatedRules, document []byte, err error) {
		s.with(func(f *publish.Folder) error {
			rules, document, err = f.RulesOf("")
			return nil
		})
		return rules, document, err
	}
	if _, document, err := read(); document != nil || err != nil {
		t.Errorf("without rules: %q, %v", document, err)
	}
	want := []byte(`{"format":1}`)
	name := s.ruleIn("", want)
	if rules, document, err := read(); !bytes.Equal(document, want) || err != nil || rules.Channel != "stable" || rules.Object.Path() != name {
		t.Errorf("%+v, %q, %v", rules, document, err)
	}
	must(t, platform.WriteFile(s.fs, name, []byte(`{"format":2}`)))
	if _, document, err := read(); document != nil || err == nil || !strings.Contains(err.Error(), "rules of channel stable") {
		t.Errorf("damaged: %q, %v", document, err)
	}
}

// TestRulesOfAMistypedChannel: rules are for channels with releases, and are withdrawn where there are some.
func TestRulesOfAMistypedChannel(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	refuse := func(channel string, document []byte, want string) {
		t.Helper()
		before, err := platform.ReadFile(s.fs, "metadata/timestamp.json", 1<<16)
		must(t, err)
		s.with(func(f *publish.Folder) error {
			if err := f.SetRules(context.Background(), channel, document, time.Hour, s.keys.online()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", channel, err, want)
			}
			return nil
		})
		if after, err := platform.ReadFile(s.fs, "metadata/timestamp.json", 1<<16); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s: signed, %v", channel, err)
		}
	}
	document := []byte(`{"format":1}`)
	refuse("stable", document, "publish one first")
	s.publish(game(t, small(1)), publish.Request{})
	s.publish(game(t, small(1)), publish.Request{Channel: "beta", Number: 2})
	s.ruleIn("stable", document)
	refuse("stabel", document, "did you mean stable?")
	refuse("nightly", document, "there is beta or stable")
	refuse("stabel", nil, "did you mean stable?")
	s.ruleIn("beta", nil) // it has none, and so it stays
	s.ruleIn("stable", nil)
}
