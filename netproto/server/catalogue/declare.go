package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"collet/netproto/compat"
	"collet/netproto/product"
	"collet/netproto/server/config"
)

// declaration is the input of package compat from a catalogue and its settings, with the released manifests and the offer of each
// payload.
type declaration struct {
	compat.Declared
	released map[int32]*compat.Manifest // baselines
	payloads map[string][]payload       // by target, in the order of Declared.Targets
}

// payload is a native module with its offer.
type payload struct {
	compat.Payload
	offer *Offer // nil in a declaration without files
}

// maxBaselines is the largest number of baseline files: a game has a few dozen logic versions in its lifetime.
const maxBaselines = 1000

// readDeclaration reads the declaration of the server's own build. offerTo adds the targets.
func readDeclaration(s config.Settings) (declaration, error) {
	c := s.Compat
	d := declaration{Declared: compat.Declared{
		Versioned: c.Versioned(), Compatibility: s.CompatibilityVersion, Content: c.Content, Development: c.Development, Lax: c.Lax, Own: slices.Clone(c.Hosts),
		Build: compat.Build{Logic: compat.NoLogic},
	}}
	if c.Manifest != "" {
		m, err := readManifest(c.Manifest)
		if err != nil {
			return d, err
		}
		d.Manifest, d.Build = &m, m.Build
	}
	d.Build.ID, d.Build.Branch = cmp.Or(c.Build, d.Build.ID), cmp.Or(c.Branch, d.Build.Branch)
	if !d.Versioned {
		return d, nil
	}
	var err error
	if d.Supported, err = c.SupportedRange(); err != nil {
		return d, &config.Error{Key: "Compat.Supported", Text: err.Error()}
	}
	if d.Build.Logic, err = ownLogic(c, d.Manifest, d.Supported); err != nil {
		return d, err
	}
	if d.Manifest != nil {
		d.Manifest.Build = d.Build
	}
	d.released, err = readBaselines(c.Baselines, d.Supported)
	d.Baselines = make(map[int32]uint64, len(d.released))
	for logic, m := range d.released {
		d.Baselines[logic] = m.Build.Components
	}
	return d, err
}

// ownLogic is the logic version of the server's own build.
func ownLogic(c config.Compat, m *compat.Manifest, supported compat.Range) (int32, error) {
	own, err := strconv.ParseInt(cmp.Or(c.Logic, "0"), 10, 32)
	if err != nil {
		return 0, &config.Error{Key: "Compat.Logic", Text: "must be a whole number"}
	}
	switch {
	case m != nil && c.Logic != "" && int32(own) != m.Build.Logic:
		return 0, &config.Error{Key: "Compat.Logic", Text: fmt.Sprintf("is %s, but the manifest is of logic version %d: leave it out", c.Logic, m.Build.Logic)}
	case m != nil && !supported.Has(m.Build.Logic):
		return 0, &config.Error{Key: "Compat.Supported", Text: fmt.Sprintf("is %v, but the server's manifest is of logic version %d", supported, m.Build.Logic)}
	case m != nil:
		return m.Build.Logic, nil
	case c.Logic != "":
		return int32(own), nil
	default:
		return supported.Max, nil
	}
}

// readManifest reads one manifest. The error is a *Error.
func readManifest(path string) (compat.Manifest, error) {
	data, err := readBounded(path, compat.MaxManifestFile)
	if err != nil {
		return compat.Manifest{}, &Error{Subject: "component manifest", Path: path, Err: err, Hint: "compatgen gen writes it"}
	}
	m, err := compat.ParseManifest(data)
	if err != nil {
		return m, &Error{Subject: "component manifest", Path: path, Err: err, Hint: "compatgen gen writes it anew"}
	}
	return m, nil
}

// readBounded reads a file of a bounded size.
func readBounded(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is no regular file")
	case info.Size() > most:
		return nil, fmt.Errorf("has %d bytes, at most %d are read", info.Size(), most)
	}
	return os.ReadFile(path)
}

// readBaselines reads every manifest of a folder, and skips those of unsupported versions.
func readBaselines(folder string, supported compat.Range) (map[int32]*compat.Manifest, error) {
	all := map[int32]*compat.Manifest{}
	if folder == "" {
		return all, nil
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(folder), "*.json"))
	if _, missing := os.Stat(folder); err == nil {
		err = missing
	}
	if err == nil && len(files) > maxBaselines {
		err = fmt.Errorf("has %d files, at most %d are read", len(files), maxBaselines)
	}
	if err != nil {
		return nil, &Error{Subject: "baselines", Path: folder, Err: err, Hint: "set Compat.Baselines to the folder that compatgen release writes"}
	}
	from := map[int32]string{}
	for _, file := range files {
		m, err := readManifest(file)
		if err != nil {
			return nil, err
		}
		logic := m.Build.Logic
		if other, twice := from[logic]; twice {
			return nil, &Error{Subject: "component manifest", Path: file, Err: fmt.Errorf("is of logic version %d, and so is %q", logic, other),
				Hint: "keep the one that was released"}
		}
		from[logic] = file
		if supported.Has(logic) {
			all[logic] = &m
		}
	}
	return all, nil
}

// escapeGlob escapes the pattern characters of filepath.Glob.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // filepath.Glob has no escapes on Windows
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// addTargets adds the targets with their payloads, the newest logic version first.
func (d *declaration) addTargets(payloads map[string][]payload) {
	d.payloads, d.Targets = payloads, make(map[string]compat.Target, len(payloads))
	for name, all := range payloads {
		slices.SortStableFunc(all, func(a, b payload) int {
			return cmp.Or(cmp.Compare(b.Logic, a.Logic), cmp.Compare(b.Patch, a.Patch))
		})
		t := compat.Target{Store: !product.Target(name).CanSelfUpdate(), Payloads: make([]compat.Payload, len(all))}
		for i := range all {
			t.Payloads[i] = all[i].Payload
		}
		d.Targets[name] = t
	}
}

// offerOf is the offer of a judgement's payload, or nil.
func (d *declaration) offerOf(target string, p *compat.Payload) *Offer {
	for i := range d.payloads[target] {
		if found := &d.payloads[target][i]; p != nil && found.Payload == *p {
			return found.offer
		}
	}
	return nil
}

// manifestFor is the manifest for comparison with clients of a logic version: its baseline, or the server's own manifest if that
// is of this version or the version has no baseline; nil without either.
func (d *declaration) manifestFor(logic int32) *compat.Manifest {
	if m := d.released[logic]; m != nil && (d.Manifest == nil || logic != d.Build.Logic) {
		return m
	}
	return d.Manifest
}

// identifyContent derives the identities of the offered packs: the common one, and those of targets with different packs.
func (d *declaration) identifyContent(all offers) {
	d.Content = all.common.contentIdentity()
	for name, o := range all.byTarget {
		if own := o.contentIdentity(); own != d.Content {
			t := d.Targets[name]
			t.Content = own
			d.Targets[name] = t
		}
	}
}
