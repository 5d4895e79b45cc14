package compat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/session"
	"collet/platform"
)

// rulesCommand is `collet compat rules`.
type rulesCommand struct {
	apiFlags
}

// Help is what --help adds to the flags.
func (rulesCommand) Help() string {
	return `Prints what clients may know of how the server judges, as collet release rules --file takes it. Developers, floors, tokens and
the history are not in it.

  collet compat rules > rules.json`
}

// Run prints them.
func (r rulesCommand) Run(ctx context.Context, c console.Console) error {
	document, err := r.rulesOfServer(ctx)
	if err == nil {
		_, err = c.Out.Write(document)
	}
	return err
}

// rulesOfServer asks for the rules. What clients could not read is an error.
func (f apiFlags) rulesOfServer(ctx context.Context) (document []byte, err error) {
	a, err := f.openAPI(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close(&err)
	if err = a.request(ctx, http.MethodGet, "/api/compat/rules", nil, 0, &document); err != nil {
		return nil, err
	}
	if _, err = compat.ParseRules(document); err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	return document, nil
}

// RulesFlags say which rules a release folder gets. Embed it.
type RulesFlags struct {
	File    string         `group:"rules" placeholder:"FILE" help:"Rules from collet compat rules; - is standard input (default: those of the server)."`
	Channel string         `group:"rules" placeholder:"NAME" help:"Channel whose clients get them; it has releases (default: the one in the settings)."`
	Off     bool           `group:"rules" help:"Withdraw the rules of the channel."`
	Show    bool           `group:"rules" help:"List the rules in force. Signs nothing."`
	Valid   console.Period `group:"rules" default:"48h" placeholder:"TIME" help:"How long clients use them, such as 12h or 7d: 1m to 30d (default: ${default})."`
	apiFlags
}

// Check returns mistakes of the flags.
func (f RulesFlags) Check() error {
	switch {
	case f.Off && f.Show || (f.Off || f.Show) && f.File != "":
		return console.Usage(errors.New("--file, --off and --show: use one of them"))
	case f.Valid.Duration() < time.Minute || f.Valid.Duration() > trust.MaxTimestampTime:
		return console.Usage(fmt.Errorf("--valid %v: want 1m to %.0fd", f.Valid, trust.MaxTimestampTime.Hours()/24))
	}
	return nil
}

// Document reads the rules, or asks the server for them. With Off there are none.
func (f RulesFlags) Document(ctx context.Context) (document []byte, err error) {
	switch f.File {
	case "":
		if f.Off {
			return nil, nil
		}
		return f.rulesOfServer(ctx)
	case "-":
		document, err = io.ReadAll(io.LimitReader(os.Stdin, trust.MaxRules+1))
	default:
		document, err = readFile(f.File, trust.MaxRules+1)
	}
	if err != nil {
		return nil, fmt.Errorf("rules %s: %w", f.File, platform.Reason(err))
	}
	if len(document) > trust.MaxRules {
		return nil, fmt.Errorf("rules %s: too large: rules have at most %d KiB; make them with collet compat rules", f.File, trust.MaxRules>>10)
	}
	if _, err := compat.ParseRules(document); err != nil {
		return nil, fmt.Errorf("%s: %w; make it with collet compat rules", f.File, err)
	}
	return document, nil
}

// readFile reads at most limit bytes of a file.
func readFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit))
	return data, errors.Join(err, file.Close())
}

// stamp is how the end of rules is written, in UTC.
const stamp = "2006-01-02 15:04Z"

// PrintRules lists the rules that a timestamp names.
func PrintRules(out io.Writer, list []trust.StatedRules) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "no rules are in force: clients that reach no server go by the release alone")
		return err
	}
	t := console.NewTable(out)
	for _, s := range list {
		fmt.Fprintf(t, "%s\trules until %s\t%s\n", console.Clean(s.Channel), s.Expires.Format(stamp), s.Object.Path())
	}
	return t.Flush()
}

// RulesWarning says how clients of a new release fare by rules that go on after its publication, on a line of its own; empty if they play. A
// server with the new release judges by newer rules. A maintenance is no matter of the release. It stays open where more than the
// compatibility version counts, or the release is without one.
func RulesWarning(s trust.StatedRules, document []byte, e release.Entry, compatibility string, now time.Time) (string, error) {
	rules, err := compat.ParseRules(document)
	if err != nil {
		return "", err
	}
	rules.Snapshot.Maintenance = false
	r, err := session.Options{Compatibility: compatibility, Target: e.Target}.Judge(rules, now)
	if err != nil {
		return "", err
	}
	fare := "may be judged by the rules of the previous release"
	if _, _, derived := compat.ParseDerived(compatibility); compatibility != "" && (derived || !rules.Snapshot.Versioned) {
		if r.Judgement.Plays() {
			return "", nil
		}
		fare = "get " + r.Judgement.Verdict.String()
	}
	return fmt.Sprintf("note: signed rules of %s are in force until %s: clients of release %d for %s that reach no server %s; when your server has this release, sign its rules with collet release rules",
		console.Clean(s.Channel), s.Expires.Format(stamp), e.Number, e.Target, fare), nil
}

// Help is what --help of collet release rules adds to the flags.
func (RulesFlags) Help() string {
	return `Clients that reach the places of the releases and none of your servers judge themselves by these rules, as the server would: they
are refused with your text, fetch what they lack, or play. The verdict of a server counts, if there is one. Rules end by
themselves, so run this more often than --valid, after each change of the server's settings, and after each new release or build. Only
the key of the timestamp is needed, which is renewed, too, as by collet release refresh.

  collet release rules --server https://play.example.org:9400 --token-file ~/.collet-token
  collet release rules --file rules.json --valid 24h
  collet release rules --off`
}
