package main

import (
	"io"
	"reflect"
	"testing"

	"collet/netproto/release/rollout"
)

// TestRolloutDefaults: without flags a rollout goes as DefaultPlan says.
func TestRolloutDefaults(t *testing.T) {
	t.Parallel()
	var c commands
	if _, err := newParser(&c, io.Discard, io.Discard).Parse([]string{"release", "rollout", "2", "--auto"}); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Release.Rollout.plan(), rollout.DefaultPlan(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
