package acquire

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

const (
	// maxRemembered is how many sets are remembered: the live one, the one to roll back to, the one being fetched, and more for
	// players of several channels.
	maxRemembered = 8
	// maxSetsFile is the largest sets file in bytes: each set has some 800.
	maxSetsFile = 64 << 10
	// installBytes is the number of random bytes of an install's id: as many as a UUID, so that ids are unique.
	installBytes = 16
)

// Names in the folder of a Source.
const (
	setsFile      = "sets"
	installFile   = "install"
	listingSuffix = ".listing"
	headSuffix    = ".release"
	spoolFolder   = "spool"
)

// installedRelease is a remembered set and its release. The zero value is none.
type installedRelease struct {
	Identity release.Digest `json:"identity"` // the install's identity of the set
	Product  string         `json:"product"`
	Channel  string         `json:"channel"`
	Target   string         `json:"target"`
	Number   uint64         `json:"number"`
	Head     object         `json:"head"`
	Listing  object         `json:"listing"` // the listing itself, not packed
}

// object is release.Object in JSON.
type object struct {
	Sum  release.Digest `json:"sum"`
	Size int64          `json:"size"`
}

// rememberedSets remembers sets: the release of each, its head and its listing. It only saves time: damaged or lost entries are fetched
// again, and its content is checked against the signed list or against digests from elsewhere. It is for one goroutine.
type rememberedSets struct {
	fs     platform.FS
	folder string
	log    zerolog.Logger

	sets   []installedRelease // the newest first
	loaded bool
	id     string
}

func (m *rememberedSets) name(name string) string { return path.Join(m.folder, name) }

// load reads the sets, once.
func (m *rememberedSets) load() {
	if m.loaded {
		return
	}
	m.loaded = true
	m.complain(errors.Join(platform.RemoveIfThere(m.fs, m.name(scratchFileName)), platform.RemoveFolder(m.fs, m.name(formFolder), nil)))
	data, err := platform.ReadFile(m.fs, m.name(setsFile), maxSetsFile)
	if err != nil {
		return
	}
	if err := json.Unmarshal(data, &m.sets); err != nil || len(m.sets) > maxRemembered {
		m.log.Warn().Err(err).Str("file", m.name(setsFile)).Msg("cache of installed sets malformed; the sets are identified again")
		m.sets = nil
	}
}

// live is the remembered set with an identity. An install without a transaction so far has a zero identity; then the newest remembered
// set is assumed. A wrong guess only costs bytes.
func (m *rememberedSets) live(identity release.Digest) installedRelease {
	m.load()
	for _, k := range m.sets {
		if k.Identity == identity || identity.IsZero() {
			return k
		}
	}
	return installedRelease{}
}

// blocked reports whether the set of an entry is remembered, and may not be installed.
func (m *rememberedSets) blocked(e release.Entry, mayInstall func(set release.Digest) bool) bool {
	return slices.ContainsFunc(m.sets, func(k installedRelease) bool {
		return k.Number == e.Number && release.Object(k.Head) == e.Head && !mayInstall(k.Identity)
	})
}

