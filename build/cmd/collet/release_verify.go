package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collet"
	"collet/app/download"
	"collet/app/token"
	"collet/build/cmd/collet/console"
	"collet/build/publish/public"
	"collet/netproto/dial"
	"collet/netproto/release/location"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/text"
)

// releaseVerifyCommand is `collet release verify`.
type releaseVerifyCommand struct {
	folderFlags
	console.JSONFlags
	readFlags
	Public      string         `group:"what" placeholder:"URL" help:"Read a published place in place of the folder, as players do: http://, https://, github:// or oci://. The address may be signed."`
	TrustedRoot string         `group:"what" placeholder:"FILE" help:"With --public: read the signed lists alone, which takes four small requests, and verify them from this root. Needs no release folder."`
	ValidFor    console.Period `group:"what" default:"12d" placeholder:"TIME" help:"With --trusted-root: for how long each list must still be valid, such as 36h or 12d (default: ${default}; the timestamp is signed every day for 14 days)."`
	TokenFile   string         `group:"what" env:"COLLET_RELEASE_TOKEN_FILE" placeholder:"FILE" help:"With --public: file with the bearer token for a private place (default: $$COLLET_RELEASE_TOKEN, or none)."`
}

// Help is what --help adds to the flags.
func (releaseVerifyCommand) Help() string {
	return `Reads all files of the release folder and compares them with the signed lists. With --public it asks a published place for
each of them, with the client's own code, through the proxies of the environment, and says what players would trip over:
missing and forbidden files, compression on the way, other bytes, caches that keep for too long what changes. The folder is
what the place is compared with. The exit code is 1 if there are findings. For a private place it sends the bearer token in
--token-file or $COLLET_RELEASE_TOKEN, to that place alone.

With --trusted-root, the root.json of your clients, it reads the signed lists and no other file, and says until when they are valid:
for a timer on any machine. The exit code is also 1 if a list ends within --valid-for, or if a cache answers with an old one.

  collet release verify
  collet release verify --public https://example.org/game
  collet release verify --public https://example.org/game --trusted-root root.json --json
  collet release verify --public https://builds.example.org/game --token-file token`
}

// Run reads everything again.
func (r releaseVerifyCommand) Run(ctx context.Context, c console.Console) error {
	switch {
	case r.Public != "":
		return r.readPublic(ctx, c)
	case r.TrustedRoot != "":
		return console.Usage(errors.New("--trusted-root is for a published place; name it with --public"))
	}
	return reading(c, r.folderFlags, func(w *workshop) error {
		findings, checked, err := w.Verify(ctx)
		if err != nil {
			return err
		}
		w.shows.ClearLine()
		type row struct {
			Name string `json:"name"`
			What string `json:"what"`
		}
		rows := []row{}
		for _, f := range findings {
			rows = append(rows, row{f.Name, f.Err.Error()})
		}
		if r.JSON {
			err = console.PrintJSON(c.Out, struct {
				Bytes    int64 `json:"bytes"`
				Findings []row `json:"findings"`
			}{checked, rows})
		} else {
			for _, f := range rows {
				fmt.Fprintf(c.Out, "%s: %s\n", console.Clean(f.Name), console.Clean(f.What))
			}
			_, err = fmt.Fprintf(c.Out, "%s read, %s\n", text.Bytes(checked), countFindings(len(rows)))
		}
		if err == nil && len(rows) > 0 {
			err = console.Printed(errors.New(countFindings(len(rows))))
		}
		return err
	})
}

// maxNamedFiles is how many files a finding names.
const maxNamedFiles = 3

// readPublic reads a published place.
func (r releaseVerifyCommand) readPublic(ctx context.Context, c console.Console) error {
	if _, err := location.ParsePrivate(r.Public); err != nil { // its text may hold a secret
		return console.Usage(fmt.Errorf("--public has no address of a published place: %w", err))
	}
	plain, err := download.PlainProxy("", os.Getenv)
	if err != nil {
		return err
	}
	secret, err := r.token(os.Getenv)
	if err != nil {
		return err
	}
	with := download.HTTPOptions{Agent: collet.Version(), Proxy: dial.ProxyFromEnvironment(os.Getenv), PlainProxy: plain}
	with.Token = token.New(token.Options{Token: secret, Mirrors: []string{r.Public}}).For(r.Public)
	var result public.Result
	if r.TrustedRoot != "" {
		var root []byte
		if root, err = readSmall(r.TrustedRoot, "trusted root", "check --trusted-root", trust.MaxRoot); err != nil {
			return err
		}
		result, err = public.CheckLists(ctx, r.Public, root, time.Now(), r.ValidFor.Duration(), with)
		err = r.unread(err)
	} else {
		err = reading(c, r.folderFlags, func(w *workshop) (err error) {
			folder := public.Folder{FS: w.dir}
			if folder.Names, folder.NextRoot, err = w.PublicFiles(ctx); err != nil {
				return err
			}
			result, err = public.Check(ctx, r.Public, folder, with, func(done, total int, name string) { w.shows.ShowCount(done, total, 0, name) })
			return r.unread(err)
		})
	}
	if err != nil {
		return err
	}
	err = r.Print(c.Out, result, func(out io.Writer) error { return printPublic(out, result) })
	if err == nil && len(result.Findings) > 0 {
		err = console.Printed(errors.New(countFindings(len(result.Findings))))
	}
	return err
}

// unread names the place of an error.
func (r releaseVerifyCommand) unread(err error) error {
	if err != nil {
		err = fmt.Errorf("%s can't be read: %w", location.Shown(r.Public), err)
	}
	return err
}

// readSmall reads a file of a flag. next says what to do if it can't be read.
func readSmall(name, what, next string, limit int64) ([]byte, error) {
	dir, err := openDir(filepath.Dir(name), next)
	if err != nil {
		return nil, err
	}
	data, err := platform.ReadFile(dir, filepath.Base(name), limit)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("%s %s: %w; %s", what, name, platform.Reason(err), next)
	}
	return data, nil
}

// token is the bearer token for a private place; empty without one.
func (r releaseVerifyCommand) token(getenv func(string) string) (string, error) {
	from, secret := "$COLLET_RELEASE_TOKEN", getenv("COLLET_RELEASE_TOKEN")
	if r.TokenFile != "" {
		data, err := readSmall(r.TokenFile, "token file", "check --token-file", token.MaxOutput)
		if err != nil {
			return "", err
		}
		from, secret = "token file "+r.TokenFile, strings.TrimSpace(string(data))
	}
	if err := token.Fault(secret); err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	return secret, nil
}

// printPublic prints one line for each finding.
func printPublic(out io.Writer, r public.Result) error {
	for _, f := range r.Findings {
		names := strings.Join(f.Names[:min(len(f.Names), maxNamedFiles)], ", ")
		if more := len(f.Names) - maxNamedFiles; more > 0 {
			names += fmt.Sprintf(" and %d more files", more)
		}
		fmt.Fprintf(out, "%s: %s; %s\n", console.Clean(names), console.Clean(f.What), f.Want)
	}
	for _, l := range r.Lists {
		fmt.Fprintf(out, "%s is signed until %s\n", l.Role, l.Expires.Format("2006-01-02 15:04"))
	}
	_, err := fmt.Fprintf(out, "%d files asked for, %s read, %s\n", r.Files, text.Bytes(r.Bytes), countFindings(len(r.Findings)))
	return err
}

func countFindings(n int) string {
	if n == 1 {
		return "1 finding"
	}
	return fmt.Sprintf("%d findings", n)
}
