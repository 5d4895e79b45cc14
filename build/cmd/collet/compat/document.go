package compat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// settingsFlags say what the settings are to be. What is not named stays as it is. Embed it.
type settingsFlags struct {
	Active      string   `group:"change" placeholder:"MIN-MAX" help:"Logic versions that may connect, such as 6-7."`
	Components  string   `group:"change" placeholder:"POLICY" enum:",off,warn,enforce" default:"" help:"Effect of differing components: off, warn or enforce."`
	Manifest    string   `group:"change" placeholder:"MODE" enum:",none,hashes,full" default:"" help:"What the server sends about components: none, hashes or full."`
	AutoUpgrade string   `group:"change" placeholder:"on|off" enum:",on,off" default:"" help:"At each start, raise the upper end of the range to what the server's build supports."`
	PatchRule   []string `group:"change" placeholder:"LOGIC=PATCH" sep:"none" help:"Minimum patch of a logic version, 7=3, or on some targets, 7@iOS*=3. Replaces all rules; none removes them."`
	Redirect    string   `group:"change" placeholder:"URL" help:"Server for clients that are too new: tcp://HOST:PORT, tls://HOST:PORT, or off."`
	BaseURL     string   `group:"change" placeholder:"URL" help:"Address of the packs of that server."`
	Maintenance string   `group:"change" placeholder:"on|off" enum:",on,off" default:"" help:"Close the server for players."`
	Until       string   `group:"change" placeholder:"TIME" help:"Expected end of maintenance: 15:04, 2026-11-21 15:04, RFC 3339, or a time from now such as 30m. It is shown to players; maintenance does not end by itself."`
	Download    string   `group:"change" placeholder:"on|off" enum:",on,off" default:"" help:"Let players fetch files during maintenance."`
	For         []string `group:"change" placeholder:"TARGET" help:"Maintenance only for these targets, such as Windows-*; all means every target."`
	StoreURL    []string `group:"change" placeholder:"TARGET=URL" sep:"none" help:"Store link for players of a target; an empty URL removes it. Other links stay."`
	Message     []string `group:"change" placeholder:"POPUP=TEXT" sep:"none" help:"Own text of a popup, such as P-NEWER; an empty text restores the built-in one. Other texts stay."`
	Developers  []string `group:"change" placeholder:"ACCOUNT" help:"Accounts that pass maintenance and floors. Replaces all; none removes them."`
	File        string   `group:"change" type:"existingfile" placeholder:"FILE" help:"Settings as show --json prints them. Flags override the file."`
}

// check returns the mistakes of flags and file.
func (f settingsFlags) check() error {
	_, err := f.document(time.Now(), compat.Settings{})
	return err
}

// apply reads the state of a server and returns the changed settings as JSON.
func (f settingsFlags) apply(ctx context.Context, a *api) (state operator.State, settings []byte, err error) {
	if state, err = a.state(ctx); err != nil {
		return state, nil, err
	}
	doc, err := f.document(time.Now(), state.Settings)
	if err != nil {
		return state, nil, err
	}
	settings, err = json.Marshal(doc)
	return state, settings, err
}

// document returns the changed settings only, as JSON. Links and texts are complete: the current ones with the changes.
func (f settingsFlags) document(now time.Time, current compat.Settings) (map[string]any, error) {
	doc := map[string]any{}
	if f.File != "" {
		data, err := os.ReadFile(f.File)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			return nil, fmt.Errorf("settings %s: %w", f.File, err)
		}
		delete(doc, "revision")
	}
	if f.Active != "" {
		r, err := parseRange(f.Active)
		if err != nil {
			return nil, console.Usage(err)
		}
		doc["active_min"], doc["active_max"] = r.Min, r.Max
	}
	setWord(doc, "components", f.Components)
	setWord(doc, "manifest", f.Manifest)
	setSwitch(doc, "auto_upgrade", f.AutoUpgrade)
	for _, part := range []func(map[string]any) error{
		f.patchRules, f.redirect, func(doc map[string]any) error { return f.maintenance(doc, now) },
		func(doc map[string]any) error { return f.texts(doc, current) },
	} {
		if err := part(doc); err != nil {
			return nil, console.Usage(err)
		}
	}
	if len(f.Developers) > 0 {
		doc["developers"] = unlessNone(f.Developers)
	}
	if len(doc) == 0 {
		return nil, console.Usage(errors.New("nothing is to be changed; --help lists what can be"))
	}
	return doc, nil
}

func setWord(doc map[string]any, key, value string) {
	if value != "" {
		doc[key] = value
	}
}

func setSwitch(doc map[string]any, key, value string) {
	if value != "" {
		doc[key] = value == "on"
	}
}

// unlessNone is the list, and an empty one for the word none.
func unlessNone(list []string) []string {
	if len(list) == 1 && list[0] == "none" {
		return []string{}
	}
	return list
}

// inner is the part of a document below a key, made where it is missing.
func inner(doc map[string]any, key string) map[string]any {
	part, is := doc[key].(map[string]any)
	if !is {
		part = map[string]any{}
		doc[key] = part
	}
	return part
}

