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

// This file makes an install of a folder that holds the game already (package adopt): that folder itself, or, with a writable root of its
// own, that root. The plan is shown in the window, or in the terminal with Options.Headless, Options.Yes or no window.

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

// folders are the folders of an adoption, open.
type folders struct {
	io.Closer
	carryOut func(ctx context.Context) error
}

// open opens the folders, and makes the plan. The caller closes them.
func (a *adoption) open() (f folders, err error) {
	if a.dir, err = filepath.Abs(a.opt.Adopt); err != nil {
		return f, err
	}
	if _, inside := platform.Below(a.dir, a.exe); inside {
		return f, errors.New("this program lies in that folder; copy it elsewhere and start it there")
	}
	if err := adopt.Check(a.dir); err != nil {
		return f, err
	}
	names, err := a.names().Checked()
	switch {
	case err != nil:
		return f, err
	case a.paths.refused != nil:
		return f, a.paths.refused
	case a.paths.portable():
		return a.openPortable(names.Resources)
	default:
		return a.openElsewhere(names.Resources)
	}
}

// openPortable is open for a client that keeps the game beside itself: the game's folder becomes an install.
func (a *adoption) openPortable(resources string) (folders, error) {
	parent, err := adopt.OpenBeside(a.dir, a.paths.data)
	if err != nil {
		return folders{}, err
	}
	if a.plan, err = adopt.Look(parent, filepath.Base(a.dir), filepath.Base(a.exe), resources, a.description()); err != nil {
		return folders{}, errors.Join(err, parent.Close())
	}
	return folders{parent, func(context.Context) error { return adopt.Adopt(parent, a.plan, a.files()) }}, nil
}

// openElsewhere is open for a client with a writable root: the game goes there.
func (a *adoption) openElsewhere(resources string) (folders, error) {
	e, err := adopt.OpenElsewhere(a.dir, a.paths.data)
	if err != nil {
		return folders{}, err
	}
	if a.plan, err = e.Look(filepath.Base(a.dir), resources, a.description()); err != nil {
		return folders{}, errors.Join(err, e.Close())
	}
	return folders{e, func(ctx context.Context) error {
		return e.Adopt(ctx, a.plan, a.existing(a.base+product.DescriptionExt))
	}}, nil
}

// description is the file beside this program that names the game's.
func (a *adoption) description() string {
	return filepath.Join(a.folder, a.base+product.DescriptionExt)
}

// home is the folder that has the game's files afterwards.
func (a *adoption) home() string {
	if a.paths.portable() {
		return a.dir
	}
	return a.paths.data
}

// program is the client's program that starts the game afterwards.
func (a *adoption) program() string {
	if a.paths.portable() {
		return filepath.Join(a.dir, filepath.Base(a.exe))
	}
	return a.exe
}

// question is the plan, with the choice to carry it out.
func (a *adoption) question() splash.Dialog {
	body := a.texts.Get("adopt.body", "path", text.Line(a.dir), "files", a.plan.Files, "size", a.texts.Size(a.plan.Bytes)) + "\n\n" +
		a.texts.Get("adopt.next", "resources", text.Line(filepath.Join(a.home(), filepath.FromSlash(a.plan.Resources))), "program", text.Line(a.program()))
	if !a.paths.portable() {
		body += " " + a.texts.Get("adopt.elsewhere")
	}
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
	var f folders
	during(ctx, v, update.Comparing, func() { f, err = a.open() })
	if err == nil {
		defer func() { err = errors.Join(err, f.Close()) }()
		if agreed = agree(a.question()); !agreed {
			return false, nil
		}
		during(ctx, v, update.Committing, func() { err = f.carryOut(ctx) })
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
	f, err := a.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fmt.Fprintln(stdout, a.question().Body)
	if !a.opt.Yes && !confirmed(ctx, stdin, stdout) {
		return errors.New("not confirmed; nothing has changed. --yes confirms without a question")
	}
	if err := f.carryOut(ctx); err != nil {
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
	root := "root.json"
	if name := a.settings.Release.TrustedRoot; filepath.IsLocal(name) {
		root = name
	}
	own := adopt.File{Name: filepath.Base(a.exe), Open: opener(a.exe), Mode: 0o755}
	return append([]adopt.File{own}, a.existing(a.base+".toml", a.base+product.DescriptionExt, root)...)
}

// existing are those of the files beside this program that are there.
func (a *adoption) existing(names ...string) (list []adopt.File) {
	for _, name := range names {
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
