// Package compat is `collet compat`: the commands that show and change which versions of a game may connect. Each command asks a server: over
// its HTTP port with a token, over its control socket, or by its store while the server does not run. It prints the answer as a table or JSON.
// The rules themselves are in netproto/compat, and the settings in netproto/server/operator.
package compat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// Command is `collet compat`.
type Command struct {
	Show     showCommand     `cmd:"" help:"Show which versions may connect, the files on offer, and the connected clients."`
	Set      setCommand      `cmd:"" help:"Change the settings."`
	DryRun   dryRunCommand   `cmd:"" help:"Show what a change would do to connected clients. Changes nothing."`
	Verdict  verdictCommand  `cmd:"" help:"Show the verdict that a client would get, and the reasons."`
	History  historyCommand  `cmd:"" help:"List changes of the settings: time, author, reason."`
	Verify   verifyCommand   `cmd:"" help:"Check that the history was not altered."`
	Rollback rollbackCommand `cmd:"" help:"Go back to the settings of an earlier revision."`
	Manifest manifestCommand `cmd:"" help:"List the components of a build."`
	Diff     diffCommand     `cmd:"" help:"List the components in which two builds differ, and show which build is older."`
	Rules    rulesCommand    `cmd:"" help:"Print the public rules, for clients that reach no server."`
	Floor    floorCommand    `cmd:"" help:"Show or raise the minimum version of a player."`
	Token    tokenCommand    `cmd:"" help:"List, make and revoke access tokens."`
	Store    storeCommand    `cmd:"" help:"Move the store into a cluster or out of it, back it up, restore it."`
}

// Help is what --help adds to the list of commands.
func (Command) Help() string {
	return `Uses the HTTP port of a running collet-server, with a token (Compat.Store in its settings turns this on). Over the control
socket, from --control or the settings file --config, the server's own user and root need no token; so they make the first
one. If the server of --config does not run, its store is opened instead, under the lock that a running server holds:

  collet compat token ada --control /run/collet-server/control > ~/.collet-token
  collet compat show --server http://127.0.0.1:9400 --token-file ~/.collet-token
  collet compat dry-run --active 6-7
  collet compat set --active 6-7 --comment "5 has the trading bug" --yes
  collet compat history
  collet compat set --config /etc/collet-server.toml --maintenance on --comment "moving the database"

The server is --server or $COLLET_ADMIN; the token is in $COLLET_TOKEN or --token-file.`
}

const (
	// maxAnswer is the largest answer that is read, in bytes: a page of the history with the largest settings in each record.
	maxAnswer = 128 << 20
	// answerTime is how long a server may take; checking a long history reads all of it.
	answerTime = 60 * time.Second
)

// apiFlags select the server and its credentials. Embed it.
type apiFlags struct {
	Server    string `group:"api" env:"COLLET_ADMIN" default:"http://127.0.0.1:9400" placeholder:"URL" help:"The server's HTTP port (default: $$COLLET_ADMIN, or ${default})."`
	TokenFile string `group:"api" type:"existingfile" placeholder:"FILE" help:"File with the token (default: $$COLLET_TOKEN)."`
	Plain     bool   `group:"api" help:"Send the token unencrypted to another machine."`
	localFlags
}

// api is a server that is asked.
type api struct {
	base   *url.URL
	name   string // for people
	token  string
	client *http.Client
	closer io.Closer // nil for none
}

// apiError is an answer that is no success.
type apiError struct {
	status int
	admin.APIError
}

func (e *apiError) Error() string {
	message := cmp.Or(e.APIError.Error, http.StatusText(e.status))
	for _, m := range e.Mistakes {
		if !strings.Contains(message, m.Why) {
			message += "\n  " + m.String()
		}
	}
	return text.Lines(message) + e.advice()
}

