package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/build/publish/keyring"
	"collet/netproto/release/trust"
	"collet/platform"
)

// keysCommand is `collet keys`.
type keysCommand struct {
	Init   keysInitCommand   `cmd:"" help:"Make the keys of a new game: three root keys, one for each other role."`
	Add    keysAddCommand    `cmd:"" help:"Make one more key for a role."`
	List   keysListCommand   `cmd:"" help:"List the keys of a folder, and where their private halves are."`
	Rotate keysRotateCommand `cmd:"" help:"Change the trusted keys, in steps that may run on several machines."`
	Export keysExportCommand `cmd:"" help:"Write the root that clients are built with."`
	Drill  keysDrillCommand  `cmd:"" help:"Rehearse the loss of a root key on a copy. Changes nothing."`
}

// Help is what --help adds to the list of commands.
func (keysCommand) Help() string {
	return `A key is two files: <role>-<number>.key, encrypted with a passphrase, and the public <role>-<number>.pub. Root keys decide
which keys are trusted; different people keep them offline. The targets key signs releases. The snapshot and timestamp keys
renew the lists, and may be on a server. A key can also be in a hardware token, see collet keys add --help. docs/RELEASING.md describes the key ceremony, and what to do about a lost or
stolen key.

  collet keys init --keys keys
  collet keys export root.json
  collet keys drill`
}

// roleFlag is the name of a role.
type roleFlag string

func (r roleFlag) role() (trust.KeyRole, error) {
	if !slices.Contains(trust.KeyRoles(), trust.KeyRole(r)) {
		return "", console.Usage(fmt.Errorf("role %q: want root, targets, snapshot or timestamp", string(r)))
	}
	return trust.KeyRole(r), nil
}

// keysFolder is where keys are made.
const keysFolder = "keys"

// keysInitCommand is `collet keys init`.
type keysInitCommand struct {
	keyFlags
	Roots       int  `group:"what" default:"3" placeholder:"N" help:"Number of root keys (default: ${default}, of which 2 have to sign)."`
	Releasers   int  `group:"what" default:"1" placeholder:"N" help:"Number of targets keys, one for each person who signs releases (default: ${default})."`
	Development bool `group:"what" help:"Make unencrypted keys, for experiments. Release commands reject them without --allow-development."`
}

// Help is what --help adds to the flags.
func (keysInitCommand) Help() string {
	return `Makes the folder, by default ./keys. Afterwards give root-2 and root-3 to two other people and remove them from the folder.

  collet keys init --keys keys`
}

// Run makes the keys.
func (k keysInitCommand) Run(c console.Console) (err error) {
	if k.Roots < 1 || k.Roots > 9 {
		return console.Usage(fmt.Errorf("--roots %d: want 1 to 9", k.Roots))
	}
	if k.Releasers < 1 || k.Releasers > 9 {
		return console.Usage(fmt.Errorf("--releasers %d: want 1 to 9", k.Releasers))
	}
	ring, done, err := k.makeRing()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	list, err := ring.Init(k.Roots, k.Releasers, k.Development)
	if err != nil {
		return err
	}
	for _, f := range list {
		printKey(c.Out, f)
	}
	return nil
}

func printKey(out io.Writer, f keyring.File) {
	note := ""
	if f.Development {
		note = "  development, in the clear"
	}
	fmt.Fprintf(out, "%-12s %s%s\n", f.Name, f.ID, note)
}

// keysAddCommand is `collet keys add`.
type keysAddCommand struct {
	Role    roleFlag `arg:"" placeholder:"ROLE" help:"root, targets, snapshot or timestamp."`
	Command []string `arg:"" optional:"" placeholder:"COMMAND" help:"With --public: the program that signs, and its arguments, after --."`
	keyFlags
	Pkcs11      string `group:"what" name:"pkcs11" placeholder:"URI" help:"Add the Ed25519 key in a hardware token that this PKCS#11 URI (RFC 7512) names."`
	Public      string `group:"what" placeholder:"FILE" help:"Add an existing key: its public half, PEM or DER. With --pkcs11 only if the token does not tell it."`
	Development bool   `group:"what" help:"Make an unencrypted key, for experiments."`
}

