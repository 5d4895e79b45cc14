package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"collet/netproto"
	"collet/netproto/adoption"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// EvaluateRequest is the body of POST /api/compat/evaluate: either a hello, or settings.
type EvaluateRequest struct {
	Hello    *HelloRequest   `json:"hello,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"` // keys that are left out are as they are
}

// HelloRequest is what a client would say. What is left out it does not say; a logic version or a component hash makes it a client
// that says such things, and otherwise it is one that knows nothing but compatibility versions.
type HelloRequest struct {
	Target        string `json:"target"`
	Compatibility string `json:"compatibility"`
	Updater       string `json:"updater"` // "same" if empty, "older" or "newer"
	Logic         *int32 `json:"logic"`
	Patch         uint32 `json:"patch"`
	Components    string `json:"components"` // 16 hex digits
	Content       string `json:"content"`
	Account       string `json:"account"`
	BuildTime     int64  `json:"build_time"`
	BuildSeq      uint64 `json:"build_seq"`
	BuildID       string `json:"build_id"`
	Branch        string `json:"branch"`
	Flags         uint32 `json:"flags"`
}

// EvaluateAnswer is a verdict with everything that explains it, or a forecast.
type EvaluateAnswer struct {
	Verdict  *VerdictAnswer     `json:"verdict,omitempty"`
	Forecast *operator.Forecast `json:"forecast,omitempty"`
}

// Rules are numbers of rules. As JSON they are a list of numbers: a plain []uint8 would be base64.
type Rules []uint8

// MarshalJSON implements json.Marshaler.
func (r Rules) MarshalJSON() ([]byte, error) {
	numbers := make([]int, len(r))
	for i, rule := range r {
		numbers[i] = int(rule)
	}
	return json.Marshal(numbers)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Rules) UnmarshalJSON(text []byte) error {
	var numbers []uint16 // which is no text of bytes to package json
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	*r = make(Rules, len(numbers))
	for i, n := range numbers {
		if n > 255 {
			return fmt.Errorf("there is no rule %d", n)
		}
		(*r)[i] = uint8(n)
	}
	return nil
}

// VerdictAnswer is a compat.Judgement for people and other programs.
type VerdictAnswer struct {
	Verdict    string                 `json:"verdict"`
	Code       uint8                  `json:"code"`
	Rule       uint8                  `json:"rule"`
	Reasons    Rules                  `json:"reasons"` // rules that apply, each by itself
	Warnings   uint32                 `json:"warnings"`
	Pinned     bool                   `json:"pinned"`
	Age        string                 `json:"age"`
	Revision   uint64                 `json:"revision"`
	RetryAfter uint32                 `json:"retry_after,omitempty"`
	MinPatch   uint32                 `json:"min_patch,omitempty"`
	Floor      int32                  `json:"floor,omitempty"`
	Redirect   *compat.Endpoint       `json:"redirect,omitempty"`
	Payload    *operator.PayloadState `json:"payload,omitempty"`
	MessageKey string                 `json:"message_key,omitempty"`
	Message    string                 `json:"message,omitempty"`
	StoreURL   string                 `json:"store_url,omitempty"`
}

// api answers requests of one actor.
type api struct {
	op *operator.Operator
	by operator.Actor
}

