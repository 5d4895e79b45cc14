package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"collet/platform"
)

// maxPassphrase is how many bytes of a passphrase file are read, more than a person types.
const maxPassphrase = 4096

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
	text, err := promptPassphrase("Passphrase of " + file)
	if _, missing := os.Stat(file); err != nil || missing == nil {
		return text, err
	}
	again, err := promptPassphrase("Once more")
	if err == nil && !bytes.Equal(text, again) {
		err = errors.New("the two are not the same; nothing was made")
	}
	return text, err
}

// promptPassphrase reads a line from the terminal without showing it.
func promptPassphrase(question string) ([]byte, error) {
	if err := echo(false); err != nil {
		return nil, fmt.Errorf("a passphrase can't be typed unseen here (%w): set COLLET_PASSPHRASE, or name a file with --passphrase-file", err)
	}
	defer func() {
		_ = echo(true) // the terminal is gone if this fails
		fmt.Fprintln(os.Stderr)
	}()
	fmt.Fprintf(os.Stderr, "%s: ", question)
	line, err := bufio.NewReaderSize(os.Stdin, maxPassphrase).ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// echo lets the terminal show what is typed, or not. Systems without stty answer with an error.
func echo(on bool) error {
	mode := "-echo"
	if on {
		mode = "echo"
	}
	stty := exec.Command("stty", mode)
	stty.Stdin = os.Stdin
	return stty.Run()
}
