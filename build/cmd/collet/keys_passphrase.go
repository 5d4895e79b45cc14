package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"collet/build/cmd/collet/console"
	"collet/build/publish/keyring"
	"collet/platform"
)

// maxPassphrase is how many bytes of a passphrase file are read, more than a person types.
const maxPassphrase = 4096

// ask is how a folder of keys gets secrets.
func (k keyFlags) ask() keyring.Ask { return keyring.Ask{Passphrase: k.passphrase, PIN: k.pin} }

// pin finds the PIN of a token: in the environment, or by asking. With the last try before the token is locked only a person is asked.
func (k keyFlags) pin(token string, last bool) ([]byte, error) {
	question := fmt.Sprintf("PIN of token %q", token)
	if last {
		question += ", the last try before it is locked"
	} else if text := os.Getenv("COLLET_PIN"); text != "" {
		return []byte(text), nil
	}
	switch {
	case !k.ci && platform.IsTerminal(os.Stdin):
		return console.PromptSecret(question)
	case last:
		return nil, errors.New("one try is left before its PIN is locked, so $COLLET_PIN was not tried: run the command on a terminal and type the PIN")
	}
	return nil, errors.New("it needs a PIN: set COLLET_PIN, add pin-source= with a file to its URI, or run the command on a terminal")
}

// passphrase finds the passphrase of a key file: in the environment, in a file, or by asking. For a key that does not exist
// yet it is asked for twice.
func (k keyFlags) passphrase(file string) ([]byte, error) {
	if text := os.Getenv("COLLET_PASSPHRASE"); text != "" {
		return []byte(text), nil
	}
	if k.PassphraseFile != "" {
		data, err := os.ReadFile(k.PassphraseFile)
		if err != nil {
			return nil, err
		}
		line, _, _ := bytes.Cut(data[:min(len(data), maxPassphrase)], []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), nil
	}
	if k.ci || !platform.IsTerminal(os.Stdin) {
		return nil, fmt.Errorf("key %s needs a passphrase: set COLLET_PASSPHRASE, or name a file with --passphrase-file", file)
	}
	text, err := console.PromptSecret("Passphrase of " + file)
	if _, missing := os.Stat(file); err != nil || missing == nil {
		return text, err
	}
	again, err := console.PromptSecret("Once more")
	if err == nil && !bytes.Equal(text, again) {
		err = errors.New("the two are not the same; nothing was made")
	}
	return text, err
}
