package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// playersPage shows the number of players for each floor, and lists accounts.
type playersPage struct {
	frame
	Floors []floorBar
	Prefix string // of the accounts that are listed
	Above  bool   // only those whose floor is above the active range
	After  string // the account that the page before ended with
	Rows   []floorRow
	Next   string // where the next page begins; empty is the end
}

// floorBar is how many players have a floor.
type floorBar struct {
	Logic        int32
	Count, Width int
	Kind         string
}

// floorRow is an account in the list.
type floorRow struct {
	operator.AccountFloor
	Kind string // as floorKind says
}

// playerRows is how many accounts a page shows.
const playerRows = 50

// kindSome is the kind of a floor that is within the active range: the account plays, though not with every active version.
const kindSome = "some"

// floorKind compares a floor with the active range.
func floorKind(s *compat.Snapshot, floor int32) string {
	switch {
	case !s.Versioned || floor <= s.Active.Min:
		return kindGood
	case floor <= s.Active.Max:
		return kindSome
	default:
		return kindBad
	}
}

func showPlayers(d *request, w http.ResponseWriter, r *http.Request) {
	ask := r.URL.Query()
	p := playersPage{frame: d.newFrame(d.words.text("nav.players"), "players"), Prefix: ask.Get("prefix"), Above: ask.Has("above"), After: ask.Get("after")}
	s := d.op.Snapshot()
	wanted := func(int32) bool { return true }
	if p.Above {
		wanted = func(floor int32) bool { return floorKind(s, floor) == kindBad }
	}
	accounts, next, err := d.op.Floors.Accounts(operator.AccountQuery{Prefix: p.Prefix, After: p.After, Want: wanted, Limit: playerRows})
	if err != nil {
		d.renderError(w, err)
		return
	}
	for _, a := range accounts {
		p.Rows = append(p.Rows, floorRow{a, floorKind(s, a.Floor)})
	}
	p.Next, p.Floors = next, floorBars(d.op)
	d.renderPage(w, http.StatusOK, "players.html", p)
}

// floorBars are all floors with their numbers of accounts.
func floorBars(op *operator.Operator) (bars []floorBar) {
	most := 0
	counts, s := op.Floors.Counts(), op.Snapshot()
	for _, f := range counts {
		most = max(most, f.Count)
	}
	for _, f := range counts {
		bars = append(bars, floorBar{Logic: f.Logic, Count: f.Count, Width: percent(f.Count, most), Kind: floorKind(s, f.Logic)})
	}
	return bars
}

// playerPage is one account.
type playerPage struct {
	frame
	Account   string
	Floor     int32  // now
	Kind      string // as in floorRow
	Developer bool
	Versioned bool
	Most      int32 // that may be asked for
	Draft     int32 // the floor that is asked for
	Review    bool  // it is to be looked at once more
	Moved     bool  // the floor is not the one that was shown
	Asked     int32 // what that was
	Saved     bool
	Comment   string
	Fault     string
}

// Lowers reports whether the floor would come down.
func (p playerPage) Lowers() bool { return p.Draft < p.Floor }

// newPlayerPage is the page of an account as it is.
func newPlayerPage(d *request, account string) (playerPage, error) {
	floor, err := d.op.Floors.Get(account)
	if err != nil {
		return playerPage{}, err
	}
	s := d.op.Snapshot()
	p := playerPage{
		frame: d.newFrame(account, "players"), Account: account, Floor: floor, Kind: floorKind(s, floor), Developer: s.Developers[account],
		Versioned: s.Versioned, Most: max(s.Active.Max, floor), Draft: floor,
	}
	return p, nil
}

func showPlayer(d *request, w http.ResponseWriter, r *http.Request) {
	p, err := newPlayerPage(d, r.URL.Query().Get("id"))
	if err != nil {
		d.renderError(w, err)
		return
	}
	p.Saved = r.URL.Query().Get("saved") == strconv.Itoa(int(p.Floor))
	d.renderPage(w, http.StatusOK, "player.html", p)
}

// floorChange is a requested change of an account's floor.
type floorChange struct {
	account    string
	was, floor int32
}

func readFloorChange(form url.Values) (floorChange, error) {
	wish := floorChange{account: form.Get("id")}
	for name, into := range map[string]*int32{"was": &wish.was, "floor": &wish.floor} {
		n, err := strconv.ParseInt(strings.TrimSpace(form.Get(name)), 10, 32)
		if err != nil {
			return wish, &operator.InputError{Field: name, Why: fmt.Sprintf("%s is no number", text.Quote(form.Get(name)))}
		}
		*into = int32(n)
	}
	return wish, nil
}

// readFloorReview is the page of an account with a requested floor. Moved is set if the shown floor is outdated.
func readFloorReview(d *request, r *http.Request) (playerPage, floorChange, error) {
	wish, err := readFloorChange(r.PostForm)
	if err != nil {
		return playerPage{}, wish, err
	}
	p, err := newPlayerPage(d, wish.account)
	p.Draft, p.Comment = wish.floor, r.PostForm.Get("comment")
	p.Moved, p.Asked, p.Review = wish.was != p.Floor, wish.was, wish.floor != p.Floor
	return p, wish, err
}

func reviewFloor(d *request, w http.ResponseWriter, r *http.Request) {
	p, wish, err := readFloorReview(d, r)
	if err != nil {
		d.renderError(w, err)
		return
	}
	d.back = ""
	p.Back = ""
	status := http.StatusOK
	switch {
	case p.Moved:
		status = http.StatusConflict
	case wish.floor < 0 || wish.floor > p.Most:
		status, p.Review = http.StatusUnprocessableEntity, false
		p.Fault = d.words.translateError(&operator.InputError{Field: "floor", Why: fmt.Sprintf("is between 0 and %d, the newest active version", p.Most)})
	}
	d.renderPage(w, status, "player.html", p)
}

// applyFloor changes a floor that was reviewed.
func applyFloor(d *request, w http.ResponseWriter, r *http.Request) {
	p, wish, err := readFloorReview(d, r)
	if err != nil {
		d.renderError(w, err)
		return
	}
	lowers := wish.floor < wish.was
	comment := strings.TrimSpace(p.Comment)
	switch lacks := (&operator.ConfirmError{NeedsComment: comment == "", NeedsConfirm: !r.PostForm.Has("confirm")}); {
	case lowers && (lacks.NeedsComment || lacks.NeedsConfirm) && !p.Moved:
		err = lacks
	default:
		err = d.op.Floors.Move(d.by, wish.account, wish.was, wish.floor, comment)
	}
	if err == nil {
		http.Redirect(w, r, root+"/player?"+url.Values{"id": {wish.account}, "saved": {strconv.Itoa(int(wish.floor))}}.Encode(), http.StatusSeeOther)
		return
	}
	renderFloorError(d, w, p, err)
}

// renderFloorError shows the review again with the error.
func renderFloorError(d *request, w http.ResponseWriter, p playerPage, err error) {
	var moved *operator.FloorMovedError
	var confirm *operator.ConfirmError
	var input *operator.InputError
	switch {
	case errors.As(err, &moved):
		p.Floor, p.Kind, p.Moved, p.Asked, p.Review = moved.Current, floorKind(d.op.Snapshot(), moved.Current), true, moved.Asked, moved.Current != p.Draft
		d.renderPage(w, http.StatusConflict, "player.html", p)
	case errors.As(err, &confirm), errors.As(err, &input):
		p.Fault = cmp.Or(d.words.translateError(err), err.Error())
		d.renderPage(w, http.StatusUnprocessableEntity, "player.html", p)
	default:
		d.renderError(w, err)
	}
}
