// Package admin serves a server's operator to programs: the admin API over HTTP, and the control socket.
//
// # API
//
//	GET    /api/compat                   State; its ETag is the revision
//	PUT    /api/compat                   ChangeRequest, If-Match: "revision" → Outcome; 409 if the revision has changed
//	POST   /api/compat/evaluate          EvaluateRequest → EvaluateAnswer: the verdict for a client, or the effect of settings
//	POST   /api/compat/rollback          RollbackRequest, If-Match → Outcome
//	GET    /api/compat/audit             ?before=N&limit=N → AuditAnswer, the newest first
//	GET    /api/compat/audit/verify      VerifyAnswer
//	GET    /api/compat/manifest          the server's own components, as compatgen writes them
//	GET    /api/compat/rules             the public rules, as collet release rules signs them (compat.Rules)
//	GET    /api/compat/tokens            the names of all tokens
//	POST   /api/compat/tokens            TokenRequest → TokenAnswer, with the secret, this once
//	DELETE /api/compat/tokens/{name}
//	POST   /api/compat/store             StoreRequest → operator.Moved: the store is moved into a cluster, or out of it
//	GET    /api/compat/store/backup      the whole store, as a file
//	GET    /api/players/{id}/floor       FloorAnswer
//	POST   /api/players/{id}/floor       FloorRequest → FloorAnswer
//	PUT    /api/games/{name}             GamesRequest
//	GET    /api/adoption                 ?window=hour|day|month → adoption.Report
//	POST   /api/releases/decisions       ReleaseDecision: what a rollout that drives itself did
//
// A request names its actor with "Authorization: Bearer TOKEN". Addresses, names and other headers prove nothing, because a local
// proxy or forwarder passes on requests of others. The first token comes from the control socket or from Operator.FirstToken.
// Bodies are JSON of at most MaxAsk bytes; unknown keys are errors. Every answer but a manifest is JSON; a failure is an
// APIError. The API is stateless. The control socket answers at the same paths, see ServeControl.
//
// # Control socket
//
// The control socket carries HTTP: POST /reload is answered with 200 once the new catalogue is offered, and with 500 and the
// reason if the old one stays. A client that can connect may reload and use the API; the socket's permissions admit only the
// server's own user and root.
package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/release/rollout"
	"collet/netproto/server/operator"
)

const (
	apiCompat  = "/api/compat"
	apiPlayers = "/api/players/"
	apiGames   = "/api/games/"
	// APIAdoption is the path of the report of beacons.
	APIAdoption = "/api/adoption"
	// MaxAsk is the largest body of a request in bytes: a document of settings, and the rest of the request.
	MaxAsk = compat.MaxSettings + 64<<10
)

// ChangeRequest is the body of PUT /api/compat. Settings are a document as in State; keys that are left out stay as they are.
type ChangeRequest struct {
	Settings    json.RawMessage `json:"settings"`
	Comment     string          `json:"comment"`
	Confirm     bool            `json:"confirm"`      // confirms a lowering
	KickSeconds *int            `json:"kick_seconds"` // null: sessions stay
}

// RollbackRequest is the body of POST /api/compat/rollback.
type RollbackRequest struct {
	Revision    uint64 `json:"revision"` // to go back to
	Comment     string `json:"comment"`
	Confirm     bool   `json:"confirm"`
	KickSeconds *int   `json:"kick_seconds"`
}

// AuditAnswer are records, and where the next page begins: 0 is the end.
type AuditAnswer struct {
	Records []compat.Audit `json:"records"`
	Before  uint64         `json:"before"`
}

// VerifyAnswer says whether the audit log is as it was written.
type VerifyAnswer struct {
	Good    bool   `json:"good"`
	Records int    `json:"records"`
	Why     string `json:"why,omitempty"`
}

// TokenRequest is the body of POST /api/compat/tokens, and TokenAnswer what comes back.
type TokenRequest struct {
	Name string        `json:"name"`
	Role operator.Role `json:"role"`
}

// TokenAnswer has the secret, which is shown only once.
type TokenAnswer struct {
	Name   string        `json:"name"`
	Role   operator.Role `json:"role"`
	Secret string        `json:"secret"`
}

// StoreRequest is the body of POST /api/compat/store: operator.KindBolt and KindNATS.
type StoreRequest struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Comment string `json:"comment"`
	Confirm bool   `json:"confirm"` // the other nodes are lost: see operator.Move
}

