package trust

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"collet/netproto/release"
)

// A timestamp may name the public rules of a server (compat.Rules), for clients that reach none: an object of the release folder for each
// channel. The field x-rules has a list of
//
//	{"channel": "stable", "expires": "2026-11-23T12:00:00Z", "length": 812, "sha256": "<64 hex>"}
//
// The timestamp is fetched at each start, so rules that have not changed cost no request. They are as current as the timestamp: its
// version and its expiry are the protection from a rollback and a freeze, the digest that from other rules. The rules have an expiry of
// their own, too, because an old refusal keeps players out. A client that can't read the field, or finds it damaged, has no rules.
const (
	rulesField = "x-rules"
	// rulesFile is the name in the Store of the rules that were fetched last.
	rulesFile = "rules.json"
	// MaxRules is the size of the largest rules in bytes: the largest settings of a server (256 KiB), and as much for what its build declares.
	MaxRules = 512 << 10
	// MaxRulesChannels is for how many channels a timestamp may name rules: each one takes some 180 of the bytes of MaxTimestamp.
	MaxRulesChannels = 8
	// DefaultRulesTime is how long rules are valid: a day and another one, because they are renewed every day and that may fail once.
	DefaultRulesTime = 48 * time.Hour
)

// ErrNoRules says that the timestamp names no rules for a channel, or that they have expired.
var ErrNoRules = errors.New("no rules are in force for this channel")

// StatedRules are the rules of a channel, as the timestamp names them. In JSON they have the form of the field.
type StatedRules struct {
	Channel string
	Object  release.Object
	Expires time.Time // whole seconds, UTC
}

// statement is an entry of the field.
type statement struct {
	Channel string    `json:"channel"`
	Expires time.Time `json:"expires"`
	Length  int64     `json:"length"`
	SHA256  string    `json:"sha256"`
}

// fields are those of a statement. The list takes them as a map, because it signs canonical JSON.
func (s StatedRules) fields() map[string]any {
	return map[string]any{"channel": s.Channel, "expires": s.Expires.UTC().Format(time.RFC3339), "length": s.Object.Size, "sha256": s.Object.Sum.Hex()}
}

// MarshalJSON implements json.Marshaler.
func (s StatedRules) MarshalJSON() ([]byte, error) {
	return json.Marshal(s.fields())
}

// UnmarshalJSON implements json.Unmarshaler. What no client could use is an error.
func (s *StatedRules) UnmarshalJSON(data []byte) error {
	var read statement
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	sum, err := hex.DecodeString(read.SHA256)
	if err != nil || len(sum) != 32 || read.Length < 1 || read.Length > MaxRules {
		return fmt.Errorf("rules of %d bytes with the digest %.70q", read.Length, read.SHA256)
	}
	*s = StatedRules{read.Channel, release.Object{Sum: release.SHA256Digest([32]byte(sum)), Size: read.Length}, read.Expires.UTC()}
	return nil
}

// statedRules reads the field. A damaged list is none.
func statedRules(fields map[string]any) (list []StatedRules) {
	field, found := fields[rulesField]
	if !found {
		return nil
	}
	data, err := json.Marshal(field)
	if err != nil || json.Unmarshal(data, &list) != nil || len(list) > MaxRulesChannels {
		return nil
	}
	return list
}

// encodeRules is the field's value.
func encodeRules(list []StatedRules) []any {
	field := []any{}
	for _, s := range list {
		field = append(field, s.fields())
	}
	return field
}

// Rules are the rules that the timestamp names, sorted by channel, expired ones left out.
func (r *Repo) Rules() []StatedRules { return r.Unexpired(r.rules) }

// Unexpired are those of a list that have not expired.
func (r *Repo) Unexpired(list []StatedRules) []StatedRules {
	return slices.DeleteFunc(slices.Clone(list), func(s StatedRules) bool { return !s.Expires.After(r.now()) })
}

// SetRules puts rules into the folder and signs a timestamp that names them for a channel, for so long; nil rules are named no more.
// signers must reach the threshold of timestamp.
func (r *Repo) SetRules(channel string, rules []byte, valid time.Duration, signers []*PrivateKey) error {
	if r.pending {
		return ErrUnfinished
	}
	next := slices.DeleteFunc(r.Rules(), func(s StatedRules) bool { return s.Channel == channel })
	if rules != nil {
		switch {
		case len(rules) == 0 || len(rules) > MaxRules:
			return fmt.Errorf("rules of %d bytes: want 1 to %d", len(rules), MaxRules)
		case valid < time.Minute || valid > MaxTimestampTime:
			return fmt.Errorf("rules can't be valid for %v: want a minute to %v", valid, MaxTimestampTime)
		case len(next) == MaxRulesChannels:
			return fmt.Errorf("rules of %d channels are in force, and no more can be; withdraw those of another channel", len(next))
		}
		o := release.ObjectOf(rules)
		if err := r.store.Save(o.Path(), rules); err != nil {
			return fmt.Errorf("write %s: %w", o.Path(), err)
		}
		next = append(next, StatedRules{channel, o, r.expiry(valid)})
	}
	slices.SortFunc(next, func(a, b StatedRules) int { return strings.Compare(a.Channel, b.Channel) })
	return r.write(change{rules: &next}, signers)
}

// StatesRules returns the rules of a channel that the verified timestamp names, if both are in force: Rules has their content.
func (c *Client) StatesRules(channel string) (StatedRules, bool) {
	t := c.current().timestamp.meta
	if t == nil {
		return StatedRules{}, false
	}
	for _, s := range statedRules(t.Signed.UnrecognizedFields) {
		if why, _ := staleness(c.now(), t.Signed.Expires, s.Expires); s.Channel == channel && why == NotStale {
			return s, true
		}
	}
	return StatedRules{}, false
}

// Rules returns the rules of a channel that the verified timestamp names. They cost a request unless they are those of the last call for
// any channel, also by an earlier process. Without rules in force the error is ErrNoRules.
func (c *Client) Rules(ctx context.Context, f Fetcher, channel string) ([]byte, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	s, found := c.StatesRules(channel)
	if !found {
		return nil, ErrNoRules
	}
	if data, err := c.store.Load(rulesFile, MaxRules); err == nil && s.Object.Verify(data) == nil {
		return data, nil
	}
	u, err := fetch(ctx, f, s.Object.Path(), s.Object.Size)
	if err != nil {
		return nil, err
	}
	data, err := u.Verify(s.Object)
	if err != nil {
		return nil, &Error{Document: rulesFile, Fault: FaultMixed, Err: err}
	}
	if err := c.store.Save(rulesFile, data); err != nil {
		return nil, fmt.Errorf("keep what was verified: %w", err)
	}
	return data, nil
}
