package compat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
)

// verdictCommand is `collet compat verdict`.
type verdictCommand struct {
	Logic         *int32 `group:"hello" placeholder:"N" help:"Logic version."`
	Hash          string `group:"hello" placeholder:"HEX" help:"Hash over all components, 16 hex digits."`
	Patch         uint32 `group:"hello" placeholder:"N" help:"Client patch."`
	Target        string `group:"hello" placeholder:"TARGET" help:"Binary target, such as Windows-win64."`
	Compatibility string `group:"hello" placeholder:"VERSION" help:"Compatibility version (default: derived from logic version and hash)."`
	Account       string `group:"hello" placeholder:"ID" help:"Account, whose floor and rights apply."`
	Content       string `group:"hello" placeholder:"ID" help:"Identity of its packs."`
	BuildTime     int64  `group:"hello" placeholder:"SECONDS" help:"Time of its build, in seconds since 1970."`
	BuildNumber   uint64 `group:"hello" placeholder:"N" help:"Number of commits on its branch."`
	Branch        string `group:"hello" placeholder:"NAME" help:"Its branch."`
	Updater       string `group:"hello" placeholder:"older|same|newer" enum:",older,same,newer" default:"" help:"Version of its updater, compared with the server's."`
	Flags         uint32 `group:"hello" placeholder:"BITS" help:"Sum of: 1 developer's build, 2 shows components, 4 was redirected, 8 after an update."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (verdictCommand) Help() string {
	return `The server judges as it does for a connection. All rules that apply are printed, not only the first.

  collet compat verdict --logic 6 --target Windows-win64 --hash 4c37681f163b1204`
}

// Run asks.
func (v verdictCommand) Run(ctx context.Context, c console.Console) (err error) {
	a, err := v.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	hello, err := v.hello()
	if err != nil {
		return err
	}
	var answer admin.EvaluateAnswer
	if err := a.request(ctx, http.MethodPost, "/api/compat/evaluate", admin.EvaluateRequest{Hello: hello}, 0, &answer); err != nil {
		return err
	}
	if answer.Verdict == nil {
		return fmt.Errorf("%s answers without a verdict", a.name)
	}
	return v.Print(c.Out, answer.Verdict, func(out io.Writer) error { return printVerdict(out, *answer.Verdict) })
}

// hello is the client that is asked for.
func (v verdictCommand) hello() (*admin.HelloRequest, error) {
	version := v.Compatibility
	if v.Hash != "" {
		sum, err := strconv.ParseUint(v.Hash, 16, 64)
		if err != nil || len(v.Hash) != 16 {
			return nil, console.Usage(fmt.Errorf("--hash %q: want 16 hex digits", v.Hash))
		}
		if v.Logic != nil {
			version = cmp.Or(version, compat.Derived(*v.Logic, sum))
		}
	}
	return &admin.HelloRequest{
		Target: v.Target, Compatibility: version, Updater: v.Updater, Logic: v.Logic, Patch: v.Patch, Components: strings.ToLower(v.Hash),
		Content: v.Content, Account: v.Account, BuildTime: v.BuildTime, BuildSeq: v.BuildNumber, Branch: v.Branch, Flags: v.Flags,
	}, nil
}

// rules are the rules in a few words; docs/COMPATIBILITY.md has them whole.
var rules = map[uint8]string{
	1: "another updater", 2: "too new, and another server takes it", 3: "maintenance", 4: "above the active range",
	5: "below the active range", 6: "its patch is too low", 7: "the account has played with a newer version",
	8: "another compatibility version", 9: "other components", 10: "other packs", 11: "nothing stands in the way",
}

// warnings are the bits of a verdict's warnings in a few words.
var warnings = []struct {
	bit  compat.Warnings
	text string
}{
	{compat.WarnComponents, "components differ, which is tolerated"}, {compat.WarnNewer, "a newer version is active"},
	{compat.WarnNoBaseline, "the components of its logic version are unknown"},
}

// printVerdict prints a verdict with everything that explains it.
func printVerdict(out io.Writer, v admin.VerdictAnswer) error {
	t := console.NewTable(out)
	fmt.Fprintf(t, "%s\tby R%d: %s\n", console.Clean(v.Verdict), v.Rule, cmp.Or(rules[v.Rule], "unknown"))
	for _, r := range v.Reasons {
		if r != v.Rule {
			fmt.Fprintf(t, "also\tR%d: %s\n", r, cmp.Or(rules[r], "unknown"))
		}
	}
	for _, w := range warnings {
		if compat.Warnings(v.Warnings)&w.bit != 0 {
			fmt.Fprintf(t, "warning\t%s\n", w.text)
		}
	}
	if v.Age != "" && v.Age != compat.AgeUnknown.String() {
		fmt.Fprintf(t, "age\t%s\n", console.Clean(strings.ReplaceAll(v.Age, "_", " ")))
	}
	if v.MinPatch > 0 {
		fmt.Fprintf(t, "needs\tpatch %d\n", v.MinPatch)
	}
	if v.Floor > 0 {
		fmt.Fprintf(t, "needs\tlogic version %d\n", v.Floor)
	}
	if p := v.Payload; p != nil {
		fmt.Fprintf(t, "gets\t%s\n", payloadText(*p))
	}
	if r := v.Redirect; r != nil {
		fmt.Fprintf(t, "goes to\t%s:%d\n", console.Clean(r.Host), r.Port)
	}
	if v.StoreURL != "" {
		fmt.Fprintf(t, "store\t%s\n", console.Clean(v.StoreURL))
	}
	if v.RetryAfter > 0 {
		fmt.Fprintf(t, "asks again\tafter %d s\n", v.RetryAfter)
	}
	if v.Message != "" {
		fmt.Fprintf(t, "%s\t%s\n", console.Clean(v.MessageKey), console.Clean(v.Message))
	}
	fmt.Fprintf(t, "revision\t%d\n", v.Revision)
	return t.Flush()
}

// historyCommand is `collet compat history`.
type historyCommand struct {
	Limit int `group:"out" default:"20" placeholder:"N" help:"Number of records, newest first (default: ${default}; 0: all)."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (historyCommand) Help() string {
	return `With --json each record is one line, exactly as it is stored, the oldest first. collet compat verify FILE checks such a file.

  collet compat history
  collet compat history --limit 0 --json > compat-audit.jsonl`
}

// Run lists records.
func (h historyCommand) Run(ctx context.Context, c console.Console) (err error) {
	if h.Limit < 0 {
		return console.Usage(fmt.Errorf("--limit %d: want 0 or more", h.Limit))
	}
	a, err := h.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	records, err := a.history(ctx, h.Limit)
	if err != nil {
		return err
	}
	if h.JSON {
		for i := len(records) - 1; i >= 0; i-- {
			if _, err := c.Out.Write(records[i].Line()); err != nil {
				return err
			}
		}
		return nil
	}
	t := console.NewTable(c.Out)
	fmt.Fprintln(t, "number\ttime\twho\tfrom\tchanged\tconnected\tfloors\tcomment")
	for _, r := range records {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", r.Seq, r.Time.Format("2006-01-02 15:04:05Z"), console.Clean(r.Actor), console.Clean(r.Source),
			console.Clean(strings.Join(r.Keys, ", ")), r.Impact.Sessions, r.Impact.Floors, console.Clean(r.Comment))
	}
	return t.Flush()
}

