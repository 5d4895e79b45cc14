package publish

import (
	"context"
	"time"

	"collet/build/advice"
	"collet/netproto/release/trust"
)

// Rules are the public rules that the folder's timestamp names, sorted by channel, expired ones left out.
func (f *Folder) Rules() []trust.StatedRules { return f.repo.Rules() }

// SetRules puts public rules (compat.Rules) into the folder and signs a timestamp that names them for a channel, the default one if empty,
// for so long. The caller has read them by compat.ParseRules, as clients do. Nil rules withdraw those of the channel; then valid is ignored.
func (f *Folder) SetRules(ctx context.Context, channel string, rules []byte, valid time.Duration, keys []*trust.PrivateKey) error {
	channel = f.releases.channel(channel)
	if err := f.CheckKeys(keys, trust.RoleTimestamp); err != nil {
		return err
	}
	if err := f.repo.SetRules(channel, rules, valid, keys); err != nil {
		return advice.Because(err, "", "rules of channel %s", channel)
	}
	return f.updateDerived(ctx)
}
