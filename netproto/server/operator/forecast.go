package operator

import (
	"cmp"
	"slices"
	"time"

	"collet/netproto/compat"
	"collet/netproto/product"
)

// Forecast is the effect of proposed settings on the connected clients.
type Forecast struct {
	Now     map[string]int   `json:"now"`     // clients by the verdict of a reconnect
	Then    map[string]int   `json:"then"`    // the same under the proposed settings
	Changed []string         `json:"changed"` // keys
	Lowers  bool             `json:"lowers"`  // the change needs a comment and a confirmation
	Raises  bool             `json:"raises"`  // it raises the lower end of the active range, and needs a comment
	Impact  compat.Impact    `json:"impact"`  // clients that could not reconnect, and accounts with a floor above the proposed range
	Groups  []ForecastGroup  `json:"groups"`  // clients whose verdict would change
	Hints   []compat.Mistake `json:"hints"`   // hints about the proposal

	shut compat.Impact // the part of Impact that this change causes, for the record
}

// ForecastGroup is a number of clients with the same logic version, target and change of verdict.
type ForecastGroup struct {
	Logic  string `json:"logic"`
	Target string `json:"target"`
	Now    string `json:"now"`
	Then   string `json:"then"`
	Count  int    `json:"count"`
}

// DryRun is the effect of proposed settings, without applying them. Their revision is ignored. The error is a
// *compat.SettingsError.
func (o *Operator) DryRun(proposed compat.Settings) (Forecast, error) {
	now := o.current.Load()
	proposed.Revision = now.settings.Revision + 1
	if err := proposed.Check(*now.declared); err != nil {
		return Forecast{}, err
	}
	f := o.forecastChange(now, proposed)
	f.Changed, f.Lowers = compat.Diff(now.settings, proposed), compat.Lowers(now.settings, proposed)
	f.Raises = compat.RaisesLowerEnd(now.settings, proposed)
	f.Hints = hintsFor(proposed, *now.declared)
	return f, nil
}

// forecastChange judges every connected client as if it reconnected, under the current and under other settings.
func (o *Operator) forecastChange(now *current, then compat.Settings) Forecast {
	f := Forecast{Now: map[string]int{}, Then: map[string]int{}, Groups: []ForecastGroup{}}
	next, known := now.declared.Snapshot(then, time.Now()), labelsOf(now.snapshot)
	groups := map[ForecastGroup]int{}
	for _, s := range o.Sessions.list() {
		before, after := reevaluate(now.snapshot, s), reevaluate(next, s)
		f.Now[before.Verdict.String()]++
		f.Then[after.Verdict.String()]++
		if s.Judgement.Plays() && !after.Plays() {
			f.Impact.Sessions++
			if before.Plays() {
				f.shut.Sessions++
			}
		}
		if before.Verdict != after.Verdict {
			group := known.group(s.Hello)
			groups[ForecastGroup{Logic: group.Logic, Target: group.Target, Now: before.Verdict.String(), Then: after.Verdict.String()}]++
		}
	}
	for g, n := range groups {
		g.Count = n
		f.Groups = append(f.Groups, g)
	}
	slices.SortFunc(f.Groups, func(a, b ForecastGroup) int {
		return cmp.Or(cmp.Compare(a.Logic, b.Logic), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Now, b.Now), cmp.Compare(a.Then, b.Then))
	})
	for floor, count := range o.store.Floors() {
		if floor > then.ActiveMax {
			f.Impact.Floors += count
			if floor <= now.settings.ActiveMax {
				f.shut.Floors += count
			}
		}
	}
	return f
}

// reevaluate judges a session's client as if it reconnected. It ignores the client's packs: the client is connected to fetch
// them.
func reevaluate(s *compat.Snapshot, session *Session) compat.Judgement {
	h := session.Hello
	if session.Adapt != nil {
		s = session.Adapt(s)
	}
	h.Developer, h.Now, h.Content = s.Developers[session.Account], time.Now(), s.ContentFor(h.Target)
	return compat.Evaluate(s, &h)
}

// Evaluate judges a client as a connection with the same hello would be judged now. It reads the account's floor and rights; an
// empty account has none. The error is the store's.
func (o *Operator) Evaluate(h compat.Hello, account string) (compat.Judgement, error) {
	s := o.Snapshot()
	if err := o.Complete(s, &h, account); err != nil {
		return compat.Judgement{}, err
	}
	return compat.Evaluate(s, &h), nil
}

// Complete adds the server's data about target and account to a hello. After an error, which is the store's, the hello has no
// floor.
func (o *Operator) Complete(s *compat.Snapshot, h *compat.Hello, account string) (err error) {
	h.Now, h.Store = time.Now(), !product.Target(h.Target).CanSelfUpdate()
	h.Floor, h.Developer = 0, false
	if account == "" || len(account) > MaxAccount {
		return nil
	}
	h.Developer = s.Developers[account]
	h.Floor, err = o.store.Floor(account)
	return err
}
