package main

import (
	"strings"

	"collet/netproto/compat"
)

// networkRoles are the ends that replicate, invoke and handle.
var networkRoles = []string{"Authority", "Autonomous", "Client", "Server"}

// readComponent reads a file with one component.
func (d *dialect) readComponent(file string, data []byte) error {
	r, err := d.openFile(file, data, "Component")
	if err != nil {
		return err
	}
	c, err := r.readComponent()
	if err != nil {
		return err
	}
	d.components = append(d.components, c)
	return nil
}

// dottedName is a name of C++ as a name of ours: "A::B" becomes "A.B".
func dottedName(name string) string { return strings.ReplaceAll(name, "::", ".") }

func (r *reading) readComponent() (c component, err error) {
	c = component{name: dottedName(r.attrText("Name", "")), where: r.file}
	if space := r.attrText("Namespace", ""); space != "" {
		c.name = dottedName(space) + "." + c.name
	}
	if c.span, err = r.attrSpan(); err != nil {
		return c, err
	}
	id, err := r.attrNumber("Id", 0, 1<<16-1, noID)
	if err != nil {
		return c, err
	}
	c.id = int(id)
	omitted, err := r.attrBool("OmitFromClientServerVersionHandshake")
	if err != nil {
		return c, err
	}
	side, err := r.attrWord("Side", "both", "both", "server")
	if err != nil {
		return c, err
	}
	c.serverOnly = omitted || side == "server"
	for _, e := range r.children {
		m, err := r.child(e).readMember()
		if err != nil {
			return c, err
		}
		if m.kind != "" {
			c.members = append(c.members, m)
		}
	}
	return c, nil
}

// kinds are the elements that are members.
var kinds = map[string]kind{"NetworkProperty": kindProperty, "NetworkInput": kindInput, "ArchetypeProperty": kindArchetype, "RemoteProcedure": kindRPC}

// readMember reads a member. Where none of a kind has a number, their places are, because that is what is on the wire; archetypes
// are found by their names, so their order is free.
func (r *reading) readMember() (m member, err error) {
	m = member{kind: kinds[r.name], name: dottedName(r.attrText("Name", ""))}
	if m.kind == "" {
		return m, nil
	}
	if m.span, err = r.attrSpan(); err != nil {
		return m, err
	}
	n, err := r.attrNumber("Number", 1, compat.MaxWireNumber, 0)
	if err != nil {
		return m, err
	}
	m.number = int(n)
	switch m.kind {
	case kindRPC:
		err = r.readCall(&m)
	case kindProperty:
		if err = r.readValueType(&m); err == nil {
			err = r.readEnds(&m, "ReplicateFrom", "ReplicateTo")
		}
	default:
		err = r.readValueType(&m)
	}
	return m, err
}

// readValueType reads the type of a member and the container around it.
func (r *reading) readValueType(m *member) (err error) {
	if m.typ, err = r.attrType(); err != nil {
		return err
	}
	container, err := r.attrWord("Container", "Object", "Object", "Array", "Vector")
	if err != nil {
		return err
	}
	count, err := r.attrNumber("Count", 0, 1<<31-1, 0)
	if err != nil {
		return err
	}
	switch container {
	case "Array":
		m.typ = &typ{shape: shapeArray, count: count, items: []*typ{m.typ}}
	case "Vector":
		m.typ = &typ{shape: shapeList, count: count, items: []*typ{m.typ}}
	}
	return nil
}

// readEnds reads from where to where something goes. Defaults are written out.
func (r *reading) readEnds(m *member, from, to string) error {
	source, err := r.attrWord(from, "Authority", networkRoles...)
	if err != nil {
		return err
	}
	sink, err := r.attrWord(to, "Client", networkRoles...)
	m.extras = append(m.extras, "(from "+source+")", "(to "+sink+")")
	return err
}

// readCall reads a remote procedure and its parameters, whose order is on the wire.
func (r *reading) readCall(m *member) error {
	if err := r.readEnds(m, "InvokeFrom", "HandleOn"); err != nil {
		return err
	}
	reliable, err := r.attrBool("IsReliable")
	if err != nil {
		return err
	}
	m.extras = append(m.extras, reliability(reliable))
	for _, e := range r.children {
		p := r.child(e)
		arg := part{name: dottedName(p.attrText("Name", ""))}
		if arg.typ, err = p.attrType(); err != nil {
			return err
		}
		if arg.span, err = p.attrSpan(); err != nil {
			return err
		}
		m.args = append(m.args, arg)
	}
	return nil
}
