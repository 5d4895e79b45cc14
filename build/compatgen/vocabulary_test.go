package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Where each element stands, with a mark where an attribute goes. Beside it is what the rest of the file needs.
var standing = map[string]string{
	"Component":         `<Component Name="Crane" Namespace="Harbour" %s><NetworkProperty Type="float" Name="Load"/></Component>`,
	"Include":           `<Component Name="Crane" Namespace="Harbour"><Include %s/><NetworkProperty Type="float" Name="Load"/></Component>`,
	"ComponentRelation": `<Component Name="Crane" Namespace="Harbour"><ComponentRelation %s/><NetworkProperty Type="float" Name="Load"/></Component>`,
	"NetworkProperty":   `<Component Name="Crane" Namespace="Harbour"><NetworkProperty Type="float" Name="Load" %s/></Component>`,
	"NetworkInput":      `<Component Name="Crane" Namespace="Harbour"><NetworkInput Type="float" Name="Swing" %s/></Component>`,
	"ArchetypeProperty": `<Component Name="Crane" Namespace="Harbour"><ArchetypeProperty Type="float" Name="Reach" %s/></Component>`,
	"RemoteProcedure":   `<Component Name="Crane" Namespace="Harbour"><RemoteProcedure Name="Grab" %s><Param Type="float" Name="How"/></RemoteProcedure></Component>`,
	"Param":             `<Component Name="Crane" Namespace="Harbour"><RemoteProcedure Name="Grab"><Param Type="float" Name="How" %s/></RemoteProcedure></Component>`,
}

// another is a value that the attribute does not have in the element as it stands.
var another = map[string]string{
	"Name": "Other", "Namespace": "Elsewhere", "Type": "double",
	"OverrideComponent": "true", "OverrideController": "true", "OverrideInclude": "Source/Crane.h",
	"OmitFromClientServerVersionHandshake": "true", "Id": "77", "Side": "server", "Since": "7", "Until": "8",
	"Description": "What it carries", "File": "Crane.h", "Constraint": "Required", "HasController": "true",
	"Include": "Crane.h", "ReplicateFrom": "Server", "ReplicateTo": "Autonomous", "Container": "Vector",
	"Count": "5", "Init": "0.0f", "IsRewindable": "true", "IsPredictable": "true", "IsPublic": "true",
	"ExposeToEditor": "true", "ExposeToScript": "true", "GenerateEventBindings": "true", "Number": "4",
	"InvokeFrom": "Server", "HandleOn": "Authority", "IsReliable": "true",
}

// declared is a project with one file, and the forms and ids of it.
func declared(t *testing.T, xml string) (forms map[string]string, sets map[int32]uint64, err error) {
	t.Helper()
	dir := layOut(t, map[string]string{"a.xml": xml, projectFile: `{"logic": 8, "supported_min": 6, "declarations": ["*.xml"]}`})
	made, err := buildTable(dir, stamp{})
	if err != nil {
		return nil, nil, err
	}
	return made.forms, made.sets, nil
}

// TestEveryAttribute gives each attribute of each element another value: those that are on the wire change what is compared in some
// supported version, and those that are not change nothing in any.
func TestEveryAttribute(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, element := range slices.Sorted(maps.Keys(standing)) {
		plain := fmt.Sprintf(standing[element], "")
		_, before, err := declared(t, plain)
		if err != nil {
			t.Fatalf("%s: %v", element, err)
		}
		for _, key := range slices.Sorted(maps.Keys(vocabulary[element])) {
			value, listed := another[key]
			if !listed {
				t.Errorf("%s of %s has no other value here", key, element)
				continue
			}
			with := fmt.Sprintf(standing[element], fmt.Sprintf("%s=%q", key, value))
			for _, present := range []string{`Name="Crane"`, `Namespace="Harbour"`, `Type="float"`, `Name="Load"`, `Name="Swing"`, `Name="Reach"`, `Name="Grab"`, `Name="How"`} {
				if own, _, _ := strings.Cut(present, "="); own == key && strings.Contains(elementOf(with, element), present) {
					with = strings.Replace(with, elementOf(with, element), strings.Replace(elementOf(with, element), present, "", 1), 1)
					break
				}
			}
			if key == "Count" { // it goes with a container that has one
				plainVector := fmt.Sprintf(standing[element], `Container="Vector"`)
				if _, before, err = declared(t, plainVector); err != nil {
					t.Fatal(err)
				}
				with = fmt.Sprintf(standing[element], `Container="Vector" Count="5"`)
			}
			_, after, err := declared(t, with)
			if err != nil {
				t.Errorf("%s of %s: %v\n%s", key, element, err, with)
				continue
			}
			if changed := !maps.Equal(before, after); changed != bool(vocabulary[element][key]) {
				t.Errorf("%s of %s: what is compared has changed: %t\n%s", key, element, changed, with)
			}
			if _, before, err = declared(t, plain); err != nil {
				t.Fatal(err)
			}
			tried++
		}
	}
	if tried < 70 {
		t.Errorf("%d attributes", tried)
	}
}

// elementOf is the first tag of an element.
func elementOf(xml, element string) string {
	from := strings.Index(xml, "<"+element+" ")
	return xml[from : from+strings.Index(xml[from:], ">")+1]
}

// TestEveryDefault: an attribute that is left out is one with its default, in each element that has it.
func TestEveryDefault(t *testing.T) {
	t.Parallel()
	for element, defaults := range map[string][]string{
		"Component":         {`OmitFromClientServerVersionHandshake="false"`, `Side=""`},
		"NetworkProperty":   {`ReplicateFrom="Authority"`, `ReplicateTo="Client"`, `Container="Object"`},
		"NetworkInput":      {`Container="Object"`},
		"ArchetypeProperty": {`Container="Object"`},
		"RemoteProcedure":   {`InvokeFrom="Authority"`, `HandleOn="Client"`, `IsReliable="false"`, `IsReliable="0"`},
	} {
		_, want, err := declared(t, fmt.Sprintf(standing[element], ""))
		if err != nil {
			t.Fatal(err)
		}
		for _, given := range defaults {
			_, got, err := declared(t, fmt.Sprintf(standing[element], given))
			if given == `Side=""` {
				if err == nil {
					t.Errorf("%s %s: a side without a name", element, given)
				}
				continue
			}
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%s %s: %v, %x, want %x", element, given, err, got, want)
			}
		}
	}
}

// TestExplainedComponents holds what each component of the project is explained as to the text that people compared, so that a hash
// which changes is seen as a text that changed.
func TestExplainedComponents(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	made, err := buildTable(dir, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(made.forms)) {
		all.WriteString(must(t, "explain", name, dir) + "\n")
	}
	golden(t, "explain.txt", all.String())
	if n := strings.Count(all.String(), "(component "); n != len(made.forms) || n < 13 {
		t.Errorf("%d components are explained", n)
	}
}
