package pack

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"collet/build/advice"
)

// shaper decodes a document into Go values and records what does not fit. Unlike the library's decoder it continues after a mistake, so
// that one run finds all of them.
type shaper struct{ *ledger }

// keysOf returns the keys of a table in order, and the field index of each.
func keysOf(t reflect.Type) (names []string, fields map[string]int) {
	fields = map[string]int{}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("toml")
		names = append(names, name)
		fields[name] = i
	}
	return names, fields
}

// fillStruct stores a document's value in a Go value.
func (s shaper) fillStruct(into reflect.Value, v any, key string) {
	switch into.Kind() {
	case reflect.Struct:
		s.table(into, v, key)
	case reflect.Slice:
		s.array(into, v, key)
	case reflect.Map:
		if m, is := v.(map[string]any); is {
			into.Set(reflect.ValueOf(m))
			return
		}
		s.wrong(into, v, key)
	case reflect.Pointer:
		one := reflect.New(into.Type().Elem())
		s.fillStruct(one.Elem(), v, key)
		into.Set(one)
	case reflect.Int64:
		if n, is := v.(int64); is {
			into.SetInt(n)
			return
		}
		s.wrong(into, v, key)
	case reflect.String:
		if moment, is := asTime(v); is && key == "game.time" {
			v = moment
		}
		if text, is := v.(string); is {
			into.SetString(text)
			return
		}
		s.wrong(into, v, key)
	default:
		if yes, is := v.(bool); is {
			into.SetBool(yes)
			return
		}
		s.wrong(into, v, key)
	}
}

// asTime accepts a time that was written without quotes.
func asTime(v any) (string, bool) {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	case toml.LocalDateTime:
		return v.String(), true
	case toml.LocalDate:
		return v.String(), true
	}
	return "", false
}

func (s shaper) table(into reflect.Value, v any, key string) {
	m, is := v.(map[string]any)
	if !is {
		s.wrong(into, v, key)
		return
	}
	names, fields := keysOf(into.Type())
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if i, known := fields[name]; known {
			s.fillStruct(into.Field(i), m[name], join(key, name))
		} else {
			s.unknown(key, name, names, m)
		}
	}
}

func (s shaper) array(into reflect.Value, v any, key string) {
	list, is := v.([]any)
	if !is {
		s.wrong(into, v, key)
		return
	}
	made := reflect.MakeSlice(into.Type(), len(list), len(list))
	for i, v := range list {
		s.fillStruct(made.Index(i), v, element(key, i))
	}
	into.Set(made)
}

// wrong records a value of the wrong type.
func (s shaper) wrong(into reflect.Value, v any, key string) {
	want := ""
	switch into.Kind() {
	case reflect.Struct, reflect.Map:
		want = fmt.Sprintf("want a table: [%s]", key)
		if strings.HasSuffix(key, "]") {
			want = "want a table in braces, or of its own"
		}
	case reflect.Slice:
		want = `want a list in brackets: ["…"]`
		if into.Type().Elem().Kind() == reflect.Struct {
			want = fmt.Sprintf("there can be several: write [[%s]] with two brackets", key)
		}
	case reflect.String:
		want = "want text in quotes"
	case reflect.Int64:
		want = "want a whole number, without quotes"
	default:
		want = "want true or false, without quotes"
	}
	s.add(key, want, "is %s", kindOf(v))
}

// kindOf returns TOML's name for a value's type.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	default:
		return "a time"
	}
}

// unknown records a key that its table does not have. Its value is not examined.
func (s shaper) unknown(table, name string, names []string, values map[string]any) {
	key, meant := join(table, name), advice.Nearest(name, names)
	switch home := homeOf(table, name); {
	case isSecret(name):
		s.add(key, "keep secrets in the environment, and name the variable in a field of [signing] that ends in -env", "is not kept in this file")
	case meant != "":
		s.add(key, advice.DidYouMean(name, names), "is unknown")
		if _, there := values[meant]; !there {
			s.broken[join(table, meant)] = true // misspelt, not missing
		}
	case home != "":
		s.add(key, "it belongs into "+home, "is unknown in %s", tableName(table))
	default:
		s.add(key, fmt.Sprintf("%s has %s", tableName(table), strings.Join(names, ", ")), "is unknown")
	}
}

func tableName(table string) string {
	if table == "" {
		return "the file"
	}
	return "[" + table + "]"
}

// homeOf finds another table that has the key.
func homeOf(table, name string) string {
	home := ""
	eachKey(func(k Key) {
		if k.Name == name && k.Table != table && home == "" {
			home = "[" + k.Table + "]"
			if k.Many {
				home = "[" + home + "]"
			}
		}
	})
	return home
}

// isSecret reports whether a name is typical for a secret.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, "-env") {
		return false
	}
	for _, word := range []string{"password", "passphrase", "passwd", "secret", "token", "private", "credential"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "key" || strings.HasSuffix(name, "-key") || name == "pin"
}
