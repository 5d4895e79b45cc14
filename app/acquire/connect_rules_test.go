package acquire_test

import (
	"context"
	"errors"
	"strings"
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

// rulesPath is the name of the rules that are in force.
func (p *publisher) rulesPath() (name string) {
	p.t.Helper()
	p.with(func(f *publish.Folder) error {
		name = f.Rules()[0].Object.Path()
		return nil
	})
	return name
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

func (absent) Connect(context.Context, func()) (compat.Judgement, download.Mirror, error) {
	return compat.Judgement{}, nil, errors.New("connection refused")
}
func (absent) Close() error { return nil }

// silent is a server that is slow with its answer.
type silent struct {
	answers time.Duration // when it gives its verdict; 0 is never
	behind  time.Duration // for how long it goes on after the verdict, as for an exchange of manifests
	late    bool          // gives its verdict when it is closed
	early   bool          // has not begun to dial, so that closing it ends nothing
	closed  chan struct{}
}

func (s silent) Connect(ctx context.Context, answered func()) (compat.Judgement, download.Mirror, error) {
	var answers, ends <-chan time.Time
	if s.answers > 0 {
		answers, ends = time.After(s.answers), time.After(s.answers+s.behind)
	}
	for {
		select {
		case <-ctx.Done():
			return compat.Judgement{}, nil, ctx.Err()
		case <-s.closed:
			if answered(); !s.late {
				return compat.Judgement{}, nil, errors.New("closed")
			}
		case <-answers:
			answered()
			continue
		case <-ends:
		}
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
	path := p.rulesPath()
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
			rules := m.count(path)
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

// TestSilentServer: one that says nothing has 2.5 s once the lists are here. Its verdict counts whenever it comes before the rules judge, and
// they are there in time on slow lines.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := map[string]struct {
		server       silent
		line         time.Duration // how long the rules take
		missing      bool          // the mirror lacks the rules
		patience     time.Duration
		took         time.Duration
		asked        bool // whether the rules are asked for
		serverCounts bool // whether the server's verdict counts, and not that of the rules
	}{
		"soon":                     {server: silent{answers: 900 * ms}, took: 900 * ms, serverCounts: true},
		"in time":                  {server: silent{answers: 2000 * ms}, took: 2000 * ms, asked: true, serverCounts: true},
		"too late":                 {server: silent{answers: 3000 * ms}, took: 2500 * ms, asked: true},
		"never":                    {took: 2500 * ms, asked: true},
		"a slow line":              {line: 1400 * ms, took: 2500 * ms, asked: true},
		"a very slow line":         {line: 1900 * ms, took: 2900 * ms, asked: true},
		"before the rules":         {server: silent{answers: 2800 * ms}, line: 1900 * ms, took: 2800 * ms, asked: true, serverCounts: true},
		"no rules":                 {server: silent{answers: 2900 * ms}, missing: true, took: 2900 * ms, asked: true, serverCounts: true},
		"a long exchange":          {server: silent{answers: 900 * ms, behind: 7000 * ms}, took: 7900 * ms, serverCounts: true},
		"an exchange at the end":   {server: silent{answers: 2400 * ms, behind: 4000 * ms}, took: 6400 * ms, asked: true, serverCounts: true},
		"an answer while it ends":  {server: silent{late: true}, took: 2500 * ms, asked: true, serverCounts: true},
		"never, and is not closed": {server: silent{early: true}, took: 2500 * ms, asked: true},
		"an impatient player":      {server: silent{answers: 1000 * ms}, patience: 600 * ms, took: 500 * ms, asked: true},
		"a patient player":         {server: silent{answers: 9000 * ms}, patience: time.Minute, took: 2500 * ms, asked: true},
		"rules while it exchanges": {server: silent{answers: 1100 * ms, behind: 7000 * ms}, line: 1900 * ms, took: 8100 * ms, asked: true, serverCounts: true},
	}
	synctest.Test(t, func(t *testing.T) { // all of them with one folder, which takes longest to make
		p := ruled(t)
		rules := p.rulesPath()
		for name, test := range tests {
			m := p.bareMirror()
			m.hurry = func(ctx context.Context, name string) error {
				if name != rules {
					return nil
				}
				select {
				case <-time.After(test.line):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			m.spoil = func(name string, _ int64) error {
				if name == rules && test.missing {
					return &download.MissingError{Mirror: "mem:", Name: name}
				}
				return nil
			}
			c := newClient(t, p, m)
			judged := c.judges()
			judging := c.change
			c.change = func(o *acquire.Options) { judging(o); o.Patience = test.patience }
			if !test.server.early {
				test.server.closed = make(chan struct{})
			}
			c.server = test.server
			began := time.Now()
			r := c.run()
			took := time.Since(began)
			outcome, times := update.Maintenance, 1
			if test.serverCounts {
				outcome, times = update.BinariesStaged, 0
			}
			if r.status.Outcome != outcome || *judged != times || took != test.took || (m.count(rules) > 0) != test.asked {
				t.Errorf("%s: %v after %v, judged %d times, %d requests for the rules; want %v after %v\n%s",
					name, r, took, *judged, m.count(rules), outcome, test.took, c.log.String())
			}
		}
	})
}

// TestServerAgainstRules: if both come at once there is one verdict, and the rules judge only if it is not the server's. While a server that has
// answered shows its components, neither it nor the rules are waited for: the limit of a start does not cut it off.
func TestServerAgainstRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := ruled(t)
		m := p.bareMirror()
		for range 5 {
			c := newClient(t, p, m)
			judged := c.judges()
			c.server = silent{answers: 2500 * time.Millisecond, closed: make(chan struct{})}
			r := c.run()
			if (r.status.Outcome == update.Maintenance) != (*judged == 1) || (r.status.Outcome == update.BinariesStaged) != (*judged == 0) {
				t.Errorf("%v, judged %d times\n%s", r, *judged, c.log.String())
			}
		}
		rules := p.rulesPath()
		m.hurry = func(ctx context.Context, name string) error { return stall(ctx, name == rules) }
		c := newClient(t, p, m)
		c.judges()
		c.server = silent{answers: 1500 * time.Millisecond, behind: 7 * time.Second, closed: make(chan struct{})}
		c.source = func(s *acquire.Source) {
			before := 0
			time.AfterFunc(time.Second, func() {
				if before = s.Progress().Answers; !s.Progress().Waiting {
					t.Errorf("a silent server is not waited for")
				}
			})
			time.AfterFunc(5*time.Second, func() {
				if now := s.Progress(); now.Waiting || now.Answers != before+1 {
					t.Errorf("a verdict is no answer: %+v after %d", now, before)
				}
			})
		}
		if r := c.run(); r.status.Outcome != update.BinariesStaged || m.count(rules) == 0 {
			t.Errorf("%v, %d requests for the rules", r, m.count(rules))
		}
	})
}

// stall waits for the end of ctx.
func stall(ctx context.Context, stalls bool) error {
	if !stalls {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestMirrorThatHidesRules: a mirror with other bytes in place of the rules, or without them, hides them only if it is the only one.
func TestMirrorThatHidesRules(t *testing.T) {
	t.Parallel()
	p := ruled(t)
	rules := p.rulesPath()
	for name, bad := range map[string]func(m *folderMirror){
		"other bytes": func(m *folderMirror) {
			m.bend = func(name string, data []byte) []byte {
				if name == rules {
					data = []byte(strings.Replace(string(data), `"maintenance":true`, `"maintenance":null`, 1))
				}
				return data
			}
		},
		"more bytes": func(m *folderMirror) {
			m.bend = func(name string, data []byte) []byte {
				if name == rules {
					data = append(data, data...)
				}
				return data
			}
		},
		"none": func(m *folderMirror) {
			m.spoil = func(name string, _ int64) error {
				if name == rules {
					return &download.MissingError{Mirror: "bad:", Name: name}
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			liar := p.bareMirror()
			liar.name = "bad:"
			bad(liar)
			c := newClient(t, p, liar)
			c.judges()
			if r := c.run(); r.status.Outcome != update.BinariesStaged && r.status.Outcome != update.ResourcesReady {
				t.Errorf("alone: %v", r)
			}
			if log := c.log.String(); !strings.Contains(log, "the signed rules can't be fetched") {
				t.Errorf("the log does not say why the rules do not judge:\n%s", log)
			}
			c = newClient(t, p, liar, p.bareMirror())
			c.judges()
			if r := c.run(); r.status.Outcome != update.Maintenance {
				t.Errorf("beside another one: %v\n%s", r, c.log.String())
			}
		})
	}
	t.Run("other bytes, then stalls", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := ruled(t)
			rules := p.rulesPath()
			var mirrors []download.Mirror
			for range 2 {
				liar := p.bareMirror()
				liar.hurry = func(ctx context.Context, name string) error {
					return stall(ctx, name == rules && liar.count(rules) > 1)
				}
				liar.bend = func(name string, data []byte) []byte {
					if name == rules {
						data[0]++
					}
					return data
				}
				mirrors = append(mirrors, liar)
			}
			c := newClient(t, p, append(mirrors, p.bareMirror())...)
			c.judges()
			began := time.Now()
			if r := c.run(); r.status.Outcome != update.Maintenance || time.Since(began) > time.Second {
				t.Errorf("%v after %v\n%s", r, time.Since(began), c.log.String())
			}
		})
	})
}
