package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"collet/build/advice"
	"collet/platform/interrupt"
)

const (
	maxKeyFile  = 1 << 20 // bytes of an OpenPGP key with all its signatures
	maxDetached = 1 << 20 // bytes of a signature that a command writes
	// ArmorSuffix is what OpenPGP signatures are called behind the name of their file.
	ArmorSuffix = ".asc"
	// CommandSuffix is the same of those that a command writes.
	CommandSuffix = ".sig"
)

// DetachedSpec is what a description says of signatures beside packages for Linux. The zero value signs nothing.
type DetachedSpec struct {
	KeyEnv      string   // variable with the path of an armoured private OpenPGP key
	PasswordEnv string   // variable with its password
	Command     []string // program and arguments that write {signature} for {file}, instead of the variables above
	Env         []string // variables that the command gets beside the usual ones
}

// Enabled reports whether anything is to be signed.
func (s DetachedSpec) Enabled() bool { return s.KeyEnv != "" || len(s.Command) > 0 }

// Detached makes signatures in files of their own. NewDetached makes one; it is safe for concurrent use.
type Detached struct {
	spec    DetachedSpec
	options Options
	secrets Secrets
	command *command
	entity  *openpgp.Entity
	signer  string
	reasons []string
}

// NewDetached reads and unlocks the key. The error is a *TestKeyError where that is none for releases. It is nil where nothing
// is to be signed.
func NewDetached(s DetachedSpec, o Options) (*Detached, error) {
	if !s.Enabled() {
		return nil, nil
	}
	d := &Detached{spec: s, options: o}
	if len(s.Command) > 0 {
		command, err := newCommand(s.Command, s.Env, &d.secrets, o)
		d.command = command
		return d, err
	}
	if err := d.openKey(); err != nil {
		return nil, err
	}
	if err := o.admit(d.signer, d.reasons); err != nil {
		return nil, err
	}
	return d, nil
}

// openKey reads the key.
func (d *Detached) openKey() error {
	path, err := d.options.need(d.spec.KeyEnv)
	if err != nil {
		return err
	}
	var password string
	if d.spec.PasswordEnv != "" {
		if password, err = d.options.need(d.spec.PasswordEnv); err != nil {
			return err
		}
	}
	if d.entity, err = readKey(path); err != nil {
		return advice.Because(err, "export it with: gpg --armor --export-secret-keys KEY", "the OpenPGP key %s", path)
	}
	if err := unlock(d.entity, password); err != nil {
		return advice.Because(err, "set the password in "+orVariable(d.spec.PasswordEnv), "unlock the OpenPGP key %s", path)
	}
	if _, there := d.entity.SigningKey(d.options.now()); !there {
		return advice.Wrong("take another one", "the OpenPGP key %s may not sign today: it has expired, is not valid yet, is revoked, or is for something else", path)
	}
	d.signer, d.reasons = describe(d.entity)
	return nil
}

func orVariable(name string) string {
	if name == "" {
		return "a variable, and name that in password-env"
	}
	return name
}

func readKey(path string) (*openpgp.Entity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := openpgp.ReadArmoredKeyRing(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("there are %d keys in it, not one", len(list))
	}
	if list[0].PrivateKey == nil {
		return nil, errors.New("it is only the public half")
	}
	return list[0], nil
}

// unlock decrypts what is encrypted. Keys that are elsewhere, as exported subkeys have it, stay where they are.
func unlock(e *openpgp.Entity, password string) error {
	keys := []*packet.PrivateKey{e.PrivateKey}
	for _, sub := range e.Subkeys {
		keys = append(keys, sub.PrivateKey)
	}
	for _, key := range keys {
		if key == nil || key.Dummy() || !key.Encrypted {
			continue
		}
		if password == "" {
			return errors.New("it has a password")
		}
		if err := key.Decrypt([]byte(password)); err != nil {
			return errors.New("the password is wrong")
		}
	}
	return nil
}

