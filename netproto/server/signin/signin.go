package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

const (
	// askTime is how long the provider may take for one answer.
	askTime = 10 * time.Second
	// retryTime is how long a provider that could not be asked is left alone.
	retryTime = 5 * time.Second
	// maxAnswer is the largest answer of a provider in bytes. Keys and claims have some kilobytes.
	maxAnswer = 1 << 20
	// maxHeader is the largest header of an answer in bytes.
	maxHeader = 64 << 10
	// maxSecret is the largest file with a client's secret in bytes.
	maxSecret = 4 << 10
	// maxCode is the longest code of a provider in bytes, and maxParameter the longest other parameter.
	maxCode, maxParameter = 4 << 10, 256
)

// Provider is the configured provider. It is safe for concurrent use.
type Provider struct {
	set    config.SignIn
	client *http.Client
	secret string
	now    func() time.Time

	mu    sync.Mutex
	found *oidc.Provider // nil until it was asked
	fault error          // of the last try
	tried time.Time
}

// New makes a provider of validated settings, and asks it for nothing. secret may be empty.
func New(set config.SignIn, secret string) *Provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = maxHeader
	transport.DisableKeepAlives = true // it is asked a few times a day
	return &Provider{set: set, secret: secret, now: time.Now, client: &http.Client{
		Transport: limited{transport}, Timeout: askTime,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects to another address, which is not followed")
		},
	}}
}

// Secret reads the secret of the client from its file, or else from the environment. Without either it is empty.
func Secret(set config.SignIn, env func(string) string) (string, error) {
	if set.ClientSecretFile == "" {
		return env(config.SignInSecret), nil
	}
	info, err := os.Stat(set.ClientSecretFile)
	var data []byte
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || info.Size() > maxSecret:
		err = fmt.Errorf("%s is no file of at most %d bytes", set.ClientSecretFile, maxSecret)
	default:
		data, err = os.ReadFile(set.ClientSecretFile)
	}
	secret := strings.TrimSpace(string(data))
	if err == nil && secret == "" {
		err = fmt.Errorf("%s is empty", set.ClientSecretFile)
	}
	if err != nil {
		return "", &config.Error{Key: "SignIn.ClientSecretFile", Text: err.Error() + ": write the secret there that the provider has for this server"}
	}
	return secret, nil
}

// limited limits the size of answers.
type limited struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// Host is the provider's host, for people.
func (p *Provider) Host() string { return hostOf(p.set.Issuer) }

// Address is the address of the dashboard to which the provider sends browsers back, without its path.
func (p *Provider) Address() string { return strings.TrimSuffix(p.set.RedirectURL, config.SignInPath) }

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}

// UnreachableError says that the provider could not be asked, or is no provider of OpenID Connect.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return "the provider can't be asked: " + e.Err.Error() }
func (e *UnreachableError) Unwrap() error { return e.Err }

// DeniedError is the provider's refusal.
type DeniedError struct{ Why string }

func (e *DeniedError) Error() string { return "the provider refused: " + e.Why }

// ErrAttempt says that a browser did not begin the attempt with which it comes back.
var ErrAttempt = errors.New("this browser did not begin the sign-in")

// RejectedError says that the provider's claims can't be accepted.
type RejectedError struct{ Err error }

func (e *RejectedError) Error() string {
	return "the provider's answer is not accepted: " + e.Err.Error()
}
func (e *RejectedError) Unwrap() error { return e.Err }

// NoRoleError says that a person has no rights here.
type NoRoleError struct{ Name, Claim string }

func (e *NoRoleError) Error() string {
	return fmt.Sprintf("%s has no value of the claim %q that gives a role", e.Name, e.Claim)
}

// Person is who signed in.
type Person struct {
	Name string // for the history: at most operator.MaxActor bytes, never the name of a token
	Role operator.Role
}

// Attempt is one sign-in under way: what a browser keeps until it comes back.
type Attempt struct{ state, nonce, verifier string }

// attemptParts is how many texts an Attempt has.
const attemptParts = 3

// Cookie is the attempt as the value of a cookie.
func (a Attempt) Cookie() string { return strings.Join([]string{a.state, a.nonce, a.verifier}, ".") }

// ReadAttempt reads the value of a cookie. Another text gives an attempt that Finish refuses.
func ReadAttempt(cookie string) (a Attempt) {
	if parts := strings.Split(cookie, "."); len(parts) == attemptParts && len(cookie) <= attemptParts*maxParameter {
		a = Attempt{parts[0], parts[1], parts[2]}
	}
	return a
}

