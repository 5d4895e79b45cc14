package server

import (
	"errors"
	"fmt"

	"collet/netproto/compat"
)

// ErrStoreFull says that no more accounts can have a floor.
var ErrStoreFull = errors.New("the compatibility store has the most floors that it takes")

// Floor is the lowest logic version with which an account may play; 0 is any. The error is *InputError or the store's.
func (o *Operator) Floor(account string) (int32, error) {
	if err := checkAccount(account); err != nil {
		return 0, err
	}
	return o.store.Floor(account)
}

// SetFloor changes an account's floor and returns what it was. It is raised unless lower says that lowering it is meant, which
// only makes sense where the account's state can be played with an older version, and needs a comment and leaves a record. A floor above the
// active range would shut the account out and is refused. The errors are *ForbiddenError, *InputError, ErrStoreFull and the
// store's.
func (o *Operator) SetFloor(by Actor, account string, floor int32, comment string, lower bool) (was int32, err error) {
	if err := errors.Join(by.may(comment), checkAccount(account)); err != nil {
		return 0, err
	}
	o.changing.Lock() // a lowering has a record
	defer o.changing.Unlock()
	if was, err = o.store.Floor(account); err != nil {
		return was, err
	}
	active := o.Settings().Active()
	switch {
	case floor < 0 || floor > active.Max && floor > was:
		return was, &InputError{Field: "floor", Why: fmt.Sprintf("is between 0 and %d, the newest active version", active.Max)}
	case floor < was && !lower:
		return was, &InputError{Field: "floor", Why: fmt.Sprintf("the account has played with %d: lowering it must be asked for", was)}
	case floor < was && comment == "":
		return was, &InputError{Field: "comment", Why: "lowering a floor needs one"}
	case floor == was:
		return was, nil
	}
	if _, err := o.store.SetFloor(account, floor, lower); err != nil || floor > was {
		return was, err
	}
	return was, o.note(by, comment, "floors."+account, map[string]int32{"floor": was}, map[string]int32{"floor": floor})
}

// raise pins an account to the logic version with which it begins to play.
func (o *Operator) raise(account string, logic int32) error {
	_, err := o.store.SetFloor(account, logic, false)
	return err
}

func checkAccount(account string) error {
	if account == "" || len(account) > MaxAccount {
		return &InputError{Field: "account", Why: fmt.Sprintf("has 1 to %d bytes", MaxAccount)}
	}
	return nil
}

// pins reports whether a judgement begins a session that raises the account's floor.
func pins(j compat.Judgement, h compat.Hello) bool {
	return j.Plays() && h.Build.Logic > max(h.Floor, 0)
}
