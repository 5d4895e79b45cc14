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
	yes     bool      // all is meant
	dryRun  bool      // nothing is asked, since nothing is published
	answers io.Reader // a terminal; nil without one
}

// reviewer is the one of a publication.
func (r releasePublishCommand) reviewer(c console.Console) reviewer {
	v := reviewer{console: c, yes: r.Yes, dryRun: r.DryRun}
	if !r.CI && platform.IsTerminal(os.Stdin) {
		v.answers = os.Stdin
	}
	return v
}

// review prints the findings. It returns an error if the release is refused, or not confirmed.
func (v reviewer) review(ctx context.Context, found publish.Review) error {
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
		for _, text := range asked {
			fmt.Fprintf(out, "note: %s\n", text)
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