// APIDecisions is where decisions about releases are recorded.
const APIDecisions = "/api/releases/decisions"

// ReleaseDecision is the body of POST APIDecisions: what a rollout that drives itself did with a release for one target.
type ReleaseDecision struct {
	Release string         `json:"release"` // product/channel/target/number
	Action  rollout.Action `json:"action"`  // rollout.Widen or rollout.Hold
	Percent int            `json:"percent"` // of the players that are offered it now, or were
	Reason  string         `json:"reason"`
}

// check returns what is wrong.
func (d ReleaseDecision) check() error {
	switch _, isEntry, err := release.ParseEntryPath(d.Release); {
	case err != nil || !isEntry || len(d.Release) > maxRelease:
		return &operator.InputError{Field: "release", Why: "want PRODUCT/CHANNEL/TARGET/NUMBER"}
	case d.Action != rollout.Widen && d.Action != rollout.Hold:
		return &operator.InputError{Field: "action", Why: fmt.Sprintf("want %s or %s", rollout.Widen, rollout.Hold)}
	case d.Percent < 0 || d.Percent > 100:
		return &operator.InputError{Field: "percent", Why: "want 0 to 100"}
	case d.Reason == "":
		return &operator.InputError{Field: "reason", Why: "is missing"}
	default:
		return nil
	}
}

// maxRelease is the longest path of a release that is recorded: four names of 64 bytes.
const maxRelease = 260

// FloorRequest is the body of POST /api/players/{id}/floor.
type FloorRequest struct {
	Floor   int32  `json:"floor"`
	Lower   bool   `json:"lower"` // allows lowering
	Comment string `json:"comment"`
}

// FloorAnswer is an account's floor.
type FloorAnswer struct {
	Account string `json:"account"`
	Floor   int32  `json:"floor"`
	Was     int32  `json:"was"` // before this request
}

// APIError is the body of an answer that is no success.
type APIError struct {
	Error    string           `json:"error"`
	Code     string           `json:"code"` // stable: "stale", "invalid", "confirm", "forbidden", "unauthorized", "unknown", "failed"
	Revision uint64           `json:"revision,omitempty"`
	Mistakes []compat.Mistake `json:"mistakes,omitempty"`
	Confirm  *ConfirmNeeds    `json:"confirm,omitempty"`
}

// ConfirmNeeds says what a lowering lacks.
type ConfirmNeeds struct {
	Impact  compat.Impact `json:"impact"`
	Comment bool          `json:"comment"`
	Confirm bool          `json:"confirm"`
}

// Owns reports whether a path belongs to the admin API.
func Owns(path string) bool {
	return path == apiCompat || path == APIAdoption || path == APIDecisions || strings.HasPrefix(path, apiCompat+"/") || strings.HasPrefix(path, apiPlayers) || strings.HasPrefix(path, apiGames)
}

// Door is the part of a server that administration over HTTP needs.
type Door interface {
	// Operator is nil without a store, and while the server starts.
	Operator() *operator.Operator
	// Recognised is called for a request with a valid token.
	Recognised(r *http.Request)
	// Unrecognised counts a request without a valid token; wrong means that it had an invalid one, which is logged. It is false
	// if the address is above its limit.
	Unrecognised(r *http.Request, wrong bool) bool
}

// New is the handler of the admin API over HTTP, for requests with a valid token.
func New(door Door) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		op := door.Operator()
		if op == nil {
			answerError(w, http.StatusNotFound, APIError{Code: "unknown", Error: NoStore})
			return
		}
		by, fault := authenticate(door, op, r)
		if fault != nil {
			answerError(w, fault.status, APIError{Code: "unauthorized", Error: fault.text})
			return
		}
		door.Recognised(r)
		Handler(op, by).ServeHTTP(w, r)
	})
}

// NoStore is the answer of a server without an operator.
const NoStore = "this server has no compatibility store: set Compat.Store"

// accessFault is why a request is not answered.
type accessFault struct {
	status int
	text   string
}

