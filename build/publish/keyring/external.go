package keyring

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"collet/build/advice"
	"collet/build/publish/pkcs11"
	"collet/netproto/release/trust"
	"collet/platform"
)

const (
	// commandSuffix ends the file with the command of an external key: the program in the first line, an argument in each other line.
	commandSuffix = ".command"
	// tokenSuffix ends the file with the PKCS#11 URI of a key in a hardware token.
	tokenSuffix = ".pkcs11"
	// maxCommand is the largest such file in bytes.
	maxCommand = 4096
	// signTime is how long a command may take: a person may have to find a token, type a PIN and touch it.
	signTime = 5 * time.Minute
	// killTime is how long what a command left behind may hold its output after that.
	killTime = 5 * time.Second
	// trialSize is the size in bytes of the message that a new key's command has to sign: a list of some hundred releases. Some tools sign
	// short messages only.
	trialSize = 64 << 10
	// maxOutput is how much of a command's output is read, in bytes.
	maxOutput = 4096
)

// AddExternal adds a key whose private half another program or a device has, under the next free number. command is the program and its
// arguments. It gets the message on standard input and writes the Ed25519 signature to standard output, as 64 bytes or in base64. Standard
// error and a terminal stay its own, for PINs.
func (k *Keyring) AddExternal(role trust.KeyRole, public trust.PublicKey, command []string) (File, error) {
	file := strings.Join(command, "\n") + "\n"
	switch {
	case len(command) == 0 || command[0] == "" || strings.Count(file, "\n") != len(command):
		return File{}, advice.Wrong("name the program and its arguments, without line breaks", "command of a %s key", role)
	case len(file) > maxCommand:
		return File{}, advice.Wrong("put it into a script", "command of a %s key: it has more than %d bytes", role, maxCommand)
	}
	return k.addOutside(role, trust.NewExternalKey(public, signer(command)), commandSuffix, file)
}

// AddToken adds the key in a hardware token that a PKCS#11 URI names, under the next free number. public is for tokens that don't tell the public
// half, and nil otherwise.
func (k *Keyring) AddToken(role trust.KeyRole, uri string, public *trust.PublicKey) (File, error) {
	key, err := k.openToken(uri, public)
	if err != nil {
		return File{}, advice.Because(err, "nothing was added", "key of a token")
	}
	return k.addOutside(role, key, tokenSuffix, uri+"\n")
}

// addOutside adds a key whose private half is elsewhere: file says where. It signs a long message before anything is written, which shows that
// it fits the public key.
func (k *Keyring) addOutside(role trust.KeyRole, key *trust.PrivateKey, suffix, file string) (File, error) {
	public := key.Public()
	if !slices.Contains(trust.KeyRoles(), role) {
		return File{}, advice.Wrong("there are root, targets, snapshot and timestamp", "there is no role %q", role)
	}
	list, err := k.List()
	if err != nil {
		return File{}, err
	}
	if i := slices.IndexFunc(list, func(f File) bool { return f.ID == public.ID() }); i >= 0 {
		return File{}, advice.Wrong("", "%s is that key already", list[i].Name)
	}
	if _, err := key.Sign(bytes.Repeat([]byte("collet? "), trialSize/8)); err != nil {
		return File{}, advice.Because(err, "nothing was added", "sign a message of %d bytes for a trial", trialSize)
	}
	n, err := k.nextNumber(role)
	if err != nil {
		return File{}, err
	}
	data, err := public.Encode()
	if err == nil {
		err = k.ensure()
	}
	if err != nil {
		return File{}, err
	}
	f := File{Name: fmt.Sprintf("%s-%d", role, n), Role: role, ID: public.ID(), Private: true, Development: public.Development}
	if err = writeNew(k.fs, f.Name+suffix, []byte(file)); err == nil {
		err = writeNew(k.fs, f.Name+publicSuffix, data)
	}
	if err != nil {
		return File{}, advice.Because(err, "", "write a key")
	}
	return f, nil
}

// external opens a key that a command signs for.
func (k *Keyring) external(base string) (*trust.PrivateKey, error) {
	data, err := platform.ReadFile(k.fs, base+commandSuffix, maxCommand)
	if err != nil {
		return nil, advice.Because(err, "", "read the command of a key")
	}
	public, err := k.public(base)
	if err != nil {
		return nil, err
	}
	command := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), "\n")
	return trust.NewExternalKey(public, signer(command)), nil
}

// token opens a key in a hardware token.
func (k *Keyring) token(base string) (*trust.PrivateKey, error) {
	data, err := platform.ReadFile(k.fs, base+tokenSuffix, pkcs11.MaxURI+2)
	if err != nil {
		return nil, advice.Because(err, "", "read where a key is")
	}
	public, err := k.public(base)
	if err != nil {
		return nil, err
	}
	key, err := k.openToken(strings.TrimRight(string(data), "\r\n"), &public)
	if err != nil {
		return nil, advice.Because(err, "", "key %s", k.fs.Path(base+tokenSuffix))
	}
	return key, nil
}

// openToken finds a key in a token. public is what it has to be; with nil the token says it.
func (k *Keyring) openToken(text string, public *trust.PublicKey) (*trust.PrivateKey, error) {
	uri, err := pkcs11.ParseURI(text)
	if err != nil {
		return nil, err
	}
	key, err := k.tokens.Open(uri)
	if err != nil {
		return nil, err
	}
	if public == nil {
		if key.Public == nil {
			return nil, advice.Wrong("name a file that has it with --public", "the token does not tell the public half of the key")
		}
		der, err := x509.MarshalPKIXPublicKey(key.Public)
		if err != nil {
			return nil, err
		}
		told, err := trust.ParsePublicKey(der)
		if err != nil {
			return nil, err
		}
		public = &told
	}
	return trust.NewExternalKey(*public, key.Sign), nil
}

// signer signs by a command.
func signer(command []string) func([]byte) ([]byte, error) {
	return func(message []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), signTime)
		defer cancel()
		run := exec.CommandContext(ctx, command[0], command[1:]...)
		out := &limited{left: maxOutput}
		run.Stdin, run.Stdout, run.Stderr, run.WaitDelay = bytes.NewReader(message), out, os.Stderr, killTime
		if err := run.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", command[0], err)
		}
		if len(out.data) == ed25519.SignatureSize {
			return out.data, nil
		}
		made, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(out.data)))
		if err != nil || len(made) != ed25519.SignatureSize {
			return nil, fmt.Errorf("%s wrote %d bytes, which are no signature: want the 64 bytes of an Ed25519 signature, or these in base64", command[0], len(out.data))
		}
		return made, nil
	}
}

// limited keeps the first bytes that are written to it, and drops the others.
type limited struct {
	data []byte
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.data, l.left = append(l.data, p[:n]...), l.left-n
	return len(p), nil
}
