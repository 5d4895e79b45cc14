// Package dashboard has the operator's pages for a browser:
//
//	GET  /admin                 everything at a glance, and a form for each part of the settings
//	GET  /admin/live            its part with the connected clients, for the script
//	POST /admin/review          a form → its changes and their effect on the connected clients, without applying them
//	POST /admin/apply           a reviewed change; 409 and the review anew if the settings have another revision by now
//	GET  /admin/rollback?to=N   the review of going back to a revision
//	POST /admin/rollback        goes back
//	GET  /admin/audit?before=N  what was changed, and whether the log is as it was written
//	GET  /admin/players         how many players have each floor, and which accounts
//	GET  /admin/player?id=X     the floor of an account; POST /admin/player/review and /admin/player/apply change it, 409 as above
//	GET  /admin/try             an invented client; POST /admin/try what it would be told, and by which rules
//	GET  /admin/releases        the signed list of the release folder, and the proposals that wait; POST proposes a change of it
//	GET  /admin/adoption        ?window=hour|day|month what beacons of clients tell of releases
//	GET  /admin/access          tokens
//	POST /admin/access          makes one, and shows its secret once; POST /admin/access/drop takes one away
//	GET  /admin/login           asks for a token; POST /admin/login takes it, POST /admin/logout ends a session
//	GET  /admin/signin          leads to the provider for signing in, GET /admin/signin/callback back from it
//	POST /admin/language        keeps a language for this browser
//	GET  /admin/style.css, /admin/script.js, /admin/icon.svg
//
// Pages are rendered by the server and work without the script, which adds updates during typing. The content security policy
// forbids loading from elsewhere. Rights are as with the admin API: a login with a token has the rights of its role, and the
// login page explains how to create the first token. Each form carries a token derived from the browser's cookie, and cross-site
// requests are refused. A form that arrives after its session has ended changes nothing, and is shown for review after the next
// login. Texts of clients, players and operators are escaped by the templates and never become foreign links.
package dashboard

import (
	"embed"
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/zerolog"
	"golang.org/x/text/language"

	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/server/admin"
	"collet/netproto/server/metrics"
	"collet/netproto/server/operator"
	"collet/netproto/server/releases"
	"collet/netproto/server/signin"
)

