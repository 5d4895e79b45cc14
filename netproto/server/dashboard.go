package server

import (
	"embed"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"collet/netproto/compat"
)

// The dashboard, on the port of Operations.HTTPAddress, is how people reach an Operator with a browser (compat reference, section 3.8):
//
//	GET  /admin                 everything at a glance, and a form for each part of the settings
//	GET  /admin/live            the part of it that shows who is connected, for the script
//	POST /admin/review          a form → what it would change, and what would become of those who are connected; nothing happens
//	POST /admin/apply           a reviewed change; 409 and the review anew if the settings have another revision by now
//	GET  /admin/rollback?to=N   the review of going back to a revision
//	POST /admin/rollback        goes back
//	GET  /admin/audit?before=N  what was changed, and whether the log is as it was written
//	GET  /admin/players         how many players have each floor, and which accounts
//	GET  /admin/player?id=X     the floor of an account; POST /admin/player/review and /admin/player/apply change it, 409 as above
//	GET  /admin/try             a client that somebody makes up; POST /admin/try what it would be told, and by which rules
//	GET  /admin/access          tokens
//	POST /admin/access          makes one, and shows its secret once; POST /admin/access/drop takes one away
//	GET  /admin/login           asks for a token; POST /admin/login takes it, POST /admin/logout ends a session
//	POST /admin/language        keeps a language for this browser
//	GET  /admin/style.css, /admin/script.js, /admin/icon.svg
//
// Pages are made here and need no script: it adds what happens while somebody types. Nothing is loaded from elsewhere, and the
// content security policy lets nothing be. Who may do what is as with the admin API: who has logged in with a token may do what its role
// allows, and the login page tells how the first token is made. Each form carries a token of the browser's cookie, and a request from a page of another site is refused. A form that arrives when its session has ended changes
// nothing, and is shown for review after the next login. Whatever clients, players and operators have written is text: the templates
// escape it, and nothing of it becomes a link that is not one of ours.
const (
	boardPath = "/admin"
	// maxForm is the largest form in bytes: a document of settings with every byte escaped.
	maxForm = 3*compat.MaxSettings + 64<<10
	// boardPolicy lets a page load its own style and script, and nothing else.
	boardPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

//go:embed dashboard
var boardFiles embed.FS

// board is the dashboard of a monitor. The zero value is ready to use.
type board struct {
	visits
	once      sync.Once
	languages []*words         // set by once, then fixed
	matcher   language.Matcher // the same
}

// boards reports whether a path belongs to the dashboard.
func boards(path string) bool {
	return path == boardPath || strings.HasPrefix(path, boardPath+"/")
}

// desk is one request to the dashboard, with who asks.
type desk struct {
	*board
	server *Server
	op     *Operator
	by     Actor
	visit  visit
	known  bool // somebody is recognised: by is set
	words  *words
	back   string // the page that is shown, where it can be shown again
	again  bool   // a form that was kept over a login is shown
}

// handler is what answers a request at a desk.
type handler func(*desk, http.ResponseWriter, *http.Request)

// route is where a handler is, whether strangers may ask, and whether a form that comes too late is kept for after the login.
type route struct {
	answer      handler
	open, keeps bool
}

// boardRoutes are the dashboard's, by method and path.
func boardRoutes() map[string]route {
	return map[string]route{
		"GET /admin":                {answer: (*desk).home},
		"GET /admin/live":           {answer: (*desk).live},
		"POST /admin/review":        {answer: (*desk).review, keeps: true},
		"POST /admin/apply":         {answer: (*desk).apply, keeps: true},
		"GET /admin/rollback":       {answer: (*desk).reviewRollback},
		"POST /admin/rollback":      {answer: (*desk).rollback, keeps: true},
		"GET /admin/audit":          {answer: (*desk).audit},
		"GET /admin/players":        {answer: (*desk).players},
		"GET /admin/player":         {answer: (*desk).player},
		"POST /admin/player/review": {answer: (*desk).reviewPlayer, keeps: true},
		"POST /admin/player/apply":  {answer: (*desk).applyPlayer, keeps: true},
		"GET /admin/try":            {answer: (*desk).askTry},
		"POST /admin/try":           {answer: (*desk).try, keeps: true},
		"GET /admin/access":         {answer: (*desk).access},
		"POST /admin/access":        {answer: (*desk).newToken},
		"POST /admin/access/drop":   {answer: (*desk).dropToken},
		"GET /admin/login":          {answer: (*desk).askLogin, open: true},
		"POST /admin/login":         {answer: (*desk).login, open: true},
		"POST /admin/logout":        {answer: (*desk).logout, open: true},
		"POST /admin/language":      {answer: (*desk).speak, open: true},
	}
}

// boardAsset is one of the files of the pages, which are the same for everybody.
func boardAsset(path string) (name string, is bool) {
	name = strings.TrimPrefix(path, boardPath)
	return "dashboard" + name, name == "/style.css" || name == "/script.js" || name == "/icon.svg"
}

// guarded are the headers of every answer: nothing is kept, framed, or taken for something else.
func guarded(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin") // with none at all browsers say that a form comes from nowhere
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Content-Security-Policy", boardPolicy)
	header.Set("Vary", "Accept-Language, Cookie")
}

// dashboard answers a request to the dashboard.
func (m *Monitor) dashboard(w http.ResponseWriter, r *http.Request) {
	m.board.prepare()
	guarded(w.Header())
	path := r.URL.Path
	if path == boardPath+"/" {
		http.Redirect(w, r, boardPath, http.StatusSeeOther)
		return
	}
	if name, is := boardAsset(path); is {
		http.ServeFileFS(w, r, boardFiles, name)
		return
	}
	d := &desk{board: &m.board, server: m.server.Load(), words: m.board.wordsOf(r)}
	if d.server == nil || d.server.Operator() == nil {
		d.sorry(w, http.StatusNotFound, "sorry.store", noStore().Error)
		return
	}
	d.op = d.server.Operator()
	d.serve(w, r)
}

// serve finds the handler, and lets it answer whoever may ask.
func (d *desk) serve(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	found, there := boardRoutes()[method+" "+r.URL.Path]
	if !there {
		d.sorry(w, http.StatusNotFound, "sorry.nowhere", d.words.text("sorry.nowhere.about"))
		return
	}
	d.recognise(w, r)
	if method == http.MethodGet {
		d.back = r.URL.RequestURI()
		if found.open {
			d.back = r.URL.Path // what strangers write behind it is none of ours
		}
	} else if fault := d.readForm(w, r); fault != "" {
		d.sorry(w, http.StatusForbidden, "sorry.form", fault)
		return
	}
	if !d.known && !found.open {
		d.stranger(w, r, found.keeps)
		return
	}
	if d.known {
		visitorOf(r).trust()
	}
	found.answer(d, w, r)
}

// stranger sends somebody to the login. A script is told instead, and a form is kept for after it.
func (d *desk) stranger(w http.ResponseWriter, r *http.Request, keeps bool) {
	switch {
	case r.Header.Get(fragmentHeader) != "":
		http.Error(w, "log in again", http.StatusUnauthorized)
	case keeps:
		d.loginPage(w, r, http.StatusUnauthorized, "", pendingOf(r))
	default:
		http.Redirect(w, r, boardPath+"/login", http.StatusSeeOther)
	}
}

// readForm reads a form, and says why it is not one that we have given to this browser; empty if it is.
func (d *desk) readForm(w http.ResponseWriter, r *http.Request) (fault string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	switch err := r.ParseForm(); {
	case err != nil:
		return d.words.text("sorry.form.unread", "why", err)
	case crossSite(r):
		return d.words.text("sorry.form.foreign")
	case !d.visit.sealed(r.PostForm.Get("csrf")):
		return d.words.text("sorry.form.old")
	default:
		return ""
	}
}

// prepare reads the texts and the pages, once. They are part of the program, and a mistake in one ends the first test.
func (b *board) prepare() {
	b.once.Do(func() {
		b.languages, b.matcher = readWords()
		b.visits.begin()
	})
}