// authenticate finds the actor of a request by its token.
func authenticate(door Door, op *operator.Operator, r *http.Request) (operator.Actor, *accessFault) {
	secret, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if bearer {
		if by, known := op.Tokens.Authenticate(strings.TrimSpace(secret)); known {
			by.Source, by.Remote = sourceOf(r), RemoteOf(r)
			return by, nil
		}
	}
	switch {
	case !door.Unrecognised(r, bearer):
		return operator.Actor{}, &accessFault{http.StatusTooManyRequests, "too many wrong tokens from this address: wait a minute"}
	case !op.Tokens.Exist():
		return operator.Actor{}, &accessFault{http.StatusUnauthorized, noTokenYet}
	default:
		return operator.Actor{}, &accessFault{http.StatusUnauthorized, "the request has no token: send Authorization: Bearer TOKEN"}
	}
}

// noTokenYet is what to do on a server that has no token.
const noTokenYet = "this server has no token yet: create the first one on its machine with collet compat token NAME --control SOCKET, or --config FILE"

// RemoteOf is the address of a request for the audit log; empty where there is none.
func RemoteOf(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return from.Addr().Unmap().WithZone("").String()
}

// sourceHeader names the program of a request, only for the audit log.
const sourceHeader = "Collet-Source"

func sourceOf(r *http.Request) string {
	if r.Header.Get(sourceHeader) == compat.SourceCLI {
		return compat.SourceCLI
	}
	return compat.SourceAPI
}

// readRequest reads a body.
func readRequest(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &operator.InputError{Field: "Content-Type", Why: "must be application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxAsk))
	if err != nil {
		return &operator.InputError{Field: "body", Why: err.Error()}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &operator.InputError{Field: "body", Why: err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &operator.InputError{Field: "body", Why: "something follows the document"}
	}
	return nil
}

// answerJSON answers with a document.
func answerJSON(w http.ResponseWriter, status int, document any) {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error": "the answer can't be written", "code": "failed"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}

func answerError(w http.ResponseWriter, status int, e APIError) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="collet-server"`)
	}
	answerJSON(w, status, e)
}

// answerFailure answers with an error of an operator's method.
func answerFailure(w http.ResponseWriter, err error) {
	var stale *operator.StaleError
	var confirm *operator.ConfirmError
	var forbidden *operator.ForbiddenError
	var input *operator.InputError
	var settings *compat.SettingsError
	var readOnly *operator.ReadOnlyError
	switch {
	case errors.As(err, &stale):
		answerError(w, http.StatusConflict, APIError{Code: "stale", Error: err.Error(), Revision: stale.Current})
	case errors.As(err, &settings):
		answerError(w, http.StatusUnprocessableEntity, APIError{Code: "invalid", Error: err.Error(), Mistakes: settings.Mistakes})
	case errors.As(err, &confirm):
		needs := ConfirmNeeds{Impact: confirm.Impact, Comment: confirm.NeedsComment, Confirm: confirm.NeedsConfirm}
		answerError(w, http.StatusUnprocessableEntity, APIError{Code: "confirm", Error: err.Error(), Confirm: &needs})
	case errors.As(err, &forbidden):
		answerError(w, http.StatusForbidden, APIError{Code: "forbidden", Error: err.Error()})
	case errors.As(err, &input):
		answerError(w, http.StatusBadRequest, APIError{Code: "invalid", Error: err.Error(), Mistakes: []compat.Mistake{{Field: input.Field, Why: input.Why}}})
	case errors.As(err, &readOnly), operator.IsClosed(err):
		answerError(w, http.StatusServiceUnavailable, APIError{Code: "read-only", Error: err.Error()})
	case errors.Is(err, operator.ErrUnknown):
		answerError(w, http.StatusNotFound, APIError{Code: "unknown", Error: err.Error()})
	default:
		answerError(w, http.StatusInternalServerError, APIError{Code: "failed", Error: err.Error()})
	}
}

// readIfMatch is the revision that a request was made for: If-Match, with or without quotes.
func readIfMatch(r *http.Request) (uint64, error) {
	text := strings.Trim(r.Header.Get("If-Match"), `"`)
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, &operator.InputError{Field: "If-Match", Why: `must be the revision that you have looked at, like "12"`}
	}
	return revision, nil
}

// Countdown is a number of seconds as a Change has it; nil for nil. What is out of range stays so.
func Countdown(seconds *int) *time.Duration {
	if seconds == nil {
		return nil
	}
	d := time.Duration(min(max(*seconds, -1), int(operator.MaxKick/time.Second)+1)) * time.Second
	return &d
}