// Help is what --help adds to the flags.
func (keysAddCommand) Help() string {
	return `The key is trusted when a root lists it: run collet keys rotate afterwards.

A key in a hardware token is named by a PKCS#11 URI: token and object are labels, id is the id as %XX, and module-path is the library
that came with the token. Its PIN is in $COLLET_PIN, in the file of a pin-source in the URI, or asked for on the terminal.

A key of another device, or of a key service, is added by its public half and the command that signs with it. The command reads
the message and writes the Ed25519 signature, as 64 bytes or in base64.

  collet keys add targets
  collet keys add targets --pkcs11 'pkcs11:token=lathe;object=release?module-path=/usr/lib/softhsm/libsofthsm2.so'
  collet keys add targets --public token.pem -- ssh signer.example.org sign-release`
}

// Run makes one key.
func (k keysAddCommand) Run(c console.Console) (err error) {
	role, err := k.Role.role()
	if err != nil {
		return err
	}
	ring, done, err := k.makeRing()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	f, err := k.add(ring, role)
	if err != nil {
		return err
	}
	printKey(c.Out, f)
	fmt.Fprintf(c.Out, "it counts after: collet keys rotate %s\n", role)
	return nil
}

// add makes a key, or adds one whose private half is elsewhere.
func (k keysAddCommand) add(ring *keyring.Keyring, role trust.KeyRole) (f keyring.File, err error) {
	command := len(k.Command) > 0
	switch {
	case k.Pkcs11 == "" && k.Public == "" && !command:
		return ring.Add(role, k.Development)
	case k.Pkcs11 != "" && (command || k.Development):
		return f, console.Usage(errors.New("--pkcs11 goes with neither a command nor --development"))
	case k.Pkcs11 == "" && (k.Public == "" || !command || k.Development):
		return f, console.Usage(errors.New("a key of a device takes --pkcs11 URI, or --public FILE and, after --, the command that signs with it"))
	}
	var public *trust.PublicKey
	if k.Public != "" {
		data, err := os.ReadFile(k.Public)
		if err != nil {
			return f, err
		}
		p, err := trust.ParsePublicKey(data)
		if err != nil {
			return f, fmt.Errorf("%s: %w", k.Public, err)
		}
		public = &p
	}
	if command {
		return ring.AddExternal(role, *public, k.Command)
	}
	return ring.AddToken(role, k.Pkcs11, public)
}

// keysListCommand is `collet keys list`.
type keysListCommand struct {
	keyFlags
}

// Help is what --help adds to the flags.
func (keysListCommand) Help() string {
	return `Each line has the name of a key, its id in the lists, and the file with its private half: .key is the key itself, .pkcs11 the URI
of a key in a token, .command a command that signs. Nothing is opened, so no passphrase and no token is needed.

  collet keys list --keys keys`
}

// Run lists the keys.
func (k keysListCommand) Run(c console.Console) (err error) {
	ring, done, err := k.openRing(cmp.Or(k.Keys, keysFolder))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	list, err := ring.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s has no keys; make some with collet keys init", ring.Path("."))
	}
	for _, f := range list {
		note := ""
		if f.Development {
			note = "  development, in the clear"
		}
		fmt.Fprintf(c.Out, "%-12s %s  %s%s\n", f.Name, f.ID, cmp.Or(f.Source, "public half only"), note)
	}
	return nil
}

