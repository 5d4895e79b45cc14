// Package keyring is a folder of key files: <role>-<number>.key is a private key, <role>-<number>.pub its public half. Private keys are
// encrypted with a passphrase, except development keys. Package trust has the form of both files. For keys that never leave a device there is, in
// place of a private key, <role>-<number>.pkcs11, the PKCS#11 URI of a key in a hardware token, or <role>-<number>.command, a program that signs;
// see AddToken and AddExternal.
package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"collet/build/advice"
	"collet/build/publish/pkcs11"
	"collet/netproto/release/trust"
	"collet/platform"
)

// Suffixes of the files in a folder of keys: <role>-<number>.key is a private key, <role>-<number>.pub its public half.
const (
	keySuffix    = ".key"
	publicSuffix = ".pub"
)

// Keyring is a folder of key files. Keys are encrypted, except development keys.
type Keyring struct {
	fs         platform.FS // nil until the folder exists
	folder     string
	create     func() (platform.FS, error)
	passphrase func(file string) ([]byte, error)
	tokens     *pkcs11.Tokens
}

// Ask is how a folder of keys gets secrets.
type Ask struct {
	// Passphrase is called once for each encrypted file that is opened or written.
	Passphrase func(file string) ([]byte, error)
	// PIN is called once for each token; see pkcs11.NewTokens.
	PIN func(token string, last bool) ([]byte, error)
}

// File describes one key of a folder.
type File struct {
	Name        string // without suffix: "targets-1"
	Role        trust.KeyRole
	ID          string
	Private     bool   // it can sign
	Source      string // the file with the private half, or with where it is; empty for a public half alone
	Development bool
}

// Open opens a folder of keys. fsys stays the caller's.
func Open(fsys platform.FS, ask Ask) *Keyring {
	return &Keyring{fs: fsys, passphrase: ask.Passphrase, tokens: pkcs11.NewTokens(ask.PIN)}
}

// New is a folder of keys that does not exist yet. create makes it when the first key is written, after its passphrase was given;
// the caller closes what it opens. folder is its absolute path.
func New(folder string, create func() (platform.FS, error), ask Ask) *Keyring {
	k := Open(nil, ask)
	k.folder, k.create = folder, create
	return k
}

// Path returns the absolute path of a file in the folder, for messages.
func (k *Keyring) Path(name string) string {
	if k.fs == nil {
		return filepath.Join(k.folder, name)
	}
	return k.fs.Path(name)
}

// List describes the keys, sorted by role in the order of release.KeyRoles, then by number.
func (k *Keyring) List() ([]File, error) {
	if k.fs == nil {
		return nil, nil
	}
	entries, err := k.fs.ReadDir(".")
	if err != nil {
		return nil, advice.Because(err, "", "list the keys")
	}
	var list []File
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), publicSuffix)
		role, known := roleOf(name)
		if !is || !known {
			continue
		}
		public, err := k.public(name)
		if err != nil {
			return nil, err
		}
		source := k.source(name)
		list = append(list, File{Name: name, Role: role, ID: public.ID(), Development: public.Development, Private: source != "", Source: source})
	}
	slices.SortFunc(list, compareKeys)
	return list, nil
}

// source is the file with the private half of a key, or with where that is. Empty files don't count.
func (k *Keyring) source(base string) string {
	for _, suffix := range []string{keySuffix, tokenSuffix, commandSuffix} {
		if platform.Size(k.fs, base+suffix) > 0 {
			return base + suffix
		}
	}
	return ""
}

func compareKeys(a, b File) int {
	order := trust.KeyRoles()
	if d := slices.Index(order, a.Role) - slices.Index(order, b.Role); d != 0 {
		return d
	}
	return numberOf(a.Name) - numberOf(b.Name)
}

func roleOf(name string) (trust.KeyRole, bool) {
	role, _, is := strings.Cut(name, "-")
	return trust.KeyRole(role), is && slices.Contains(trust.KeyRoles(), trust.KeyRole(role)) && numberOf(name) > 0
}

