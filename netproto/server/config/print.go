package config

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Origins say where settings have their values from, by full name: a file and its line, or an option. Those that are
// missing have their default.
type Origins map[string]string

// LoadWithOrigins is Load and also says where each setting came from.
func LoadWithOrigins(path, subConfig string) (Settings, Origins, error) {
	set, sources, places, err := loadSettings(path, subConfig)
	if err != nil {
		return Settings{}, nil, err
	}
	from := Origins{}
	for key, prefix := range sources {
		from[key] = fmt.Sprintf("%s:%d", path, places.line(prefix+key))
	}
	return set, from, nil
}

// Print writes all settings as a settings file that means the same, each with where it came from.
func (s Settings) Print(w io.Writer, from Origins) error {
	var text bytes.Buffer
	table := ""
	for _, k := range kinds() {
		name := k.name
		if head, tail, inTable := strings.Cut(k.name, "."); inTable {
			name = tail
			if head != table {
				fmt.Fprintf(&text, "\n[%s]\n", head)
				table = head
			}
		}
		origin := from[k.name]
		if origin == "" {
			origin = "default"
		}
		fmt.Fprintf(&text, "%s  # %s\n", written(name, s.value(k.name)), origin)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// value finds a setting by its full name, which is that of its field.
func (s Settings) value(name string) any {
	v := reflect.ValueOf(s)
	for part := range strings.SplitSeq(name, ".") {
		v = v.FieldByName(part)
	}
	return v.Interface()
}

// written is a setting as it stands in a file. A list that is not set differs from an empty one, and is left out.
func written(name string, value any) string {
	text := fmt.Sprint(value)
	switch v := value.(type) {
	case string:
		text = quoteText(v)
	case time.Duration:
		text = quoteText(v.String())
	case []string:
		if v == nil {
			return "# " + name + " is not set"
		}
		quoted := make([]string, len(v))
		for i, item := range v {
			quoted[i] = quoteText(item)
		}
		text = "[" + strings.Join(quoted, ", ") + "]"
	}
	return name + " = " + text
}

// quoteText writes a text as TOML does: without the escapes that only Go knows. Settings hold no control characters.
func quoteText(s string) string {
	if !strings.ContainsAny(s, "'\n") {
		if strings.ContainsAny(s, `"\`) {
			return "'" + s + "'"
		}
		return `"` + s + `"`
	}
	return strconv.Quote(s)
}
