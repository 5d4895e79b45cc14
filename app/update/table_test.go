package update_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/release"
)

// phases in the order of the table's rows.
var phases = []update.Phase{
	update.Idle, update.Connecting, update.Judging, update.Listing, update.Comparing,
	update.Fetching, update.Verifying, update.Committing, update.Waiting, update.Done,
}

// columns are one event of every type, in the order of the table's columns.
var columns = []update.Event{
	update.Started{}, update.CancelAsked{}, update.Connected{}, update.Judged{}, update.Listed{}, update.Planned{Plan: twoWants()},
	update.Received{Want: 0}, update.Verified{Want: 0}, update.Fetched{}, update.Committed{}, update.RetryDue{},
	update.Faulted{Fault: broken()},
}

// table is the expected behaviour: "-" is ignored, "~" changes the state without a change of phase, anything else is the
// new phase and the effect. Ready and Cancelled stand for Done with that outcome and Finish. The states of the rows are
// those of resting.
const table = `
            Started             CancelAsked  Connected      Judged        Listed            Planned         Received   Verified  Fetched       Committed  RetryDue            Faulted
idle        connecting/Connect  Cancelled    -              -             -                 -               -          -         -             -          -                   -
connecting  -                   ~            judging/Judge  -             -                 -               -          -         -             -          -                   waiting/Wait
judging     -                   ~            -              listing/List  -                 -               -          -         -             -          -                   -
listing     -                   ~            -              -             comparing/Compare -               -          -         -             -          -                   waiting/Wait
comparing   -                   ~            -              -             -                 fetching/Fetch  -          -         -             -          -                   waiting/Wait
fetching    -                   ~            -              -             -                 -               verifying  -         waiting/Wait  -          -                   waiting/Wait
verifying   -                   ~            -              -             -                 -               -          fetching  waiting/Wait  -          -                   waiting/Wait
committing  -                   ~            -              -             -                 -               -          -         -             Ready      -                   waiting/Wait
waiting     -                   ~            -              -             -                 -               -          -         -             -          connecting/Connect  -
done        -                   -            -              -             -                 -               -          -         -             -          -                   -
`

// cancelling is the table after a cancel request: every event that ends the effect ends the update.
const cancelling = `
            Started  CancelAsked  Connected  Judged     Listed     Planned    Received   Verified  Fetched    Committed  RetryDue   Faulted
connecting  -        -            Cancelled  -          -          -          -          -         -          -          -          Cancelled
judging     -        -            -          Cancelled  -          -          -          -         -          -          -          -
listing     -        -            -          -          Cancelled  -          -          -         -          -          -          Cancelled
comparing   -        -            -          -          -          Cancelled  -          -         -          -          -          Cancelled
fetching    -        -            -          -          -          -          verifying  -         Cancelled  -          -          Cancelled
verifying   -        -            -          -          -          -          -          fetching  Cancelled  -          -          Cancelled
committing  -        -            -          -          -          -          -          -         -          Cancelled  -          Cancelled
waiting     -        -            -          -          -          -          -          -         -          -          Cancelled  -
`

func broken() *update.Fault {
	return &update.Fault{Cause: update.Interrupted, Transient: true, Err: errors.New("cut")}
}

func twoWants() update.Plan {
	return update.Plan{
		Mode: update.Resources, Matched: 3, Bytes: 30, Resumed: 5,
		Wants: []update.Want{
			update.WantFrom(release.File{Path: "A.zip", Size: 10}, 5), update.WantFrom(release.File{Path: "B.zip", Size: 20}, 0),
		},
	}
}

// resting is a typical state of each phase, during a transfer of two files.
func resting(p update.Phase) update.State {
	s := update.State{Policy: update.Policy{CanSelfUpdate: true, Retry: update.DefaultRetry()}, Phase: p}
	if p != update.Idle {
		s.Attempt = 1
	}
	if p > update.Connecting {
		s.Met, s.Judgement = true, compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept}
	}
	if p > update.Judging {
		s.Mode = update.Resources
	}
	if p > update.Comparing {
		s.Plan = twoWants()
	}
	if p > update.Verifying {
		s.Verified = 2
	}
	return s
}

// name is the type's name without its package.
func name(v any) string { return reflect.TypeOf(v).Name() }

