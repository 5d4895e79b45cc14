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

// Origins maps a setting's full name to the origin of its value: a file and its line, or an option. Missing settings have their
// defaults.
type Origins map[string]string

// LoadWithOrigins is Load with the origin of each setting.
func LoadWithOrigins(path, subConfig string) (Settings, Origins, error) {
	set, sources, places, err := loadSettings(path, subConfig)
	if err != nil {
		return Settings{}, nil, err
	}
	from := Origins{}
	for key, prefix := range sources {
		from[key] = fmt.Sprintf("%s:%d", path, places.lineOf(prefix+key))
	}
	return set, from, nil
}

// Print writes all settings as an equivalent settings file, each with its origin.
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

// value is the setting of a full name, which is the path of its field.
func (s Settings) value(name string) any {
	v := reflect.ValueOf(s)
	for part := range strings.SplitSeq(name, ".") {
		v = v.FieldByName(part)
	}
	return v.Interface()
}

// written is a setting as a line of a settings file. A list that is not set differs from an empty one, and is commented out.
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

// quoteText quotes a text for TOML, without escapes that only Go has. Settings contain no control characters.
func quoteText(s string) string {
	if !strings.ContainsAny(s, "'\n") {
		if strings.ContainsAny(s, `"\`) {
			return "'" + s + "'"
		}
		return `"` + s + `"`
	}
	return strconv.Quote(s)
}
