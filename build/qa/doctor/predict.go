package doctor

import (
	"fmt"

	"collet/app/install/inspect"
	"collet/app/update"
	"collet/assets"
	"collet/platform/text"
)

// describeEnding describes how an ending looks to a player.
func describeEnding(e inspect.Ending) string {
	return fmt.Sprintf("ends with exit code %d, %q: %s", e.Exit, assets.TextsFor("en").Get(e.Key+".title"), e.Subject)
}

// condition describes when an ending occurs; rest is what happens then.
func (d *Diagnosis) condition(e inspect.Ending, rest string) string {
	switch e.When {
	case inspect.Unchanged:
		return "if the server has nothing new it " + rest
	case inspect.Updated:
		return "an update " + rest
	case inspect.Larger:
		return fmt.Sprintf("an update with more than %d new or changed files %s", e.Files, rest)
	default:
		return rest
	}
}

// endingLines returns the endings as lines.
func (d *Diagnosis) endingLines() (lines []string) {
	for _, e := range d.Endings {
		rest := "plays what is installed"
		switch {
		case e.Exit != 0:
			rest = describeEnding(e)
		case e.When == inspect.Updated:
			rest = d.describeRoom(e)
		}
		lines = append(lines, d.condition(e, rest))
	}
	return lines
}

// describeRoom describes how large an update the free space allows.
func (d *Diagnosis) describeRoom(e inspect.Ending) string {
	room := "has room"
	if e.Bytes >= 0 {
		room += " for " + text.Bytes(e.Bytes)
	}
	switch {
	case e.Files == 0:
		room += ", and perhaps not for one file"
	case e.Files > 0:
		room += fmt.Sprintf(" in %d new or changed files", e.Files)
	}
	return room
}

// expectedTroubles returns the endings that need user action. A start that can't open the install is already a trouble of the install.
func (d *Diagnosis) expectedTroubles() (found []inspect.Problem) {
	var before inspect.Ending
	for _, e := range d.Endings {
		seldom := e.When == inspect.Larger && e.Files >= int64(len(d.Install.Files)) // an update rarely adds more than the present size
		if e.Exit == 0 || e.When == inspect.Always || seldom || e.Exit == before.Exit && e.Subject == before.Subject {
			continue
		}
		before = e
		found = append(found, inspect.Problem{Severity: inspect.NeedsPlayer, What: "the next start: " + d.condition(e, describeEnding(e)), Then: d.remedy(e)})
	}
	return found
}

// remedy returns advice against an ending.
func (d *Diagnosis) remedy(e inspect.Ending) string {
	switch {
	case e.Key == update.KeyInTheWay:
		return "move it away"
	case e.Key == update.KeyNoNames:
		return "remove files on " + d.Volume + ", many small ones above all: it has no inodes left, or a quota is used up"
	case e.Cause == update.DiskFull:
		return "make room on " + d.Volume + ": an update needs some beside its files"
	case e.Cause == update.NoPermission:
		return "change the permissions, or let the client keep its files elsewhere (UserWritablePath)"
	default:
		return "check the disk for errors"
	}
}