// listing reads the listing of a set; nil if it is missing or damaged.
func (m *rememberedSets) listing(o object) release.Listing {
	if o.Size <= 0 || o.Size > release.MaxListing {
		return nil
	}
	data, err := platform.ReadFile(m.fs, m.name(o.Sum.Hex()+listingSuffix), o.Size+1)
	if err == nil {
		err = release.Object(o).Verify(data)
	}
	var list release.Listing
	if err == nil {
		list, err = release.ParseListing(data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.log.Warn().Err(err).Stringer("listing", o.Sum).Msg("a listing that was kept can't be used")
	}
	if err != nil {
		return nil
	}
	return list
}

// head reads the stored head of an entry, if it exists.
func (m *rememberedSets) head(e release.Entry) (release.Head, bool) {
	if e.Head.IsZero() {
		return release.Head{}, false
	}
	head, err := trust.OpenHead(trust.UnverifiedBytes(m.headBytes(e.Head)), e)
	return head, err == nil
}

// headBytes reads what is stored as a head, unverified; nil for a missing file. It is safe for concurrent use.
func (m *rememberedSets) headBytes(o release.Object) []byte {
	data, err := platform.ReadFile(m.fs, m.name(o.Sum.Hex()+headSuffix), release.MaxHead)
	if err != nil {
		return nil
	}
	return data
}

// keepHead stores a verified head.
func (m *rememberedSets) keepHead(o release.Object, h release.Head) {
	data, err := h.Encode()
	if err == nil {
		err = m.writeFile(o.Sum.Hex()+headSuffix, data, platform.WriteHint)
	}
	m.complain(err)
}

// add records a set as the newest one, with its listing. It drops the oldest sets over maxRemembered, but never keep.
func (m *rememberedSets) add(k installedRelease, list release.Listing, keep release.Digest) {
	m.load()
	if len(m.sets) > 0 && m.sets[0] == k {
		return
	}
	data, err := list.Encode()
	if err != nil {
		m.complain(err)
		return
	}
	sets := append([]installedRelease{k}, slices.DeleteFunc(slices.Clone(m.sets), func(old installedRelease) bool { return old.Identity == k.Identity })...)
	for i := len(sets) - 1; i > 0 && len(sets) > maxRemembered; i-- {
		if sets[i].Identity != keep {
			sets = slices.Delete(sets, i, i+1)
		}
	}
	text, err := json.Marshal(sets)
	if err == nil {
		err = m.writeFile(k.Listing.Sum.Hex()+listingSuffix, data, platform.WriteHint)
	}
	if err == nil {
		err = m.writeFile(setsFile, text, platform.WriteHint)
	}
	m.sets = sets
	m.complain(err)
	m.tidy()
}

// writeFile replaces a file if its content differs. by is platform.WriteFile, or WriteHint for a file whose loss only costs time.
func (m *rememberedSets) writeFile(name string, data []byte, by func(platform.FS, string, []byte) error) error {
	if there, err := platform.ReadFile(m.fs, m.name(name), int64(len(data))+1); err == nil && bytes.Equal(there, data) {
		return nil
	}
	if err := m.fs.MkdirAll(m.folder, 0o755); err != nil {
		return err
	}
	return by(m.fs, m.name(name), data)
}

func (m *rememberedSets) complain(err error) {
	if err != nil {
		m.log.Warn().Err(err).Msg("what is known of installed sets is not kept; the next update costs more")
	}
}

// tidy removes the heads and listings of sets that are no longer remembered.
func (m *rememberedSets) tidy() {
	used := map[string]bool{}
	for _, k := range m.sets {
		used[k.Listing.Sum.Hex()+listingSuffix], used[k.Head.Sum.Hex()+headSuffix] = true, true
	}
	entries, err := m.fs.ReadDir(m.folder)
	for _, e := range entries {
		ours := strings.HasSuffix(e.Name(), listingSuffix) || strings.HasSuffix(e.Name(), headSuffix)
		if ours && !used[e.Name()] && err == nil {
			err = m.fs.Remove(m.name(e.Name()))
		}
	}
	m.complain(err)
}

// install is the id of this install: random, made once. It decides about rollouts and is never sent. If it can't be stored, it lasts as
// long as the process.
func (m *rememberedSets) install() string {
	if m.id != "" {
		return m.id
	}
	data, err := platform.ReadFile(m.fs, m.name(installFile), 2*installBytes+1)
	text := strings.TrimSpace(string(data))
	if raw, notHex := hex.DecodeString(text); err == nil && notHex == nil && len(raw) == installBytes {
		m.id = text
		return m.id
	}
	var random [installBytes]byte
	_, _ = rand.Read(random[:]) // it never fails, see crypto/rand
	m.id = hex.EncodeToString(random[:])
	if err := m.writeFile(installFile, fmt.Appendln(nil, m.id), platform.WriteFile); err != nil {
		m.log.Warn().Err(err).Msg("the id of this install is not kept; it may be offered a rollout again or not")
	}
	return m.id
}
