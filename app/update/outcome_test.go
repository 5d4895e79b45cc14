package update_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/app/update"
)

// exits repeats the table of ends: number of the outcome, cause, exit code.
var exits = []struct {
	number  uint8
	outcome update.Outcome
	cause   update.Cause
	exit    int
}{
	{0, update.ResourcesReady, update.NoCause, 0},
	{1, update.BinariesStaged, update.NoCause, 0},
	{2, update.PlatformUnsupported, update.NoCause, 12},
	{3, update.ServerMissingNativeUpdate, update.NoCause, 13},
	{4, update.UpdaterOutdated, update.NoCause, 14},
	{5, update.Failed, update.Unreachable, 20},
	{5, update.Failed, update.Interrupted, 21},
	{5, update.Failed, update.DiskFull, 22},
	{5, update.Failed, update.NoPermission, 23},
	{5, update.Failed, update.LockedFile, 24},
	{5, update.Failed, update.DamagedDownload, 25},
	{5, update.Failed, update.Untrusted, 26},
	{5, update.Failed, update.ServerFault, 27},
	{5, update.Failed, update.DiskFault, 28},
	{5, update.Failed, update.SignIn, 29},
	{6, update.ContentMismatch, update.NoCause, 16},
	{7, update.ClientTooNew, update.NoCause, 17},
	{8, update.ComponentsMismatch, update.NoCause, 18},
	{9, update.Maintenance, update.NoCause, 19},
	{10, update.RuntimeFailed, update.NoCause, 30},
	{11, update.AlreadyRunning, update.NoCause, 31},
	{12, update.Cancelled, update.NoCause, 40},
	{13, update.Redirected, update.NoCause, 15},
	{14, update.PlayerPinned, update.NoCause, 11},
	{15, update.UpdateLoop, update.NoCause, 10},
	{16, update.SetIncomplete, update.NoCause, 32},
}

func TestEndsAreTheTableOfTheDesign(t *testing.T) {
	ends := update.Ends()
	if len(ends) != len(exits) {
		t.Errorf("%d rows, want %d", len(ends), len(exits))
	}
	for _, want := range exits {
		if uint8(want.outcome) != want.number {
			t.Errorf("%s has the number %d, want %d", want.outcome, want.outcome, want.number)
		}
		rows := slices.DeleteFunc(slices.Clone(ends), func(e update.End) bool { return e.Outcome != want.outcome || e.Cause != want.cause })
		if len(rows) != 1 {
			t.Errorf("%s %s has %d rows", want.outcome, want.cause, len(rows))
			continue
		}
		if rows[0].Exit != want.exit {
			t.Errorf("%s %s: exit %d, want %d", want.outcome, want.cause, rows[0].Exit, want.exit)
		}
		if got := update.EndOf(want.outcome, want.cause); got.Key != rows[0].Key {
			t.Errorf("EndOf(%s, %s) is %s", want.outcome, want.cause, got.Key)
		}
	}
}

// TestExitsAreUnique: only the two successes share a number.
func TestExitsAreUnique(t *testing.T) {
	exit, key := map[int]update.End{}, map[string]bool{}
	for _, end := range update.Ends() {
		if other, taken := exit[end.Exit]; taken && end.Exit != 0 {
			t.Errorf("%s %s and %s %s both exit with %d", end.Outcome, end.Cause, other.Outcome, other.Cause, end.Exit)
		}
		if key[end.Key] || end.Key == "" {
			t.Errorf("%s %s: text key %q is empty or taken", end.Outcome, end.Cause, end.Key)
		}
		if end.Exit < 0 || end.Exit > 125 {
			t.Errorf("%s: exit %d means something else to a shell", end.Outcome, end.Exit)
		}
		exit[end.Exit], key[end.Key] = end, true
	}
}

// TestActions checks that the default comes first, every dialog can be left, no action occurs twice, and successes show no
// dialog.
func TestActions(t *testing.T) {
	defaults := map[update.Outcome]update.Action{
		update.PlatformUnsupported: update.Store, update.ServerMissingNativeUpdate: update.Website, update.UpdaterOutdated: update.Website,
		update.Failed: update.Retry, update.ContentMismatch: update.Retry, update.ClientTooNew: update.Retry,
		update.ComponentsMismatch: update.Copy, update.Maintenance: update.Retry, update.RuntimeFailed: update.Play,
		update.AlreadyRunning: update.Retry, update.PlayerPinned: update.Update, update.UpdateLoop: update.Copy,
		update.SetIncomplete: update.Retry,
	}
	for _, end := range update.Ends() {
		want, shown := defaults[end.Outcome]
		if end.Shown() != shown {
			t.Errorf("%s: shown %t, want %t", end.Outcome, end.Shown(), shown)
			continue
		}
		if !shown {
			continue
		}
		if end.Actions[0] != want {
			t.Errorf("%s: the default is %q, want %q", end.Outcome, end.Actions[0], want)
		}
		if end.Actions[len(end.Actions)-1] != update.Quit {
			t.Errorf("%s: the last button is not the way out", end.Outcome)
		}
		sorted := slices.Sorted(slices.Values(end.Actions))
		if len(slices.Compact(sorted)) != len(end.Actions) {
			t.Errorf("%s: a button stands twice: %v", end.Outcome, end.Actions)
		}
		ours := end.Outcome == update.RuntimeFailed || end.Outcome == update.AlreadyRunning // not about a server or an update
		if slices.Contains(end.Actions, update.Offline) == ours {
			t.Errorf("%s %s does not offer to play offline", end.Outcome, end.Cause)
		}
	}
}

