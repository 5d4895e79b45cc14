package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"collet/netproto/compat"
)

// dialect reads declarations in the way of auto-components (seed 002; compat reference, section 1.2), so that such files can
// be used as they are, and types in the same way. Attributes of our own are Id, Number, Side, Since and Until.
type dialect struct {
	document   []string // attributes that the project adds to those that say nothing
	components []component

	known   map[string]*typ // declared types by their names
	inside  []pending       // what declared types are made of, read when all are known
	unknown map[string]*typ // used, and declared nowhere
}

// pending is a declared type whose inside was not looked at yet.
type pending struct {
	e     element
	file  string
	named *typ
}

// attribute says what an attribute is to the wire.
type attribute bool

const (
	counts attribute = true  // it is on the wire, or names what is
	silent attribute = false // documentation, an editor's or a compiler's business
)

// vocabulary are the elements and their attributes. What is not here is an error: a word that was written wrongly would
// otherwise count for nothing.
var vocabulary = map[string]map[string]attribute{
	"Component": {
		"Name": counts, "Namespace": counts, "OverrideComponent": silent, "OverrideController": silent, "OverrideInclude": silent,
		"OmitFromClientServerVersionHandshake": counts, "Id": counts, "Side": counts, "Since": counts, "Until": counts, "Description": silent,
	},
	"Include":           {"File": silent},
	"ComponentRelation": {"Constraint": silent, "HasController": silent, "Name": silent, "Namespace": silent, "Include": silent},
	"NetworkProperty": {
		"Type": counts, "Name": counts, "ReplicateFrom": counts, "ReplicateTo": counts, "Container": counts, "Count": counts,
		"Init": silent, "IsRewindable": silent, "IsPredictable": silent, "IsPublic": silent, "ExposeToEditor": silent, "ExposeToScript": silent,
		"GenerateEventBindings": silent, "Description": silent, "Number": counts, "Since": counts, "Until": counts,
	},
	"NetworkInput": {
		"Type": counts, "Name": counts, "Container": counts, "Count": counts, "Init": silent, "IsPublic": silent, "ExposeToEditor": silent,
		"ExposeToScript": silent, "GenerateEventBindings": silent, "Description": silent, "Number": counts, "Since": counts, "Until": counts,
	},
	"ArchetypeProperty": {
		"Type": counts, "Name": counts, "Container": counts, "Count": counts, "Init": silent, "IsPublic": silent, "ExposeToEditor": silent,
		"ExposeToScript": silent, "GenerateEventBindings": silent, "Description": silent, "Since": counts, "Until": counts,
	},
	"RemoteProcedure": {
		"Name": counts, "InvokeFrom": counts, "HandleOn": counts, "IsReliable": counts, "IsPublic": silent, "ExposeToEditor": silent,
		"ExposeToScript": silent, "GenerateEventBindings": silent, "Description": silent, "Number": counts, "Since": counts, "Until": counts,
	},
	"Param": {"Type": counts, "Name": counts, "Description": silent, "Since": counts, "Until": counts},
	"Types": {},
	"Type":  {"Name": counts, "Is": counts, "Description": silent},
	"Field": {"Type": counts, "Name": counts, "Number": counts, "Since": counts, "Until": counts, "Description": silent},
}

// within says which elements stand in which.
var within = map[string][]string{
	"Component":       {"Include", "ComponentRelation", "NetworkProperty", "NetworkInput", "ArchetypeProperty", "RemoteProcedure"},
	"RemoteProcedure": {"Param"},
	"Types":           {"Type"},
	"Type":            {"Field"},
}

// reading is one element of a file that is being read.
type reading struct {
	element
	file string
	d    *dialect
}

func (r *reading) fault(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %w", r.file, r.line, r.name, fmt.Errorf(format, args...))
}

func (r *reading) child(e element) *reading { return &reading{element: e, file: r.file, d: r.d} }

// open reads a file whose root has a name, and checks every word in it.
func (d *dialect) open(file string, data []byte, root string) (*reading, error) {
	e, err := readElement(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &reading{element: e, file: file, d: d}
	if e.name != root {
		return nil, r.fault("the root element is %s, want %s", e.name, root)
	}
	return r, r.checkWords()
}

// checkWords refuses unknown elements and attributes.
func (r *reading) checkWords() error {
	known := vocabulary[r.name]
	for _, a := range r.attrs {
		if _, is := known[a.key]; !is && !slices.Contains(r.d.document, a.key) {
			return r.fault(`attribute %q is unknown; if it says nothing to the wire, name it in "documentation" of %s`, a.key, projectFile)
		}
	}
	for _, e := range r.children {
		if !slices.Contains(within[r.name], e.name) {
			return r.child(e).fault("it does not belong into %s", r.name)
		}
		if err := r.child(e).checkWords(); err != nil {
			return err
		}
	}
	return nil
}

// text is an attribute without blanks around it, or the fallback where it is absent.
func (r *reading) text(key, fallback string) string {
	if value, there := r.get(key); there {
		return strings.TrimSpace(value)
	}
	return fallback
}

// truth is an attribute that is true or false.
func (r *reading) truth(key string) (bool, error) {
	switch value := strings.ToLower(r.text(key, "false")); value {
	case "true", "1":
		return true, nil
	case "false", "0", "":
		return false, nil
	default:
		return false, r.fault("%s=%q is neither true nor false", key, value)
	}
}

// number is an attribute that is a whole number, or the fallback where it is absent.
func (r *reading) number(key string, least, most, fallback int64) (int64, error) {
	value := r.text(key, strconv.FormatInt(fallback, 10))
	n, err := strconv.ParseInt(value, 10, 64)
	if _, there := r.get(key); there && (err != nil || n < least || n > most) {
		return 0, r.fault("%s=%q: a number from %d to %d is wanted", key, value, least, most)
	}
	return n, nil
}

// word is one of a few.
func (r *reading) word(key, fallback string, among ...string) (string, error) {
	value := r.text(key, fallback)
	if !slices.Contains(among, value) {
		return "", r.fault("%s=%q: one of %s is wanted", key, value, strings.Join(among, ", "))
	}
	return value, nil
}

func (r *reading) span() (s compat.Span, err error) {
	since, err := r.number("Since", 1, 1<<31-1, 0)
	if err != nil {
		return s, err
	}
	until, err := r.number("Until", 1, 1<<31-1, 0)
	return compat.Span{Since: int32(since), Until: int32(until)}, err
}

// typ is the attribute Type.
func (r *reading) typ() (*typ, error) {
	t, err := r.d.parseType(r.text("Type", ""))
	if err != nil {
		return nil, r.fault("%w", err)
	}
	return t, nil
}

// warnings name the types that are used and declared nowhere.
func (d *dialect) warnings() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(d.unknown)) {
		all = append(all, fmt.Sprintf("type %s is declared nowhere: a change inside it is not noticed; declare it in a file of %q", name, "types"))
	}
	return all
}
