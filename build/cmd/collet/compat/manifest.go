package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/platform"
)

// ofServer is the word for the manifest of the server that is asked.
const ofServer = "server"

// manifestCommand is `collet compat manifest`.
type manifestCommand struct {
	File string `arg:"" placeholder:"FILE" help:"Manifest written by compatgen, or the word server for the manifest of the server."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (manifestCommand) Help() string {
	return `Examples:

  collet compat manifest manifest.json
  collet compat manifest server`
}

// Run lists components.
func (m manifestCommand) Run(ctx context.Context, c console.Console) error {
	manifest, err := readManifest(ctx, m.File, m.apiFlags)
	if err != nil {
		return err
	}
	if m.JSON {
		text, err := compat.EncodeManifest(&manifest)
		if err == nil {
			_, err = c.Out.Write(text)
		}
		return err
	}
	b := manifest.Build
	fmt.Fprintf(c.Out, "%s, %d components, build %s\n", compat.Derived(b.Logic, b.Components), len(manifest.Entries), madeFrom(b))
	t := console.NewTable(c.Out)
	fmt.Fprintln(t, "name\tid\thash\tchanged\tsince")
	for _, e := range manifest.Entries {
		fmt.Fprintf(t, "%s\t%d\t%016x\t%s\t%d\n", console.Clean(e.Name), e.WireID, e.Hash, dayText(e.ChangedAt), e.Since)
	}
	return t.Flush()
}

// madeFrom is a build without its version.
func madeFrom(b compat.Build) string {
	return buildText(operator.BuildState{Logic: compat.NoLogic, Time: b.Time, Seq: b.Seq, ID: b.ID, Branch: b.Branch})
}

func dayText(at int64) string {
	if at == 0 {
		return "unknown"
	}
	return time.Unix(at, 0).UTC().Format(time.DateOnly)
}

// readManifest reads one from a file or from the server.
func readManifest(ctx context.Context, name string, f apiFlags) (m compat.Manifest, err error) {
	if name == ofServer {
		return manifestOfServer(ctx, f)
	}
	data, err := readFile(name, compat.MaxManifestFile+1)
	if err != nil {
		return m, fmt.Errorf("manifest %s: %w", name, platform.Reason(err))
	}
	if m, err = compat.ParseManifest(data); err != nil {
		return m, fmt.Errorf("manifest %s: %w", name, err)
	}
	return m, nil
}

// manifestOfServer asks for one.
func manifestOfServer(ctx context.Context, f apiFlags) (m compat.Manifest, err error) {
	a, err := f.openAPI(ctx)
	if err != nil {
		return m, err
	}
	defer a.close(&err)
	var text []byte
	if err := a.request(ctx, http.MethodGet, "/api/compat/manifest", nil, 0, &text); err != nil {
		return m, err
	}
	return compat.ParseManifest(text)
}

// diffCommand is `collet compat diff`.
type diffCommand struct {
	A string `arg:"" placeholder:"A" help:"Manifest of the client's build, or the word server."`
	B string `arg:"" placeholder:"B" help:"Manifest of the server's build, or the word server."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (diffCommand) Help() string {
	return `The exit code is 1 if they differ. A is the client's build and B the server's.

  collet compat diff client/manifest.json server`
}

// errDiffer ends a diff that found something, which has been printed.
var errDiffer = errors.New("the builds differ")

// Run compares.
func (d diffCommand) Run(ctx context.Context, c console.Console) error {
	a, err := readManifest(ctx, d.A, d.apiFlags)
	if err != nil {
		return err
	}
	b, err := readManifest(ctx, d.B, d.apiFlags)
	if err != nil {
		return err
	}
	differences := compat.DiffManifests(&b, &a)
	err = d.Print(c.Out, diffJSON(differences), func(out io.Writer) error { return printDifferences(out, differences) })
	if err == nil && !differences.Equal() {
		err = console.Printed(errDiffer)
	}
	return err
}

// printDifferences prints all of them.
func printDifferences(out io.Writer, d compat.Differences) error {
	if d.Equal() {
		_, err := fmt.Fprintf(out, "%d components, all the same\n", d.Unchanged)
		return err
	}
	fmt.Fprintf(out, "%s\n- %s %s\n+ %s %s\n", d.Sentence(), compat.Derived(d.Client.Logic, d.Client.Components), madeFrom(d.Client),
		compat.Derived(d.Server.Logic, d.Server.Components), madeFrom(d.Server))
	for _, item := range d.Items {
		fmt.Fprintf(out, "  %s\n", item.Row())
	}
	_, err := fmt.Fprintf(out, "%d components are the same\n", d.Unchanged)
	return err
}

// diffJSON is the differences for programs.
func diffJSON(d compat.Differences) any {
	type row struct {
		Name          string `json:"name"`
		Class         string `json:"class"`
		Side          string `json:"side"`
		Age           string `json:"age"`
		ClientHash    string `json:"client_hash,omitempty"`
		ServerHash    string `json:"server_hash,omitempty"`
		ClientID      uint16 `json:"client_id"`
		ServerID      uint16 `json:"server_id"`
		ClientChanged int64  `json:"client_changed_at,omitempty"`
		ServerChanged int64  `json:"server_changed_at,omitempty"`
	}
	rows := []row{}
	for _, item := range d.Items {
		rows = append(rows, row{
			item.Name, string(item.Class), string(item.Side), item.Age.String(), hashText(item.Client.Hash), hashText(item.Server.Hash),
			item.Client.WireID, item.Server.WireID, item.Client.ChangedAt, item.Server.ChangedAt,
		})
	}
	return struct {
		Age       string `json:"age"`
		Client    string `json:"client"`
		Server    string `json:"server"`
		Unchanged int    `json:"unchanged"`
		Items     []row  `json:"differences"`
	}{d.Age.String(), compat.Derived(d.Client.Logic, d.Client.Components), compat.Derived(d.Server.Logic, d.Server.Components), d.Unchanged, rows}
}

func hashText(sum uint64) string {
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", sum)
}

// floorCommand is `collet compat floor`.
type floorCommand struct {
	Account string `arg:"" placeholder:"ACCOUNT" help:"The player's account."`
	Floor   *int32 `arg:"" optional:"" placeholder:"N" help:"New minimum logic version of this account (default: only show it)."`
	Lower   bool   `group:"consent" help:"Allow lowering it: an older version can lose data that it does not know."`
	Comment string `group:"consent" placeholder:"TEXT" help:"Reason, for the history."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (floorCommand) Help() string {
	return `Examples:

  collet compat floor ada
  collet compat floor ada 7`
}

// Run tells or raises.
func (f floorCommand) Run(ctx context.Context, c console.Console) (err error) {
	a, err := f.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	path := "/api/players/" + url.PathEscape(f.Account) + "/floor"
	var answer admin.FloorAnswer
	if f.Floor == nil {
		err = a.request(ctx, http.MethodGet, path, nil, 0, &answer)
	} else {
		err = a.request(ctx, http.MethodPost, path, admin.FloorRequest{Floor: *f.Floor, Lower: f.Lower, Comment: f.Comment}, 0, &answer)
	}
	if err != nil {
		return err
	}
	if f.JSON {
		return console.PrintJSON(c.Out, answer)
	}
	text := fmt.Sprintf("%s needs logic version %d", console.Clean(answer.Account), answer.Floor)
	if answer.Floor <= 0 {
		text = console.Clean(answer.Account) + " may play with any version"
	}
	if f.Floor != nil && answer.Was != answer.Floor {
		text += fmt.Sprintf("; before it was %d", answer.Was)
	}
	_, err = fmt.Fprintln(c.Out, text)
	return err
}

// tokenCommand is `collet compat token`.
type tokenCommand struct {
	Name string `arg:"" optional:"" placeholder:"NAME" help:"Name of the token to make (default: list all tokens)."`
	Role string `group:"consent" default:"admin" enum:"view,operate,release,admin,edit" placeholder:"ROLE" help:"Role of the token: view, operate (who may play), release (who is offered which release) or admin (all of it, and tokens), which earlier servers call edit (default: ${default})."`
	Drop bool   `group:"consent" help:"Revoke the token instead."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (tokenCommand) Help() string {
	return `A new token is printed once; the server stores only a digest. The first token must have the role admin. Make it over the
control socket, or with --config while the server does not run.

  collet compat token
  collet compat token ada --control /run/collet-server/control > ~/.collet-token
  collet compat token ada --drop`
}

// Run lists, makes or takes away.
func (k tokenCommand) Run(ctx context.Context, c console.Console) (err error) {
	a, err := k.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	switch {
	case k.Drop && k.Name == "":
		return console.Usage(errors.New("--drop needs the name of a token"))
	case k.Drop:
		return a.request(ctx, http.MethodDelete, "/api/compat/tokens/"+url.PathEscape(k.Name), nil, 0, nil)
	case k.Name == "":
		return k.list(ctx, a, c.Out)
	}
	var made admin.TokenAnswer
	if err := a.request(ctx, http.MethodPost, "/api/compat/tokens", admin.TokenRequest{Name: k.Name, Role: operator.Role(k.Role)}, 0, &made); err != nil {
		return err
	}
	if k.JSON {
		return console.PrintJSON(c.Out, made)
	}
	_, err = fmt.Fprintln(c.Out, console.Clean(made.Secret))
	return err
}

func (k tokenCommand) list(ctx context.Context, a *api, out io.Writer) error {
	var answer struct {
		Tokens []operator.Token `json:"tokens"`
	}
	if err := a.request(ctx, http.MethodGet, "/api/compat/tokens", nil, 0, &answer); err != nil {
		return err
	}
	if k.JSON {
		return console.PrintJSON(out, answer.Tokens)
	}
	for _, token := range answer.Tokens {
		fmt.Fprintf(out, "%-20s %s\n", console.Clean(token.Name), cmp.Or(console.Clean(string(token.Role)), "view"))
	}
	return nil
}