// describe names the key's user, and says why the key is none for releases.
func describe(e *openpgp.Entity) (user string, reasons []string) {
	user = fmt.Sprintf("%X", e.PrimaryKey.Fingerprint)
	if identity := e.PrimaryIdentity(); identity != nil {
		user = identity.Name
	}
	for name := range e.Identities {
		if testWords.MatchString(name) {
			reasons = append(reasons, fmt.Sprintf("it says that it is for tests, %q", name))
		}
	}
	return user, reasons
}

// Sign writes the signature of a package beside it and gives its path. The package is only read. After an error there is no
// signature, not even an older one, which would be that of other bytes.
func (d *Detached) Sign(ctx context.Context, file string) (signature string, signed Signed, err error) {
	signed = Signed{File: file, Signer: d.signer, Reasons: d.reasons}
	signature = file + d.suffix()
	err = os.Remove(signature)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err == nil {
		signed.Unsigned, err = digest(ctx, file)
	}
	if err == nil && d.command != nil {
		signed.Unchecked, err = "whether it is one is not known here", d.call(ctx, file, signature, signed.Unsigned)
	} else if err == nil {
		err = d.writeSignature(ctx, file, signature)
	}
	if err != nil {
		_ = os.Remove(signature) // the error that counts is the one before
		return "", signed, advice.Because(err, "", "sign %s", file)
	}
	d.options.Log.Info().Str("file", file).Str("signature", signature).Str("signer", d.signer).Strs("test", d.reasons).Msg("signed")
	return signature, signed, nil
}

func (d *Detached) suffix() string {
	if d.command != nil {
		return CommandSuffix
	}
	return ArmorSuffix
}

// writeSignature signs with the key.
func (d *Detached) writeSignature(ctx context.Context, file, signature string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var b bytes.Buffer
	config := &packet.Config{Time: d.when, NonDeterministicSignaturesViaNotation: new(bool)} // false: no salt
	if err := openpgp.ArmoredDetachSign(&b, d.entity, interrupt.Reader(ctx, f), config); err != nil {
		return err
	}
	b.WriteByte('\n')
	return os.WriteFile(signature, b.Bytes(), 0o644)
}

// when is the time that signatures state: Options.Time, or that of the key where it is newer, as signatures are not valid
// from before their key or from the future. Where the key was another one then, it is the clock's.
func (d *Detached) when() time.Time {
	now, at := d.options.now(), d.options.Time
	key, there := d.entity.SigningKey(now)
	if at.IsZero() || !there {
		return now
	}
	if made := key.PublicKey.CreationTime; at.Before(made) {
		at = made
	}
	if then, there := d.entity.SigningKey(at); !there || then.PublicKey.KeyId != key.PublicKey.KeyId || at.After(now) {
		return now
	}
	return at
}

// call has a command sign.
func (d *Detached) call(ctx context.Context, file, signature string, was [32]byte) error {
	values := map[string]string{"file": file, "signature": signature}
	if _, err := d.options.runTool(ctx, d.command.tool(values), &d.secrets); err != nil {
		return err
	}
	is, err := digest(ctx, file)
	if err != nil {
		return err
	}
	if is != was {
		return advice.Wrong("see what the tool does that signs it", "the command has changed the package")
	}
	info, err := os.Lstat(signature)
	if err != nil {
		return advice.Because(err, "use {signature}, the path that is wanted", "the command has written no signature")
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > maxDetached {
		return advice.Wrong("see what the tool does that signs it", "the command has written no signature but %v of %d bytes", info.Mode(), info.Size())
	}
	return nil
}

// Check finds out whether signing would work. Keys were looked at when they were read; of a command it says whether it is there.
func (d *Detached) Check(context.Context) (Signed, error) {
	if d.command != nil {
		return d.command.checkProgram(d.options)
	}
	return Signed{Signer: d.signer, Reasons: d.reasons}, nil
}

// Plan says what signs a file, for people.
func (d *Detached) Plan(file string) string {
	if d.command == nil {
		return fmt.Sprintf("OpenPGP: %s signs %s into %s", d.signer, file, file+ArmorSuffix)
	}
	t := d.command.tool(map[string]string{"file": file, "signature": file + CommandSuffix})
	return d.secrets.Mask(shellLine(append([]string{t.program}, t.args...)))
}
