package update_test

import (
	"fmt"

	"collet/app/update"
	"collet/netproto/compat"
)

// Step decides alone; the caller performs the effects and reports how they ended. Here nothing is missing.
func ExampleStep() {
	state := update.State{Policy: update.Policy{CanSelfUpdate: true, Retry: update.DefaultRetry()}}
	for _, event := range []update.Event{
		update.Started{},
		update.Connected{Judgement: compat.Judgement{Verdict: compat.Accept}, Server: "example"},
		update.Judged{},
		update.Listed{},
		update.Planned{Plan: update.Plan{Mode: update.Resources}},
		update.Committed{},
	} {
		var effects []update.Effect
		state, effects = update.Step(state, event)
		fmt.Printf("%T → %s, then %T\n", event, state.Phase, effects[0])
	}
	fmt.Println(state.Outcome)
	// Output:
	// update.Started → connecting, then update.Connect
	// update.Connected → judging, then update.Judge
	// update.Judged → listing, then update.List
	// update.Listed → comparing, then update.Compare
	// update.Planned → committing, then update.Commit
	// update.Committed → done, then update.Finish
	// ResourcesReady
}
