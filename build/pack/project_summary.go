package pack

import (
	"slices"
	"time"

	"collet/netproto/product"
)

// Summary describes the packages of a project, for people and programs.
type Summary struct {
	Name     string          `json:"name"`
	NiceName string          `json:"niceName"`
	ID       string          `json:"id"`
	Version  string          `json:"version"`
	Time     string          `json:"time"` // RFC 3339, UTC
	Builds   []BuildSummary  `json:"builds"`
	Packs    []PackSummary   `json:"packs"`
	Servers  []ServerSummary `json:"servers"`
	Signed   []string        `json:"signed"` // systems whose packages are signed
}

// BuildSummary is one variant for one target.
type BuildSummary struct {
	Target  string   `json:"target"`
	Name    string   `json:"name"`    // base name of its files
	Variant string   `json:"variant"` // for people
	Formats []string `json:"formats"` // of client packages; empty: only servers have the build
}

// PackSummary is one resource pack.
type PackSummary struct {
	Name       string `json:"name"`
	Deflate    bool   `json:"deflate"`
	ServerOnly bool   `json:"serverOnly"`
}

// ServerSummary is the server's package for one target.
type ServerSummary struct {
	Target  string   `json:"target"`
	Formats []string `json:"formats"`
}

// Summary lists the planned packages.
func (p *Project) Summary() Summary {
	s := Summary{
		Name: p.Game.Name, NiceName: p.Game.NiceName, ID: p.Game.ID, Version: p.Game.Version, Time: p.time.Format(time.RFC3339),
		Builds: []BuildSummary{}, Packs: []PackSummary{}, Servers: []ServerSummary{}, Signed: []string{},
	}
	for _, b := range p.builds {
		one := BuildSummary{Target: string(b.Target), Name: b.Base, Variant: b.Variant.String(), Formats: []string{}}
		if b.Host != "" {
			one.Formats = append(one.Formats, p.Formats(b.Target)...)
		}
		s.Builds = append(s.Builds, one)
	}
	for _, k := range p.Resources.Packs {
		s.Packs = append(s.Packs, PackSummary{k.Name, k.Deflate, k.ServerOnly})
	}
	for _, program := range p.Server.Programs {
		s.Servers = append(s.Servers, ServerSummary{program.Target, slices.Concat([]string{}, p.Server.Formats)})
	}
	s.Signed = append(s.Signed, p.Signing.systems()...)
	return s
}

// systems returns the systems whose packages are signed.
func (s Signing) systems() (names []string) {
	if s.Windows.KeyEnv != "" || s.Windows.PKCS12Env != "" || len(s.Windows.Command) > 0 {
		names = append(names, product.Windows)
	}
	if s.Linux.KeyEnv != "" || len(s.Linux.Command) > 0 {
		names = append(names, product.Linux)
	}
	if len(s.MacOS.Command) > 0 {
		names = append(names, product.MacOS)
	}
	return names
}
