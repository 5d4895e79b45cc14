package dashboard

import (
	"errors"
	"net/http"

	"collet/netproto/server/config"
	"collet/netproto/server/signin"
)

const (
	// attemptCookie is the cookie with a sign-in under way.
	attemptCookie = "collet_signin"
	// attemptTime is how long one may take, in seconds: finding a password and a second factor.
	attemptTime = 600
)

// beginSignIn leads the browser to the provider.
func beginSignIn(d *request, w http.ResponseWriter, r *http.Request) {
	d.back = root + "/login" // another language does not begin again
	if d.about.SignIn == nil {
		d.renderNotice(w, http.StatusNotFound, "sorry.nowhere", d.words.text("sorry.nowhere.about"))
		return
	}
	attempt, there, err := d.about.SignIn.Begin(r.Context())
	if err != nil {
		d.renderSignInFault(w, r, err)
		return
	}
	setAttempt(w, r, attempt.Cookie(), attemptTime)
	http.Redirect(w, r, there, http.StatusSeeOther)
}

// setAttempt sets the cookie of the attempt for some seconds; a negative time removes it.
func setAttempt(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: attemptCookie, Value: value, Path: config.SignInPath, MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: byTLS(r)})
}

// finishSignIn logs a browser in that the provider sent back.
func finishSignIn(d *request, w http.ResponseWriter, r *http.Request) {
	d.back = root + "/login"
	if d.about.SignIn == nil {
		d.renderNotice(w, http.StatusNotFound, "sorry.nowhere", d.words.text("sorry.nowhere.about"))
		return
	}
	attempt := signin.Attempt{}
	if c, err := r.Cookie(attemptCookie); err == nil {
		attempt = signin.ReadAttempt(c.Value)
	}
	setAttempt(w, r, "", -1) // a code is good for one attempt
	if !d.door.Unrecognised(r, false) {
		w.Header().Set("Retry-After", "60")
		renderLogin(d, w, r, http.StatusTooManyRequests, "login.slow", "")
		return
	}
	who, err := d.about.SignIn.Finish(r.Context(), attempt, r.URL.Query())
	if err != nil {
		d.renderSignInFault(w, r, err)
		return
	}
	d.begin(w, r, login{name: who.Name, role: who.Role})
	d.log.Info().Str("actor", who.Name).Str("role", string(who.Role)).Str("peer", r.RemoteAddr).Msg("Signed in to the dashboard")
	http.Redirect(w, r, root, http.StatusSeeOther)
}

// renderSignInFault shows the login page with what was wrong.
func (d *request) renderSignInFault(w http.ResponseWriter, r *http.Request, err error) {
	d.log.Warn().Err(err).Str("peer", r.RemoteAddr).Msg("A sign-in to the dashboard failed")
	var unreachable *signin.UnreachableError
	var denied *signin.DeniedError
	var rejected *signin.RejectedError
	var rightless *signin.NoRoleError
	show := func(status int, key string, args ...any) {
		renderLogin(d, w, r, status, key, "", append(args, "host", d.about.SignIn.Host())...)
	}
	switch {
	case errors.As(err, &unreachable):
		show(http.StatusBadGateway, "signin.unreachable", "why", unreachable.Err)
	case errors.As(err, &denied):
		show(http.StatusForbidden, "signin.denied", "why", denied.Why)
	case errors.As(err, &rightless):
		show(http.StatusForbidden, "signin.norole", "name", rightless.Name, "claim", rightless.Claim)
	case errors.As(err, &rejected):
		show(http.StatusForbidden, "signin.rejected", "why", rejected.Err)
	default:
		show(http.StatusBadRequest, "signin.attempt", "address", d.about.SignIn.Address())
	}
}
