package operator

import (
	"errors"
	"fmt"

	"collet/netproto/compat"
)

// ErrStoreFull says that no more accounts can have a floor.
var ErrStoreFull = errors.New("the compatibility store has the most floors that it takes")

// Floor is the lowest logic version with which an account may play; 0: any. The error is *InputError or the store's.
func (o *Operator) Floor(account string) (int32, error) {
	if err := checkAccount(account); err != nil {
		return 0, err
	}
	return o.store.Floor(account)
}

// Accounts lists accounts with a floor, see Store.Accounts.
func (o *Operator) Accounts(q AccountQuery) (accounts []AccountFloor, next string, err error) {
	return o.store.Accounts(q)
}

// SetFloor changes an account's floor, appends an audit record, and returns the previous floor. Lowering needs lower and a
// comment, and only makes sense if the account's state can be played with an older version. A higher floor above the active range
// would lock the account out and is refused. The errors are *ForbiddenError, *InputError, ErrStoreFull and the store's.
func (o *Operator) SetFloor(by Actor, account string, floor int32, comment string, lower bool) (was int32, err error) {
	return o.setFloor(by, account, floor, comment, func(was int32) error {
		if floor < was && !lower {
			return &InputError{Field: "floor", Why: fmt.Sprintf("the account has played with %d: lowering it must be asked for", was)}
		}
		return nil
	})
}

// FloorMovedError says that an account's floor has changed since the caller read it. The call changed nothing.
type FloorMovedError struct{ Asked, Current int32 }

func (e *FloorMovedError) Error() string {
	return fmt.Sprintf("the floor is %d by now, not %d: look at it again", e.Current, e.Asked)
}

// MoveFloor is SetFloor for a caller that knows the current floor: if it is no longer from, the error is a *FloorMovedError. It
// may lower the floor.
func (o *Operator) MoveFloor(by Actor, account string, from, to int32, comment string) error {
	_, err := o.setFloor(by, account, to, comment, func(was int32) error {
		if was != from {
			return &FloorMovedError{Asked: from, Current: was}
		}
		return nil
	})
	return err
}

// setFloor changes a floor if should accepts the current one.
func (o *Operator) setFloor(by Actor, account string, floor int32, comment string, should func(was int32) error) (was int32, err error) {
	if err := errors.Join(by.checkRights(comment), checkAccount(account)); err != nil {
		return 0, err
	}
	o.changing.Lock() // it has a record
	defer o.changing.Unlock()
	if was, err = o.store.Floor(account); err != nil {
		return was, err
	}
	if err := should(was); err != nil {
		return was, err
	}
	active := o.Settings().Active()
	switch {
	case floor < 0 || floor > active.Max && floor > was:
		return was, &InputError{Field: "floor", Why: fmt.Sprintf("is between 0 and %d, the newest active version", active.Max)}
	case floor < was && comment == "":
		return was, &InputError{Field: "comment", Why: "lowering a floor needs one"}
	case floor == was:
		return was, nil
	}
	if _, err := o.store.SetFloor(account, floor, floor < was); err != nil {
		return was, err
	}
	if floor > was {
		o.endSessions(account, floor)
	}
	return was, o.appendNote(by, comment, "floors."+account, map[string]int32{"floor": was}, map[string]int32{"floor": floor})
}

// endSessions ends the sessions of an account that a raised floor no longer admits. The client learns of the floor when it
// reconnects.
func (o *Operator) endSessions(account string, floor int32) {
	snapshot := o.Snapshot()
	for _, s := range o.sessions.all() {
		if s.Account != account || !s.Judgement.Plays() {
			continue
		}
		raised := *s
		raised.Hello.Floor = floor
		if !o.reevaluate(snapshot, &raised).Plays() {
			s.End()
		}
	}
}

// Pin raises the floor of an account to the logic version with which it begins to play, if a judgement lets it play.
func (o *Operator) Pin(account string, h compat.Hello, j compat.Judgement) error {
	if account == "" || !j.Plays() || h.Build.Logic <= max(h.Floor, 0) {
		return nil
	}
	_, err := o.store.SetFloor(account, h.Build.Logic, false)
	return err
}

func checkAccount(account string) error {
	if account == "" || len(account) > MaxAccount {
		return &InputError{Field: "account", Why: fmt.Sprintf("has 1 to %d bytes", MaxAccount)}
	}
	return nil
}
