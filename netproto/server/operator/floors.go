package operator

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"collet/netproto/compat"
)

// ErrStoreFull says that no more accounts can have a floor.
var ErrStoreFull = errors.New("the compatibility store is full: it has the largest number of floors")

// Floors are the lowest logic versions with which accounts may play. They are kept in the store.
type Floors struct {
	store    Store
	audit    *AuditLog
	sessions *Sessions
	snapshot func() *compat.Snapshot // of the settings in force
}

// FloorCount is the number of accounts with a floor.
type FloorCount struct {
	Logic int32 `json:"logic"`
	Count int   `json:"count"`
}

// Counts is the number of accounts for each floor, the lowest first.
func (f *Floors) Counts() []FloorCount {
	floors := f.store.Floors()
	counts := make([]FloorCount, 0, len(floors))
	for _, logic := range slices.Sorted(maps.Keys(floors)) {
		counts = append(counts, FloorCount{Logic: logic, Count: floors[logic]})
	}
	return counts
}

// Get is the floor of an account; 0: it may play with any version. The error is *InputError or the store's.
func (f *Floors) Get(account string) (int32, error) {
	if err := checkAccount(account); err != nil {
		return 0, err
	}
	return f.store.Floor(account)
}

// Accounts lists accounts with a floor, see Store.Accounts.
func (f *Floors) Accounts(q AccountQuery) (accounts []AccountFloor, next string, err error) {
	return f.store.Accounts(q)
}

// Set changes an account's floor, appends an audit record, and returns the previous floor. Lowering needs lower and a
// comment, and only makes sense if the account's state can be played with an older version. A higher floor above the active range
// would lock the account out and is refused. The errors are *ForbiddenError, *InputError, ErrStoreFull and the store's.
func (f *Floors) Set(by Actor, account string, floor int32, comment string, lower bool) (was int32, err error) {
	return f.changeFloor(by, account, floor, comment, func(was int32) error {
		if floor < was && !lower {
			return &InputError{Field: "floor", Why: fmt.Sprintf("the account has played version %d: lowering the floor must be requested", was)}
		}
		return nil
	})
}

// FloorMovedError says that an account's floor has changed since the caller read it. The call changed nothing.
type FloorMovedError struct{ Asked, Current int32 }

func (e *FloorMovedError) Error() string {
	return fmt.Sprintf("the floor is %d, not %d: read it again", e.Current, e.Asked)
}

// Move is Set for a caller that knows the current floor: if it is no longer from, the error is a *FloorMovedError. It
// may lower the floor.
func (f *Floors) Move(by Actor, account string, from, to int32, comment string) error {
	_, err := f.changeFloor(by, account, to, comment, func(was int32) error {
		if was != from {
			return &FloorMovedError{Asked: from, Current: was}
		}
		return nil
	})
	return err
}

// changeFloor changes a floor if should accepts the current one.
func (f *Floors) changeFloor(by Actor, account string, floor int32, comment string, should func(was int32) error) (was int32, err error) {
	if err := errors.Join(by.CheckRights(RoleOperate, comment), checkAccount(account)); err != nil {
		return 0, err
	}
	err = f.audit.change(func() error {
		if was, err = f.store.Floor(account); err != nil {
			return err
		}
		if err := should(was); err != nil {
			return err
		}
		active := f.snapshot().Active
		switch {
		case floor < 0 || floor > active.Max && floor > was:
			return &InputError{Field: "floor", Why: fmt.Sprintf("is between 0 and %d, the newest active version", active.Max)}
		case floor < was && comment == "":
			return &InputError{Field: "comment", Why: "lowering a floor needs one"}
		case floor == was:
			return nil
		}
		record, err := note(by, comment, "floors."+account, map[string]int32{"floor": was}, map[string]int32{"floor": floor})
		if err != nil {
			return err
		}
		return f.audit.commit(Commit{Record: record, Floor: &AccountFloor{account, floor}})
	})
	if err == nil && floor > was {
		f.endSessions(account, floor)
	}
	return was, err
}

// endSessions ends the sessions of an account that a raised floor no longer admits. The client learns of the floor when it
// reconnects.
func (f *Floors) endSessions(account string, floor int32) {
	snapshot := f.snapshot()
	for _, s := range f.sessions.list() {
		if s.Account != account || !s.Judgement.Plays() {
			continue
		}
		raised := *s
		raised.Hello.Floor = floor
		if !reevaluate(snapshot, &raised).Plays() {
			s.End()
		}
	}
}

// Pin raises the floor of an account to the logic version with which it begins to play, if a judgement lets it play.
func (f *Floors) Pin(account string, h compat.Hello, j compat.Judgement) error {
	if account == "" || !j.Plays() || h.Build.Logic <= max(h.Floor, 0) {
		return nil
	}
	return f.store.Raise(account, h.Build.Logic)
}

func checkAccount(account string) error {
	if account == "" || len(account) > MaxAccount {
		return &InputError{Field: "account", Why: fmt.Sprintf("has 1 to %d bytes", MaxAccount)}
	}
	return nil
}