// advice is what to do about it.
func (e *apiError) advice() string {
	switch {
	case e.Code == "stale":
		return "; look at it with collet compat show, and repeat the change"
	case e.Confirm != nil && e.Confirm.Comment && e.Confirm.Confirm:
		return "; repeat it with --yes and --comment if that is meant"
	case e.Confirm != nil && e.Confirm.Comment:
		return "; repeat it with --comment if that is meant"
	case e.Confirm != nil:
		return "; repeat it with --yes if that is meant"
	case e.status == http.StatusUnauthorized:
		return "; set $COLLET_TOKEN or name a file with --token-file"
	default:
		return ""
	}
}

// openAPI prepares to ask. Of a server on another machine nothing is connected to yet. The caller closes it.
func (f apiFlags) openAPI(ctx context.Context) (*api, error) {
	if f.given() {
		return f.localFlags.openLocal(ctx)
	}
	base, err := url.Parse(strings.TrimSuffix(f.Server, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, console.Usage(fmt.Errorf("--server %q: want http://HOST:PORT or https://HOST:PORT", f.Server))
	}
	token := os.Getenv("COLLET_TOKEN")
	if f.TokenFile != "" {
		data, err := os.ReadFile(f.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		token = string(data)
	}
	token = strings.TrimSpace(token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token has characters that no token has")
	}
	if token != "" && base.Scheme == "http" && !isLocal(base.Hostname()) && !f.Plain {
		return nil, console.Usage(fmt.Errorf("--server %s: the token would travel unencrypted; use https://, a tunnel to the machine, or --plain", f.Server))
	}
	return &api{base: base, name: base.Host, token: token, client: &http.Client{
		Timeout: answerTime,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("it redirects to %s, which is not followed; name that server with --server if it is the right one", console.Clean(r.URL.Host))
		},
	}}, nil
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || strings.EqualFold(host, "localhost")
}

// request sends a request and reads the answer into out, nil to leave it. body may be nil; revision 0 asks for no condition.
func (a *api) request(ctx context.Context, method, path string, body any, revision uint64, out any) error {
	var text io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(data)
	}
	r, err := a.newRequest(ctx, method, path, text)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if revision != 0 {
		r.Header.Set("If-Match", fmt.Sprintf(`"%d"`, revision))
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return a.unreachable(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer of %s: %w", a.name, err)
	case len(data) > maxAnswer:
		return fmt.Errorf("%s answers with more than %d bytes", a.name, maxAnswer)
	case answer.StatusCode/100 != 2:
		return a.fault(answer, data)
	}
	return a.readAnswer(data, out)
}

// newRequest is a request with what the server knows the caller by.
func (a *api) newRequest(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base.String()+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Collet-Source", compat.SourceCLI)
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	return r, nil
}

// fault is the error of an answer that is no success.
func (a *api) fault(answer *http.Response, data []byte) error {
	fault := &apiError{status: answer.StatusCode}
	if json.Unmarshal(data, &fault.APIError) != nil || fault.APIError.Error == "" {
		fault.APIError = admin.APIError{Error: fmt.Sprintf("%s answers %s: it is no collet-server, or has no Compat.Store", a.name, answer.Status)}
	}
	return fault
}

// readAnswer takes an answer in.
func (a *api) readAnswer(data []byte, out any) error {
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = data
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("the answer of %s is malformed: %w", a.name, err)
	}
	return nil
}

// unreachable adds advice to the error of a server that does not answer.
func (a *api) unreachable(err error) error {
	if fault := unreachableSocket(a.name, err); fault != nil {
		return fault
	}
	var fault *net.OpError
	if errors.As(err, &fault) && fault.Op == "dial" {
		return fmt.Errorf("no server answers at %s: %w; name the HTTP port of the server with --server or $COLLET_ADMIN", a.name, fault.Err)
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		return fmt.Errorf("ask %s: %w", a.name, inner.Err)
	}
	return err
}

// state asks for everything.
func (a *api) state(ctx context.Context) (s operator.State, err error) {
	return s, a.request(ctx, http.MethodGet, "/api/compat", nil, 0, &s)
}
