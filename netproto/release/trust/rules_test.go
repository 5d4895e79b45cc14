package trust_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// rule puts rules of the channel stable into the folder.
func (s *stage) rule(rules string) {
	s.t.Helper()
	s.must(s.repo.SetRules("stable", []byte(rules), trust.DefaultRulesTime, s.keys[trust.RoleTimestamp]))
}

// rules refreshes after a restart and returns the rules of a channel, and whether they cost a request.
func (s *stage) rules(channel string) (rules string, asked bool, err error) {
	s.t.Helper()
	client := s.start()
	if _, err := client.Refresh(context.Background(), s.net, query(0)); err != nil {
		return "", false, err
	}
	s.net.requests = nil
	data, err := client.Rules(context.Background(), s.net, channel)
	return string(data), len(s.net.requests) > 0, err
}

// ruled expects these rules, and that a second start has them without a request; empty expects that there are none.
func (s *stage) ruled(want string) {
	s.t.Helper()
	for start := range 2 {
		got, asked, err := s.rules("stable")
		if want == "" && !errors.Is(err, trust.ErrNoRules) || want != "" && err != nil || got != want || asked && (start > 0 || want == "") {
			s.t.Fatalf("start %d: rules %q, asked %v, %v, want %q", start, got, asked, err, want)
		}
	}
}

// TestRules: rules follow the folder from start to start, whatever else is signed meanwhile, for their channel alone.
func TestRules(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.ruled("")
	s.rule("one")
	s.ruled("one")
	s.rule("two")
	s.ruled("two")
	s.must(s.repo.SetRules("beta", []byte("of beta"), time.Hour, s.keys.online()))
	if got, _, err := s.rules("beta"); got != "of beta" || err != nil {
		t.Errorf("beta: %q, %v", got, err)
	}
	if _, _, err := s.rules("nightly"); !errors.Is(err, trust.ErrNoRules) {
		t.Errorf("nightly: %v", err)
	}
	s.publish(8)
	s.ruled("two")
	s.must(s.repo.Refresh(s.keys.online()))
	s.rotate(append(s.keys.all(), s.keys[trust.RoleRoot]...), s.keys.with(t, trust.RoleTimestamp), trust.RoleTimestamp)
	s.wants(8)
	s.ruled("two")
	repo, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	if got := repo.Rules(); len(got) != 2 || got[0].Channel != "beta" || got[1].Object != objectOf("two") || !got[1].Expires.Equal(epoch.Add(trust.DefaultRulesTime)) {
		t.Errorf("%+v", got)
	}
	s.repo = repo
	s.must(repo.SetRules("stable", nil, 0, s.keys.online()))
	s.ruled("")
}

// TestRulesExpire: old rules end for clients, and the next signature does not name them again.
func TestRulesExpire(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.rule("closed")
	s.clock = epoch.Add(trust.DefaultRulesTime - time.Second)
	s.ruled("closed")
	s.clock = epoch.Add(trust.DefaultRulesTime)
	s.must(s.repo.Refresh(s.keys.online()))
	if got := s.repo.Rules(); len(got) != 0 || bytes.Contains(s.read("metadata/timestamp.json"), []byte("x-rules")) {
		t.Errorf("expired rules are named: %+v", got)
	}
	s.clock = epoch.Add(trust.DefaultRulesTime + time.Second)
	s.ruled("")
}

