package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/netproto/compat"
	"collet/netproto/server/config"
	"collet/platform"
	"collet/platform/text"
)

// The logic version of a native module is in a file beside it, its sidecar (docs/COMPATIBILITY.md):
//
//	FoGame.so                {"logic": 7, "patch": 2, "set_hash": "4c37681f163b1204",
//	FoGame.so.compat.json     "build": {"id": "v1.7.2", "branch": "main", "time": 1772460300, "seq": 841}}
//
// A manifest.json of compatgen is a sidecar, too; its other fields are ignored. A server with logic versions does not offer a
// module without a sidecar: clients would request an unsuitable update again and again. Modules of older logic versions are in
// Compat.Payloads, as <logic>/<target>/<file>.
const sidecarExt = ".compat.json"

// sidecar is the content of a sidecar.
type sidecar struct {
	Logic int32  `json:"logic"`
	Patch uint32 `json:"patch"`
	Set   string `json:"set_hash"`
	Build struct {
		Time   int64  `json:"time"`
		Seq    uint64 `json:"seq"`
		ID     string `json:"id"`
		Branch string `json:"branch"`
	} `json:"build"`
}

// maxLogicFolders is the largest number of logic versions in Compat.Payloads.
const maxLogicFolders = 100

// withoutSidecars removes the sidecars from a target's files.
func withoutSidecars(found []*File) []*File {
	return slices.DeleteFunc(found, func(f *File) bool { return f.Target != "" && strings.HasSuffix(f.Path, sidecarExt) })
}

// declareBuild adds the compatibility data to a catalogue: the server's own build, and the logic version of each module. It loads the
// modules of older versions.
func (c *Catalogue) declareBuild(ctx context.Context, set config.Settings) error {
	set.CompatibilityVersion = c.compatibility
	if _, _, derived := compat.ParseDerived(c.compatibility); derived && set.Release.Folder != "" && set.Compat.Versioned() {
		set.CompatibilityVersion = ""
	}
	d, err := readDeclaration(set)
	if err != nil {
		return err
	}
	payloads := map[string][]payload{}
	for target, o := range c.offers.byTarget {
		payloads[target] = nil
		if o.hasModule {
			payloads[target] = []payload{payloadOf(o, c.editions)}
		}
	}
	if set.Compat.Payloads != "" {
		if err := c.addOlder(ctx, set, payloads); err != nil {
			return err
		}
	}
	d.addTargets(payloads)
	if set.Compat.Content == config.ContentOfPacks {
		d.identifyContent(c.offers)
	}
	c.declared = d
	c.snapshot = configuredSnapshot(d.Declared)
	if !d.Versioned {
		return nil
	}
	c.compatibility, _ = d.CompatibilityVersion()
	c.resourceOffers = map[string]*Offer{"": c.offers.common}
	for target := range c.offers.byTarget {
		c.resourceOffers[target] = c.offers.withoutModules(target)
		if err := c.resourceOffers[target].encodeLists(); err != nil {
			return err
		}
	}
	return nil
}

// configuredSnapshot is the snapshot of a server without an operator: all supported logic versions may connect.
func configuredSnapshot(d compat.Declared) *compat.Snapshot {
	s := d.Snapshot(compat.Defaults(d), time.Time{})
	s.Revision = 0
	return s
}

// OfferTo is the offer for a judged client. A client that must fetch a module is offered that module. A client that may play is
// offered the same or a newer module for its own logic version. Any other client is offered only the packs, so it never fetches a
// useless module. A server without logic versions offers everything.
func (c *Catalogue) OfferTo(snapshot *compat.Snapshot, hello compat.Hello, j compat.Judgement) *Offer {
	target := hello.Target
	if !snapshot.Versioned {
		return c.offers.forTarget(target)
	}
	if j.Verdict == compat.Maintenance {
		open, again := *snapshot, hello
		open.Maintenance = false
		j = compat.Evaluate(&open, &again)
	}
	var found *Offer
	switch {
	case j.Verdict == compat.UpdateBinaries:
		found = c.declared.offerOf(target, j.Payload)
	case j.Plays() && !snapshot.Development:
		found = c.declared.newestModule(target, hello)
	}
	if found != nil {
		return found
	}
	if o, known := c.resourceOffers[target]; known {
		return o
	}
	return c.offers.common
}

// newestModule is the newest module for a client's own logic version that is not older than the client's, or nil.
func (d *declaration) newestModule(target string, h compat.Hello) *Offer {
	logic := h.Logic()
	for _, p := range d.payloads[target] {
		same := h.Build.Components == 0 || p.Components == 0 || h.Build.Components == p.Components
		if !p.Undeclared && p.Logic == logic && p.Patch >= h.Patch && same {
			return p.offer
		}
	}
	return nil
}

// payloadOf reads the sidecars of an offer's modules. A module of a release without one has the version of its edition.
func payloadOf(o *Offer, editions []edition) payload {
	p := undeclaredPayload(o, "")
	for _, f := range o.files {
		if !f.isModule(o.target) {
			continue
		}
		one, err := f.readSidecar(o)
		if errors.Is(err, fs.ErrNotExist) && o.folder == "" {
			one, err = payloadOfRelease(o.target, editions)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return undeclaredPayload(o, fmt.Sprintf("%s has no %s", f.Path, f.Path+sidecarExt))
		case err != nil:
			return undeclaredPayload(o, fmt.Sprintf("%s: %v", f.Path+sidecarExt, platform.Reason(err)))
		case !p.Undeclared && (one.Logic != p.Logic || one.Patch != p.Patch || one.Components != p.Components):
			return undeclaredPayload(o, fmt.Sprintf("its modules are of logic versions %d and %d", p.Logic, one.Logic))
		}
		p.Payload = one
	}
	return p
}

