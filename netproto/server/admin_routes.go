package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"collet/netproto"
	"collet/netproto/compat"
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
	Verdict  *VerdictAnswer `json:"verdict,omitempty"`
	Forecast *Forecast      `json:"forecast,omitempty"`
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
	Verdict    string           `json:"verdict"`
	Code       uint8            `json:"code"`
	Rule       uint8            `json:"rule"`
	Reasons    Rules            `json:"reasons"` // rules that apply, each by itself
	Warnings   uint32           `json:"warnings"`
	Pinned     bool             `json:"pinned"`
	Age        string           `json:"age"`
	Revision   uint64           `json:"revision"`
	RetryAfter uint32           `json:"retry_after,omitempty"`
	MinPatch   uint32           `json:"min_patch,omitempty"`
	Floor      int32            `json:"floor,omitempty"`
	Redirect   *compat.Endpoint `json:"redirect,omitempty"`
	Payload    *PayloadState    `json:"payload,omitempty"`
	MessageKey string           `json:"message_key,omitempty"`
	Message    string           `json:"message,omitempty"`
	StoreURL   string           `json:"store_url,omitempty"`
}

// actorKey is where a request's context has who asks.
type actorKey struct{}

func withActor(r *http.Request, by Actor) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), actorKey{}, by))
}

func actorOf(r *http.Request) Actor {
	by, _ := r.Context().Value(actorKey{}).(Actor)
	return by
}

// routes is the admin API behind its door.
func (o *Operator) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiCompat, o.getState)
	mux.HandleFunc("PUT "+apiCompat, o.putSettings)
	mux.HandleFunc("POST "+apiCompat+"/evaluate", o.postEvaluate)
	mux.HandleFunc("POST "+apiCompat+"/rollback", o.postRollback)
	mux.HandleFunc("GET "+apiCompat+"/audit", o.getAudit)
	mux.HandleFunc("GET "+apiCompat+"/audit/verify", o.getVerify)
	mux.HandleFunc("GET "+apiCompat+"/manifest", o.getManifest)
	mux.HandleFunc("GET "+apiCompat+"/tokens", o.getTokens)
	mux.HandleFunc("POST "+apiCompat+"/tokens", o.postToken)
	mux.HandleFunc("DELETE "+apiCompat+"/tokens/{name}", o.deleteToken)
	mux.HandleFunc("GET "+apiPlayers+"{id}/floor", o.getFloor)
	mux.HandleFunc("POST "+apiPlayers+"{id}/floor", o.postFloor)
	return mux
}

// entityTag is a revision as HTTP has it.
func entityTag(revision uint64) string { return fmt.Sprintf(`"%d"`, revision) }

func (o *Operator) getState(w http.ResponseWriter, _ *http.Request) {
	s := o.Show()
	w.Header().Set("ETag", entityTag(s.Settings.Revision))
	answerJSON(w, http.StatusOK, s)
}

func (o *Operator) putSettings(w http.ResponseWriter, r *http.Request) {
	var ask ChangeRequest
	revision, err := matched(r)
	if err == nil {
		err = readAsk(w, r, &ask)
	}
	if err != nil {
		fail(w, err)
		return
	}
	settings, err := o.proposed(ask.Settings)
	if err != nil {
		fail(w, err)
		return
	}
	o.outcome(w)(o.Change(r.Context(), actorOf(r), Change{
		Revision: revision, Settings: settings, Comment: ask.Comment, Confirm: ask.Confirm, Kick: countdown(ask.KickSeconds),
	}))
}

// proposed are the settings in force with what a document changes.
func (o *Operator) proposed(document json.RawMessage) (compat.Settings, error) {
	if len(document) == 0 {
		return compat.Settings{}, &InputError{Field: "settings", Why: "are missing"}
	}
	s, err := compat.ParseSettings(document, o.Settings())
	if err != nil {
		return s, &InputError{Field: "settings", Why: err.Error()}
	}
	return s, nil
}

// outcome answers with what a change came to.
func (o *Operator) outcome(w http.ResponseWriter) func(Outcome, error) {
	return func(out Outcome, err error) {
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("ETag", entityTag(out.Settings.Revision))
		answerJSON(w, http.StatusOK, out)
	}
}

func (o *Operator) postRollback(w http.ResponseWriter, r *http.Request) {
	var ask RollbackRequest
	revision, err := matched(r)
	if err == nil {
		err = readAsk(w, r, &ask)
	}
	if err != nil {
		fail(w, err)
		return
	}
	change := Change{Revision: revision, Comment: ask.Comment, Confirm: ask.Confirm, Kick: countdown(ask.KickSeconds)}
	o.outcome(w)(o.Rollback(r.Context(), actorOf(r), ask.Revision, change))
}

func (o *Operator) postEvaluate(w http.ResponseWriter, r *http.Request) {
	var ask EvaluateRequest
	var answer EvaluateAnswer
	err := readAsk(w, r, &ask)
	switch {
	case err != nil:
	case (ask.Hello == nil) == (len(ask.Settings) == 0):
		err = &InputError{Field: "body", Why: "say either a hello or settings"}
	case ask.Hello != nil:
		answer.Verdict, err = o.verdict(*ask.Hello)
	default:
		var settings compat.Settings
		if settings, err = o.proposed(ask.Settings); err == nil {
			var f Forecast
			f, err = o.DryRun(settings)
			answer.Forecast = &f
		}
	}
	if err != nil {
		fail(w, err)
		return
	}
	answerJSON(w, http.StatusOK, answer)
}

