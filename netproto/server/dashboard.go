package server

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"collet/netproto/compat"
)

// The dashboard, on the port of metrics and health, is how people reach an Operator with a browser (compat reference, section 3.8):
//
//	GET  /admin                 everything at a glance, and a form for each part of the settings
//	GET  /admin/live            the part of it that shows who is connected, for the script
//	POST /admin/review          a form → what it would change, and what would become of those who are connected; nothing happens
//	POST /admin/apply           a reviewed change; 409 and the review anew if the settings have another revision by now
//	GET  /admin/rollback?to=N   the review of going back to a revision
//	POST /admin/rollback        goes back
//	GET  /admin/audit?before=N  what was changed, and whether the log is as it was written
//	GET  /admin/access          tokens
//	POST /admin/access          makes one, and shows its secret once; POST /admin/access/drop takes one away
//	GET  /admin/login           asks for a token; POST /admin/login takes it, POST /admin/logout ends a session
//	GET  /admin/style.css, /admin/script.js
//
// Pages are made here and need no script: it adds what happens while somebody types. Nothing is loaded from elsewhere, and the
// content security policy lets nothing be. Who may do what is as with the admin API: as long as there is no token this machine may do
// everything, directly; from then on whoever has logged in with a token may do what its role allows. Each form carries a token of the
// browser's cookie, and a request from a page of another site is refused.
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
	once  sync.Once
	pages *template.Template // set by once, then fixed
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
}

// handler is what answers a request at a desk.
type handler func(*desk, http.ResponseWriter, *http.Request)

// route is where a handler is, and whether strangers may ask.
type route struct {
	answer handler
	open   bool
}

// boardRoutes are the dashboard's, by method and path.
func boardRoutes() map[string]route {
	return map[string]route{
		"GET /admin":              {answer: (*desk).home},
		"GET /admin/live":         {answer: (*desk).live},
		"POST /admin/review":      {answer: (*desk).review},
		"POST /admin/apply":       {answer: (*desk).apply},
		"GET /admin/rollback":     {answer: (*desk).reviewRollback},
		"POST /admin/rollback":    {answer: (*desk).rollback},
		"GET /admin/audit":        {answer: (*desk).audit},
		"GET /admin/access":       {answer: (*desk).access},
		"POST /admin/access":      {answer: (*desk).newToken},
		"POST /admin/access/drop": {answer: (*desk).dropToken},
		"GET /admin/login":        {answer: (*desk).askLogin, open: true},
		"POST /admin/login":       {answer: (*desk).login, open: true},
		"POST /admin/logout":      {answer: (*desk).logout, open: true},
	}
}

// dashboard answers a request to the dashboard.
func (m *Monitor) dashboard(w http.ResponseWriter, r *http.Request) {
	m.board.prepare()
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin") // with none at all browsers say that a form comes from nowhere
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Content-Security-Policy", boardPolicy)
	path := r.URL.Path
	if path == boardPath+"/" {
		http.Redirect(w, r, boardPath, http.StatusSeeOther)
		return
	}
	if path == boardPath+"/style.css" || path == boardPath+"/script.js" {
		http.ServeFileFS(w, r, boardFiles, "dashboard"+strings.TrimPrefix(path, boardPath))
		return
	}
	d := &desk{board: &m.board, server: m.server.Load()}
	if d.server == nil || d.server.Operator() == nil {
		d.sorry(w, http.StatusNotFound, "There is nothing to decide here", noStore().Error)
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
		d.sorry(w, http.StatusNotFound, "There is nothing here", "The dashboard has no such page.")
		return
	}
	if !d.op.Secured() {
		if why := Foreign(r); why != "" {
			d.sorry(w, http.StatusForbidden, "Only this machine may ask", "As long as there is no token only this machine may ask: "+why+". Make one with “collet compat”, the control socket, or this page on the server itself.")
			return
		}
	}
	d.recognise(w, r)
	if method == http.MethodPost {
		if fault := d.readForm(w, r); fault != "" {
			d.sorry(w, http.StatusForbidden, "This form is not valid any more", fault)
			return
		}
	}
	if !d.known && !found.open {
		http.Redirect(w, r, boardPath+"/login", http.StatusSeeOther)
		return
	}
	found.answer(d, w, r)
}

// readForm reads a form, and says why it is not one that we have given to this browser; empty if it is.
func (d *desk) readForm(w http.ResponseWriter, r *http.Request) (fault string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	switch err := r.ParseForm(); {
	case err != nil:
		return "It can’t be read: " + err.Error()
	case crossSite(r):
		return "It comes from a page of another site."
	case !d.visit.sealed(r.PostForm.Get("csrf")):
		return "The page was opened before you logged in, or this browser keeps no cookies. Open it again."
	default:
		return ""
	}
}

// prepare reads the pages, once. They are part of the program, and a mistake in one ends the first test.
func (b *board) prepare() {
	b.once.Do(func() {
		b.pages = template.Must(template.New("").Funcs(boardFuncs()).ParseFS(boardFiles, "dashboard/*.html"))
		b.visits.begin()
	})
}

// page answers with a page, or a part of one, if it can be made wholly.
func (d *desk) page(w http.ResponseWriter, status int, name string, content any) {
	var text bytes.Buffer
	if err := d.pages.ExecuteTemplate(&text, name, content); err != nil {
		if d.server != nil {
			d.server.log.Error().Err(err).Str("page", name).Msg("A page of the dashboard can't be made")
		}
		http.Error(w, "this page can't be made; the log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // whoever asked may have gone
}

// frame is what every page shows.
type frame struct {
	Title    string
	Page     string // which of the menu's
	User     string // who is logged in; empty is a stranger
	CanEdit  bool
	Secured  bool // there is a token
	CSRF     string
	Revision uint64
	Build    string
	Clear    bool // what is typed travels in the clear to another machine
}

// frame is that of a page.
func (d *desk) frame(title, page string) frame {
	f := frame{Title: title, Page: page, CSRF: d.visit.seal}
	if d.op == nil {
		return f
	}
	f.Secured = d.op.Secured()
	if d.known {
		f.User, f.CanEdit = d.by.Name, d.by.Role == RoleEdit
		f.Revision, f.Build = d.op.Settings().Revision, d.op.Snapshot().Build.ID
	}
	return f
}

// notice is a page with nothing but a message.
type notice struct {
	frame
	Text string
}

// sorry says that something is not to be had.
func (d *desk) sorry(w http.ResponseWriter, status int, title, text string) {
	d.page(w, status, "notice.html", notice{frame: d.frame(title, ""), Text: text})
}