// Begin begins an attempt, and returns the address to which the browser goes. The error is an *UnreachableError.
func (p *Provider) Begin(ctx context.Context) (Attempt, string, error) {
	found, err := p.find(ctx)
	if err != nil {
		return Attempt{}, "", err
	}
	a := Attempt{oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()} // 256 random bits each
	return a, p.oauth(found).AuthCodeURL(a.state, oidc.Nonce(a.nonce), oauth2.S256ChallengeOption(a.verifier)), nil
}

// Finish ends an attempt with what the browser brings back from the provider. The error is ErrAttempt, an *UnreachableError,
// *DeniedError, *RejectedError or *NoRoleError.
func (p *Provider) Finish(ctx context.Context, a Attempt, back url.Values) (Person, error) {
	if a.state == "" || subtle.ConstantTimeCompare([]byte(a.state), []byte(back.Get("state"))) != 1 {
		return Person{}, ErrAttempt
	}
	if fault := back.Get("error"); fault != "" {
		return Person{}, &DeniedError{text.Shorten(fault+" "+back.Get("error_description"), maxParameter)}
	}
	code := back.Get("code")
	if code == "" || len(code) > maxCode {
		return Person{}, &RejectedError{errors.New("it has no code, or one that is too long")}
	}
	if issuer := back.Get("iss"); issuer != "" && issuer != p.set.Issuer { // RFC 9207
		return Person{}, &RejectedError{errors.New("it comes from another provider")}
	}
	found, err := p.find(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), 2*askTime)
	defer cancel()
	token, err := p.oauth(found).Exchange(ctx, code, oauth2.VerifierOption(a.verifier))
	if err != nil {
		return Person{}, exchangeFault(err)
	}
	claims, err := p.verify(ctx, found, token, a)
	if err != nil {
		return Person{}, &RejectedError{err}
	}
	return p.personOf(claims)
}

// exchangeFault is the error of a code that is not exchanged.
func exchangeFault(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
		why := strings.TrimSpace(refused.ErrorCode + " " + refused.ErrorDescription)
		if why == "" {
			why = refused.Response.Status
		}
		return &DeniedError{text.Shorten(why, maxParameter)}
	}
	return &UnreachableError{clipped(err)}
}

// clipped makes an error that may quote the provider short and harmless.
func clipped(err error) error { return errors.New(text.Shorten(err.Error(), maxParameter)) }

// find asks the provider for its addresses, once.
func (p *Provider) find(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	if p.fault != nil && p.now().Sub(p.tried) < retryTime {
		return nil, p.fault
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime) // it is for all who wait
	defer cancel()
	found, err := oidc.NewProvider(oidc.ClientContext(asking, p.client), p.set.Issuer)
	if err == nil {
		err = p.checkAddresses(found)
	}
	p.tried, p.fault = p.now(), nil
	if err != nil {
		p.fault = &UnreachableError{clipped(err)}
		return nil, p.fault
	}
	p.found = found
	return found, nil
}

// checkAddresses checks that secrets go over TLS, or stay on this machine with an issuer on it.
func (p *Provider) checkAddresses(found *oidc.Provider) error {
	var more struct {
		Keys string `json:"jwks_uri"`
	}
	if err := found.Claims(&more); err != nil {
		return err
	}
	addresses := []string{found.Endpoint().AuthURL, found.Endpoint().TokenURL, more.Keys}
	if info := found.UserInfoEndpoint(); info != "" {
		addresses = append(addresses, info)
	}
	local := strings.HasPrefix(p.set.Issuer, "http:")
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && !(local && u.Scheme == "http" && u.Hostname() == p.Host()) {
			return fmt.Errorf("it names %q as one of its addresses, which is not https", address)
		}
	}
	return nil
}

// oauth is the client at the provider. It sends its secret in the header, unless the provider says that it can only read it elsewhere; a client
// without a secret names itself in the body.
func (p *Provider) oauth(found *oidc.Provider) *oauth2.Config {
	var ways struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	endpoint := found.Endpoint()
	err := found.Claims(&ways)
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.secret == "" || err == nil && len(ways.Methods) > 0 && !slices.Contains(ways.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.set.ClientID, ClientSecret: p.secret, Endpoint: endpoint, RedirectURL: p.set.RedirectURL,
		Scopes: append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(p.set.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })...),
	}
}
