package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/build/publish/keyring"
	"collet/netproto/release/trust"
	"collet/platform/text"
)

// keyVariables begin with this; the role follows in capitals: COLLET_KEY_TARGETS.
const keyVariables = "COLLET_KEY_"

// keyVariable is the variable for the key of a role.
func keyVariable(role trust.KeyRole) string { return keyVariables + strings.ToUpper(string(role)) }

// setKeys is what to do about variables that are not set.
const setKeys = "set each variable to the whole text of its key file, such as targets-1.key, or set none and name the folder of the key files with --keys"

// keysFromEnvironment reads keys of these roles whose files' texts are in the environment, as secrets of a build job are. Without any it
// returns nil; one of several that is missing is an error.
func (k keyFlags) keysFromEnvironment(getenv func(string) string, roles ...trust.KeyRole) ([]*trust.PrivateKey, error) {
	var keys []*trust.PrivateKey
	var missing []string
	for _, role := range roles {
		name := keyVariable(role)
		data := []byte(getenv(name))
		if len(data) == 0 {
			missing = append(missing, name)
			continue
		}
		var passphrase []byte
		var err error
		if trust.NeedsPassphrase(data) {
			if passphrase, err = k.passphrase("$" + name); err != nil {
				return nil, err
			}
		}
		key, err := trust.ParsePrivateKey(data, passphrase)
		if err != nil {
			return nil, fmt.Errorf("$%s: %w; %s", name, err, cmp.Or(keyring.PassphraseAdvice(err), "want the whole text of the key file"))
		}
		keys = append(keys, key)
	}
	if len(keys) > 0 && len(missing) > 0 {
		return nil, fmt.Errorf("keys from the environment: $%s is missing, others are set; %s", strings.Join(missing, ", $"), setKeys)
	}
	return keys, nil
}

// misplaced names a key from the environment that is another role's, or none of the release folder's. keys are in the order of roles.
func misplaced(root trust.RootInfo, keys []*trust.PrivateKey, roles []trust.KeyRole) error {
	for i, key := range keys {
		signs := func(role trust.KeyRole) bool { return slices.Contains(root.Roles[role].Keys, key.Public().ID()) }
		if signs(roles[i]) {
			continue
		}
		what := "a key that this release folder does not know: it is another folder's, or was replaced"
		if at := slices.IndexFunc(trust.KeyRoles(), signs); at >= 0 {
			what = fmt.Sprintf("the key of %s", trust.KeyRoles()[at])
		}
		return fmt.Errorf("$%s has %s; set it to the whole text of the folder's key file of %s, such as %s-1.key", keyVariable(roles[i]), what, roles[i], roles[i])
	}
	return nil
}

// noKeys is the error of a build job that has keys neither in the environment nor in a folder.
func noKeys(folder error, roles []trust.KeyRole) error {
	var names []string
	for _, role := range roles {
		names = append(names, "$"+keyVariable(role))
	}
	return fmt.Errorf("no keys to sign with: %s are not set, and %w; %s", strings.Join(names, ", "), folder, setKeys)
}

// summaryFiles is how many files a summary names; a page of a build job holds 1 MiB.
const summaryFiles = 100

// appendSummary appends what was published to a file in Markdown.
func appendSummary(name string, p published) (err error) {
	var page strings.Builder
	for i, r := range p.Releases {
		printUpdate(&page, r, p.updates[i], p.dryRun)
	}
	out, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	_, err = io.WriteString(out, page.String())
	return errors.Join(err, out.Close())
}

// printUpdate writes the part of one target.
func printUpdate(page *strings.Builder, r publish.ReleaseSummary, u publish.Update, dryRun bool) {
	e := r.Entry
	fmt.Fprintf(page, "## Release %d of %s for %s\n\n", e.Number, markdown(e.Channel), markdown(e.Target))
	if dryRun {
		page.WriteString("A dry run: nothing was published.\n\n")
	}
	if r.Already {
		page.WriteString("It was published before, and did not change.\n\n")
	} else if who := offered(e); who != "" {
		fmt.Fprintf(page, "Offered to: %s.\n\n", who)
	}
	fmt.Fprintf(page, "%d files, %s. A new player fetches %s.\n\n", r.Files, text.Bytes(r.Bytes), text.Bytes(u.First.Cost.Bytes))
	if u.Before == 0 {
		page.WriteString("It is the first release of this channel and target.\n\n")
		return
	}
	page.WriteString("| A player of release | fetches | of it lists and notes | by |\n|---|---|---|---|\n")
	for _, from := range u.From {
		fmt.Fprintf(page, "| %d | %s | %s | %s |\n", from.Old, text.Bytes(from.Cost.Bytes), text.Bytes(from.Lists), from.Takes)
	}
	page.WriteString("\n")
	printChanges(page, u)
}

// printChanges writes which files differ from those of the release before.
func printChanges(page *strings.Builder, u publish.Update) {
	fmt.Fprintf(page, "%s.\n\n", changesText(u))
	if len(u.Files) == 0 {
		return
	}
	page.WriteString("| File | | Size |\n|---|---|---|\n")
	for _, c := range u.Files[:min(len(u.Files), summaryFiles)] {
		fmt.Fprintf(page, "| %s | %s | %s |\n", markdown(c.Path), c.Kind, text.Bytes(c.Size))
	}
	if more := len(u.Files) - summaryFiles; more > 0 {
		fmt.Fprintf(page, "| … and %d more | | |\n", more)
	}
	page.WriteString("\n")
}

// markdown makes a line of foreign text that has no meaning in Markdown or HTML.
func markdown(foreign string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`, "#", `\#`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "!", `\!`, "~", `\~`).Replace(console.Clean(foreign))
}