// history asks page by page for the newest records, limit at most, 0 for all.
func (a *api) history(ctx context.Context, limit int) (records []compat.Audit, err error) {
	for before := uint64(0); ; {
		query := url.Values{}
		if before != 0 {
			query.Set("before", strconv.FormatUint(before, 10))
		}
		if limit != 0 {
			query.Set("limit", strconv.Itoa(limit-len(records)))
		}
		var page admin.AuditAnswer
		if err := a.request(ctx, http.MethodGet, "/api/compat/audit?"+query.Encode(), nil, 0, &page); err != nil {
			return nil, err
		}
		records = append(records, page.Records...)
		if limit != 0 && len(records) >= limit {
			return records[:limit], nil
		}
		if page.Before == 0 || len(page.Records) == 0 {
			return records, nil
		}
		if before != 0 && page.Before >= before {
			return nil, fmt.Errorf("%s lists the same records twice", a.name)
		}
		before = page.Before
	}
}

// verifyCommand is `collet compat verify`.
type verifyCommand struct {
	File string `arg:"" optional:"" type:"existingfile" placeholder:"FILE" help:"An exported history, or a backup of a store (default: the server's own, checked there)."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (verifyCommand) Help() string {
	return `Each record has the hash of the previous one, so an altered, missing or moved record is detected. Keep the last hash
elsewhere to detect missing records at the end.

  collet compat verify
  collet compat verify compat-audit.jsonl
  collet compat verify /backup/compat-2026-11-28.db`
}

// Run checks.
func (v verifyCommand) Run(ctx context.Context, c console.Console) error {
	answer, last, err := v.check(ctx)
	if err != nil {
		return err
	}
	if v.JSON {
		err = console.PrintJSON(c.Out, answer)
	} else if answer.Good {
		_, err = fmt.Fprintf(c.Out, "%d records, as they were written%s\n", answer.Records, last)
	}
	if err == nil && !answer.Good {
		err = errors.New(console.Clean(answer.Why))
	}
	return err
}

// check asks the server, or reads the file.
func (v verifyCommand) check(ctx context.Context) (answer admin.VerifyAnswer, last string, err error) {
	if v.File == "" {
		a, fault := v.openAPI(ctx)
		if fault != nil {
			return answer, "", fault
		}
		defer a.close(&err)
		return answer, "", a.request(ctx, http.MethodGet, "/api/compat/audit/verify", nil, 0, &answer)
	}
	f, err := os.Open(v.File)
	if err != nil {
		return answer, "", err
	}
	head := bufio.NewReader(f)
	if first, _ := head.Peek(1); string(first) == "\x00" { // a store begins so, and no line of JSON
		sum, fault := operator.Inspect(v.File)
		if answer.Good = fault == nil; !answer.Good {
			answer.Why = fault.Error()
		}
		answer.Records = int(sum.Records)
		return answer, "; the file is a backup of a store", f.Close()
	}
	newest, fault := compat.VerifyChain(head)
	if err := f.Close(); err != nil {
		return answer, "", err
	}
	if newest != nil {
		answer.Records, last = int(newest.Seq), "; the last hash is "+newest.Sum
	}
	if answer.Good = fault == nil; !answer.Good {
		answer.Why = fault.Error()
	}
	return answer, last, nil
}
