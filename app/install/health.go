package install

import (
	"context"
	"errors"
	"slices"
	"strings"

	"collet/netproto/release"
)

// Health is the record of starts of sets that have not proven themselves. It decides when the last proven set comes back. Each
// change goes to the journal at once.
type Health struct {
	tx           *transaction
	blockedOffer Try // the blocked set that the last Plan was offered
}

// Pending reports whether the live set of this host is unproven.
func (h *Health) Pending() bool { return len(h.tx.journal.pending(h.tx.names.Library())) > 0 }

// Unresolved reports whether the last start of the unproven live set has neither proven it nor ended otherwise that this program has seen: it
// was killed, or the machine lost power.
func (h *Health) Unresolved() bool { return h.Pending() && h.liveTry().Begun > 0 }

// FirstTry reports whether no earlier start of the unproven live set failed or remained without a result: the one that runs, or ran last, is its
// first.
func (h *Health) FirstTry() bool {
	t := h.liveTry()
	return h.Pending() && t.Failed == 0 && t.Begun <= 1
}

// Starting records that the live set is about to run. The start counts against the set until Stopped, FailedStart or
// Confirm follows. For a proven set it does nothing. The error is a *update.Fault.
func (h *Health) Starting() error {
	return h.tx.fault(h.change(func(t *Try) { t.Begun++ }))
}

// Stopped records that the set ended without a failure but also without proof, for example because the game requested a
// restart or the player quit. The error is a *update.Fault.
func (h *Health) Stopped() error {
	return h.tx.fault(h.change(func(t *Try) { t.Begun = 0 }))
}

// FailedStart records that the set failed before it proved itself. After two failures the last proven set is restored, and
// back is true. For a proven set it does nothing. The error is a *update.Fault, or that of ctx; after ErrNoWayBack the live
// set is unchanged.
func (h *Health) FailedStart(ctx context.Context, cause string) (back bool, err error) {
	if !h.Pending() {
		return false, nil
	}
	err = h.change(func(t *Try) { t.Begun, t.Failed, t.Cause = 0, t.Failed+1, shortened(cause) })
	if err != nil || !h.liveTry().failedTooOften() {
		return false, h.tx.fault(err)
	}
	err = h.tx.rollBack(ctx, blockSet)
	return err == nil, h.tx.fault(err)
}

// liveTry is the Try of the live set.
func (h *Health) liveTry() Try { return tryOf(h.tx.journal.Tries, h.tx.journal.lists.Is) }

// rollBackFailing rolls a set back after too many starts without a result. Without a backup the live set stays.
func (h *Health) rollBackFailing(ctx context.Context) error {
	if !h.Pending() || !h.liveTry().failedTooOften() {
		return nil
	}
	if err := h.tx.rollBack(ctx, blockSet); !errors.Is(err, ErrNoWayBack) {
		return err
	}
	return nil
}

// maxCause is the largest number of bytes of a stored cause: one line of text, in a record with room for maxTries of them.
const maxCause = 500

func shortened(cause string) string {
	return strings.ToValidUTF8(cause[:min(len(cause), maxCause)], "")
}

// change changes the Try of the live set while it is pending.
func (h *Health) change(change func(*Try)) error {
	if !h.Pending() {
		return nil
	}
	j := h.tx.journal
	return h.tx.record(record{State: j.State, Tries: with(j.Tries, j.lists.Is, change)})
}

// Confirm records that the live set has proven itself and removes the files it replaced. Without a pending set it does
// nothing. The error is a *update.Fault; the next Open continues after an error at any point.
func (h *Health) Confirm() error {
	if !h.Pending() {
		return nil
	}
	set := h.tx.journal.lists.Is
	if err := h.tx.recordProven(); err != nil {
		return h.tx.fault(err)
	}
	h.tx.log.Info().Stringer("set", set).Msg("set confirmed")
	return h.tx.fault(h.tx.clean(context.Background()))
}

// BlockedSets lists the sets that are not installed again automatically.
func (h *Health) BlockedSets() []Try {
	return slices.DeleteFunc(slices.Clone(h.tx.journal.Tries), Try.MayInstall)
}

// MayInstall reports whether Plan would plan a set, by its identity. It would not plan a blocked one.
func (h *Health) MayInstall(set release.Digest) bool {
	return tryOf(h.tx.journal.Tries, set).MayInstall()
}

// BlockedOffer is the blocked set that the last Plan was offered, or the zero Try.
func (h *Health) BlockedOffer() Try { return h.blockedOffer }

// Unblock clears the record of all sets on request, so that blocked ones may be installed again. The error is a
// *update.Fault.
func (h *Health) Unblock() error {
	if len(h.BlockedSets()) == 0 {
		return nil
	}
	return h.tx.fault(h.tx.record(record{State: h.tx.journal.State, Clean: h.tx.journal.Clean, Tries: []Try{}}))
}
