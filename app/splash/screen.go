package splash

import (
	"image"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"collet/app/update"
	"collet/assets"
)

// actions are the functions that the screen calls.
type actions struct {
	cancel func() // the player cancels the update
	// installed reports whether the installed game can be played without the update; play ends the update to play it.
	installed func() bool
	play      func()
	logTail   func() string
	report    func() string
	copy      func(text string)          // to the clipboard
	open      func(address string) error // a page
	raise     func()                     // brings the window to the front
	valve     Valve                      // may be nil
	cap       int64                      // initial limit in bytes per second; 0 is unlimited
}

// screen is the whole content of the window. It is used only on the loop.
type screen struct {
	texts    assets.Texts
	do       actions
	canvas   fyne.Canvas
	root     *fyne.Container
	backdrop []fyne.CanvasObject // background and picture, behind every content

	progress *progress
	card     *card // covers the progress; may be nil
	dialog   *card // the open dialog, also while the log covers it
	question *card // the question whether to cancel the update; nil before it was asked
	answer   func(update.Action)
	stopping bool
	notes    string // release notes of the release being fetched
}

func newScreen(title string, picture image.Image, texts assets.Texts, do actions) *screen {
	s := &screen{texts: texts, do: do}
	s.progress = newProgress(title, newChoice(texts.Get("button.cancel"), false, s.leave, s.typed),
		newSteer(texts, do.valve, do.cap, s.readNotes, s.typed))
	s.backdrop = []fyne.CanvasObject{canvas.NewRectangle(ground)}
	if picture != nil {
		s.backdrop = append(s.backdrop, newPicture(picture))
	}
	s.root = container.New(placer{fyne.NewSize(windowWidth, windowHeight), s.place})
	s.setContent(s.progress.root)
	return s
}

func newPicture(picture image.Image) *canvas.Image {
	img := canvas.NewImageFromImage(picture)
	img.FillMode = canvas.ImageFillStretch // place keeps the proportions
	if size := picture.Bounds().Size(); size.X*pictureHeight != size.Y*windowWidth {
		img.FillMode = canvas.ImageFillCover // with other proportions the middle is shown
	}
	img.ScaleMode = canvas.ImageScaleFastest
	return img
}

// attach makes the screen the content of a window's canvas.
func (s *screen) attach(c fyne.Canvas) {
	s.canvas = c
	c.SetOnTypedKey(s.typed)
	c.AddShortcut(&fyne.ShortcutCopy{}, func(fyne.Shortcut) { s.copyReport() })
}

// place makes the content fill the window and puts the picture at the top, as wide as the window.
func (s *screen) place(size fyne.Size) {
	for _, o := range s.root.Objects {
		o.Move(fyne.NewPos(0, 0))
		o.Resize(size)
	}
	if len(s.backdrop) > 1 {
		s.backdrop[1].Resize(fyne.NewSize(size.Width, size.Width*pictureHeight/windowWidth))
	}
}

// show paints a scene, unless the update is being stopped.
func (s *screen) show(scene Scene) {
	if !s.stopping {
		s.progress.show(scene)
	}
}

// typed handles keys that no button has handled.
func (s *screen) typed(e *fyne.KeyEvent) {
	switch {
	case e.Name == fyne.KeyEscape:
		s.leave()
	case s.card == nil:
	case e.Name == fyne.KeyLeft:
		s.canvas.FocusPrevious()
	case e.Name == fyne.KeyRight:
		s.canvas.FocusNext()
	case s.card.body.page(e.Name):
	case e.Name == fyne.KeyReturn || e.Name == fyne.KeyEnter:
		s.card.choices[s.card.first].press()
	}
}

// leave is the action of Escape. It goes back from the log or a question, presses the last button of a dialog, or asks
// whether to cancel the update.
func (s *screen) leave() {
	switch {
	case s.card != nil:
		s.card.escape()
	case !s.stopping:
		s.confirm()
	}
}

// shut handles the player closing the window: like Escape, but it skips the log, and a second time confirms the question.
func (s *screen) shut() {
	asked := s.card != nil && s.card == s.question
	switch {
	case s.dialog != nil:
		s.dialog.escape()
		return
	case s.card != nil:
		s.cover(nil) // also closes the release notes
	}
	if asked {
		s.stop()
		return
	}
	s.leave()
}

