// Package signintest is a provider of OpenID Connect on loopback, for tests. It checks what a client has to do: PKCE, the client's
// secret, the redirect address, and that a code is used once. Each browser is signed in at once. Only tests import it.
package signintest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// ID and Secret are those of the client.
const (
	ID     = "collet"
	Secret = "only for tests"
)

// keyID names the key.
const keyID = "key"

// Provider is a running provider. The fields are changed between requests only.
type Provider struct {
	*httptest.Server
	Redirect string         // where browsers may be sent back; empty: anywhere
	Claims   map[string]any // of the ID token, beside those that every token has; they replace those, too
	Info     map[string]any // answers for user info; nil: there is none
	Secret   string         // that the client has to have
	Methods  []string       // ways in which it may send it; nil: the header, without saying so
	Deny     string         // code of the error with which browsers come back; empty: none
	// Instead answers some requests in another way; it reports whether it did. nil: none.
	Instead func(w http.ResponseWriter, r *http.Request) bool
	Asked   int // answered requests

	key   *ecdsa.PrivateKey
	mu    sync.Mutex
	codes map[string]url.Values // that were given out, with what was asked for
}

// New starts a provider that runs until the test ends.
func New(t testing.TB) *Provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{Claims: map[string]any{}, Secret: Secret, key: key, codes: map[string]url.Values{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Asked++
	if p.Instead != nil && p.Instead(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		p.describe(w)
	case "/keys":
		keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: p.key.Public(), KeyID: keyID, Algorithm: oidc.ES256}}}
		keys.SetIssuer(p.URL)
		keys.ServeHTTP(w, r)
	case "/authorize":
		p.authorize(w, r)
	case "/token":
		p.exchange(w, r)
	case "/userinfo":
		if r.Header.Get("Authorization") != "Bearer access" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		answer(w, http.StatusOK, p.Info)
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // the client may have gone
}

func (p *Provider) describe(w http.ResponseWriter) {
	all := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{oidc.ES256},
	}
	if p.Methods != nil {
		all["token_endpoint_auth_methods_supported"] = p.Methods
	}
	if p.Info != nil {
		all["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	answer(w, http.StatusOK, all)
}

// authorize sends the browser back with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != ID || !strings.Contains(q.Get("scope"), "openid") || q.Get("code_challenge_method") != "S256" ||
		q.Get("nonce") == "" || p.Redirect != "" && q.Get("redirect_uri") != p.Redirect {
		http.Error(w, "not a request for a code with PKCE", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if p.Deny != "" {
		back.Set("error", p.Deny)
	} else {
		code := rand.Text()
		p.codes[code] = q
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
}

// exchange gives a token for a code.
func (p *Provider) exchange(w http.ResponseWriter, r *http.Request) {
	id, secret, inHeader := r.BasicAuth()
	if secret = strings.ReplaceAll(secret, "+", " "); !inHeader {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ID || secret != p.Secret || inHeader != (p.Methods == nil) {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	code := r.PostFormValue("code")
	asked, known := p.codes[code]
	delete(p.codes, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "code, verifier or address are wrong"})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": ID, "sub": "1", "nonce": asked.Get("nonce"), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
	maps.Copy(claims, p.Claims)
	text, err := json.Marshal(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": oidctest.SignIDToken(p.key, keyID, oidc.ES256, string(text))})
}

// Visit goes through the provider as a browser does, and returns where it sends the browser back to.
func (p *Provider) Visit(t testing.TB, address string) *url.URL {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	got, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	back, err := got.Location()
	if err != nil {
		t.Fatalf("%s: %s, %v", address, got.Status, err)
	}
	return back
}