const (
	root = "/admin"
	// maxForm is the largest form in bytes: a document of settings with every byte escaped.
	maxForm = 3*compat.MaxSettings + 64<<10
	// policy allows a page to load only its own style, script and images.
	policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

//go:embed *.html script.js style.css icon.svg
var files embed.FS

// Owns reports whether a path belongs to the dashboard.
func Owns(path string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// dashboard is the dashboard of one server.
type dashboard struct {
	logins
	door      admin.Door
	about     About
	log       zerolog.Logger
	languages []*words
	matcher   language.Matcher
}

// About is what the dashboard says of its server.
type About struct {
	Name     string          // of game and server; empty for none
	Releases *releases.Board // nil without a release folder
	// ClientsOf are the clients that had a release, since the server was started; nil without a release folder.
	ClientsOf func(release.Entry) metrics.Clients
	// SignIn is the provider with which people sign in; nil for tokens only.
	SignIn *signin.Provider
}

// New answers requests for the dashboard. It reads the operator from the door at every request, because there may be none yet.
func New(door admin.Door, about About, log zerolog.Logger) http.Handler {
	b := &dashboard{door: door, about: about, log: log}
	b.languages, b.matcher = allWords()
	b.logins.init()
	return b
}

// request is one request to the dashboard, with its actor.
type request struct {
	*dashboard
	op      *operator.Operator // nil: the server has none
	by      operator.Actor
	browser browser
	known   bool // the actor is recognised: by is set
	words   *words
	back    string // the page that is shown, where it can be shown again
	resumed bool   // a form that was kept over a login is shown
}

// handler answers a request.
type handler func(*request, http.ResponseWriter, *http.Request)

// route is a handler, whether it is open without a login, and whether a form that arrives after its session has ended is kept
// over the login.
type route struct {
	answer      handler
	open, keeps bool
}

// routes are the dashboard's, by method and path.
func routes() map[string]route {
	return map[string]route{
		"GET /admin":                 {answer: showHome},
		"GET /admin/live":            {answer: showLive},
		"POST /admin/review":         {answer: reviewChange, keeps: true},
		"POST /admin/apply":          {answer: applyChange, keeps: true},
		"GET /admin/rollback":        {answer: reviewRollback},
		"POST /admin/rollback":       {answer: applyRollback, keeps: true},
		"GET /admin/audit":           {answer: showAudit},
		"GET /admin/players":         {answer: showPlayers},
		"GET /admin/player":          {answer: showPlayer},
		"POST /admin/player/review":  {answer: reviewFloor, keeps: true},
		"POST /admin/player/apply":   {answer: applyFloor, keeps: true},
		"GET /admin/try":             {answer: showTryForm},
		"POST /admin/try":            {answer: tryClient, keeps: true},
		"GET /admin/releases":        {answer: showReleases},
		"POST /admin/releases":       {answer: proposeRelease},
		"GET /admin/adoption":        {answer: showAdoption},
		"GET /admin/access":          {answer: showAccess},
		"POST /admin/access":         {answer: createToken},
		"POST /admin/access/drop":    {answer: dropToken},
		"GET /admin/login":           {answer: showLogin, open: true},
		"POST /admin/login":          {answer: logIn, open: true},
		"GET /admin/signin":          {answer: beginSignIn, open: true},
		"GET /admin/signin/callback": {answer: finishSignIn, open: true},
		"POST /admin/logout":         {answer: logOut, open: true},
		"POST /admin/language":       {answer: setLanguage, open: true},
	}
}

// asset is the name of a static file.
func asset(path string) (name string, is bool) {
	name = strings.TrimPrefix(path, root)
	return strings.TrimPrefix(name, "/"), name == "/style.css" || name == "/script.js" || name == "/icon.svg"
}

// setSecurityHeaders sets the security headers of every answer: no caching, no framing, no content sniffing.
func setSecurityHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin") // with "no-referrer" browsers send "Origin: null" with forms
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Content-Security-Policy", policy)
	header.Set("Vary", "Accept-Language, Cookie")
}

// ServeHTTP implements http.Handler.
func (b *dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	path := r.URL.Path
	if path == root+"/" {
		http.Redirect(w, r, root, http.StatusSeeOther)
		return
	}
	if name, is := asset(path); is {
		http.ServeFileFS(w, r, files, name)
		return
	}
	d := &request{dashboard: b, op: b.door.Operator(), words: b.wordsOf(r)}
	if d.op == nil {
		d.renderNotice(w, http.StatusNotFound, "sorry.store", admin.NoStore)
		return
	}
	d.serve(w, r)
}

// serve finds the handler, and lets it answer if the request is allowed.
func (d *request) serve(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	found, there := routes()[method+" "+r.URL.Path]
	if !there {
		d.renderNotice(w, http.StatusNotFound, "sorry.nowhere", d.words.text("sorry.nowhere.about"))
		return
	}
	d.authenticate(w, r)
	if method == http.MethodGet {
		d.back = r.URL.RequestURI()
		if found.open {
			d.back = r.URL.Path // the query of a request without login is not repeated
		}
	} else if fault := d.readForm(w, r); fault != "" {
		d.renderNotice(w, http.StatusForbidden, "sorry.form", fault)
		return
	}
	if !d.known && !found.open {
		d.requireLogin(w, r, found.keeps)
		return
	}
	if d.known {
		d.door.Recognised(r)
	}
	found.answer(d, w, r)
}

// requireLogin redirects a request without login to the login page. A script gets an error instead, and a form may be kept over the
// login.
func (d *request) requireLogin(w http.ResponseWriter, r *http.Request, keeps bool) {
	switch {
	case r.Header.Get(fragmentHeader) != "":
		http.Error(w, "log in again", http.StatusUnauthorized)
	case keeps:
		renderLogin(d, w, r, http.StatusUnauthorized, "", encodePending(r))
	default:
		http.Redirect(w, r, root+"/login", http.StatusSeeOther)
	}
}

// readForm reads a form, and returns why it was not created for this browser; empty if it was.
func (d *request) readForm(w http.ResponseWriter, r *http.Request) (fault string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	switch err := r.ParseForm(); {
	case err != nil:
		return d.words.text("sorry.form.unread", "why", err)
	case crossSite(r):
		return d.words.text("sorry.form.foreign")
	case !d.browser.hasSeal(r.PostForm.Get("csrf")):
		return d.words.text("sorry.form.old")
	default:
		return ""
	}
}

// crossSite reports whether the headers show that a page of another site made the request.
func crossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err != nil || u.Host != r.Host || site == "cross-site"
	}
	return site != "" && site != "same-origin" && site != "none"
}
