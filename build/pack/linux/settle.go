package linux

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"collet/build/pack/bundle"
)

// maxSettings is the largest settings file in bytes; the server takes no larger one.
const maxSettings = 1 << 20

// folderSettings are the folders that a server's settings file names relative to itself: the table, the name, and what counts where the
// file says nothing; nothing where there is no such folder then.
var folderSettings = []struct{ table, name, fallback string }{
	{"Baking", "PlatformBinaries", "PlatformBinaries"},
	{"Baking", "ClientResources", "Resources"},
	{"Release", "Folder", ""},
}

// settled is a settings file that has moved away from its folders: relative ones become absolute, everything else, comments
// too, stays as it stands.
func settled(e bundle.Entry, home string) ([]byte, error) {
	in, size, err := e.Open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxSettings+1))
	if err = errors.Join(err, in.Close()); err == nil && len(text) > maxSettings {
		err = fmt.Errorf("has %d bytes; want at most %d", size, maxSettings)
	}
	if err != nil {
		return nil, err
	}
	moved := string(text)
	for _, s := range folderSettings {
		if moved, err = makeAbsolute(moved, s.table, s.name, s.fallback, home); err != nil {
			return nil, err
		}
	}
	return []byte(moved), nil
}

// makeAbsolute makes one folder absolute. What it wrote is read again: text is not understood by looking at lines, so a file in which
// that does not work has to say the folder itself.
func makeAbsolute(text, table, name, fallback, home string) (string, error) {
	said, there, err := setting(text, table, name)
	if err != nil {
		return "", err
	}
	if !there {
		said = fallback
	}
	if said == "" || path.IsAbs(said) {
		return text, nil
	}
	want := path.Join(home, said)
	moved := written(text, table, name, want, there)
	if got, _, err := setting(moved, table, name); err != nil || got != want {
		return "", fmt.Errorf("%s.%s is %q, relative to this file, which the package puts elsewhere; set it to %q, in a line of its own", table, name, said, want)
	}
	return moved, nil
}

// written changes the line of a setting, or adds one: to its table, or, if the file has no such table, in front of all tables.
func written(text, table, name, value string, there bool) string {
	if there {
		line := regexp.MustCompile(`(?m)^(\s*(?:` + table + `\.)?` + name + `\s*=\s*)(?:"[^"\n]*"|'[^'\n]*')`)
		return line.ReplaceAllString(text, "${1}\""+strings.ReplaceAll(value, "$", "$$")+"\"")
	}
	if header := regexp.MustCompile(`(?m)^\s*\[\s*` + table + `\s*\].*\n?`).FindStringIndex(text); header != nil {
		return text[:header[1]] + fmt.Sprintf("%s = %q\n", name, value) + text[header[1]:]
	}
	return fmt.Sprintf("%s.%s = %q\n", table, name, value) + text
}

// setting reads a text of a file.
func setting(text, table, name string) (value string, there bool, err error) {
	found, err := lookup(text, table, name)
	if err != nil || found == nil {
		return "", false, err
	}
	value, is := found.(string)
	if !is {
		return "", false, fmt.Errorf("%s.%s is no text", table, name)
	}
	return value, true, nil
}

// number reads a number of a file, 0 where it has none.
func number(text, table, name string) (int64, error) {
	found, err := lookup(text, table, name)
	if err != nil || found == nil {
		return 0, err
	}
	value, is := found.(int64)
	if !is {
		return 0, fmt.Errorf("%s.%s is no whole number", table, name)
	}
	return value, nil
}

// lookup is what a file says about a name of a table; nil for nothing.
func lookup(text, table, name string) (any, error) {
	var all map[string]any
	if err := toml.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	inner, is := all[table].(map[string]any)
	if all[table] != nil && !is {
		return nil, fmt.Errorf("%s is no table", table)
	}
	return inner[name], nil
}
