package acquire

import (
	"context"
	"time"
)

// This file handles a server that does not answer while the mirrors do. The signed lists may name the rules by which the server judges, and
// then they judge in its place. A server's verdict always counts, and without rules in force only the release decides.

// serverPatience is how long a server may take once the lists are here, if there are rules in its place. It is below the 3 s after which a
// start plays the installed set without an answer, and above four round trips over a satellite, which a connection with TLS takes.
const serverPatience = 2500 * time.Millisecond

// awaitServerOrRules waits for the server's answer, and replaces a missing one by that of the rules. err is the mirrors' error.
func (c *connecting) awaitServerOrRules(ctx context.Context, answer <-chan serverAnswer, err error) serverAnswer {
	if !c.ruled(err) {
		return c.awaitServer(answer)
	}
	if c.o.Server != nil {
		patience := time.AfterFunc(serverPatience, func() {
			if err := c.o.Server.Close(); err != nil { // ends its Connect
				c.o.Log.Debug().Err(err).Msg("close the connection that did not answer")
			}
		})
		defer patience.Stop()
	}
	d := c.awaitServer(answer)
	if d.err == nil || ctx.Err() != nil {
		return d
	}
	rules, err := c.lists.client.Rules(ctx, c.objects.direct(), c.o.Channel)
	if err == nil {
		c.progress.answered()
		var judged serverAnswer
		if judged.judgement, err = c.o.Judge(rules); err == nil {
			c.o.Log.Info().Err(d.err).Stringer("verdict", judged.judgement.Verdict).Msg("no server answered; the signed rules decide")
			return judged
		}
	}
	c.o.Log.Warn().Err(err).Msg("the signed rules can't be used")
	return d
}

// ruled reports whether rules are in force: the lists were refreshed, whatever release they offer, and name rules for this channel.
func (c *connecting) ruled(err error) bool {
	if err != nil && !isRefusal(err) {
		return false
	}
	_, stated := c.lists.client.StatesRules(c.o.Channel)
	return stated && c.o.Judge != nil
}