func numberOf(name string) int {
	_, digits, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// unreadable is the error about a key file that can't be read.
func unreadable(err error, path string) error {
	next := ""
	if errors.Is(err, fs.ErrPermission) {
		next = "run this as the user whose keys these are, or name another folder with --keys"
	}
	return advice.Because(platform.Reason(err), next, "read the key %s", path)
}

func (k *Keyring) public(name string) (trust.PublicKey, error) {
	data, err := platform.ReadFile(k.fs, name+publicSuffix, trust.MaxKeyFile)
	if err != nil {
		return trust.PublicKey{}, unreadable(err, k.fs.Path(name+publicSuffix))
	}
	p, err := trust.ParsePublicKey(data)
	if err != nil {
		return trust.PublicKey{}, advice.Because(err, "", "%s", k.fs.Path(name+publicSuffix))
	}
	return p, nil
}

// Open opens the keys of these roles whose private half is in the folder.
func (k *Keyring) Open(roles ...trust.KeyRole) ([]*trust.PrivateKey, error) {
	list, err := k.List()
	if err != nil {
		return nil, err
	}
	var keys []*trust.PrivateKey
	for _, f := range list {
		if !f.Private || !slices.Contains(roles, f.Role) {
			continue
		}
		key, err := k.openKey(f)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (k *Keyring) openKey(f File) (*trust.PrivateKey, error) {
	name := f.Source
	switch name {
	case f.Name + tokenSuffix:
		return k.token(f.Name)
	case f.Name + commandSuffix:
		return k.external(f.Name)
	}
	data, err := platform.ReadFile(k.fs, name, trust.MaxKeyFile)
	if err != nil {
		return nil, unreadable(err, k.fs.Path(name))
	}
	var passphrase []byte
	if trust.NeedsPassphrase(data) {
		if passphrase, err = k.passphrase(k.fs.Path(name)); err != nil {
			return nil, err
		}
	}
	key, err := trust.ParsePrivateKey(data, passphrase)
	if err != nil {
		return nil, advice.Because(err, PassphraseAdvice(err), "key %s", k.fs.Path(name))
	}
	return key, nil
}

// PassphraseAdvice is what to do about a passphrase that does not open a key file; empty for other errors.
func PassphraseAdvice(err error) string {
	if !errors.Is(err, trust.ErrPassphrase) {
		return ""
	}
	return "check $COLLET_PASSPHRASE, which counts before --passphrase-file and the terminal; if it is right, the file was changed: take it from a copy"
}

// Add creates a key for a role under the next free number.
func (k *Keyring) Add(role trust.KeyRole, development bool) (File, error) {
	if !slices.Contains(trust.KeyRoles(), role) {
		return File{}, advice.Wrong("there are root, targets, snapshot and timestamp", "there is no role %q", role)
	}
	n, err := k.nextNumber(role)
	if err != nil {
		return File{}, err
	}
	d, err := k.draft(role, n, development)
	if err != nil {
		return File{}, err
	}
	return d.File, k.writeKey(d)
}

// nextNumber is the number of the next key of a role.
func (k *Keyring) nextNumber(role trust.KeyRole) (int, error) {
	list, err := k.List()
	if err != nil {
		return 0, err
	}
	n := 1
	for _, f := range list {
		if f.Role == role {
			n = max(n, numberOf(f.Name)+1)
		}
	}
	for k.fs != nil {
		if k.source(fmt.Sprintf("%s-%d", role, n)) == "" {
			break
		}
		n++ // only the public half was removed; its number is not reused
	}
	return n, nil
}

// keyDraft is a generated key that is not written yet.
type keyDraft struct {
	File
	private, public []byte
}

// draft generates a key and asks for its passphrase.
func (k *Keyring) draft(role trust.KeyRole, n int, development bool) (d keyDraft, err error) {
	key, err := trust.GenerateKey(development)
	if err != nil {
		return d, err
	}
	d.File = File{Name: fmt.Sprintf("%s-%d", role, n), Role: role, ID: key.Public().ID(), Private: true, Development: development}
	var passphrase []byte
	if !development {
		if passphrase, err = k.passphrase(k.Path(d.Name + keySuffix)); err != nil {
			return d, err
		}
	}
	if d.private, err = key.Encode(passphrase); err == nil {
		d.public, err = key.Public().Encode()
	}
	return d, err
}

// writeKey saves both halves of a key, each synced, readable by the owner only.
func (k *Keyring) writeKey(d keyDraft) (err error) {
	if err := k.ensure(); err != nil {
		return err
	}
	if err = writeNew(k.fs, d.Name+keySuffix, d.private); err == nil {
		err = writeNew(k.fs, d.Name+publicSuffix, d.public)
	}
	if err != nil {
		return advice.Because(err, "", "write a key")
	}
	return nil
}

// ensure makes the folder, if it is not there yet.
func (k *Keyring) ensure() (err error) {
	if k.fs == nil {
		if k.fs, err = k.create(); err != nil {
			return advice.Because(err, "name another folder with --keys", "make the folder of the keys")
		}
	}
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(fsys platform.FS, name string, data []byte) error {
	out, err := fsys.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = out.Write(data); err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return fsys.SyncDir(".")
}

// Init creates the keys of a new game: roots root keys, releasers targets keys, and one for each other role. A folder that has keys stays unchanged. All
// passphrases are asked for before the first file is written.
func (k *Keyring) Init(roots, releasers int, development bool) ([]File, error) {
	there, err := k.List()
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		return nil, advice.Wrong("collet keys add makes more", "%s has keys already", k.fs.Path("."))
	}
	var drafts []keyDraft
	for _, role := range trust.KeyRoles() {
		count := map[trust.KeyRole]int{trust.RoleRoot: roots, trust.RoleTargets: releasers}[role]
		for n := 1; n <= max(count, 1); n++ {
			d, err := k.draft(role, n, development)
			if err != nil {
				return nil, err
			}
			drafts = append(drafts, d)
		}
	}
	for _, d := range drafts {
		if err := k.writeKey(d); err != nil {
			return nil, err
		}
	}
	return k.List()
}

// Plan names the keys of these roles whose public half is in the folder; without an argument, of all roles.
func (k *Keyring) Plan(roles ...trust.KeyRole) (trust.RootPlan, error) {
	list, err := k.List()
	if err != nil {
		return nil, err
	}
	if len(roles) == 0 {
		roles = trust.KeyRoles()
	}
	plan := trust.RootPlan{}
	for _, role := range roles {
		var p trust.RolePlan
		for _, f := range list {
			if f.Role != role {
				continue
			}
			public, err := k.public(f.Name)
			if err != nil {
				return nil, err
			}
			p.Keys = append(p.Keys, public)
		}
		if len(p.Keys) == 0 {
			return nil, advice.Wrong("make one with collet keys add "+string(role), "%s has no key for %s", k.fs.Path("."), role)
		}
		plan[role] = p
	}
	return plan, nil
}
