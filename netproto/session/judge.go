package session

import (
	"fmt"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
)

// Ruling is what a client makes of public rules: all that a server with these rules would have answered.
type Ruling struct {
	Judgement   compat.Judgement
	Told        netproto.AnswerTags
	Differences compat.Differences // always Untold: no server shows components
	Updater     compat.Updater     // as Client.Updater
}

// Judge judges this client by public rules, for which no server is asked. The hello and the answer are those that Dial in C1 would send and
// get, so the ruling is what arrives through a connection. What only a server knows of an account, its floor and whether it is a
// developer's, has no part in it. Errors are mistakes in o, as those of Dial, and an engine generation without Auto: its servers have no
// such rules, and its answers have no room for the judgement.
func (o Options) Judge(rules compat.Rules, now time.Time) (Ruling, error) {
	if !o.Auto && o.Generation.Engine() {
		return Ruling{}, fmt.Errorf("the public rules are those of a server of %v, and this client asks for %v alone", netproto.C1, o.Generation)
	}
	o.Generation, o.Auto = netproto.C1, false
	o = o.withDefaults()
	if err := o.checkIdentity(); err != nil {
		return Ruling{}, err
	}
	said, err := o.hello(netproto.C1)
	if err != nil {
		return Ruling{}, err
	}
	hello := said.Hello(netproto.C1)
	hello.Now = now
	switch ours := netproto.C1.Version(); {
	case ours < rules.Protocol:
		hello.Updater = compat.UpdaterOlder
	case ours > rules.Protocol:
		hello.Updater = compat.UpdaterNewer
	}
	judgement := compat.Evaluate(&rules.Snapshot, &hello)
	answer := netproto.NewAnswer(judgement)
	answer.Version = rules.Protocol
	tags := netproto.TagsFor(&rules.Snapshot, &hello, judgement)
	tags.Manifest = false
	if err := answer.Tell(tags); err != nil { // a server answers without what can't be told, too
		o.Log.Warn().Err(err).Msg("the public rules have something that can't be told")
	}
	arrived := answer.Judgement(netproto.C1)
	return Ruling{
		arrived, toldBy(netproto.C1, answer), o.differencesUnseen(netproto.C1, answer), updaterAfter(netproto.C1, arrived.Verdict, answer.Version),
	}, nil
}
