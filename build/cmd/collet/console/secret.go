package console

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// maxSecret is the longest line in bytes that is read, more than a person types.
const maxSecret = 4096

// PromptSecret reads a line from the terminal without showing it.
func PromptSecret(question string) ([]byte, error) {
	if err := echo(false); err != nil {
		return nil, fmt.Errorf("a secret can't be typed unseen here (%w): set COLLET_PASSPHRASE or name a file with --passphrase-file; for a token set COLLET_PIN", err)
	}
	defer func() {
		_ = echo(true) // the terminal is gone if this fails
		fmt.Fprintln(os.Stderr)
	}()
	fmt.Fprintf(os.Stderr, "%s: ", question)
	line, err := bufio.NewReaderSize(os.Stdin, maxSecret).ReadBytes('\n')
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
