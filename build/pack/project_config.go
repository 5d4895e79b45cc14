package pack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"collet/app/settings"
)

// setting is a client setting with its full name.
type setting struct {
	name  string // such as Client.Title
	key   string // its key in the table
	value any    // string, bool, int64, float64 or a list
}

// maxDepth limits the nesting of settings; a client has two levels.
const maxDepth = 8

// flatten lists settings by full name, sorted. Client.OfflineAfter may be written in quotes, with a dot, or in its own table.
func flatten(values map[string]any) []setting {
	var list []setting
	var walk func(prefix, key string, values map[string]any, depth int)
	walk = func(prefix, key string, values map[string]any, depth int) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			at := join(key, name)
			if table, is := values[name].(map[string]any); is && depth < maxDepth {
				walk(prefix+name+".", at, table, depth+1)
				continue
			}
			list = append(list, setting{prefix + name, at, values[name]})
		}
	}
	walk("", "", values, 0)
	slices.SortStableFunc(list, func(a, b setting) int { return cmp.Compare(a.name, b.name) })
	return list
}

// config returns the text of the config area: the description's settings, overridden by those of a variant. Names are dotted and on one
// level, so that lines can be appended.
func (p *Project) config(v Variant) string {
	values := map[string]any{
		"Client.Title": p.Game.NiceName, "Client.GameName": p.Game.Name,
		"Client.WebsiteUrl": p.Client.Website, "Client.StoreUrl": p.Client.Store,
		"Release.Urls": p.Client.URLs, "Release.Channel": p.Client.Channel, "Release.Product": p.Client.Product,
		"Release.Root": p.root,
	}
	if host, port := hostPort(p.Client.Server); port != 0 {
		values["ClientNetwork.ServerHost"], values["ClientNetwork.ServerPort"] = host, int64(port)
	} else {
		values["ClientNetwork.ServerHost"] = host
	}
	maps.DeleteFunc(values, func(_ string, v any) bool { return isNothing(v) })
	for _, list := range [][]setting{flatten(p.Client.Settings), flatten(v.Settings)} {
		for _, s := range list {
			values[s.name] = s.value
		}
	}
	if p.isProgram() {
		values["Client.Kind"] = settings.KindProgram
	}
	if v.OpenGL {
		values["ForceOpenGL"] = int64(1)
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&text, "%s = %s\n", name, valueText(values[name]))
	}
	return text.String()
}

// isNothing reports whether a value was omitted.
func isNothing(value any) bool {
	if list, is := value.([]string); is {
		return len(list) == 0
	}
	return value == ""
}

// valueText formats a value as TOML. Texts of several lines without three quotes are not escaped, which is shorter: the area is small, and
// a trusted root takes most of it.
func valueText(value any) string {
	if text, is := value.(string); is && strings.Contains(text, "\n") && !strings.Contains(text, "'''") && !strings.ContainsFunc(text, needsEscape) {
		return "'''\n" + text + "'''"
	}
	text, err := toml.Marshal(map[string]any{"v": value})
	if err != nil {
		return `""` // TOML values can always be written; a check refuses this one
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "v = "), "\n")
}

// needsEscape reports whether TOML requires a character to be escaped.
func needsEscape(r rune) bool { return r != '\n' && r != '\t' && (r < ' ' || r == 0x7f) }