// tell formats the result of a step in the words of the table.
func tell(before, after update.State, effects []update.Effect) string {
	names := make([]string, 0, 1)
	for _, e := range effects {
		names = append(names, name(e))
	}
	effect := strings.Join(names, "+")
	switch {
	case after.Phase == update.Done && before.Phase != update.Done && effect == "Finish":
		return strings.TrimPrefix(after.Outcome.String(), "Resources")
	case reflect.DeepEqual(before, after) && effect == "":
		return "-"
	case after.Phase == before.Phase && effect == "":
		return "~"
	case effect == "":
		return after.Phase.String()
	default:
		return after.Phase.String() + "/" + effect
	}
}

func TestEveryPhaseAndEventHasARow(t *testing.T) {
	compareWithTable(t, table, func(s update.State) update.State { return s })
	compareWithTable(t, cancelling, func(s update.State) update.State { s.Cancelling = true; return s })
}

func compareWithTable(t *testing.T, written string, prepare func(update.State) update.State) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(written), "\n")
	if got, want := strings.Fields(rows[0]), eventNames(); !slices.Equal(got, want) {
		t.Fatalf("columns of the table are %v, events are %v", got, want)
	}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		cells := strings.Fields(row)
		i := slices.IndexFunc(phases, func(p update.Phase) bool { return p.String() == cells[0] })
		if i < 0 || len(cells) != len(columns)+1 || seen[cells[0]] {
			t.Fatalf("row %q: unknown, twice, or not of %d cells", row, len(columns)+1)
		}
		seen[cells[0]] = true
		for c, event := range columns {
			before := prepare(resting(phases[i]))
			after, effects := update.Step(before, event)
			if got := tell(before, after, effects); got != cells[c+1] {
				t.Errorf("%s × %s: got %s, the table says %s", cells[0], name(event), got, cells[c+1])
			}
		}
	}
	for _, p := range phases {
		if !seen[p.String()] && !prepareIsMoot(p, prepare) {
			t.Errorf("phase %s has no row", p)
		}
	}
}

// prepareIsMoot: before the start and after the end no cancel request can be pending.
func prepareIsMoot(p update.Phase, prepare func(update.State) update.State) bool {
	return prepare(update.State{}).Cancelling && (p == update.Idle || p == update.Done)
}

func eventNames() []string {
	var names []string
	for _, e := range columns {
		names = append(names, name(e))
	}
	return names
}

// TestTableKnowsEveryType parses the sources, so that an event or a phase without a row fails here.
func TestTableKnowsEveryType(t *testing.T) {
	var events, phaseNames []string
	for _, file := range []string{"state.go", "status.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "event" && d.Recv != nil {
					events = append(events, d.Recv.List[0].Type.(*ast.Ident).Name)
				}
			case *ast.ValueSpec:
				if id, is := d.Type.(*ast.Ident); is && id.Name == "Phase" {
					phaseNames = append(phaseNames, strings.ToLower(d.Names[0].Name))
				}
			}
			return true
		})
	}
	if want := eventNames(); !slices.Equal(events, want) {
		t.Errorf("state.go declares the events %v, the table has %v", events, want)
	}
	var want []string
	for i, p := range phases {
		if int(p) != i {
			t.Errorf("phase %s has the number %d, want %d", p, p, i)
		}
		want = append(want, p.String())
	}
	if !slices.Equal(phaseNames, want) {
		t.Errorf("status.go declares the phases %v, the table has %v", phaseNames, want)
	}
}

// strange is an event of no known type: it implements Event by embedding.
type strange struct{ update.Event }

func TestStrangeInputChangesNothing(t *testing.T) {
	for _, p := range append(slices.Clone(phases), 77) {
		for _, event := range []update.Event{nil, strange{}} {
			before := resting(p)
			after, effects := update.Step(before, event)
			if !reflect.DeepEqual(before, after) || len(effects) != 0 {
				t.Errorf("%s × %T changed something", p, event)
			}
		}
	}
	for _, event := range columns {
		before := resting(77)
		after, effects := update.Step(before, event)
		if got := tell(before, after, effects); got != "-" && got != "~" {
			t.Errorf("phase 77 × %s: got %s", name(event), got)
		}
	}
}
