package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/server/limits"
)

// The bounds on who is logged in.
const (
	// visitCookie is what a browser is recognised by.
	visitCookie = "collet_admin"
	// visitBytes is the randomness in it.
	visitBytes = 32
	// visitIdle is how long somebody stays logged in without asking for anything: a break.
	visitIdle = 30 * time.Minute
	// visitLong is how long at most: a working day.
	visitLong = 12 * time.Hour
	// maxVisits is how many browsers are logged in at once; of more the one that has been quiet the longest is forgotten.
	maxVisits = 256
)

// visits are the browsers that have logged in. They are forgotten when the server ends. It is safe for concurrent use.
type visits struct {
	key []byte // seals forms; set by begin, then fixed

	mu  sync.Mutex
	all map[string]*login // by the hash of the cookie, so that what is in memory is of no use to a thief
}

// login is one browser that has.
type login struct {
	name, sum   string // of the token; where that is taken away the login is void
	since, seen time.Time
}

// visit is a browser, logged in or not.
type visit struct {
	id   string // its cookie
	seal string // what its forms carry
}

// sealed reports whether a form carries the browser's seal.
func (v visit) sealed(seal string) bool {
	return v.seal != "" && subtle.ConstantTimeCompare([]byte(seal), []byte(v.seal)) == 1
}

func (v *visits) begin() {
	v.key, v.all = make([]byte, visitBytes), map[string]*login{}
	rand.Read(v.key)
}

// of is the browser with a cookie.
func (v *visits) of(id string) visit {
	seal := hmac.New(release.SHA256.NewHash, v.key)
	seal.Write([]byte(id))
	return visit{id: id, seal: hex.EncodeToString(seal.Sum(nil))}
}

// fresh is a browser that we have not seen.
func (v *visits) fresh() visit {
	random := make([]byte, visitBytes)
	rand.Read(random)
	return v.of(base64.RawURLEncoding.EncodeToString(random))
}

// enter remembers that a browser has logged in.
func (v *visits) enter(id string, t Token, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, l := range v.all {
		if l.over(now) {
			delete(v.all, key)
		}
	}
	if len(v.all) >= maxVisits {
		oldest, quiet := "", now
		for key, l := range v.all {
			if !l.seen.After(quiet) {
				oldest, quiet = key, l.seen
			}
		}
		delete(v.all, oldest)
	}
	v.all[sumOf(id)] = &login{name: t.Name, sum: t.Sum, since: now, seen: now}
}

// leave forgets a browser.
func (v *visits) leave(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, sumOf(id))
}

// who is whose token a browser has logged in with, if it is still one of tokens. What a page asks for by itself is no reason to stay
// logged in: then nobody is there.
func (v *visits) who(id string, tokens []Token, now time.Time, byItself bool) (Token, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.all[sumOf(id)]
	if l == nil {
		return Token{}, false
	}
	at := slices.IndexFunc(tokens, func(t Token) bool { return t.Name == l.name && t.Sum == l.sum })
	if at < 0 || l.over(now) {
		delete(v.all, sumOf(id))
		return Token{}, false
	}
	if !byItself {
		l.seen = now
	}
	return tokens[at], true
}

// over reports whether a login has lasted long enough.
func (l *login) over(now time.Time) bool {
	return now.Sub(l.seen) > visitIdle || now.Sub(l.since) > visitLong
}

// recognise finds out who asks, and gives a browser that has none a cookie.
func (d *desk) recognise(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(visitCookie); err == nil && len(c.Value) == base64.RawURLEncoding.EncodedLen(visitBytes) {
		d.visit = d.visits.of(c.Value)
	} else {
		d.visit = d.visits.fresh()
		d.visit.keep(w, r)
	}
	remote := remoteOf(limits.Address(r.RemoteAddr))
	if t, is := d.visits.who(d.visit.id, *d.op.tokens.Load(), time.Now(), r.URL.Path == boardPath+"/live"); is {
		d.by, d.known = Actor{Name: t.Name, Role: t.Role, Source: compat.SourceDashboard, Remote: remote}, true
	}
}

// keep sends a browser its cookie.
func (v visit) keep(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: visitCookie, Value: v.id, Path: boardPath, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: byTLS(r),
	})
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
}

func (d *desk) askLogin(w http.ResponseWriter, r *http.Request) {
	if d.known {
		http.Redirect(w, r, boardPath, http.StatusSeeOther)
		return
	}
	d.loginPage(w, r, http.StatusOK, "", "")
}

func (d *desk) loginPage(w http.ResponseWriter, r *http.Request, status int, fault, pending string) {
	p := loginPage{frame: d.frame(d.words.text("login"), ""), Pending: pending, First: !d.op.Secured()}
	if fault != "" {
		p.Fault = d.words.text(fault)
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	p.Clear = !byTLS(r) && host != "localhost" && !net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
	d.page(w, status, "login.html", p)
}

// login lets somebody in who has a token, under a new cookie. Wrong tokens are counted with those that are said to the admin API. A
// right one is let in even then: at 256 random bits the count is there for the log and the processor, and one that shut out the
// right ones too would let anybody behind the same address lock the operators out.
func (d *desk) login(w http.ResponseWriter, r *http.Request) {
	secret, pending := strings.TrimSpace(r.PostForm.Get("token")), r.PostForm.Get("pending")
	if by, known := d.op.Authenticate(secret); known {
		d.visits.leave(d.visit.id)
		d.visit = d.visits.fresh()
		d.visit.keep(w, r)
		d.visits.enter(d.visit.id, Token{Name: by.Name, Sum: sumOf(secret)}, time.Now())
		d.server.log.Info().Str("actor", by.Name).Str("peer", r.RemoteAddr).Msg("Logged in to the dashboard")
		by.Source, by.Remote = compat.SourceDashboard, remoteOf(limits.Address(r.RemoteAddr))
		d.by, d.known = by, true
		d.resume(w, r, pending)
		return
	}
	from := limits.Client(limits.Address(r.RemoteAddr))
	if !d.server.limiter.AllowToken(from, time.Now()) {
		w.Header().Set("Retry-After", "60")
		d.loginPage(w, r, http.StatusTooManyRequests, "login.slow", pending)
		return
	}
	d.server.warn(from, causeToken, limits.WarnKnown).Str("peer", r.RemoteAddr).Msg("Refused a wrong token")
	d.loginPage(w, r, http.StatusUnauthorized, "login.wrong", pending)
}

// logout forgets a login and its cookie.
func (d *desk) logout(w http.ResponseWriter, r *http.Request) {
	d.visits.leave(d.visit.id)
	d.visit = d.visits.fresh()
	d.visit.keep(w, r)
	http.Redirect(w, r, boardPath+"/login", http.StatusSeeOther)
}
