package main

import (
	"strings"

	"collet/netproto/compat"
)

// networkRoles are the ends that replicate, invoke and handle.
var networkRoles = []string{"Authority", "Autonomous", "Client", "Server"}

// readComponent reads a file with one component.
func (d *dialect) readComponent(file string, data []byte) error {
	r, err := d.open(file, data, "Component")
	if err != nil {
		return err
	}
	c, err := r.component()
	if err != nil {
		return err
	}
	d.components = append(d.components, c)
	return nil
}

// plain is a name of C++ as a name of ours: "A::B" becomes "A.B".
func plain(name string) string { return strings.ReplaceAll(name, "::", ".") }

func (r *reading) component() (c component, err error) {
	c = component{name: plain(r.text("Name", "")), where: r.file}
	if space := r.text("Namespace", ""); space != "" {
		c.name = plain(space) + "." + c.name
	}
	if c.span, err = r.span(); err != nil {
		return c, err
	}
	id, err := r.number("Id", 0, 1<<16-1, noID)
	if err != nil {
		return c, err
	}
	c.id = int(id)
	omitted, err := r.truth("OmitFromClientServerVersionHandshake")
	if err != nil {
		return c, err
	}
	side, err := r.word("Side", "both", "both", "server")
	if err != nil {
		return c, err
	}
	c.serverOnly = omitted || side == "server"
	for _, e := range r.children {
		m, err := r.child(e).member()
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

// member reads a member. Where none of a kind has a number, their places are, because that is what is on the wire; archetypes
// are found by their names, so their order is free.
func (r *reading) member() (m member, err error) {
	m = member{kind: kinds[r.name], name: plain(r.text("Name", ""))}
	if m.kind == "" {
		return m, nil
	}
	if m.span, err = r.span(); err != nil {
		return m, err
	}
	n, err := r.number("Number", 1, compat.MaxWireNumber, 0)
	if err != nil {
		return m, err
	}
	m.number = int(n)
	switch m.kind {
	case kindRPC:
		err = r.call(&m)
	case kindProperty:
		if err = r.value(&m); err == nil {
			err = r.pair(&m, "ReplicateFrom", "ReplicateTo")
		}
	default:
		err = r.value(&m)
	}
	return m, err
}

// value reads the type of a member and the container around it.
func (r *reading) value(m *member) (err error) {
	if m.typ, err = r.typ(); err != nil {
		return err
	}
	container, err := r.word("Container", "Object", "Object", "Array", "Vector")
	if err != nil {
		return err
	}
	count, err := r.number("Count", 0, 1<<31-1, 0)
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

// pair reads from where to where something goes. Defaults are written out.
func (r *reading) pair(m *member, from, to string) error {
	source, err := r.word(from, "Authority", networkRoles...)
	if err != nil {
		return err
	}
	sink, err := r.word(to, "Client", networkRoles...)
	m.extras = append(m.extras, "(from "+source+")", "(to "+sink+")")
	return err
}

// call reads a remote procedure and its parameters, whose order is on the wire.
func (r *reading) call(m *member) error {
	if err := r.pair(m, "InvokeFrom", "HandleOn"); err != nil {
		return err
	}
	reliable, err := r.truth("IsReliable")
	if err != nil {
		return err
	}
	m.extras = append(m.extras, reliability(reliable))
	for _, e := range r.children {
		p := r.child(e)
		arg := part{name: plain(p.text("Name", ""))}
		if arg.typ, err = p.typ(); err != nil {
			return err
		}
		if arg.span, err = p.span(); err != nil {
			return err
		}
		m.args = append(m.args, arg)
	}
	return nil
}