// parseRange reads "6-7" or "7".
func parseRange(text string) (r compat.Range, err error) {
	low, high, several := strings.Cut(text, "-")
	if !several {
		high = low
	}
	from, errFrom := strconv.ParseInt(strings.TrimSpace(low), 10, 32)
	to, errTo := strconv.ParseInt(strings.TrimSpace(high), 10, 32)
	if errFrom != nil || errTo != nil || from > to {
		return r, fmt.Errorf("--active %q: want a range such as 6-7", text)
	}
	return compat.Range{Min: int32(from), Max: int32(to)}, nil
}

// patchRules reads "7=3" and "7@iOS*=3".
func (f settingsFlags) patchRules(doc map[string]any) error {
	if len(f.PatchRule) == 0 {
		return nil
	}
	rules := []compat.PatchRule{}
	for _, text := range unlessNone(f.PatchRule) {
		which, least, found := strings.Cut(text, "=")
		logic, target, _ := strings.Cut(which, "@")
		version, errVersion := strconv.ParseInt(logic, 10, 32)
		patch, errPatch := strconv.ParseUint(least, 10, 32)
		if !found || errVersion != nil || errPatch != nil {
			return fmt.Errorf("--patch-rule %q: want LOGIC=PATCH such as 7=3, or LOGIC@TARGET=PATCH such as 7@iOS*=3", text)
		}
		rules = append(rules, compat.PatchRule{Logic: int32(version), Target: target, MinPatch: uint32(patch)})
	}
	doc["patch_rules"] = rules
	return nil
}

// redirect reads where clients go.
func (f settingsFlags) redirect(doc map[string]any) error {
	if f.BaseURL != "" {
		inner(doc, "redirect")["base_url"] = f.BaseURL
	}
	if f.Redirect == "" {
		return nil
	}
	to := inner(doc, "redirect")
	if to["enabled"] = f.Redirect != "off"; f.Redirect == "off" {
		return nil
	}
	u, err := url.Parse(f.Redirect)
	if err != nil || u.Scheme != "tcp" && u.Scheme != "tls" || u.Path != "" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("--redirect %q: want tcp://HOST:PORT, tls://HOST:PORT or off", f.Redirect)
	}
	host, port, err := net.SplitHostPort(u.Host)
	number, errPort := strconv.ParseUint(port, 10, 16)
	if err != nil || errPort != nil || number == 0 || host == "" {
		return fmt.Errorf("--redirect %q: want a host and a port", f.Redirect)
	}
	to["host"], to["port"], to["tls"] = host, number, u.Scheme == "tls"
	return nil
}

// maintenance reads when, for whom and how.
func (f settingsFlags) maintenance(doc map[string]any, now time.Time) error {
	if f.Maintenance != "" {
		setSwitch(inner(doc, "maintenance"), "enabled", f.Maintenance)
	}
	if f.Download != "" {
		setSwitch(inner(doc, "maintenance"), "allow_download", f.Download)
	}
	if len(f.For) > 0 {
		targets := f.For
		if len(targets) == 1 && targets[0] == "all" {
			targets = []string{}
		}
		inner(doc, "maintenance")["targets"] = targets
	}
	if f.Until == "" {
		return nil
	}
	until, err := parseUntil(f.Until, now)
	if err == nil {
		inner(doc, "maintenance")["until"] = until.UTC().Truncate(time.Second)
	}
	return err
}

// parseUntil reads a time of day, which is the next one, a date and time, both of this machine's zone, RFC 3339, or a time from
// now.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation("2006-01-02 15:04", text, now.Location()); err == nil {
		return at, nil
	}
	at, err := time.ParseInLocation("15:04", text, now.Location())
	if err != nil {
		return at, fmt.Errorf("--until %q: want 15:04, 2006-01-02 15:04, 2006-01-02T15:04:05Z, or a time from now such as 30m", text)
	}
	day := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
	if !day.After(now) {
		day = day.AddDate(0, 0, 1)
	}
	return day, nil
}

// texts reads links and words. One without a text is taken away.
func (f settingsFlags) texts(doc map[string]any, current compat.Settings) error {
	for _, list := range []struct {
		flag, key string
		pairs     []string
		now       map[string]string
	}{{"--store-url", "store_urls", f.StoreURL, current.StoreURLs}, {"--message", "messages", f.Message, current.Messages}} {
		if len(list.pairs) == 0 {
			continue
		}
		if _, told := doc[list.key]; !told {
			for name, text := range list.now {
				inner(doc, list.key)[name] = text
			}
		}
		for _, pair := range list.pairs {
			name, text, found := strings.Cut(pair, "=")
			if !found || name == "" {
				return fmt.Errorf("%s %q: want NAME=TEXT, or NAME= to take it away", list.flag, pair)
			}
			inner(doc, list.key)[name] = text
			if text == "" {
				delete(inner(doc, list.key), name)
			}
		}
	}
	return nil
}