// TestRulesThatCannotBe: what a client would refuse is not signed.
func TestRulesThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	before := s.read("metadata/timestamp.json")
	for name, err := range map[string]error{
		"nothing":   s.repo.SetRules("stable", []byte{}, time.Hour, s.keys.online()),
		"too long":  s.repo.SetRules("stable", make([]byte, trust.MaxRules+1), time.Hour, s.keys.online()),
		"too short": s.repo.SetRules("stable", []byte("rules"), time.Second, s.keys.online()),
		"for years": s.repo.SetRules("stable", []byte("rules"), trust.MaxTimestampTime+time.Second, s.keys.online()),
		"no key":    s.repo.SetRules("stable", []byte("rules"), time.Hour, s.keys[trust.RoleTargets]),
	} {
		if err == nil {
			t.Errorf("%s: signed", name)
		}
	}
	if got := s.repo.Rules(); len(got) != 0 || !bytes.Equal(s.read("metadata/timestamp.json"), before) {
		t.Errorf("what failed left %+v", got)
	}
	for i := range trust.MaxRulesChannels {
		s.must(s.repo.SetRules(fmt.Sprintf("a-channel-with-a-long-name-%d", i), []byte("rules"), time.Hour, s.keys.online()))
	}
	if err := s.repo.SetRules("one-more", []byte("rules"), time.Hour, s.keys.online()); err == nil || !strings.Contains(err.Error(), "withdraw") {
		t.Errorf("one channel more than there may be: %v", err)
	}
	s.must(s.repo.SetRules("a-channel-with-a-long-name-0", []byte("others"), time.Hour, s.keys.online()))
	s.publish(7)
	s.wants(7)
}

// TestRulesThatAreNotSigned: whatever fails, the rules before stay in force, in memory and for the next signature.
func TestRulesThatAreNotSigned(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.rule("closed")
	before := s.repo.Rules()
	for _, rules := range [][]byte{[]byte("open"), nil} {
		if err := s.repo.SetRules("stable", rules, time.Hour, s.keys[trust.RoleTargets]); err == nil {
			t.Errorf("%q: signed by another key", rules)
		}
		if got := s.repo.Rules(); !slices.Equal(got, before) {
			t.Errorf("%q left %+v", rules, got)
		}
	}
	s.must(s.repo.Refresh(s.keys.online()))
	s.ruled("closed")
}

// TestRulesRollbackAttack: rules of before come with a timestamp of before, which is rejected.
func TestRulesRollbackAttack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.rule("closed")
	old := s.saved()
	s.rule("open")
	s.ruled("open")
	new := s.folder
	s.net.folder = old
	s.refuses(trust.FaultRolledBack, 7)
	data, err := s.start().Rules(context.Background(), s.net, "stable")
	if string(data) != "open" || err != nil {
		t.Errorf("after a rollback: %q, %v", data, err)
	}
	s.net.folder = new
	s.ruled("open")
}

// TestRulesFreezeAttack: who keeps a client on an old state keeps old rules in force until they expire, and not as long as the timestamp.
func TestRulesFreezeAttack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.rule("closed")
	s.net.folder = s.saved()
	s.rule("open")
	s.ruled("closed")
	s.clock = epoch.Add(trust.DefaultRulesTime + time.Second)
	s.wants(7)
	s.ruled("")
	s.net.folder = s.folder
	s.rule("open")
	s.ruled("open")
	s.must(s.repo.SetRules("stable", []byte("for long"), trust.MaxTimestampTime, s.keys.online()))
	s.ruled("for long")
	s.clock = s.clock.Add(15 * day) // no rules outlive the timestamp that names them
	if _, err := s.start().Rules(context.Background(), s.net, "stable"); !errors.Is(err, trust.ErrNoRules) {
		t.Errorf("under an expired timestamp: %v", err)
	}
}

// TestRulesMixAndMatchAttack: other bytes than those that the timestamp names are rejected, and nothing of them stays.
func TestRulesMixAndMatchAttack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.rule("closed")
	s.rule("openly")
	for _, lie := range []string{"closed", "", "openly and more", "open"} {
		s.must(s.folder.Save(objectOf("openly").Path(), []byte(lie)))
		_, _, err := s.rules("stable")
		var rejected *trust.Error
		if !errors.As(err, &rejected) || rejected.Fault != trust.FaultMixed && rejected.Fault != trust.FaultTooLong {
			t.Errorf("%q: %v", lie, err)
		}
	}
	s.folder.Remove(objectOf("openly").Path())
	if _, _, err := s.rules("stable"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	s.rule("openly")
	s.ruled("openly")
	s.must(s.store.Save("rules.json", []byte("closed"))) // what is kept is verified each time
	if got, asked, err := s.rules("stable"); got != "openly" || !asked || err != nil {
		t.Errorf("a changed file: %q, asked %v, %v", got, asked, err)
	}
}

