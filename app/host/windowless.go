package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"collet/app/splash"
	"collet/app/update"
	"collet/platform"
	"collet/platform/text"
)

// This file is about starts that have no window to say in what is wrong: those that fail before there is one, and those where none can be
// opened. What is wrong always goes to the terminal and to the log. Who started the program by a double-click sees neither, and gets a
// message of the system with the place of the log.

// refuse ends a start that can't go on.
func (s *setup) refuse(ctx context.Context, problem error, stderr io.Writer) int {
	s.logAnywhere()
	s.log.Error().Err(problem).Msg("the client can't start")
	fmt.Fprintf(stderr, "collet-client: %v\n", problem)
	if s.logged() {
		fmt.Fprintln(stderr, s.texts.Get("refused.log", "path", s.logs.path()))
	}
	s.tell(ctx, s.texts.Get("refused.title"), problem.Error())
	return exitUsage
}

// tell shows a message of the system where a person would see nothing else.
func (s *setup) tell(ctx context.Context, paragraphs ...string) {
	if s.opt.Headless || s.opt.Trial != "" || platform.IsTerminal(os.Stderr) {
		return
	}
	if s.logged() {
		paragraphs = append(paragraphs, s.texts.Get("refused.log", "path", s.logs.path()))
	}
	said := text.Shorten(text.Lines(strings.Join(paragraphs, "\n\n")), maxMessage)
	if err := platform.ShowMessage(ctx, text.Line(s.title()), said); err != nil {
		s.log.Warn().Err(err).Msg("message not shown")
	}
}

// maxMessage is how long a message is at most: none of the programs that show one can scroll.
const maxMessage = 1500

// logged reports whether there is a log in a file.
func (s *setup) logged() bool { return s.logs != nil && s.logs.fault() == nil }

// logAnywhere sees to a log for a start that ends: in the folder that the start would have written to, or with this user's own data.
func (s *setup) logAnywhere() {
	if s.logged() {
		return
	}
	if s.paths.data == "" && s.folder != "" {
		s.paths = s.findPaths()
	}
	places := []string{s.paths.data}
	if folder, err := platform.DataFolder(os.Getenv); err == nil && s.base != "" {
		places = append(places, filepath.Join(folder, s.base))
	}
	for _, place := range places {
		if s.paths.data = place; place == "" || os.MkdirAll(place, 0o700) != nil {
			continue
		}
		if s.logs != nil {
			_ = s.logs.Close() // it is in no file
		}
		if s.openLog(); s.logged() {
			return
		}
	}
}

// windowless is the whole client where there is a display and no window can be opened, for want of OpenGL above all: the game may need
// none. It updates unseen and plays; only an end that a person has to know of is shown, as a message.
func (h *host) windowless(ctx context.Context, reason error, stderr io.Writer) (code int, again *Relaunch) {
	h.log.Warn().Err(reason).Msg("no window; updates and plays without one")
	fmt.Fprintf(stderr, "collet-client: %v\n", reason)
	h.asks, h.blind, h.opt.Run = false, true, true
	return h.headless(ctx, stderr, stderr)
}

// tellEnd shows an end of windowless.
func (h *host) tellEnd(ctx context.Context, e outcome) {
	if !h.blind || !e.end().Shown() || ctx.Err() != nil {
		return
	}
	d := splash.ComposeEnd(e.end(), h.endInfo(e), h.texts)
	paragraphs := []string{d.Title, d.Body}
	if reason := e.reason(); reason != "" {
		paragraphs = append(paragraphs, reason)
	}
	h.tell(ctx, paragraphs...)
}

// answer is that for a person who can't be asked: what is installed is played where a dialog would offer that. A set that is known not
// to be whole is for the person alone to decide about.
func (h *host) answer(e outcome) update.Action {
	d := splash.ComposeEnd(e.end(), h.endInfo(e), h.texts)
	if h.blind && e.outcome != update.SetIncomplete && d.Offers(update.Offline) {
		return update.Offline
	}
	return update.Quit
}

// Refuse ends a start whose command line makes no sense. A shortcut or a menu entry may have it, so it is told like everything else.
func Refuse(ctx context.Context, problem error, stderr io.Writer) int {
	h, _ := newHost(Options{LogLevel: "info"}) // what else may be wrong comes with the next start
	defer h.close()
	return h.refuse(ctx, problem, stderr)
}
