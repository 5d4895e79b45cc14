package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"maps"
	"slices"
	"strings"
	"text/template"

	"collet/netproto/compat"
)

func encodeManifest(t *table) ([]byte, error) { return compat.EncodeManifest(&t.manifest) }

// goSource is the Go table. The package comment is the package's own business.
var goSource = template.Must(template.New("compat_gen.go").Parse(generatedBy + `package {{.Package}}

import {{printf "%q" .Library}}

const (
	{{.Name}}Logic        int32  = {{.Logic}} // logic version of this source
	{{.Name}}SupportedMin int32  = {{.SupportedMin}} // oldest one that it serves
	{{.Name}}Set          uint64 = 0x{{.Set}} // hash over all shared components
)

// {{.Name}}Baselines are the hashes over all shared components as each supported logic version sees them.
func {{.Name}}Baselines() map[int32]uint64 {
	return map[int32]uint64{
	{{- range .Versions}}
		{{.Logic}}: 0x{{.Set}},
	{{- end}}
	}
}

// {{.Name}}Components is the table of all components, to be registered before the first handshake.
func {{.Name}}Components() []compat.Component {
	return []compat.Component{
	{{- range .Components}}
		{
			Entry: compat.Entry{Name: {{printf "%q" .Name}}, WireID: {{.ID}}, Hash: 0x{{.Hash}}, ChangedAt: {{.ChangedAt}}, Since: {{.Since}}},
			Form:  ` + "`{{.Form}}`" + `,
			{{- if .ServerOnly}}
			ServerOnly: true,
			{{- end}}
		},
	{{- end}}
	}
}

// {{.Name}}Register registers all components and seals the registry.
func {{.Name}}Register(r *compat.Registry) error {
	for _, c := range {{.Name}}Components() {
		r.Register(c)
	}
	return r.Seal({{.Name}}Set)
}
`))

// row is a component as the templates show it.
type row struct {
	Name, Symbol, Hash, Form string
	ID                       uint16
	ChangedAt                int64
	Since                    int32
	ServerOnly               bool
}

// templateRows are the components that the project's logic version has, by name.
func (t *table) templateRows() (rows []row) {
	for _, c := range t.components {
		form, visible := t.forms[c.name]
		if !visible {
			continue
		}
		part := t.lock.Components[c.name]
		rows = append(rows, row{
			Name: c.name, Symbol: symbol(c.name), Hash: part.Hash, Form: form, ID: part.ID,
			ChangedAt: part.ChangedAt, Since: part.SinceLogic, ServerOnly: c.serverOnly,
		})
	}
	return rows
}

// symbol is a name as a constant of C.
func symbol(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToUpper(name))
}

type versionRow struct {
	Logic int32
	Set   string
}

// goTable is compat_gen.go.
func (t *table) goTable() ([]byte, error) {
	p := t.project
	if !token.IsIdentifier(p.Package) || !token.IsIdentifier(p.TableName) || !token.IsExported(p.TableName) {
		return nil, fmt.Errorf(`%s: "package" %q and "table_name" %q have to be names of Go, the second one exported`, p.pathOf(projectFile), p.Package, p.TableName)
	}
	var versions []versionRow
	for _, logic := range slices.Sorted(maps.Keys(t.sets)) {
		versions = append(versions, versionRow{logic, hexHash(t.sets[logic])})
	}
	library, err := p.libraryPath()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = goSource.Execute(&b, map[string]any{
		"Package": p.Package, "Library": library, "Name": p.TableName, "Logic": p.Logic, "SupportedMin": p.SupportedMin,
		"Set": hexHash(t.manifest.Build.Components), "Versions": versions, "Components": t.templateRows(),
	})
	if err != nil {
		return nil, err
	}
	return format.Source(b.Bytes())
}