func TestEndOfAlwaysFindsSomething(t *testing.T) {
	tests := []struct {
		outcome update.Outcome
		cause   update.Cause
		key     string
	}{
		{update.Failed, update.NoCause, "end.server"},
		{update.Failed, 99, "end.server"},
		{77, update.NoCause, "end.server"},
		{77, update.DiskFull, "end.server"},
		{update.ResourcesReady, update.Interrupted, "end.ready"}, // a cause counts only with Failed
		{update.Maintenance, 99, "end.maintenance"},
	}
	for _, test := range tests {
		if got := update.EndOf(test.outcome, test.cause); got.Key != test.key {
			t.Errorf("EndOf(%d, %d) is %q, want %q", test.outcome, test.cause, got.Key, test.key)
		}
	}
	for o := range update.Outcome(255) {
		for c := range update.Cause(255) {
			if end := update.EndOf(o, c); end.Key == "" || end.Exit == 0 && o > update.BinariesStaged {
				t.Fatalf("EndOf(%d, %d) is %+v", o, c, end)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, row := range exits {
		if s := row.outcome.String(); s == "" || strings.ContainsAny(s, "0123456789") {
			t.Errorf("outcome %d is %q", row.outcome, s)
		}
		if s := row.cause.String(); (s == "") != (row.cause == update.NoCause) || strings.ContainsAny(s, "0123456789") {
			t.Errorf("cause %d is %q", row.cause, s)
		}
	}
	for got, want := range map[string]string{
		update.Outcome(77).String(): "Outcome77", update.Cause(99).String(): "cause 99",
		update.Phase(10).String(): "phase 10", update.Mode(3).String(): "mode 3",
		update.Fetching.String(): "fetching", update.Undecided.String(): "undecided",
		update.Resources.String(): "resources", update.Binaries.String(): "binaries",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFaultText(t *testing.T) {
	tests := []struct {
		fault update.Fault
		want  string
	}{
		{update.Fault{Cause: update.Interrupted, Subject: "h:1", Err: io.ErrUnexpectedEOF}, "interrupted: h:1: unexpected EOF"},
		{update.Fault{Cause: update.DiskFull, Err: errors.New("no space")}, "disk full: no space"},
		{update.Fault{Cause: update.LockedFile, Subject: "Lathe.so"}, "locked file: Lathe.so"},
		{update.Fault{Cause: update.Untrusted}, "untrusted"},
	}
	for _, test := range tests {
		if got := test.fault.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		if got := errors.Unwrap(&test.fault); got != test.fault.Err {
			t.Errorf("%q unwraps to %v", test.want, got)
		}
	}
}

func TestRemaining(t *testing.T) {
	tests := []struct {
		status update.Status
		left   time.Duration
		ok     bool
	}{
		{update.Status{Phase: update.Fetching, Bytes: 300, BytesDone: 100, Rate: 100}, 2 * time.Second, true},
		{update.Status{Phase: update.Fetching, Bytes: 300, BytesDone: 300, Rate: 100}, 0, true},
		{update.Status{Phase: update.Verifying, Bytes: 300, BytesDone: 150, Rate: 100}, 1500 * time.Millisecond, true},
		{update.Status{Phase: update.Fetching, Bytes: 300, BytesDone: 400, Rate: 100}, 0, true}, // more than planned: never negative
		{update.Status{Phase: update.Fetching, Bytes: 360_000, Rate: 1}, 100 * time.Hour, true},
		{update.Status{Phase: update.Fetching, Bytes: 360_001, Rate: 1}, 0, false},
		{update.Status{Phase: update.Fetching, Bytes: 1 << 62, Rate: 1}, 0, false},
		{update.Status{Phase: update.Fetching, Bytes: 300}, 0, false},
		{update.Status{Phase: update.Waiting, Bytes: 300, Rate: 100}, 0, false},
	}
	for _, test := range tests {
		if left, ok := test.status.Remaining(); left != test.left || ok != test.ok {
			t.Errorf("%+v: %v %t", test.status, left, ok)
		}
	}
}
