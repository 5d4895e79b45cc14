package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhenASetIsGivenUp(t *testing.T) {
	for _, test := range []struct {
		try                        Try
		failedTooOften, mayInstall bool
	}{
		{Try{}, false, true},
		{Try{Failed: MaxFailed - 1, Begun: maxSilent - 1, Swaps: maxSwaps - 1}, false, true},
		{Try{Failed: MaxFailed}, true, true},
		{Try{Begun: maxSilent}, true, true},
		{Try{Swaps: maxSwaps}, false, false},
		{Try{Blocked: true}, false, false},
	} {
		if test.try.failedTooOften() != test.failedTooOften || test.try.MayInstall() != test.mayInstall {
			t.Errorf("%+v: failed too often %v, may be installed %v", test.try, test.try.failedTooOften(), test.try.MayInstall())
		}
	}
}

// TestTriesAreBounded checks that the oldest set is dropped, and a blocked one only if no other is left.
func TestTriesAreBounded(t *testing.T) {
	var tries []Try
	for n := range uint64(3) {
		tries = with(tries, number(n+1), func(t *Try) { t.Blocked = true })
	}
	for n := range uint64(20) {
		tries = with(tries, number(n+100), func(t *Try) { t.Swaps++ })
		if len(tries) > maxTries {
			t.Fatalf("%d sets", len(tries))
		}
	}
	for n := range uint64(3) {
		if !tryOf(tries, number(n+1)).Blocked {
			t.Errorf("set %d is not blocked any more", n+1)
		}
	}
	if tryOf(tries, number(119)).Swaps != 1 || tryOf(tries, number(100)).Swaps != 0 {
		t.Errorf("%+v", tries)
	}
	for n := range uint64(20) {
		tries = with(tries, number(n+200), func(t *Try) { t.Blocked = true })
	}
	if len(tries) != maxTries || tries[0].Set != number(212) {
		t.Errorf("%+v", tries)
	}
}

// TestTriesAreCopied checks that the journal's list does not change before the record is synced.
func TestTriesAreCopied(t *testing.T) {
	before := []Try{{Set: number(1), Failed: 1}, {Set: number(2)}}
	kept := slices.Clone(before)
	after := with(before, number(1), func(t *Try) { t.Failed++ })
	if !slices.Equal(before, kept) || len(after) != 2 || after[1].Set != number(1) || after[1].Failed != 2 {
		t.Errorf("%+v, %+v", before, after)
	}
	if left := without(before, number(1)); len(left) != 1 || left[0].Set != number(2) {
		t.Errorf("%+v", left)
	}
	if none := without(nil, number(1)); none == nil {
		t.Error("an empty list that a record would leave out")
	}
	if try := tryOf(nil, number(4)); try != (Try{Set: number(4)}) {
		t.Errorf("%+v", try)
	}
}

func TestCauseIsALine(t *testing.T) {
	for _, cause := range []string{"", "crash", strings.Repeat("é", 2*maxCause), fmt.Sprint(strings.Repeat("x", maxCause-1), "é")} {
		got := shortened(cause)
		if len(got) > maxCause || !utf8.ValidString(got) || !strings.HasPrefix(cause, got) || len(cause) <= maxCause && got != cause {
			t.Errorf("%d bytes became %d", len(cause), len(got))
		}
	}
}
