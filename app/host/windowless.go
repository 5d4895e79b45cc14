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

// This file reports errors without a window: of starts that fail before the window opens, and of starts whose window can't be opened.
// Errors always go to the terminal and to the log. After a double-click neither is visible, so the system shows a message with the path
// of the log.

// refuse reports why a start can't continue, and returns its exit code.
func (s *setup) refuse(ctx context.Context, problem error, stderr io.Writer) int {
	s.logAnywhere()
	s.log.Error().Err(problem).Msg("the client can't start")
	fmt.Fprintf(stderr, "collet-client: %v\n", problem)
	if s.logged() {
		fmt.Fprintln(stderr, s.texts.Get("refused.log", "path", s.logs.Path()))
	}
	s.showMessage(ctx, s.texts.Get("refused.title"), problem.Error())
	return exitUsage
}

// showMessage shows a message of the system, unless the start is headless, a trial or in a terminal.
func (s *setup) showMessage(ctx context.Context, paragraphs ...string) {
	if s.opt.Headless || s.opt.Trial != "" || platform.IsTerminal(os.Stderr) {
		return
	}
	if s.logged() {
		paragraphs = append(paragraphs, s.texts.Get("refused.log", "path", s.logs.Path()))
	}
	said := text.Shorten(text.Lines(strings.Join(paragraphs, "\n\n")), maxMessage)
	if err := platform.ShowMessage(ctx, text.Line(s.title()), said); err != nil {
		s.log.Warn().Err(err).Msg("message not shown")
	}
}

// maxMessage is the longest message: the programs that show messages can't scroll.
const maxMessage = 1500

// logged reports whether the log is written to a file.
func (s *setup) logged() bool { return s.logs != nil && s.logs.Err() == nil }

// logAnywhere opens a log for a failed start: in the writable root, else in the per-user data folder.
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

// startWindowless runs the client on a display where no window can be opened, mostly because OpenGL is missing, which the game may not
// need. It updates and plays; only ends that need attention are shown, as a message.
func (h *host) startWindowless(ctx context.Context, reason error, stderr io.Writer) (code int, again *Relaunch) {
	h.log.Warn().Err(reason).Msg("no window; updates and plays without one")
	fmt.Fprintf(stderr, "collet-client: %v\n", reason)
	h.canAsk, h.windowless, h.opt.Run = false, true, true
	return h.startHeadless(ctx, stderr, stderr)
}

// tellEnd shows an end of windowless as a message.
func (h *host) tellEnd(ctx context.Context, e outcome) {
	if !h.windowless || !e.row().Shown() || ctx.Err() != nil {
		return
	}
	d := splash.ComposeEnd(e.row(), h.endInfo(e), h.texts)
	paragraphs := []string{d.Title, d.Body}
	if reason := e.reason(); reason != "" {
		paragraphs = append(paragraphs, reason)
	}
	h.showMessage(ctx, paragraphs...)
}

// answer is the action for an end without a window. windowless plays the installed version if a dialog would offer that, except for an
// incomplete set, which needs the player's confirmation. All other ends are Quit.
func (h *host) answer(e outcome) update.Action {
	d := splash.ComposeEnd(e.row(), h.endInfo(e), h.texts)
	if h.windowless && e.outcome != update.SetIncomplete && d.Offers(update.Offline) {
		return update.Offline
	}
	return update.Quit
}

// Refuse reports an invalid command line, which a shortcut or a menu entry may have, like every other error. It returns the exit code.
func Refuse(ctx context.Context, problem error, stderr io.Writer) int {
	h, _ := newHost(Options{LogLevel: "info"}) // other errors are reported by the next start
	defer h.close()
	return h.refuse(ctx, problem, stderr)
}
