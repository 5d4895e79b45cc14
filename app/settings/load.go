package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"collet/platform/tomllines"
)

// Layer is the text of one source.
type Layer struct {
	Name string // of the source, for errors: a file's path, or "internal config"
	Text string // TOML; may be empty
}

// Error is one fault of a text.
type Error struct {
	Place string // Layer.Name
	Line  int    // from 1; 0: unknown
	Key   string // the setting; may be empty
	Text  string // the problem and the expected form
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "settings %s", e.Place)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	fmt.Fprintf(&b, ": %s", e.Text)
	return b.String()
}

// Parse is Load for one source.
func Parse(place, text string) (Settings, error) { return Load(Layer{place, text}) }

// Load merges layers in ascending priority. Its error is one *Error or several, joined.
func Load(layers ...Layer) (Settings, error) {
	var s Settings
	var faults []error
	said := map[string]*Error{} // for each setting, its last occurrence
	for _, layer := range layers {
		faults = append(faults, s.lay(layer)...)
		for key, line := range tomllines.Of([]byte(layer.Text), func(table, name string) string { return strings.TrimPrefix(table+"."+name, ".") }) {
			said[strings.ToLower(key)] = &Error{Place: layer.Name, Line: line, Key: key}
		}
	}
	if len(faults) == 0 {
		s.setDefaults()
		faults = s.faults(said)
	}
	if len(faults) > 0 {
		return Settings{}, errors.Join(faults...)
	}
	return s, nil
}

// ReadFile reads a layer from a file; a missing file is an empty layer.
func ReadFile(name string) (Layer, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Layer{Name: name}, nil
	}
	if err == nil && info.Size() > MaxText {
		return Layer{}, tooLong(name)
	}
	if err == nil && !info.Mode().IsRegular() {
		return Layer{}, &Error{Place: name, Text: "is no file; move it away"}
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return Layer{}, fmt.Errorf("settings: %w", err)
	}
	return Layer{name, string(text)}, nil
}

func tooLong(place string) *Error {
	return &Error{Place: place, Text: fmt.Sprintf("longer than %d bytes", MaxText)}
}

// lay applies a layer on top of s.
func (s *Settings) lay(l Layer) []error {
	if len(l.Text) > MaxText {
		return []error{tooLong(l.Name)}
	}
	root, file := s.Release.Root, s.Release.TrustedRoot
	s.Release.Root, s.Release.TrustedRoot = "", ""
	err := toml.NewDecoder(strings.NewReader(l.Text)).DisallowUnknownFields().Decode(s)
	if s.Release.Root == "" && s.Release.TrustedRoot == "" {
		s.Release.Root, s.Release.TrustedRoot = root, file
	}
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		return s.layUnknown(l, unknown.Errors)
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		return []error{&Error{Place: l.Name, Line: line, Key: strings.Join(wrong.Key(), "."), Text: strings.TrimPrefix(wrong.Error(), "toml: ")}}
	case err != nil:
		return []error{&Error{Place: l.Name, Text: err.Error()}}
	}
	return nil
}

// layUnknown handles names without a field: those outside of tables belong to the game, the others are faults.
func (s *Settings) layUnknown(l Layer, unknown []toml.DecodeError) (faults []error) {
	var top map[string]any
	if err := toml.Unmarshal([]byte(l.Text), &top); err != nil {
		return []error{&Error{Place: l.Name, Text: err.Error()}}
	}
	seen := map[string]bool{}
	for _, u := range unknown {
		line, _ := u.Position()
		key := strings.Join(u.Key(), ".")
		refuse := func(text string) { faults = append(faults, &Error{Place: l.Name, Line: line, Key: key, Text: text}) }
		value, single := top[u.Key()[0]], len(u.Key()) == 1
		if _, table := value.(map[string]any); !single || table || isTables(value) {
			if !seen[key] {
				refuse("no such setting; --help of the client lists them")
			}
			seen[key] = true
			continue
		}
		if err := s.giveGame(key, value); err != nil {
			refuse(err.Error())
		}
	}
	return faults
}

func isTables(value any) bool {
	list, is := value.([]any)
	if !is || len(list) == 0 {
		return false
	}
	_, is = list[0].(map[string]any)
	return is
}

// giveGame records a setting of the game.
func (s *Settings) giveGame(key string, value any) error {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case bool, int64, float64:
		text = fmt.Sprint(v)
	default:
		return errors.New("a setting of the game is text, a number, true or false; settings of the client stand in tables, such as [ClientNetwork]")
	}
	switch {
	case !isName(key):
		return errors.New("a setting of the game becomes an argument of it, so its name has letters, digits, - and _, and begins with a letter")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return errors.New("a setting of the game is one line without control characters")
	case len(s.Game) >= MaxGame && s.Game[key] == "":
		return fmt.Errorf("the game can have %d settings, not more", MaxGame)
	}
	if s.Game == nil {
		s.Game = map[string]string{}
	}
	s.Game[key] = text
	return nil
}

func isName(key string) bool {
	for i, r := range key {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '-' && r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return key != ""
}
