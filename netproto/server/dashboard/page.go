package dashboard

import (
	"bytes"
	"errors"
	"net/http"

	"collet/netproto/server/operator"
)

// renderPage renders a page, or a part of one, and sends it if it is complete.
func (d *request) renderPage(w http.ResponseWriter, status int, name string, content any) {
	var text bytes.Buffer
	if err := d.words.pages.ExecuteTemplate(&text, name, content); err != nil {
		d.log.Error().Err(err).Str("page", name).Msg("A page of the dashboard can't be rendered")
		http.Error(w, "this page can't be rendered; the log has the reason", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", d.words.tag.String())
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the client may have gone
}

// frame is the common part of all pages.
type frame struct {
	Title    string
	Page     string // entry of the menu
	Name     string // of game and server
	User     string // name of the logged-in actor; empty without a login
	Role     operator.Role
	CanEdit  bool // settings and floors
	Releases bool // there is a release folder
	Adoption bool // beacons are received
	CSRF     string
	Revision uint64
	Build    string
	Clear    bool   // the form is sent to another machine without TLS
	Back     string // the page itself, where it can be shown again in another language; empty where it can't
}

// newFrame is the frame of a page.
func (d *request) newFrame(title, page string) frame {
	f := frame{Title: title, Page: page, CSRF: d.browser.seal, Back: d.back, Name: d.about.Name}
	if d.op == nil {
		return f
	}
	if d.known {
		f.User, f.Role, f.CanEdit, f.Releases = d.by.Name, d.by.Role, d.by.Role.May(operator.RoleOperate), d.about.Releases != nil
		f.Adoption = d.op.Figures != nil
		f.Revision, f.Build = d.op.Settings().Revision, d.op.Snapshot().Build.ID
	}
	return f
}

// CanAdmin reports whether the actor may change tokens.
func (f frame) CanAdmin() bool { return f.Role.May(operator.RoleAdmin) }

// CanRelease reports whether the actor may propose changes of releases.
func (f frame) CanRelease() bool { return f.Role.May(operator.RoleRelease) }

// notice is a page with nothing but a message.
type notice struct {
	frame
	Text string
}

// renderNotice shows an error. title is a key, text is shown as it is.
func (d *request) renderNotice(w http.ResponseWriter, status int, title, text string) {
	d.renderPage(w, status, "notice.html", notice{frame: d.newFrame(d.words.text(title), ""), Text: text})
}

// renderError shows an error with the admin API's status for it.
func (d *request) renderError(w http.ResponseWriter, err error) {
	var forbidden *operator.ForbiddenError
	var input *operator.InputError
	var readOnly *operator.ReadOnlyError
	switch {
	case errors.As(err, &forbidden):
		d.renderNotice(w, http.StatusForbidden, "sorry.view", d.words.text("sorry.view.about", "role", string(forbidden.Actor.Role), "needs", string(forbidden.Needs)))
	case errors.As(err, &input):
		d.renderNotice(w, http.StatusBadRequest, "sorry.input", d.words.translateError(err))
	case errors.Is(err, operator.ErrUnknown):
		d.renderNotice(w, http.StatusNotFound, "sorry.unknown", err.Error())
	case errors.As(err, &readOnly), operator.IsClosed(err):
		d.renderNotice(w, http.StatusServiceUnavailable, "sorry.failed", err.Error())
	default:
		d.log.Error().Err(err).Msg("A request to the dashboard failed")
		d.renderNotice(w, http.StatusInternalServerError, "sorry.failed", err.Error())
	}
}
