package acquire

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"collet/app/download"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// This file handles a server that does not answer while the mirrors do. The signed lists may name the rules by which the server judges, and
// then they judge in its place. A server's verdict always counts, and without rules in force only the release decides.

const (
	// serverPatience is how long a server may take once the lists are here, if there are rules in its place. It is below the 3 s after which
	// a start plays the installed set without an answer, and above four round trips over a satellite, which a connection with TLS takes.
	serverPatience = 2500 * time.Millisecond
	// rulesAhead is when the rules are fetched while a server is silent. So they have two of the 3 s, and cost no request if it answers soon.
	rulesAhead = time.Second
	// rulesMirrors is how many mirrors are asked for the rules at once if one of them has sent wrong ones: more than games have.
	rulesMirrors = 16
)

// awaitServerOrRules waits for the server's answer, and replaces a missing one by that of the rules. err is the mirrors' error.
//
//	the server gives a verdict         it counts, whatever comes of the rules
//	it fails                           the rules decide
//	it is silent to the end            the rules decide, once they are here; if they can't be had, it is waited for as without rules
func (c *connecting) awaitServerOrRules(ctx context.Context, server *serverCall, err error) serverAnswer {
	stated, ruled := c.ruled(err)
	if !ruled {
		return c.awaitServer(server)
	}
	rules := c.newRulesFetch(ctx, stated)
	defer rules.stop()
	patience := serverPatience
	if c.o.Patience > 0 {
		patience = min(patience, c.o.Patience*5/6)
	}
	ahead := min(rulesAhead, patience/2)
	inTime := awaitDecision(server, c.progress, time.After(ahead))
	if !inTime {
		rules.start()
		inTime = awaitDecision(server, c.progress, time.After(patience-ahead)) || awaitDecision(server, c.progress, rules.done)
	}
	late := false
	switch {
	case inTime:
	case rules.err != nil:
		return c.awaitServer(server)
	case server.claimTimeout():
		late = true
		if err := c.o.Server.Close(); err != nil { // ends its Connect
			c.o.Log.Debug().Err(err).Msg("close the connection that did not answer")
		}
	}
	if server.answered {
		rules.stop() // else the limit of a start would count the time of an exchange that follows the verdict
	}
	var d serverAnswer
	if late {
		server.cancel() // if it had not begun to dial when it was closed
		over := c.progress.await()
		d = <-server.answer
		over()
		d.mirror = nil // it is closed
	} else {
		d = <-server.answer
	}
	if d.err == nil || ctx.Err() != nil {
		return d
	}
	rules.start()
	<-rules.done
	if rules.err != nil {
		return d
	}
	judgement, err := c.o.Judge(rules.document)
	if err != nil {
		c.o.Log.Warn().Err(err).Msg("the signed rules can't be used")
		return d
	}
	c.o.Log.Info().Err(d.err).Stringer("verdict", judgement.Verdict).Msg("no server answered; the signed rules decide")
	return serverAnswer{judgement: judgement}
}

// ruled returns the rules that are in force: the lists were refreshed, whatever release they offer, and name rules for this channel.
func (c *connecting) ruled(err error) (trust.StatedRules, bool) {
	if err != nil && !isRefusal(err) || c.o.Judge == nil {
		return trust.StatedRules{}, false
	}
	return c.lists.client.StatesRules(c.o.Channel)
}

// rulesFetch fetches rules once, on a goroutine of its own.
type rulesFetch struct {
	start    func() // begins; later calls do nothing
	stop     func() // ends it, and waits; may be called again
	done     chan struct{}
	document []byte // after done
	err      error  // the same
}

func (c *connecting) newRulesFetch(ctx context.Context, stated trust.StatedRules) *rulesFetch {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	r := &rulesFetch{done: make(chan struct{}), stop: func() { cancel(); work.Wait() }}
	r.start = sync.OnceFunc(func() {
		work.Go(func() {
			defer close(r.done)
			r.document, r.err = c.lists.client.Rules(ctx, rulesFetcher{c.resources, stated.Object}, c.o.Channel)
			switch {
			case r.err == nil:
				c.progress.answered()
			case ctx.Err() == nil:
				c.o.Log.Warn().Err(r.err).Msg("the signed rules can't be fetched")
			}
		})
	})
	return r
}

// rulesFetcher fetches rules as a trust.Fetcher. It asks each mirror separately if what comes from all of them is wrong or missing, so that
// one bad mirror can't hide the rules.
type rulesFetcher struct {
	*resources
	object release.Object
}

// Fetch implements trust.Fetcher.
func (f rulesFetcher) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	u, err := f.verified(ctx, f.objects.direct(), name, limit)
	mirrors := f.mirrors.list()
	if err == nil || ctx.Err() != nil || len(mirrors) < 2 {
		return u, err
	}
	f.o.Log.Warn().Err(err).Msg("the signed rules are wrong or missing; asking each mirror separately")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found sync.Once
	has := false
	var workers errgroup.Group
	workers.SetLimit(rulesMirrors)
	for _, mirror := range mirrors {
		workers.Go(func() error {
			alone, err := download.NewFetcher([]download.Mirror{mirror}, f.mirrors.fetch)
			if err != nil {
				return err
			}
			defer alone.Close()
			sent, err := f.verified(ctx, documents{Fetcher: alone}, name, limit)
			switch {
			case err == nil:
				found.Do(func() { u, has = sent, true; cancel() })
			case ctx.Err() == nil:
				f.o.Log.Warn().Err(err).Str("mirror", mirror.Name()).Msg("a mirror does not have the signed rules")
			}
			return nil
		})
	}
	if failed := workers.Wait(); failed != nil || has {
		return u, failed
	}
	return u, err // of all of them together
}

// verified fetches the rules, and has an error if they are others.
func (f rulesFetcher) verified(ctx context.Context, from documents, name string, limit int64) (trust.Unverified, error) {
	u, err := from.Fetch(ctx, name, limit)
	if err == nil {
		_, err = u.Verify(f.object)
	}
	return u, err
}