// verdict judges a hello that somebody made up.
func (o *Operator) verdict(ask HelloRequest) (*VerdictAnswer, error) {
	h, err := ask.hello()
	if err != nil {
		return nil, err
	}
	j, err := o.Evaluate(h, ask.Account)
	if err != nil {
		return nil, err
	}
	return o.Explain(h, j), nil
}

// Explain is a judgement of a hello for people and other programs.
func (o *Operator) Explain(h compat.Hello, j compat.Judgement) *VerdictAnswer {
	s := o.Snapshot()
	a := &VerdictAnswer{
		Verdict: j.Verdict.String(), Code: uint8(j.Verdict), Rule: uint8(j.Rule), Reasons: Rules{}, Warnings: uint32(j.Warnings),
		Pinned: j.Pinned(), Age: j.Age.String(), Revision: j.Revision, RetryAfter: j.RetryAfter, MinPatch: j.MinPatch, Floor: j.Floor,
		Redirect: j.Endpoint,
	}
	for r := compat.RuleUpdater; r < compat.RuleAccept; r++ {
		if j.Reasons&compat.ReasonOf(r) != 0 {
			a.Reasons = append(a.Reasons, uint8(r))
		}
	}
	if p := j.Payload; p != nil {
		a.Payload = &PayloadState{Logic: p.Logic, Patch: p.Patch, Components: hexSum(p.Components), Active: !p.Undeclared, Build: BuildState{Logic: p.Logic}}
	}
	told := netproto.TagsFor(s, &h, j)
	a.MessageKey, a.Message, a.StoreURL = told.MessageKey, told.Message, told.StoreURL
	return a
}

// hello is what a connection makes of the same words.
func (ask HelloRequest) hello() (compat.Hello, error) {
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
			return compat.Hello{}, &InputError{Field: "hello.components", Why: fmt.Sprintf("%s is not 16 hex digits", quote(ask.Components))}
		}
		said.Build.Components = sum
	}
	m := netproto.Handshake{Version: netproto.C1.Version(), Compatibility: ask.Compatibility, Target: ask.Target}
	if err := m.Say(said); err != nil {
		return compat.Hello{}, &InputError{Field: "hello", Why: err.Error()}
	}
	h := m.Hello(netproto.C1)
	switch ask.Updater {
	case "", "same":
	case "older":
		h.Updater = compat.UpdaterOlder
	case "newer":
		h.Updater = compat.UpdaterNewer
	default:
		return h, &InputError{Field: "hello.updater", Why: fmt.Sprintf("%s is none of same, older and newer", quote(ask.Updater))}
	}
	return h, nil
}

func (o *Operator) getAudit(w http.ResponseWriter, r *http.Request) {
	const page = 50 // records, where nobody says how many
	before, faultBefore := number(r, "before", 0)
	limit, faultLimit := number(r, "limit", page)
	if err := errors.Join(faultBefore, faultLimit); err != nil {
		fail(w, err)
		return
	}
	records, err := o.Audit(before, int(min(limit, maxRecords)))
	if err != nil {
		fail(w, err)
		return
	}
	answer := AuditAnswer{Records: records}
	if len(records) > 0 && records[len(records)-1].Seq > 1 {
		answer.Before = records[len(records)-1].Seq
	}
	answerJSON(w, http.StatusOK, answer)
}

// number is a number in a request's query.
func number(r *http.Request, name string, otherwise uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, &InputError{Field: name, Why: fmt.Sprintf("%s is no number", quote(text))}
	}
	return n, nil
}

func (o *Operator) getVerify(w http.ResponseWriter, _ *http.Request) {
	records, err := o.Verify()
	answer := VerifyAnswer{Good: err == nil, Records: records}
	if err != nil {
		answer.Why = err.Error()
	}
	answerJSON(w, http.StatusOK, answer)
}

func (o *Operator) getManifest(w http.ResponseWriter, _ *http.Request) {
	m := o.standing.Load().declared.manifest
	if m == nil {
		fail(w, fmt.Errorf("component manifest: %w: set Compat.Manifest", ErrUnknown))
		return
	}
	text, err := compat.EncodeManifest(m)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // whoever asked may have gone
}

func (o *Operator) getTokens(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, map[string][]Token{"tokens": append([]Token{}, o.Tokens()...)})
}

func (o *Operator) postToken(w http.ResponseWriter, r *http.Request) {
	var ask TokenRequest
	err := readAsk(w, r, &ask)
	var secret string
	if err == nil {
		secret, err = o.NewToken(actorOf(r), ask.Name, ask.Role)
	}
	if err != nil {
		fail(w, err)
		return
	}
	answerJSON(w, http.StatusCreated, TokenAnswer{Name: ask.Name, Role: ask.Role, Secret: secret})
}

func (o *Operator) deleteToken(w http.ResponseWriter, r *http.Request) {
	if err := o.DropToken(actorOf(r), r.PathValue("name")); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (o *Operator) getFloor(w http.ResponseWriter, r *http.Request) {
	account := r.PathValue("id")
	floor, err := o.Floor(account)
	if err != nil {
		fail(w, err)
		return
	}
	answerJSON(w, http.StatusOK, FloorAnswer{Account: account, Floor: floor, Was: floor})
}

func (o *Operator) postFloor(w http.ResponseWriter, r *http.Request) {
	var ask FloorRequest
	account := r.PathValue("id")
	err := readAsk(w, r, &ask)
	var was int32
	if err == nil {
		was, err = o.SetFloor(actorOf(r), account, ask.Floor, ask.Comment, ask.Lower)
	}
	if err != nil {
		fail(w, err)
		return
	}
	answerJSON(w, http.StatusOK, FloorAnswer{Account: account, Floor: ask.Floor, Was: was})
}