// keysRotateCommand is `collet keys rotate`.
type keysRotateCommand struct {
	Roles []roleFlag `arg:"" optional:"" placeholder:"ROLE" help:"Roles whose keys are replaced by the .pub files in the folder of the keys (default: none, which only renews the root's expiry)."`
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	Draft   string `group:"what" default:"root-draft.json" placeholder:"FILE" help:"File with the draft of the new root (default: ${default})."`
	Sign    bool   `group:"what" help:"Only add the signatures of the root keys in --keys to the draft. Needs no release folder."`
	Need    int    `group:"what" placeholder:"N" help:"How many keys of the roles have to sign (default: as many as before; at first 2 for root and 1 for others)."`
	Install bool   `group:"what" help:"Make the signed draft the newest root and sign the lists again."`
}

// Help is what --help adds to the flags.
func (keysRotateCommand) Help() string {
	return `Writes the next root, signs it with the root keys that are present, and installs it if they suffice. Otherwise send the draft
to another holder of a root key, who adds a signature, and install it when it is back:

  collet keys add targets; mv keys/targets-1.* old/; collet keys rotate targets
  collet keys rotate --sign --keys /media/root-2 --draft root-draft.json
  collet keys rotate --install

The keys of the old root and of the new one have to sign. Run the same command again after an interruption.`
}

// Run does one of the three steps.
func (k keysRotateCommand) Run(ctx context.Context, c console.Console) error {
	switch {
	case k.Sign && (k.Install || len(k.Roles) > 0):
		return console.Usage(errors.New("--sign goes alone"))
	case k.Install && len(k.Roles) > 0:
		return console.Usage(errors.New("--install installs the draft as it is; leave the roles out"))
	case k.Need < 0 || k.Need > 0 && len(k.Roles) == 0:
		return console.Usage(errors.New("--need goes with the roles that it is for, and is 1 or more"))
	case k.Sign:
		return k.sign(c)
	default:
		return k.rotate(ctx, c)
	}
}

// sign is the step of a holder of a root key.
func (k keysRotateCommand) sign(c console.Console) (err error) {
	draft, err := readDraft(k.Draft)
	if err != nil {
		return err
	}
	name := k.Keys
	if name == "" {
		name = keysFolder
	}
	ring, done, err := k.openRing(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	info, err := trust.DescribeRoot(draft)
	if err != nil {
		return err
	}
	describe(c.Out, info)
	keys, err := ring.Open(trust.RoleRoot)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("%s has no root key; name the folder that has one with --keys", name)
	}
	for _, key := range keys {
		if draft, err = trust.SignRoot(draft, key); err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "signed with root key %s\n", key.Public().ID())
	}
	return writeDraft(k.Draft, draft)
}

// describe prints the root that is signed.
func describe(out io.Writer, info trust.RootInfo) {
	fmt.Fprintf(out, "root %d, until %s\n", info.Version, info.Expires.Format("2006-01-02"))
	for _, role := range trust.KeyRoles() {
		r := info.Roles[role]
		fmt.Fprintf(out, "  %-10s %d of %s\n", role, r.Threshold, strings.Join(r.Keys, " "))
	}
}

