package acquire_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/release/trust"
	"collet/netproto/session"
)

// ruled is a publisher of one release whose folder has rules of a maintenance.
func ruled(t *testing.T) *publisher {
	p := newPublisher(t)
	p.clock = time.Now()
	p.publish(1, tree{"Lathe.so": prose(1, 3000), "Core.zip": noise(1, 3000)}, publish.Request{})
	p.rule(&compat.Snapshot{Custom: true, Compatibility: "one", Maintenance: true, Messages: map[string]string{compat.PopupMaintenance: "Moving"}})
	return p
}

// rule signs rules; nil withdraws them.
func (p *publisher) rule(s *compat.Snapshot) {
	p.t.Helper()
	var document []byte
	if s != nil {
		var err error
		document, err = compat.Rules{Protocol: netproto.VersionC1, Snapshot: *s}.Encode()
		must(p.t, err)
	}
	p.with(func(f *publish.Folder) error {
		return f.SetRules(context.Background(), "", document, trust.DefaultRulesTime, p.keys[3:])
	})
}

// judges makes a client judge itself, and counts how often it did.
func (c *client) judges() *int {
	n := new(int)
	c.change = func(o *acquire.Options) {
		o.Judge = func(rules []byte) (compat.Judgement, error) {
			*n++
			known, err := compat.ParseRules(rules)
			if err != nil {
				return compat.Judgement{}, err
			}
			r, err := session.Options{Compatibility: "one", Target: target}.Judge(known, time.Now())
			return r.Judgement, err
		}
	}
	return n
}

// absent is a server that can't be reached.
type absent struct{}

func (absent) Connect(context.Context) (compat.Judgement, download.Mirror, error) {
	return compat.Judgement{}, nil, errors.New("connection refused")
}
func (absent) Close() error { return nil }

// silent is a server that answers when it is closed, with an error, or after some time.
type silent struct {
	after  time.Duration
	closed chan struct{}
}

func (s silent) Connect(ctx context.Context) (compat.Judgement, download.Mirror, error) {
	select {
	case <-ctx.Done():
		return compat.Judgement{}, nil, ctx.Err()
	case <-s.closed:
		return compat.Judgement{}, nil, errors.New("closed")
	case <-time.After(s.after):
		return compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept}, nil, nil
	}
}

func (s silent) Close() error {
	select {
	case s.closed <- struct{}{}:
	default:
	}
	return nil
}

// TestRulesInPlaceOfAServer: the rules decide if no server answers, and only then are they fetched, once.
func TestRulesInPlaceOfAServer(t *testing.T) {
	t.Parallel()
	p := ruled(t)
	accept := judging{judgement: compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept}}
	refuse := judging{judgement: compat.Judgement{Verdict: compat.ClientTooNew, Rule: compat.RuleTooNew}}
	for name, want := range map[string]struct {
		server  acquire.Server
		outcome update.Outcome
		judged  int
	}{
		"no server": {nil, update.Maintenance, 2}, "absent": {absent{}, update.Maintenance, 2},
		"accepts": {accept, update.BinariesStaged, 0}, "refuses": {refuse, update.ClientTooNew, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := p.bareMirror()
			c := newClient(t, p, m)
			judged := c.judges()
			c.server = want.server
			if r := c.run(); r.status.Outcome != want.outcome {
				t.Errorf("%v, want %v\n%s", r, want.outcome, c.log.String())
			}
			first := len(m.asked)
			m.forget()
			c.run()
			var rules int
			p.with(func(f *publish.Folder) error {
				rules = m.count(f.Rules()[0].Object.Path())
				return nil
			})
			if *judged != want.judged || rules != 0 {
				t.Errorf("judged %d times, want %d; %d requests, then %q", *judged, want.judged, first, m.asked)
			}
		})
	}
}

// TestRulesAreWithdrawn: rules follow the folder from start to start, and without them only the release decides.
func TestRulesAreWithdrawn(t *testing.T) {
	t.Parallel()
	p := ruled(t)
	c := newClient(t, p, p.bareMirror())
	c.judges()
	c.server = absent{}
	if r := c.run(); r.status.Outcome != update.Maintenance {
		t.Fatalf("%v", r)
	}
	p.rule(&compat.Snapshot{Custom: true, Compatibility: "one"})
	if r := c.run(); r.status.Outcome != update.BinariesStaged {
		t.Fatalf("open: %v\n%s", r, c.log.String())
	}
	p.rule(&compat.Snapshot{Custom: true, Compatibility: "one", Maintenance: true})
	if r := c.run(); r.status.Outcome != update.Maintenance {
		t.Fatalf("closed again: %v", r)
	}
	p.rule(nil)
	if r := c.run(); r.status.Outcome != update.ResourcesReady {
		t.Errorf("withdrawn: %v", r)
	}
}

// TestSilentServer: one that says nothing has 2.5 s once the lists are here, and an answer within them counts.
func TestSilentServer(t *testing.T) {
	for name, want := range map[string]struct {
		after, took time.Duration
		outcome     update.Outcome
	}{
		"late":     {2 * time.Second, 2 * time.Second, update.BinariesStaged},
		"too late": {3 * time.Second, 2500 * time.Millisecond, update.Maintenance},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := ruled(t)
				c := newClient(t, p, p.bareMirror())
				c.judges()
				c.server = silent{want.after, make(chan struct{})}
				began := time.Now()
				r := c.run()
				if took := time.Since(began); r.status.Outcome != want.outcome || took != want.took {
					t.Errorf("%v after %v, want %v after %v", r, took, want.outcome, want.took)
				}
			})
		})
	}
}
