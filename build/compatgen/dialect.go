package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"collet/netproto/compat"
)

// dialect reads declarations in the format of auto-components, so that such files can be used unchanged, and types in the same
// format. Our additional attributes are Id, Number, Side, Since and Until.
type dialect struct {
	document   []string // attributes that the project adds to the silent ones
	components []component

	known   map[string]*typ // declared types by their names
	inside  []pending       // declared types whose structure is read when all names are known
	unknown map[string]*typ // used, but not declared
}

// pending is a declared type whose structure was not read yet.
type pending struct {
	e     element
	file  string
	named *typ
}

// attribute says whether an attribute affects the wire.
type attribute bool

const (
	counts attribute = true  // it is on the wire, or names something that is
	silent attribute = false // for documentation, editors or compilers
)

// vocabulary are the elements and their attributes. Others are errors: a misspelled word would otherwise have no effect.
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

// within are the children that each element may have.
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

// openFile reads a file whose root has a name, and checks every word in it.
func (d *dialect) openFile(file string, data []byte, root string) (*reading, error) {
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

// checkWords rejects unknown elements and attributes.
func (r *reading) checkWords() error {
	known := vocabulary[r.name]
	for _, a := range r.attrs {
		if _, is := known[a.key]; !is && !slices.Contains(r.d.document, a.key) {
			return r.fault(`attribute %q is unknown; if it does not affect the wire, list it in "documentation" of %s`, a.key, projectFile)
		}
	}
	for _, e := range r.children {
		if !slices.Contains(within[r.name], e.name) {
			return r.child(e).fault("it is not allowed in %s", r.name)
		}
		if err := r.child(e).checkWords(); err != nil {
			return err
		}
	}
	return nil
}

// attrText is an attribute without blanks around it, or the fallback where it is absent.
func (r *reading) attrText(key, fallback string) string {
	if value, there := r.attr(key); there {
		return strings.TrimSpace(value)
	}
	return fallback
}

// attrBool is an attribute that is true or false.
func (r *reading) attrBool(key string) (bool, error) {
	switch value := strings.ToLower(r.attrText(key, "false")); value {
	case "true", "1":
		return true, nil
	case "false", "0", "":
		return false, nil
	default:
		return false, r.fault("%s=%q is neither true nor false", key, value)
	}
}

// attrNumber is an attribute that is a whole number, or the fallback where it is absent.
func (r *reading) attrNumber(key string, least, most, fallback int64) (int64, error) {
	value := r.attrText(key, strconv.FormatInt(fallback, 10))
	n, err := strconv.ParseInt(value, 10, 64)
	if _, there := r.attr(key); there && (err != nil || n < least || n > most) {
		return 0, r.fault("%s=%q: a number from %d to %d is wanted", key, value, least, most)
	}
	return n, nil
}

// attrWord is one of a few.
func (r *reading) attrWord(key, fallback string, among ...string) (string, error) {
	value := r.attrText(key, fallback)
	if !slices.Contains(among, value) {
		return "", r.fault("%s=%q: one of %s is wanted", key, value, strings.Join(among, ", "))
	}
	return value, nil
}

func (r *reading) attrSpan() (s compat.Span, err error) {
	since, err := r.attrNumber("Since", 1, 1<<31-1, 0)
	if err != nil {
		return s, err
	}
	until, err := r.attrNumber("Until", 1, 1<<31-1, 0)
	return compat.Span{Since: int32(since), Until: int32(until)}, err
}

// attrType is the attribute Type.
func (r *reading) attrType() (*typ, error) {
	t, err := r.d.parseType(r.attrText("Type", ""))
	if err != nil {
		return nil, r.fault("%w", err)
	}
	return t, nil
}

// warnings name the types that are used but not declared.
func (d *dialect) warnings() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(d.unknown)) {
		all = append(all, fmt.Sprintf("type %s is not declared: changes in it are not detected; declare it in a file of %q", name, "types"))
	}
	return all
}