func (k keysRotateCommand) rotate(ctx context.Context, c console.Console) (err error) {
	w, ring, done, err := k.openWithKeys(c, k.keyFlags, publish.Options{Allow: k.allow()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	keys, err := ring.Open(trust.KeyRoles()...)
	if err != nil {
		return err
	}
	var draft []byte
	if k.Install {
		draft, err = readDraft(k.Draft)
	} else {
		draft, err = k.draft(w, ring, keys)
	}
	if err != nil {
		return err
	}
	info, err := trust.DescribeRoot(draft)
	if err != nil {
		return err
	}
	if err := w.Folder.Install(ctx, draft, keys); err != nil {
		var lacking *trust.KeysError
		var untrusted *trust.Error
		if k.Install || errors.As(err, &lacking) || !errors.As(err, &untrusted) || untrusted.Fault != trust.FaultUnsigned {
			return fmt.Errorf("%w; the draft stays in %s", err, k.Draft)
		}
		fmt.Fprintf(c.Out, "the signatures do not suffice yet. Take %s to another holder of a root key:\n  collet keys rotate --sign --keys FOLDER --draft %s\nand install it here afterwards:\n  collet keys rotate --install\n", k.Draft, k.Draft)
		return nil
	}
	describe(c.Out, info)
	if err := os.Remove(k.Draft); err != nil {
		return err
	}
	others, err := w.openPlaces(k.outputFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.close()) }()
	return w.updatePlaces(ctx, others, false)
}

// draft makes, signs and keeps a draft.
func (k keysRotateCommand) draft(w *workshop, ring *keyring.Keyring, keys []*trust.PrivateKey) ([]byte, error) {
	plan := trust.RootPlan{}
	if len(k.Roles) > 0 {
		var roles []trust.KeyRole
		for _, r := range k.Roles {
			role, err := r.role()
			if err != nil {
				return nil, err
			}
			roles = append(roles, role)
		}
		var err error
		if plan, err = ring.Plan(roles...); err != nil {
			return nil, err
		}
		for role, p := range plan {
			p.Threshold = k.Need
			plan[role] = p
		}
	}
	draft, err := w.Folder.Draft(plan, keys)
	if err != nil {
		return nil, err
	}
	return draft, writeDraft(k.Draft, draft)
}

func readDraft(name string) ([]byte, error) {
	return readSmall(name, "draft", "name the draft with --draft", trust.MaxRoot)
}

func writeDraft(name string, draft []byte) error {
	dir, err := openDir(filepath.Dir(name), "name the draft with --draft")
	if err != nil {
		return err
	}
	err = platform.WriteFile(dir, filepath.Base(name), draft)
	return errors.Join(err, dir.Close())
}

// keysExportCommand is `collet keys export`.
type keysExportCommand struct {
	File string `arg:"" default:"root.json" placeholder:"FILE" help:"Output file (default: ${default})."`
	folderFlags
	allowFlags
}

// Help is what --help adds to the flags.
func (keysExportCommand) Help() string {
	return `The file becomes part of the client's settings. Clients follow later roots by themselves, so released clients need no new
export.

  collet keys export root.json`
}

// Run writes the root.
func (k keysExportCommand) Run(c console.Console) (err error) {
	w, err := k.openFolder(c, publish.Options{ReadOnly: true, Allow: k.allow()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	data, info, err := w.Root()
	if err != nil {
		return err
	}
	if err := writeDraft(k.File, data); err != nil {
		return err
	}
	describe(c.Out, info)
	return nil
}

// keysDrillCommand is `collet keys drill`.
type keysDrillCommand struct {
	folderFlags
	keyFlags
	allowFlags
	Lost string `group:"what" default:"root-1" placeholder:"NAME" help:"The key to treat as lost (default: ${default})."`
}

// Help is what --help adds to the flags.
func (keysDrillCommand) Help() string {
	return `Replaces a root key on a copy of the lists in memory, with the remaining keys and a new one, and checks that a client with
the current root follows. Do it once a year with the holders of the keys, who copy theirs into the folder --keys for it.

  collet keys drill --lost root-2`
}

// Run rehearses.
func (k keysDrillCommand) Run(ctx context.Context, c console.Console) (err error) {
	w, ring, done, err := k.openWithKeys(c, k.keyFlags, publish.Options{ReadOnly: true, Allow: k.allow()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	list, err := ring.List()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(f keyring.File) bool { return f.Name == k.Lost })
	if i < 0 {
		return fmt.Errorf("%s has no %s.pub; --lost names a root key", ring.Path("."), k.Lost)
	}
	keys, err := ring.Open(trust.KeyRoles()...)
	if err != nil {
		return err
	}
	steps, err := w.Drill(ctx, list[i].ID, keys)
	for _, s := range steps {
		state := "ok"
		if s.Err != nil {
			state = "FAILED"
		}
		fmt.Fprintf(c.Out, "%-6s %s\n", state, s.What)
	}
	return err
}
