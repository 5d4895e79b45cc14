package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"collet/app/adopt"
	"collet/app/splash"
	"collet/app/update"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/platform/text"
)

// This file makes an install of a folder that holds the game already (package adopt). The plan is shown in the window, or in the terminal
// with Options.Headless, Options.Yes or no window.

// exitNotAdopted is the exit code of an adoption that did not happen.
const exitNotAdopted = 1

// adoption is a folder that may become an install.
type adoption struct {
	*setup
	dir  string // absolute
	plan adopt.Plan
}

// adopt is a start with Options.Adopt. After an adoption in the window, again starts the game in its new place.
func (h *host) adopt(ctx context.Context, stdin *os.File, stdout, stderr io.Writer) (code int, again *Relaunch) {
	a := &adoption{setup: h.setup}
	if !h.opt.Headless && !h.opt.Yes {
		h.adoptWindowLog()
		err := splash.Run(h.splashOptions(), func(closed context.Context, v *splash.View) {
			joined, cancel := context.WithCancel(closed)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			code, again = a.show(joined, v)
		})
		if err == nil {
			return code, again
		}
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
	}
	if err := a.print(ctx, stdin, stdout); err != nil {
		h.log.Error().Err(err).Str("folder", h.opt.Adopt).Msg("not adopted")
		fmt.Fprintf(stderr, "collet-client: --adopt %s: %v\n", h.opt.Adopt, err)
		h.showMessage(ctx, h.texts.Get("adopt.failed.title"), err.Error())
		return exitNotAdopted, nil
	}
	return 0, nil
}

// open opens the folder above the one to adopt, and makes the plan. The caller closes parent.
func (a *adoption) open() (parent *platform.Dir, err error) {
	if a.dir, err = filepath.Abs(a.opt.Adopt); err != nil {
		return nil, err
	}
	if _, inside := below(a.dir, a.exe); inside {
		return nil, errors.New("this program lies in that folder; copy it elsewhere and start it there")
	}
	if parent, err = platform.OpenDir(filepath.Dir(a.dir)); err != nil {
		return nil, err
	}
	names, err := a.names().Checked()
	if err == nil {
		a.plan, err = adopt.Look(parent, filepath.Base(a.dir), filepath.Base(a.exe), names.Resources)
	}
	if err != nil {
		return nil, errors.Join(err, parent.Close())
	}
	return parent, nil
}

// program is the client's program in the install.
func (a *adoption) program() string { return filepath.Join(a.dir, filepath.Base(a.exe)) }

// question is the plan, with the choice to carry it out.
func (a *adoption) question() splash.Dialog {
	body := a.texts.Get("adopt.body", "path", text.Line(a.dir), "files", a.plan.Files, "size", a.texts.Size(a.plan.Bytes)) + "\n\n" +
		a.texts.Get("adopt.next", "resources", text.Line(filepath.Join(a.dir, filepath.FromSlash(a.plan.Resources))), "program", text.Line(a.program()))
	if a.plan.Resumed {
		body += "\n\n" + a.texts.Get("adopt.resumed")
	}
	return splash.Dialog{Title: a.texts.Get("adopt.title"), Body: body, Buttons: []splash.Button{a.button("adopt", update.Proceed), a.button("cancel", update.Quit)}}
}

// done is what to do after the adoption.
func (a *adoption) done() splash.Dialog {
	return splash.Dialog{Title: a.texts.Get("adopt.done.title"), Body: a.texts.Get("adopt.done.body", "program", text.Line(a.program())),
		Buttons: []splash.Button{a.button("play", update.Play), a.button("quit", update.Quit)}}
}

// failed says why the folder is no install yet.
func (a *adoption) failed(reason error) splash.Dialog {
	return splash.Dialog{Title: a.texts.Get("adopt.failed.title"), Body: text.Line(reason.Error()) + "\n\n" + a.texts.Get("adopt.failed.next"),
		Buttons: []splash.Button{a.button("retry", update.Retry), a.button("details", update.Details), a.button("quit", update.Quit)}}
}

func (a *adoption) button(key string, action update.Action) splash.Button {
	return splash.Button{Label: a.texts.Get("button." + key), Action: action}
}