// Handler answers the admin API to an actor that the caller has recognised.
func Handler(op *operator.Operator, by operator.Actor) http.Handler {
	a := api{op, by}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiCompat, a.getState)
	mux.HandleFunc("PUT "+apiCompat, a.putSettings)
	mux.HandleFunc("POST "+apiCompat+"/evaluate", a.postEvaluate)
	mux.HandleFunc("POST "+apiCompat+"/rollback", a.postRollback)
	mux.HandleFunc("GET "+apiCompat+"/audit", a.getAudit)
	mux.HandleFunc("GET "+apiCompat+"/audit/verify", a.getVerify)
	mux.HandleFunc("GET "+apiCompat+"/manifest", a.getManifest)
	mux.HandleFunc("GET "+apiCompat+"/rules", a.getRules)
	mux.HandleFunc("GET "+apiCompat+"/tokens", a.getTokens)
	mux.HandleFunc("POST "+apiCompat+"/tokens", a.postToken)
	mux.HandleFunc("DELETE "+apiCompat+"/tokens/{name}", a.deleteToken)
	mux.HandleFunc("POST "+apiCompat+"/store", a.postStore)
	mux.HandleFunc("GET "+apiCompat+"/store/backup", a.getBackup)
	mux.HandleFunc("GET "+apiPlayers+"{id}/floor", a.getFloor)
	mux.HandleFunc("POST "+apiPlayers+"{id}/floor", a.postFloor)
	mux.HandleFunc("PUT "+apiGames+"{name}", a.putGames)
	mux.HandleFunc("GET "+APIAdoption, a.getAdoption)
	mux.HandleFunc("POST "+APIDecisions, a.postDecision)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if op.Closed() {
			answerError(w, http.StatusServiceUnavailable, APIError{Code: "read-only", Error: "this server hands over to a new one at this moment, and has changed nothing: try again"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// entityTag is a revision as HTTP has it.
func entityTag(revision uint64) string { return fmt.Sprintf(`"%d"`, revision) }

func (a api) getState(w http.ResponseWriter, _ *http.Request) {
	s := a.op.Show()
	w.Header().Set("ETag", entityTag(s.Settings.Revision))
	answerJSON(w, http.StatusOK, s)
}

func (a api) putSettings(w http.ResponseWriter, r *http.Request) {
	var ask ChangeRequest
	revision, err := readIfMatch(r)
	if err == nil {
		err = readRequest(w, r, &ask)
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	settings, err := a.op.Propose(ask.Settings)
	if err != nil {
		answerFailure(w, err)
		return
	}
	answerOutcome(w)(a.op.Change(r.Context(), a.by, operator.Change{
		Revision: revision, Settings: settings, Comment: ask.Comment, Confirm: ask.Confirm, Kick: Countdown(ask.KickSeconds),
	}))
}

// answerOutcome answers with the result of a change.
func answerOutcome(w http.ResponseWriter) func(operator.Outcome, error) {
	return func(out operator.Outcome, err error) {
		if err != nil {
			answerFailure(w, err)
			return
		}
		w.Header().Set("ETag", entityTag(out.Settings.Revision))
		answerJSON(w, http.StatusOK, out)
	}
}

func (a api) postRollback(w http.ResponseWriter, r *http.Request) {
	var ask RollbackRequest
	revision, err := readIfMatch(r)
	if err == nil {
		err = readRequest(w, r, &ask)
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	change := operator.Change{Revision: revision, Comment: ask.Comment, Confirm: ask.Confirm, Kick: Countdown(ask.KickSeconds)}
	answerOutcome(w)(a.op.Rollback(r.Context(), a.by, ask.Revision, change))
}

func (a api) postEvaluate(w http.ResponseWriter, r *http.Request) {
	var ask EvaluateRequest
	var answer EvaluateAnswer
	err := readRequest(w, r, &ask)
	switch {
	case err != nil:
	case (ask.Hello == nil) == (len(ask.Settings) == 0):
		err = &operator.InputError{Field: "body", Why: "needs either a hello or settings"}
	case ask.Hello != nil:
		answer.Verdict, err = a.judge(*ask.Hello)
	default:
		var settings compat.Settings
		if settings, err = a.op.Propose(ask.Settings); err == nil {
			var f operator.Forecast
			f, err = a.op.DryRun(settings)
			answer.Forecast = &f
		}
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	answerJSON(w, http.StatusOK, answer)
}

// judge judges an invented hello.
func (a api) judge(ask HelloRequest) (*VerdictAnswer, error) {
	h, err := ask.Hello()
	if err != nil {
		return nil, err
	}
	j, err := a.op.Evaluate(h, ask.Account)
	if err != nil {
		return nil, err
	}
	return Explain(a.op.Snapshot(), h, j), nil
}

// Explain is a judgement of a hello by a snapshot, for people and other programs.
func Explain(s *compat.Snapshot, h compat.Hello, j compat.Judgement) *VerdictAnswer {
	answer := &VerdictAnswer{
		Verdict: j.Verdict.String(), Code: uint8(j.Verdict), Rule: uint8(j.Rule), Reasons: Rules{}, Warnings: uint32(j.Warnings),
		Pinned: j.Pinned(), Age: j.Age.String(), Revision: j.Revision, RetryAfter: j.RetryAfter, MinPatch: j.MinPatch, Floor: j.Floor,
		Redirect: j.Endpoint,
	}
	for r := compat.RuleUpdater; r < compat.RuleAccept; r++ {
		if j.Reasons&compat.ReasonOf(r) != 0 {
			answer.Reasons = append(answer.Reasons, uint8(r))
		}
	}
	if p := j.Payload; p != nil {
		answer.Payload = &operator.PayloadState{Logic: p.Logic, Patch: p.Patch, Components: operator.HexSum(p.Components), Active: !p.Undeclared, Build: operator.BuildState{Logic: p.Logic}}
	}
	tags := netproto.TagsFor(s, &h, j)
	answer.MessageKey, answer.Message, answer.StoreURL = tags.MessageKey, tags.Message, tags.StoreURL
	return answer
}

// Hello is the hello of a connection with the same data. The error is an *operator.InputError.
func (ask HelloRequest) Hello() (compat.Hello, error) {
	said := netproto.HelloTags{
		Build: compat.Build{Logic: compat.NoLogic, Time: ask.BuildTime, Seq: ask.BuildSeq, ID: ask.BuildID, Branch: ask.Branch},
		Patch: ask.Patch, Content: ask.Content, Account: ask.Account, Flags: compat.Flags(ask.Flags),
	}
	if ask.Logic != nil {
		said.Build.Logic = *ask.Logic
	}
	if ask.Components != "" {
		sum, err := strconv.ParseUint(ask.Components, 16, 64)
		if err != nil || len(ask.Components) != 16 {
			return compat.Hello{}, &operator.InputError{Field: "hello.components", Why: fmt.Sprintf("%s is not 16 hex digits", text.Quote(ask.Components))}
		}
		said.Build.Components = sum
	}
	m := netproto.Handshake{Version: netproto.C1.Version(), Compatibility: ask.Compatibility, Target: ask.Target}
	if err := m.Say(said); err != nil {
		return compat.Hello{}, &operator.InputError{Field: "hello", Why: err.Error()}
	}
	h := m.Hello(netproto.C1)
	switch ask.Updater {
	case "", "same":
	case "older":
		h.Updater = compat.UpdaterOlder
	case "newer":
		h.Updater = compat.UpdaterNewer
	default:
		return h, &operator.InputError{Field: "hello.updater", Why: fmt.Sprintf("%s is unknown: use same, older or newer", text.Quote(ask.Updater))}
	}
	return h, nil
}

func (a api) getAudit(w http.ResponseWriter, r *http.Request) {
	const page = 50 // records, where the request names no limit
	before, faultBefore := Number(r, "before", 0)
	limit, faultLimit := Number(r, "limit", page)
	if err := errors.Join(faultBefore, faultLimit); err != nil {
		answerFailure(w, err)
		return
	}
	records, err := a.op.Audit.Records(before, int(min(limit, operator.MaxRecords)))
	if err != nil {
		answerFailure(w, err)
		return
	}
	answer := AuditAnswer{Records: records}
	if len(records) > 0 && records[len(records)-1].Seq > 1 {
		answer.Before = records[len(records)-1].Seq
	}
	answerJSON(w, http.StatusOK, answer)
}

// Number is a number in a request's query.
func Number(r *http.Request, name string, otherwise uint64) (uint64, error) {
	digits := r.URL.Query().Get(name)
	if digits == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, &operator.InputError{Field: name, Why: fmt.Sprintf("%s is no number", text.Quote(digits))}
	}
	return n, nil
}

func (a api) getVerify(w http.ResponseWriter, _ *http.Request) {
	records, err := a.op.Audit.Verify()
	answer := VerifyAnswer{Good: err == nil, Records: records}
	if err != nil {
		answer.Why = err.Error()
	}
	answerJSON(w, http.StatusOK, answer)
}

func (a api) getManifest(w http.ResponseWriter, _ *http.Request) {
	m := a.op.Manifest()
	if m == nil {
		answerFailure(w, fmt.Errorf("component manifest: %w: set Compat.Manifest", operator.ErrUnknown))
		return
	}
	text, err := compat.EncodeManifest(m)
	if err != nil {
		answerFailure(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may have gone
}

func (a api) getRules(w http.ResponseWriter, _ *http.Request) {
	document, err := compat.Rules{Protocol: netproto.VersionC1, Snapshot: *a.op.Snapshot()}.Encode()
	if err != nil {
		answerFailure(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // the client may have gone
}

func (a api) getTokens(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, map[string][]operator.Token{"tokens": append([]operator.Token{}, a.op.Tokens.List()...)})
}

func (a api) postToken(w http.ResponseWriter, r *http.Request) {
	var ask TokenRequest
	err := readRequest(w, r, &ask)
	var secret string
	if err == nil {
		secret, err = a.op.Tokens.Create(a.by, ask.Name, ask.Role)
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	answerJSON(w, http.StatusCreated, TokenAnswer{Name: ask.Name, Role: ask.Role.Current(), Secret: secret})
}

func (a api) deleteToken(w http.ResponseWriter, r *http.Request) {
	if err := a.op.Tokens.Drop(a.by, r.PathValue("name")); err != nil {
		answerFailure(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// postStore moves the store. The move is given up if the client goes before the cluster has all of it.
func (a api) postStore(w http.ResponseWriter, r *http.Request) {
	var ask StoreRequest
	err := readRequest(w, r, &ask)
	var moved operator.Moved
	if err == nil {
		moved, err = a.op.MoveStore(r.Context(), a.by, operator.Move{From: ask.From, To: ask.To, Comment: ask.Comment, Confirm: ask.Confirm})
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	answerJSON(w, http.StatusOK, moved)
}

// getBackup sends the whole store. A client checks what it has got: an answer that ends early is no store.
func (a api) getBackup(w http.ResponseWriter, _ *http.Request) {
	begun := &beginning{ResponseWriter: w}
	if err := a.op.Backup(a.by, begun); err != nil && !begun.begun {
		answerFailure(w, err)
	}
}

// beginning is an answer with a file that knows whether anything of it was sent.
type beginning struct {
	http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	if !b.begun {
		b.Header().Set("Content-Type", "application/octet-stream")
		b.begun = true
	}
	return b.ResponseWriter.Write(p)
}

// GamesRequest is the body of PUT /api/games/{name}: the sessions of a game server now.
type GamesRequest struct {
	Sessions []operator.GameSessions `json:"sessions"`
}

// putGames takes what a game server tells. Any role may: it changes nothing but a number that is shown.
func (a api) putGames(w http.ResponseWriter, r *http.Request) {
	var ask GamesRequest
	err := readRequest(w, r, &ask)
	if err == nil {
		err = a.op.Games.Tell(r.PathValue("name"), ask.Sessions)
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// getAdoption answers with the report of a window.
func (a api) getAdoption(w http.ResponseWriter, r *http.Request) {
	window, err := adoption.ParseWindow(r.URL.Query().Get("window"))
	if err != nil {
		answerFailure(w, &operator.InputError{Field: "window", Why: err.Error()})
		return
	}
	if a.op.Figures == nil {
		answerFailure(w, fmt.Errorf("figures of beacons: %w: set Operations.Figures to a folder", operator.ErrUnknown))
		return
	}
	report, err := a.op.Figures.Adoption(window)
	if err != nil {
		answerFailure(w, err)
		return
	}
	answerJSON(w, http.StatusOK, report)
}

// postDecision records what a rollout that drives itself did.
func (a api) postDecision(w http.ResponseWriter, r *http.Request) {
	var d ReleaseDecision
	err := readRequest(w, r, &d)
	if err == nil {
		err = d.check()
	}
	if err == nil {
		err = a.op.Audit.Note(a.by, operator.RoleRelease, d.Reason, "releases."+d.Release, map[string]any{"action": d.Action, "percent": d.Percent})
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a api) getFloor(w http.ResponseWriter, r *http.Request) {
	account := r.PathValue("id")
	floor, err := a.op.Floors.Get(account)
	if err != nil {
		answerFailure(w, err)
		return
	}
	answerJSON(w, http.StatusOK, FloorAnswer{Account: account, Floor: floor, Was: floor})
}

func (a api) postFloor(w http.ResponseWriter, r *http.Request) {
	var ask FloorRequest
	account := r.PathValue("id")
	err := readRequest(w, r, &ask)
	var was int32
	if err == nil {
		was, err = a.op.Floors.Set(a.by, account, ask.Floor, ask.Comment, ask.Lower)
	}
	if err != nil {
		answerFailure(w, err)
		return
	}
	answerJSON(w, http.StatusOK, FloorAnswer{Account: account, Floor: ask.Floor, Was: was})
}
