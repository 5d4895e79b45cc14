package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collet/app/update"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/runtime/abi"
)

// manifestExt is the suffix of the component manifest beside a module, "Lathe.so.manifest.json", which compatgen wrote for that build.
// By its name it is a companion of the module, installed and removed with it.
const manifestExt = ".manifest.json"

// identity is the identity and the manifest that the client announces for the module with this compatibility version. Both are nil
// without a logic version: a server with logic versions would take any tags for those of a client without one.
func (u *updates) identity(compatibility string) (*netproto.HelloTags, *compat.Manifest) {
	s, meta := u.settings.Compatibility, u.meta
	build := compat.Build{Logic: compat.NoLogic}
	logic, components, derived := compat.ParseDerived(compatibility)
	if derived {
		build.Logic, build.Components = logic, components
	}
	manifest, said := u.ownManifest(compatibility), abi.Components{}
	if manifest != nil {
		said = *meta.Components
	} else {
		manifest = u.manifest(build)
	}
	if manifest != nil {
		build = manifest.Build
		build.Compatibility = ""
	}
	if s.LogicVersion != nil && !derived && manifest == nil {
		build.Logic = *s.LogicVersion
	}
	if build.Logic == compat.NoLogic {
		return nil, nil
	}
	if !s.BuildTime.IsZero() {
		build.Time = s.BuildTime.Unix()
	}
	build.Seq = firstOf(s.BuildNumber, build.Seq)
	build.Branch = firstOf(s.Branch, build.Branch)
	build.ID = firstOf(s.BuildId, build.ID, buildHash(meta, compatibility))
	if manifest != nil {
		shown := *manifest
		shown.Build = build
		manifest = &shown
	}
	flags := u.helloFlags()
	if said.Flags&abi.FlagDevelopment != 0 {
		flags |= compat.FlagDevelopment
	}
	return &netproto.HelloTags{Build: build, Patch: firstOf(s.ClientPatch, said.Patch), Content: u.content(), Account: s.Account, Flags: flags}, manifest
}

// ownManifest is the manifest that the module exports; nil if it exports none, or an inconsistent one.
func (u *updates) ownManifest(compatibility string) *compat.Manifest {
	c := u.meta.Components
	if c == nil || u.meta.CompatibilityVersion != compatibility {
		return nil
	}
	m := &compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{
		Logic: c.Logic, Components: c.Set, Time: c.BuildTime, Seq: c.BuildSeq, ID: c.BuildID, Branch: c.Branch,
	}}
	for _, e := range c.Entries {
		m.Entries = append(m.Entries, compat.Entry{Name: e.Name, WireID: e.WireID, Hash: e.Hash, ChangedAt: e.ChangedAt, Since: e.Since})
	}
	slices.SortFunc(m.Entries, func(a, b compat.Entry) int { return strings.Compare(a.Name, b.Name) })
	err := m.Check()
	if logic, sum, derived := compat.ParseDerived(compatibility); err == nil && derived && (logic != c.Logic || sum != c.Set) {
		err = fmt.Errorf("it is %s by them, and calls itself %s", compat.Derived(c.Logic, c.Set), compatibility)
	}
	if err != nil {
		u.log.Error().Err(err).Msg("what the module says of its components is not used")
		return nil
	}
	return m
}

// buildHash is the module's build hash; empty if it is longer than compat.MaxBuildID.
func buildHash(meta abi.Metadata, compatibility string) string {
	if meta.CompatibilityVersion != compatibility || len(meta.BuildHash) > compat.MaxBuildID {
		return ""
	}
	return meta.BuildHash
}

// first is the first value that is not zero, else zero.
func firstOf[T comparable](values ...T) (value T) {
	for _, v := range values {
		if v != value {
			return v
		}
	}
	return value
}

// helloFlags are the flags of this start for the server: development, redirected, after an update.
func (u *updates) helloFlags() (flags compat.Flags) {
	if u.settings.Compatibility.Development {
		flags |= compat.FlagDevelopment
	}
	if u.redirected() {
		flags |= compat.FlagRedirected
	}
	if u.applied() != (update.Offer{}) {
		flags |= compat.FlagAfterUpdate
	}
	return flags
}

// manifest reads the manifest of the module that has build; nil if not found. A manifest of another build, such as the one before an
// update, is not used.
func (u *updates) manifest(build compat.Build) *compat.Manifest {
	name := u.settings.Compatibility.Manifest
	asked := name != ""
	if !asked {
		name = u.modules().library() + manifestExt
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(u.folder, name)
	}
	data, err := readCapped(name, compat.MaxManifestFile)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil
	}
	var m compat.Manifest
	if err == nil {
		m, err = compat.ParseManifest(data)
	}
	if err == nil && build.Components != 0 && m.Build.Components != build.Components {
		err = fmt.Errorf("it is of the components %016x, and the module has %016x", m.Build.Components, build.Components)
	}
	if err != nil {
		u.log.Warn().Err(err).Str("file", name).Msg("component manifest not used")
		return nil
	}
	return &m
}

// readCapped reads a regular file of at most limit bytes.
func readCapped(name string, limit int64) (data []byte, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%d bytes, or no file; at most %d bytes are read", info.Size(), limit)
	}
	return os.ReadFile(name)
}
