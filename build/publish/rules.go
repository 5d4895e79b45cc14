package publish

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"collet/build/advice"
	"collet/netproto/release/trust"
	"collet/platform"
)

const (
	// replacedFile lists rules that the timestamp has named before, as JSON. Caches may go on answering with that timestamp, so the files of
	// these rules stay until the rules expire.
	replacedFile = private + "/rules.json"
	// maxReplaced is how many of them are remembered: those of a change an hour over the longest time for which rules are valid.
	maxReplaced = 30 * 24
	// maxReplacedFile limits reads of the file: twice of what so many entries take.
	maxReplacedFile = maxReplaced * 400
)

// Rules are the public rules that the folder's timestamp names, sorted by channel, expired ones left out.
func (f *Folder) Rules() []trust.StatedRules { return f.repo.Rules() }

// RulesOf reads the rules of a channel, the default one if empty. Without rules in force the document is nil.
func (f *Folder) RulesOf(channel string) (s trust.StatedRules, document []byte, err error) {
	channel = f.releases.channel(channel)
	for _, s := range f.repo.Rules() {
		if s.Channel != channel {
			continue
		}
		if document, err = f.releases.object(s.Object); err == nil {
			err = s.Object.Verify(document)
		}
		if err != nil {
			return s, nil, advice.Because(err, "sign them again: collet release rules", "rules of channel %s", channel)
		}
		return s, document, nil
	}
	return s, nil, nil
}

// SetRules puts public rules (compat.Rules) into the folder and signs a timestamp that names them for a channel, the default one if empty,
// for so long. The caller has read them by compat.ParseRules, as clients do. Nil rules withdraw those of the channel; then valid is ignored.
// A channel that has neither releases nor rules is an error.
func (f *Folder) SetRules(ctx context.Context, channel string, rules []byte, valid time.Duration, keys []*trust.PrivateKey) error {
	channel = f.releases.channel(channel)
	if err := f.checkRulesChannel(channel); err != nil {
		return err
	}
	if err := f.CheckKeys(keys, trust.RoleTimestamp); err != nil {
		return err
	}
	if err := f.rememberRules(); err != nil {
		return err
	}
	if err := f.repo.SetRules(channel, rules, valid, keys); err != nil {
		return advice.Because(err, "", "rules of channel %s", channel)
	}
	return f.updateDerived(ctx)
}

// checkRulesChannel checks that a channel has clients. A mistyped one has none, and the others would go by other rules than their operator thinks.
func (f *Folder) checkRulesChannel(channel string) error {
	var channels []string
	for _, e := range f.repo.Entries() {
		channels = append(channels, e.Channel)
	}
	for _, s := range f.repo.Rules() {
		channels = append(channels, s.Channel)
	}
	slices.Sort(channels)
	channels = slices.Compact(channels)
	if slices.Contains(channels, channel) {
		return nil
	}
	next := "publish one first"
	if len(channels) > 0 {
		next = advice.Suggest(channel, channels, "there is "+advice.OneOf(channels))
	}
	return advice.Wrong(next, "no release is in the channel %s, so no client is judged by its rules", channel)
}

// rememberRules adds the rules that are in force to those that stay.
func (f *Folder) rememberRules() error {
	list := f.repo.Rules()
	if len(list) == 0 {
		return nil
	}
	list = append(list, f.releases.replacedRules()...)
	slices.SortStableFunc(list, func(a, b trust.StatedRules) int { return b.Expires.Compare(a.Expires) })
	known := map[string]bool{}
	list = slices.DeleteFunc(list, func(s trust.StatedRules) bool {
		again := known[s.Object.Path()]
		known[s.Object.Path()] = true
		return again
	})
	data, err := json.Marshal(list[:min(len(list), maxReplaced)])
	if err == nil {
		err = platform.WriteFile(f.fs, replacedFile, data)
	}
	if err != nil {
		return advice.Because(err, "", "remember the rules before")
	}
	return nil
}

// replacedRules are rules that an earlier timestamp names, and that have not expired. A damaged list counts as empty. Rules without a file are left
// out: an earlier program may have removed it.
func (r *releases) replacedRules() (list []trust.StatedRules) {
	data, err := platform.ReadFile(r.fs, replacedFile, maxReplacedFile)
	if err != nil || json.Unmarshal(data, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(r.repo.Unexpired(list), func(s trust.StatedRules) bool { return platform.Size(r.fs, s.Object.Path()) != s.Object.Size })
}
