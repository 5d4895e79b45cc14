package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
)

// Limits of logins.
const (
	// cookieName is the cookie that identifies a browser.
	cookieName = "collet_admin"
	// cookieBytes is the randomness in it.
	cookieBytes = 32
	// loginIdle is how long a login lasts without a request: a break.
	loginIdle = 30 * time.Minute
	// loginLong is how long at most: a working day.
	loginLong = 12 * time.Hour
	// maxLogins is how many browsers are logged in at once; beyond it the login without a request for the longest time is
	// dropped.
	maxLogins = 256
)

// logins are the browsers that have logged in. They are forgotten when the server ends. It is safe for concurrent use.
type logins struct {
	key []byte // seals forms; set by begin, then fixed

	mu  sync.Mutex
	all map[string]*login // by the hash of the cookie, so a memory dump has no usable cookies
}

// login is one logged-in browser.
type login struct {
	name, sum   string        // of the token; where that is taken away the login is void
	role        operator.Role // of a person who signed in at the provider; empty with a token
	since, seen time.Time
}

// browser is a browser, logged in or not.
type browser struct {
	id   string // its cookie
	seal string // what its forms carry
}

// hasSeal reports whether a form carries the browser's seal.
func (v browser) hasSeal(seal string) bool {
	return v.seal != "" && subtle.ConstantTimeCompare([]byte(seal), []byte(v.seal)) == 1
}

func (v *logins) init() {
	v.key, v.all = make([]byte, cookieBytes), map[string]*login{}
	rand.Read(v.key)
}

// browserOf is the browser with a cookie.
func (v *logins) browserOf(id string) browser {
	seal := hmac.New(sha256.New, v.key)
	seal.Write([]byte(id))
	return browser{id: id, seal: hex.EncodeToString(seal.Sum(nil))}
}

// newBrowser is a browser that we have not seen.
func (v *logins) newBrowser() browser {
	random := make([]byte, cookieBytes)
	rand.Read(random)
	return v.browserOf(base64.RawURLEncoding.EncodeToString(random))
}

// logIn remembers that a browser has logged in.
func (v *logins) logIn(id string, new login, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, l := range v.all {
		if l.expired(now) {
			delete(v.all, key)
		}
	}
	if len(v.all) >= maxLogins {
		oldest, quiet := "", now
		for key, l := range v.all {
			if !l.seen.After(quiet) {
				oldest, quiet = key, l.seen
			}
		}
		delete(v.all, oldest)
	}
	new.since, new.seen = now, now
	v.all[operator.Sum(id)] = &new
}

// logOut forgets a browser.
func (v *logins) logOut(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, operator.Sum(id))
}

// actor is who logged in with a browser, as a token: find has it by name and sum, if it still exists. The rights of a person who signed in
// are those of the sign-in. Automatic requests of a page do not prolong a login.
func (v *logins) actor(id string, find func(name, sum string) (operator.Token, bool), now time.Time, byItself bool) (operator.Token, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.all[operator.Sum(id)]
	if l == nil {
		return operator.Token{}, false
	}
	token, valid := operator.Token{Name: l.name, Role: l.role}, true
	if l.role == "" {
		token, valid = find(l.name, l.sum)
	}
	if !valid || l.expired(now) {
		delete(v.all, operator.Sum(id))
		return operator.Token{}, false
	}
	if !byItself {
		l.seen = now
	}
	return token, true
}

// expired reports whether a login has lasted long enough.
func (l *login) expired(now time.Time) bool {
	return now.Sub(l.seen) > loginIdle || now.Sub(l.since) > loginLong
}

// authenticate finds the actor of a request, and gives a browser that has none a cookie.
func (d *request) authenticate(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(cookieName); err == nil && len(c.Value) == base64.RawURLEncoding.EncodedLen(cookieBytes) {
		d.browser = d.logins.browserOf(c.Value)
	} else {
		d.browser = d.logins.newBrowser()
		d.setCookie(w, r)
	}
	remote := admin.RemoteOf(r)
	if t, is := d.logins.actor(d.browser.id, d.op.Tokens.Find, time.Now(), r.URL.Path == root+"/live"); is {
		d.by, d.known = operator.Actor{Name: t.Name, Role: t.Role, Source: compat.SourceDashboard, Remote: remote}, true
	}
}

// setCookie sends the browser its cookie. A provider of sign-ins is another site that sends browsers here, so the cookie has to come with
// links from there, too; forms are checked in any case.
func (d *request) setCookie(w http.ResponseWriter, r *http.Request) {
	site := http.SameSiteStrictMode
	if d.about.SignIn != nil {
		site = http.SameSiteLaxMode
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: d.browser.id, Path: root, HttpOnly: true, SameSite: site, Secure: byTLS(r)})
}

// begin logs the browser in under a new cookie, which no other browser knows.
func (d *request) begin(w http.ResponseWriter, r *http.Request, as login) {
	d.logins.logOut(d.browser.id)
	d.browser = d.logins.newBrowser()
	d.setCookie(w, r)
	d.logins.logIn(d.browser.id, as, time.Now())
}

// byTLS reports whether a request came by TLS, to us or to a proxy that says so.
func byTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// loginPage asks for a token.
type loginPage struct {
	frame
	Fault   string
	Pending string // a form that came too late, for after the login
	First   bool   // the server has no token yet
	SignIn  string // host of the provider for signing in; empty for none
}

func showLogin(d *request, w http.ResponseWriter, r *http.Request) {
	if d.known {
		http.Redirect(w, r, root, http.StatusSeeOther)
		return
	}
	renderLogin(d, w, r, http.StatusOK, "", "")
}

func renderLogin(d *request, w http.ResponseWriter, r *http.Request, status int, fault, pending string, args ...any) {
	p := loginPage{frame: d.newFrame(d.words.text("login"), ""), Pending: pending, First: !d.op.Tokens.Exist()}
	if d.about.SignIn != nil {
		p.SignIn = d.about.SignIn.Host()
	}
	if fault != "" {
		p.Fault = d.words.text(fault, args...)
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	p.Clear = !byTLS(r) && host != "localhost" && !net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
	d.renderPage(w, status, "login.html", p)
}

// logIn accepts a token, under a new cookie. Wrong tokens are counted with those that are said to the admin API. A valid token is
// accepted even above the limit. Tokens have 256 random bits, so the limit only protects the log and the processor; a limit on
// valid tokens would let any client of the same address lock the operators out.
func logIn(d *request, w http.ResponseWriter, r *http.Request) {
	secret, pending := strings.TrimSpace(r.PostForm.Get("token")), r.PostForm.Get("pending")
	if by, known := d.op.Tokens.Authenticate(secret); known {
		d.begin(w, r, login{name: by.Name, sum: operator.Sum(secret)})
		d.log.Info().Str("actor", by.Name).Str("peer", r.RemoteAddr).Msg("Logged in to the dashboard")
		by.Source, by.Remote = compat.SourceDashboard, admin.RemoteOf(r)
		d.by, d.known = by, true
		resumePending(d, w, r, pending)
		return
	}
	if !d.door.Unrecognised(r, true) {
		w.Header().Set("Retry-After", "60")
		renderLogin(d, w, r, http.StatusTooManyRequests, "login.slow", pending)
		return
	}
	renderLogin(d, w, r, http.StatusUnauthorized, "login.wrong", pending)
}

// logOut forgets a login and its cookie.
func logOut(d *request, w http.ResponseWriter, r *http.Request) {
	d.logins.logOut(d.browser.id)
	d.browser = d.logins.newBrowser()
	d.setCookie(w, r)
	http.Redirect(w, r, root+"/login", http.StatusSeeOther)
}