// undeclaredPayload is a module that is not offered, with the reason.
func undeclaredPayload(o *Offer, why string) payload {
	unknown := compat.Payload{Logic: compat.NoLogic, Undeclared: true, Build: compat.Build{Logic: compat.NoLogic}, Why: why}
	return payload{Payload: unknown, offer: o}
}

// readSidecar reads the sidecar of a module: from disk, or from the same offer of a release.
func (f *File) readSidecar(o *Offer) (compat.Payload, error) {
	path := f.path + sidecarExt
	for _, other := range o.files {
		if other.Path == f.Path+sidecarExt && other.Target == f.Target {
			if other.InMemory {
				return parseSidecar(other.Data)
			}
			path = other.path
		}
	}
	data, err := readBounded(path, compat.MaxManifestFile)
	if err != nil {
		return compat.Payload{}, err
	}
	return parseSidecar(data)
}

// payloadOfRelease derives a module's payload from the release's compatibility version, if that is a derived one.
func payloadOfRelease(target string, editions []edition) (compat.Payload, error) {
	for _, e := range editions {
		if logic, sum, derived := compat.ParseDerived(e.head.Compatibility); derived && e.Target == target {
			build := compat.Build{Logic: logic, Components: sum, ID: text.Clip(e.head.Version, text.MaxQuoted)}
			return compat.Payload{Logic: logic, Components: sum, Build: build}, nil
		}
	}
	return compat.Payload{}, fs.ErrNotExist
}

func parseSidecar(data []byte) (compat.Payload, error) {
	var s sidecar
	s.Logic = compat.NoLogic
	if err := json.Unmarshal(data, &s); err != nil {
		return compat.Payload{}, err
	}
	sum := uint64(0)
	if s.Set != "" {
		var err error
		if sum, err = strconv.ParseUint(s.Set, 16, 64); err != nil || len(s.Set) != 16 {
			return compat.Payload{}, fmt.Errorf("set_hash %s is not 16 hex digits", text.Quote(s.Set))
		}
	}
	if s.Logic < 0 {
		return compat.Payload{}, errors.New("it says no logic version")
	}
	return compat.Payload{
		Logic: s.Logic, Patch: s.Patch, Components: sum,
		Build: compat.Build{Logic: s.Logic, Components: sum, Time: s.Build.Time, Seq: s.Build.Seq, ID: text.Clip(s.Build.ID, text.MaxQuoted), Branch: text.Clip(s.Build.Branch, text.MaxQuoted)},
	}, nil
}

// addOlder loads the modules of Compat.Payloads and creates an offer for each folder.
func (c *Catalogue) addOlder(ctx context.Context, set config.Settings, payloads map[string][]payload) error {
	folders, err := logicFolders(set.Compat.Payloads)
	if err != nil {
		return err
	}
	var found []*File
	var offers []*Offer
	for _, folder := range folders {
		files, err := findBinaries(folder)
		if err != nil {
			return err
		}
		for _, f := range withoutSidecars(files) {
			if len(offers) == 0 || offers[len(offers)-1].folder != filepath.Dir(f.path) {
				older := c.offers.withoutModules(f.Target)
				older.folder = filepath.Dir(f.path)
				offers = append(offers, older)
			}
			offers[len(offers)-1].addFile(f)
			found = append(found, f)
		}
	}
	first := len(c.files)
	if !c.idle {
		err = loadAll(ctx, found, func(ctx context.Context, i int) error {
			return found[i].loadContent(ctx, set.ServerNetwork.UpdateFilesInMemory, first+i)
		})
	}
	c.files = append(c.files, found...)
	for i, f := range c.files[first:] {
		f.Index = uint32(first + i)
	}
	if err != nil {
		return err
	}
	for _, o := range offers {
		if err := errors.Join(o.checkRules(), o.encodeLists()); err != nil {
			return err
		}
		p := payloadOf(o, c.editions)
		if logic := filepath.Base(filepath.Dir(o.folder)); !p.Undeclared && strconv.Itoa(int(p.Logic)) != logic {
			return &Error{Subject: "payload", Path: o.folder, Err: fmt.Errorf("is of logic version %d by its sidecar", p.Logic), Hint: "move it to the folder of that number"}
		}
		payloads[o.target] = append(payloads[o.target], p)
	}
	return nil
}

// logicFolders lists the folders of logic versions in Compat.Payloads.
func logicFolders(folder string) ([]string, error) {
	children, err := os.ReadDir(folder)
	if err == nil && len(children) > maxLogicFolders {
		err = fmt.Errorf("has %d entries, at most %d are allowed", len(children), maxLogicFolders)
	}
	var found []string
	for _, child := range children {
		if n, bad := strconv.ParseInt(child.Name(), 10, 32); err == nil && (bad != nil || n < 0 || strconv.FormatInt(n, 10) != child.Name()) {
			err = fmt.Errorf("has %q in it, which is no logic version", child.Name())
		}
		found = append(found, filepath.Join(folder, child.Name()))
	}
	if err != nil {
		return nil, &Error{Subject: "payloads", Path: folder, Err: err, Hint: "it holds folders like 7/Linux-x64 with the modules of logic version 7"}
	}
	return found, nil
}
