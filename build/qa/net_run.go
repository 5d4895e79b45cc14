package qa

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"collet/build/qa/proxy"
	"collet/build/qa/report"
)

// netSuite is the suite of the cases that Net tries.
const netSuite = "net"

// Net plays scenarios with a lab's client through a proxy. It is safe for concurrent use once made.
type Net struct {
	lab   *Lab
	first [3]int64 // bytes of the first undisturbed connection, by Direction
	cases []netCase
}

// netCase is one scenario with one direction and one position.
type netCase struct {
	scenario  Scenario
	direction proxy.Direction
	at        Position
}

// NewNet measures an undisturbed update and plans the cases of all scenarios; slow scenarios only if slow is set.
func NewNet(ctx context.Context, l *Lab, scenarios []Scenario, slow bool) (*Net, error) {
	n := &Net{lab: l}
	if err := n.measure(ctx); err != nil {
		return nil, fmt.Errorf("an update through a proxy that does nothing: %w", err)
	}
	for _, s := range scenarios {
		if slow || !s.Slow {
			n.cases = append(n.cases, s.cases()...)
		}
	}
	return n, nil
}

// About describes the measurement, for a reader of the report.
func (n *Net) About() string {
	return fmt.Sprintf("The first connection of an undisturbed update carries %d bytes up and %d bytes down, which the shares count.",
		n.first[proxy.Up], n.first[proxy.Down])
}

// measure runs an update through a proxy without faults.
func (n *Net) measure(ctx context.Context) error {
	dir, remove, err := n.lab.clone(0)
	if err != nil {
		return err
	}
	defer remove()
	p, err := proxy.Start(proxy.Options{Target: n.lab.client.options.Server})
	if err != nil {
		return err
	}
	defer p.Close()
	end, err := n.lab.client.run(ctx, dir, clientRun{server: p.Addr()})
	if err != nil {
		return err
	}
	if end.code != exitReady {
		return fmt.Errorf("%v; the client printed:\n%s", end, end.tail())
	}
	if records := p.Records(); len(records) > 0 {
		n.first = [3]int64{proxy.Up: records[0].Up, proxy.Down: records[0].Down}
	}
	return nil
}

// cases combines the directions and positions of the first fault.
func (s Scenario) cases() []netCase {
	if len(s.Faults) == 0 || len(s.Faults[0].Directions) == 0 {
		return []netCase{{scenario: s}}
	}
	var all []netCase
	for _, d := range s.Faults[0].Directions {
		for _, at := range s.Faults[0].At {
			all = append(all, netCase{scenario: s, direction: d, at: at})
		}
	}
	return all
}

func (c netCase) params() []report.Param {
	if c.direction == 0 {
		return nil
	}
	return []report.Param{{Name: "way", Value: c.direction.String()}, {Name: "at", Value: c.at.String()}}
}

// Play tries all cases, jobs at a time. After the disturbed run the install must have exactly the old or the new set; after as many
// undisturbed runs as an update takes, the new one. The player's files must be unchanged. The error is that of ctx.
func (n *Net) Play(ctx context.Context, jobs int, tell Progress) error {
	tries := make([]try, len(n.cases))
	for i, c := range n.cases {
		tries[i] = try{name: c.scenario.Name, params: c.params(), do: func(ctx context.Context) (report.State, string, error) {
			return n.try(ctx, c)
		}}
	}
	return playCases(ctx, netSuite, tries, jobs, tell)
}

// try disturbs one update, judges the result, and lets the client finish undisturbed.
func (n *Net) try(ctx context.Context, c netCase) (report.State, string, error) {
	dir, remove, err := n.lab.clone(0)
	if err != nil {
		return "", "", err
	}
	defer remove()
	end, connections, err := n.disturb(ctx, c, dir)
	if err != nil {
		return "", "", err
	}
	which, problem, err := n.lab.promise.checkFolder(dir)
	if err != nil {
		return "", "", err
	}
	problem = joinLines(c.endProblem(end), after("after the disturbed run", problem, end))
	runs, later, err := n.lab.judgeConverging(ctx, dir, which)
	note := fmt.Sprintf("exit code %d after %.1f s and %d connections, then the %s set", end.code, end.took.Seconds(), connections, which)
	if later == "" {
		note += fmt.Sprintf("; the new one after %d more runs", runs)
	}
	return verdict(joinLines(problem, later), note, err)
}

// endProblem describes what is wrong with the disturbed client's end.
func (c netCase) endProblem(end clientEnd) string {
	if !end.hung && slices.Contains(c.scenario.Exits, end.code) {
		return ""
	}
	return fmt.Sprintf("the client ends with %v, want exit code %s; it printed:\n%s", end, oneOf(c.scenario.Exits), end.tail())
}

func oneOf(codes []int) string {
	words := make([]string, len(codes))
	for i, c := range codes {
		words[i] = fmt.Sprint(c)
	}
	return strings.Join(words, " or ")
}

// disturb runs the client through a proxy with the scenario's faults.
func (n *Net) disturb(ctx context.Context, c netCase, dir string) (end clientEnd, connections int, err error) {
	p, err := proxy.Start(proxy.Options{
		Target: n.lab.client.options.Server, Link: c.scenario.Link,
		Faults: func(number int) []proxy.Fault {
			return c.scenario.faultsOf(number, c.direction, c.at, n.first)
		},
	})
	if err != nil {
		return end, 0, err
	}
	defer p.Close()
	var accepted chan error
	if wait := c.scenario.Refuse; wait != 0 {
		p.Refuse()
		if wait > 0 {
			accepted = make(chan error, 1)
			timer := time.AfterFunc(wait, func() { accepted <- p.Accept() })
			defer timer.Stop()
		}
	}
	end, err = n.lab.client.run(ctx, dir, clientRun{server: p.Addr(), limit: c.scenario.Limit})
	select {
	case failed := <-accepted:
		if err == nil {
			err = failed
		}
	default:
	}
	return end, len(p.Records()), err
}