// TestForgedRules: only the timestamp's key states rules, and no other key of the game.
func TestForgedRules(t *testing.T) {
	t.Parallel()
	for _, role := range []trust.KeyRole{trust.RoleTargets, trust.RoleSnapshot, ""} {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		keys := []*trust.PrivateKey{newKey(t)}
		if role != "" {
			keys = s.keys[role]
		}
		s.must(s.folder.Save(objectOf("closed").Path(), []byte("closed")))
		forge(s, "metadata/timestamp.json", keys, func(m *metadata.TimestampType) {
			m.Version++
			m.UnrecognizedFields["x-rules"] = []any{said("stable", epoch.Add(day), objectOf("closed"))}
		})
		s.refuses(trust.FaultUnsigned, 7)
		if _, stated := s.start().StatesRules("stable"); stated {
			t.Errorf("keys of %q state rules", role)
		}
	}
}

// said is one entry of x-rules.
func said(channel string, expires time.Time, o release.Object) map[string]any {
	return map[string]any{"channel": channel, "expires": expires.Format(time.RFC3339), "length": o.Size, "sha256": o.Sum.Hex()}
}

// TestDamagedStatement: a signed statement that can't be read is none, and the lists count all the same.
func TestDamagedStatement(t *testing.T) {
	t.Parallel()
	with := func(key string, value any) map[string]any {
		entry := said("stable", epoch.Add(day), objectOf("rules"))
		entry[key] = value
		return entry
	}
	for name, field := range map[string]any{
		"a text": "rules", "a number": 1, "an object": said("stable", epoch, objectOf("rules")), "a list of texts": []any{"stable"},
		"no length": []any{with("length", 0)}, "a long one": []any{with("length", trust.MaxRules+1)}, "a negative one": []any{with("length", -1)},
		"half a digest": []any{with("sha256", strings.Repeat("ab", 16))}, "a long digest": []any{with("sha256", strings.Repeat("ab", 33))},
		"no hex": []any{with("sha256", strings.Repeat("x", 64))}, "no time": []any{with("expires", "tomorrow")}, "the past": []any{with("expires", epoch.Format(time.RFC3339))},
		"another case": []any{with("channel", "Stable")},
		"many":         slices.Repeat([]any{said("stable", epoch.Add(day), objectOf("rules"))}, trust.MaxRulesChannels+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.publish(7)
			s.must(s.folder.Save(objectOf("rules").Path(), []byte("rules")))
			state := func(field any) {
				forge(s, "metadata/timestamp.json", s.keys[trust.RoleTimestamp], func(m *metadata.TimestampType) {
					m.Version, m.UnrecognizedFields["x-rules"] = m.Version+1, field
				})
			}
			state(field)
			s.wants(7)
			s.clock = s.clock.Add(time.Second)
			s.ruled("")
			state([]any{said("stable", epoch.Add(day), objectOf("rules"))})
			s.ruled("rules")
		})
	}
}

// TestEarlierPublisherAndRules: a publisher that does not know the statement drops it; the next one states rules again.
func TestEarlierPublisherAndRules(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.rule("closed")
	s.ruled("closed")
	forge(s, "metadata/timestamp.json", s.keys[trust.RoleTimestamp], func(m *metadata.TimestampType) {
		m.Version++
		delete(m.UnrecognizedFields, "x-rules")
	})
	s.ruled("")
	repo, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	s.repo = repo
	s.rule("open")
	s.ruled("open")
}
