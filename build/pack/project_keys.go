package pack

import "reflect"

// Key is a possible key of a description.
type Key struct {
	Table string // such as game or variant.build; empty at the top level
	Name  string
	Kind  string // text, number, true or false, list, table, tables
	Type  string // its Go type and field
	Field string
	Many  bool // the table is an array
}

// Keys lists all possible keys of a description: tables in their order, and the keys of each in theirs.
func Keys() (keys []Key) {
	eachKey(func(k Key) { keys = append(keys, k) })
	return keys
}

// eachKey visits all keys.
func eachKey(visit func(Key)) { visitKeys(reflect.TypeFor[Description](), "", false, visit) }

func visitKeys(t reflect.Type, table string, many bool, visit func(Key)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		visit(Key{Table: table, Name: name, Kind: keyKind(f.Type), Type: t.Name(), Field: f.Name, Many: many})
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		switch keyKind(f.Type) {
		case "table":
			if f.Type.Kind() == reflect.Struct {
				visitKeys(f.Type, join(table, name), many, visit)
			}
		case "tables":
			visitKeys(f.Type.Elem(), join(table, name), true, visit)
		}
	}
}

func keyKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "table"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "tables"
		}
		return "list"
	case reflect.Pointer:
		return keyKind(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "number"
	default:
		return "text"
	}
}
