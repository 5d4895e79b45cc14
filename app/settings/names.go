package settings

import (
	"reflect"
	"time"
)

// Names lists all settings, as Table.Name, in their order in Settings.
func Names() []string { return names("", reflect.TypeFor[Settings]()) }

func names(prefix string, t reflect.Type) (list []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Tag.Get("toml") == "-":
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]():
			list = append(list, names(prefix+f.Name+".", f.Type)...)
		default:
			list = append(list, prefix+f.Name)
		}
	}
	return list
}