// adoptionView is the window of an adoption, a *splash.View.
type adoptionView interface {
	Follow(ctx context.Context, w splash.Watcher)
	Ask(ctx context.Context, d splash.Dialog) (update.Action, error)
}

// show adopts the folder in the window. A failure can be tried again.
func (a *adoption) show(ctx context.Context, v adoptionView) (code int, again *Relaunch) {
	ask := func(d splash.Dialog, want update.Action) bool {
		answer, err := v.Ask(ctx, d)
		return err == nil && answer == want && ctx.Err() == nil
	}
	for {
		agreed, err := a.showOnce(ctx, v, func(d splash.Dialog) bool { return ask(d, update.Proceed) })
		switch {
		case err != nil && !ask(a.failed(err), update.Retry), err == nil && !agreed:
			return exitNotAdopted, nil
		case err != nil:
		case ask(a.done(), update.Play):
			return 0, &Relaunch{exe: a.program(), args: relaunchArgs(a.opt.Command, relaunchState{})}
		default:
			return 0, nil
		}
	}
}

// showOnce makes the plan, asks, and carries it out.
func (a *adoption) showOnce(ctx context.Context, v adoptionView, agree func(splash.Dialog) bool) (agreed bool, err error) {
	var parent *platform.Dir
	during(ctx, v, update.Comparing, func() { parent, err = a.open() })
	if err == nil {
		defer func() { err = errors.Join(err, parent.Close()) }()
		if agreed = agree(a.question()); !agreed {
			return false, nil
		}
		during(ctx, v, update.Committing, func() { err = adopt.Adopt(parent, a.plan, a.files()) })
	}
	if err != nil {
		a.log.Error().Err(err).Str("folder", a.dir).Msg("not adopted")
		return agreed, err
	}
	a.log.Info().Str("folder", a.dir).Int("files", a.plan.Files).Msg("adopted")
	return true, nil
}

// during shows a phase without a known end while it does some work.
func during(ctx context.Context, v adoptionView, phase update.Phase, work func()) {
	shown, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.Follow(shown, busy{phase})
	}()
	work()
	end()
	<-done
}

// busy is a phase without a known end. It never changes.
type busy struct{ phase update.Phase }

func (b busy) Status() update.Status                 { return update.Status{Phase: b.phase} }
func (b busy) Watch(context.Context) <-chan struct{} { return nil }

// print adopts the folder in the terminal.
func (a *adoption) print(ctx context.Context, stdin *os.File, stdout io.Writer) (err error) {
	parent, err := a.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	fmt.Fprintln(stdout, a.question().Body)
	if !a.opt.Yes && !confirmed(ctx, stdin, stdout) {
		return errors.New("not confirmed; nothing has changed. --yes confirms without a question")
	}
	if err := adopt.Adopt(parent, a.plan, a.files()); err != nil {
		return err
	}
	a.log.Info().Str("folder", a.dir).Int("files", a.plan.Files).Msg("adopted")
	fmt.Fprintln(stdout, a.done().Body)
	return nil
}

// confirmed asks on a terminal; without one the answer is no.
func confirmed(ctx context.Context, stdin *os.File, stdout io.Writer) bool {
	if !platform.IsTerminal(stdin) {
		return false
	}
	fmt.Fprint(stdout, "Go ahead? [y/N] ")
	answer, _ := bufio.NewReader(interrupt.Reader(ctx, stdin)).ReadString('\n') // an error is no answer
	return strings.EqualFold(strings.TrimSpace(answer), "y")
}

// files are this program and what lies beside it that belongs to it: its settings, its trusted root, and a description of the game.
func (a *adoption) files() []adopt.File {
	list := []adopt.File{{Name: filepath.Base(a.exe), Open: opener(a.exe), Mode: 0o755}}
	root := "root.json"
	if name := a.settings.Release.TrustedRoot; filepath.IsLocal(name) {
		root = name
	}
	for _, name := range []string{a.base + ".toml", a.base + product.DescriptionExt, root} {
		full := filepath.Join(a.folder, name)
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && filepath.Base(name) == name {
			list = append(list, adopt.File{Name: name, Open: opener(full), Mode: 0o644})
		}
	}
	return list
}

func opener(name string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(name) }
}
