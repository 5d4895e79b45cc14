package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
)

// SignIn lets people sign in to the dashboard with an account of a provider of OpenID Connect. Without an Issuer only tokens do.
type SignIn struct {
	// Issuer is the provider's URL, as its discovery document names it: https, or http on this machine.
	Issuer string
	// ClientID is the id of this server at the provider.
	ClientID string
	// ClientSecretFile is a file with its secret. Empty: the environment variable SignInSecret, or no secret (a public client).
	ClientSecretFile string
	// RedirectURL is the dashboard's address for browsers, with the path SignInPath. The provider wants to know it.
	RedirectURL string
	// Scopes are requested beside "openid".
	Scopes []string
	// NameClaim is the claim with the name of a person for the history.
	NameClaim string
	// RoleClaim is the claim whose values decide about rights: a text or a list of texts. Dots lead into objects.
	RoleClaim string
	// View, Operate, Release and Admin are the values that give each role; SignInAnyone is every account of the provider. Who has
	// several gets the first of admin, release, operate and view.
	View, Operate, Release, Admin []string
}

const (
	// SignInSecret is the environment variable with the secret of the client.
	SignInSecret = "COLLET_SIGNIN_SECRET"
	// SignInPath is the path to which a provider sends browsers back.
	SignInPath = "/admin/signin/callback"
	// SignInAnyone among the values of a role gives it to every account.
	SignInAnyone = "*"
)

// signInFault checks the settings of the sign-in.
func (s Settings) signInFault() (key, fault string) {
	g := s.SignIn
	if g.Issuer == "" {
		for _, set := range []struct {
			key string
			is  bool
		}{
			{"SignIn.ClientID", g.ClientID != ""}, {"SignIn.ClientSecretFile", g.ClientSecretFile != ""}, {"SignIn.RedirectURL", g.RedirectURL != ""},
			{"SignIn.View", len(g.View) > 0}, {"SignIn.Operate", len(g.Operate) > 0}, {"SignIn.Release", len(g.Release) > 0}, {"SignIn.Admin", len(g.Admin) > 0},
		} {
			if set.is {
				return set.key, "needs SignIn.Issuer, the URL of the provider"
			}
		}
		return "", ""
	}
	if fault := addressOf(g.Issuer); fault != "" {
		return "SignIn.Issuer", fault
	}
	switch fault := addressOf(g.RedirectURL); {
	case g.RedirectURL == "":
		return "SignIn.RedirectURL", "is not set: give the address of the dashboard with " + SignInPath + ", as you told it the provider"
	case fault != "":
		return "SignIn.RedirectURL", fault
	case !strings.HasSuffix(g.RedirectURL, SignInPath) || strings.Count(g.RedirectURL, "/") != 2+strings.Count(SignInPath, "/"):
		return "SignIn.RedirectURL", "must be the address of the dashboard with the path " + SignInPath
	case g.ClientID == "":
		return "SignIn.ClientID", "is not set: give the id that the provider has for this server"
	case g.NameClaim == "":
		return "SignIn.NameClaim", `must name a claim, for example "email"`
	case s.Compat.Store == "":
		return "SignIn.Issuer", "needs Compat.Store: without it there is no dashboard"
	case len(g.View)+len(g.Operate)+len(g.Release)+len(g.Admin) == 0:
		return "SignIn.View", fmt.Sprintf("gives rights to nobody: set SignIn.View, Operate, Release or Admin to values of the claim %q, or to [%q] for every account of the provider", g.RoleClaim, SignInAnyone)
	default:
		return "", ""
	}
}

// addressOf is what is wrong with the URL of a provider or a dashboard.
func addressOf(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Sprintf("%q is no URL like https://login.example.org", text)
	case u.Scheme != "https" && !(u.Scheme == "http" && IsLoopback(u.Hostname())):
		return fmt.Sprintf("%q must begin with https: passwords and tokens go there; http is for this machine only", text)
	default:
		return ""
	}
}

// IsLoopback reports whether a host is this machine, by its name or address alone.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// resolve joins a relative path to base. An empty one stays empty.
func (g *SignIn) resolve(base string) {
	if g.ClientSecretFile != "" && !filepath.IsAbs(g.ClientSecretFile) {
		g.ClientSecretFile = filepath.Join(base, g.ClientSecretFile)
	}
}

// signInLayer is one layer of SignIn.
type signInLayer struct {
	Issuer, ClientID, ClientSecretFile, RedirectURL, NameClaim, RoleClaim *string
	Scopes, View, Operate, Release, Admin                                 *[]string
}

func (s sources) applySignIn(set *SignIn, l *signInLayer, prefix string) {
	setValue(s, prefix, "SignIn.Issuer", &set.Issuer, l.Issuer)
	setValue(s, prefix, "SignIn.ClientID", &set.ClientID, l.ClientID)
	setValue(s, prefix, "SignIn.ClientSecretFile", &set.ClientSecretFile, l.ClientSecretFile)
	setValue(s, prefix, "SignIn.RedirectURL", &set.RedirectURL, l.RedirectURL)
	setValue(s, prefix, "SignIn.Scopes", &set.Scopes, l.Scopes)
	setValue(s, prefix, "SignIn.NameClaim", &set.NameClaim, l.NameClaim)
	setValue(s, prefix, "SignIn.RoleClaim", &set.RoleClaim, l.RoleClaim)
	setValue(s, prefix, "SignIn.View", &set.View, l.View)
	setValue(s, prefix, "SignIn.Operate", &set.Operate, l.Operate)
	setValue(s, prefix, "SignIn.Release", &set.Release, l.Release)
	setValue(s, prefix, "SignIn.Admin", &set.Admin, l.Admin)
}