// confirm asks whether to cancel the update, which continues meanwhile; its end replaces the question.
func (s *screen) confirm() {
	back := func() { s.cover(nil) }
	body := s.texts.Get("cancel.body")
	choices := []*choice{newChoice(s.texts.Get("button.resume"), true, back, s.typed)}
	if s.do.installed != nil && s.do.installed() {
		body += "\n\n" + s.texts.Get("cancel.installed")
		choices = append(choices, newChoice(s.texts.Get("button.installed"), false, func() { back(); s.do.play() }, s.typed))
	}
	choices = append(choices, newChoice(s.texts.Get("button.quit"), false, func() { back(); s.stop() }, s.typed))
	s.question = newCard(s.texts.Get("cancel.title"), newScrollText(body, sizeBody, font(false)), 0, choices...)
	s.question.escape = back
	s.cover(s.question)
}

// stop cancels the update and shows that it is stopping until it has ended.
func (s *screen) stop() {
	s.stopping = true
	s.progress.show(Scene{Headline: s.texts.Get("phase.stopping")})
	s.progress.cancel.Hide()
	s.progress.steer.hide()
	s.canvas.Unfocus()
	s.do.cancel()
}

// setNotes shows the beginning of release notes, and a button for the full text.
func (s *screen) setNotes(text string) {
	s.notes = plainNotes(text)
	s.progress.setNews(firstLine(s.notes))
}

// readNotes covers the progress with the release notes.
func (s *screen) readNotes() {
	back := func() { s.cover(nil) }
	c := newCard(s.texts.Get("news.title"), newScrollText(s.notes, sizeBody, font(false)), 0,
		newChoice(s.texts.Get("button.back"), true, back, s.typed))
	c.escape = back
	s.cover(c)
}

// cover shows a card, or the progress if c is nil, and sets the focus.
func (s *screen) cover(c *card) {
	s.card = c
	content := s.progress.root
	if c != nil {
		content = c.root
	}
	s.canvas.Unfocus()
	s.setContent(content)
	if c != nil {
		s.canvas.Focus(c.choices[c.first])
	}
}

func (s *screen) setContent(content fyne.CanvasObject) {
	s.root.Objects = append(slices.Clone(s.backdrop), content)
	s.root.Refresh() // includes the layout
}

// ask shows a dialog; answer is called once, with the action that ends it.
func (s *screen) ask(d Dialog, answer func(update.Action)) {
	s.answer = answer
	var choices []*choice
	for i, b := range d.Buttons {
		choices = append(choices, newChoice(b.Label, i == d.Default, func() { s.press(b) }, s.typed))
	}
	body := newScrollText(d.Body, sizeBody, font(false))
	s.dialog = newCard(d.Title, body, d.Default, choices...)
	s.dialog.escape = func() { s.press(d.Buttons[len(d.Buttons)-1]) }
	s.cover(s.dialog)
}

// press performs the action of a button. Actions that show or copy something leave the dialog open.
func (s *screen) press(b Button) {
	switch b.Action {
	case update.Details:
		s.read("details.title", "details.empty", s.do.logTail)
	case update.Report:
		s.read("report.title", "report.empty", s.do.report)
	case update.Copy:
		s.copyReport()
	case update.Store, update.Website:
		s.openPage(b.URL)
	default:
		s.finish(b.Action)
	}
}

// finish closes the dialog with an answer.
func (s *screen) finish(a update.Action) {
	answer := s.answer
	s.dismiss()
	if answer != nil {
		answer(a)
	}
}

// toast shows t until the next call; pressed is called for its button.
func (s *screen) toast(t Toast, pressed func()) {
	if !s.stopping {
		s.progress.setToast(clean(t.Text, maxLine), t.Label, pressed)
	}
}

// dismiss closes the dialog without an answer.
func (s *screen) dismiss() {
	if s.dialog != nil {
		s.dialog, s.answer = nil, nil
		s.cover(nil)
	}
}

func (s *screen) openPage(address string) {
	if err := s.do.open(address); err != nil {
		s.card.status.set(s.texts.Get("page.unopened", "url", clean(address, maxLine)))
	}
}

func (s *screen) copyReport() {
	if s.card == nil {
		return
	}
	s.do.copy(s.do.report())
	s.card.status.set(s.texts.Get("report.copied"))
}

// read covers the dialog with a text of several lines, and buttons to copy the report and to go back.
func (s *screen) read(title, empty string, source func() string) {
	content := cleanLines(source())
	if content == "" {
		content = s.texts.Get(empty)
	}
	back := func() { s.cover(s.dialog) }
	body := newScrollText(content, sizeLog, theme.DefaultTextMonospaceFont())
	body.log, body.toEnd = true, title == "details.title"
	c := newCard(s.texts.Get(title), body, 1,
		newChoice(s.texts.Get("button.copy"), false, s.copyReport, s.typed),
		newChoice(s.texts.Get("button.back"), true, back, s.typed))
	c.escape = back
	s.cover(c)
}
