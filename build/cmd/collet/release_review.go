package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/platform"
)

// maxLeftOut is how many names of files are printed that are left out of a release.
const maxLeftOut = 20

// errUnconfirmed ends a publication that a person does not want.
var errUnconfirmed = errors.New("nothing was published")

// reviewer shows what a check of a game found, and asks a person about what may be meant.
type reviewer struct {
	console console.Console
	command string    // publish or promote
	yes     bool      // all is meant
	dryRun  bool      // nothing is asked, since nothing is published
	answers io.Reader // a terminal; nil without one

	unconfirmed bool // a dry run found what the command will ask
}

// newReviewer is the one of a command. A build job has no terminal.
func newReviewer(c console.Console, command string, yes, dryRun, job bool) *reviewer {
	v := &reviewer{console: c, command: command, yes: yes, dryRun: dryRun}
	if !job && platform.IsTerminal(os.Stdin) {
		v.answers = os.Stdin
	}
	return v
}

// refusal is how a dry run ends that has told everything: like the command itself, it fails without a terminal.
func (v *reviewer) refusal() error {
	if v.unconfirmed && v.answers == nil {
		return fmt.Errorf("%s will need --yes where there is no terminal to ask", v.command)
	}
	return nil
}

// review prints the findings. It returns an error if the release is refused, or not confirmed.
func (v *reviewer) review(ctx context.Context, found publish.Review) error {
	out := v.console.Err
	for i, name := range found.Ignored {
		if i == maxLeftOut {
			fmt.Fprintf(out, "not in the release: %d more files and folders\n", len(found.Ignored)-i)
			break
		}
		fmt.Fprintf(out, "not in the release: %s\n", console.Clean(name))
	}
	var refused, asked []string
	for _, f := range found.Findings {
		if text := console.Clean(f.String()); f.Refused {
			refused = append(refused, text)
		} else {
			asked = append(asked, text)
		}
	}
	switch {
	case len(refused) > 0:
		return fmt.Errorf("this can't be right for any player: %s", strings.Join(refused, "\n"))
	case len(asked) == 0:
		return nil
	case v.yes || v.dryRun:
		lead := "note"
		if !v.yes {
			lead, v.unconfirmed = v.command+" will ask", true
		}
		for _, text := range asked {
			fmt.Fprintf(out, "%s: %s\n", lead, text)
		}
		return nil
	case v.answers == nil:
		return fmt.Errorf("%s\n%w: say --yes if this is meant", strings.Join(asked, "\n"), errUnconfirmed)
	}
	for _, text := range asked {
		fmt.Fprintln(out, text)
	}
	meant, err := console.Confirm(ctx, v.answers, out, "Is this meant?")
	if err == nil && !meant {
		err = errUnconfirmed
	}
	return err
}
