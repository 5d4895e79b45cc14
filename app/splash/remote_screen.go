package splash

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"

	"collet/assets"
)

// lampSize is the diameter of the lamp for the connection to a controller.
const lampSize = 12

// RemoteActions are the user's actions at the device. The functions are called on the main goroutine and must return at
// once. All are required.
type RemoteActions struct {
	Start func() // start the game, with the last parameters or the defaults
	Stop  func() // ask the game to end
	Force func() // kill the game
	Quit  func() // the window was closed, or Escape pressed
}

// remoteScreen is the whole content of a remote launcher's window. It is used only on the loop.
//
//	● Connected to 192.168.1.7:3413                    name
//	headline                                          count
//	file                                    amount    speed
//	━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
//	what the game does                   [stop] [end]
//	┌ log ────────────────────────────────────────────────┐
//	└─────────────────────────────────────────────────────┘
//	                                                [quit]
type remoteScreen struct {
	root               *fyne.Container
	canvas             fyne.Canvas
	do                 RemoteActions
	lamp               *canvas.Circle
	link, name         *line
	headline, count    *line
	detail, amount     *line
	bar                *gauge
	run                *line
	start, stop, force *choice
	quit               *choice
	tail               *tail
	size               fyne.Size
}

func newRemoteScreen(t assets.Texts, do RemoteActions) *remoteScreen {
	s := &remoteScreen{
		do: do, lamp: canvas.NewCircle(quiet), link: newLine(sizeBody, false, text), name: newRight(quiet),
		headline: newLine(sizeHeadline, true, bright), count: newRight(quiet),
		detail: newLine(sizeSmall, false, text), amount: newRight(text), bar: newGauge(),
		run:  newLine(sizeHeadline, true, bright),
		tail: newTail(t.Get("remote.log.empty")),
	}
	s.start = newChoice(t.Get("button.start"), true, do.Start, s.typed)
	s.stop = newChoice(t.Get("button.stop"), false, do.Stop, s.typed)
	s.force = newChoice(t.Get("button.force"), false, do.Force, s.typed)
	s.quit = newChoice(t.Get("button.quit"), false, do.Quit, s.typed)
	objects := []fyne.CanvasObject{canvas.NewRectangle(ground), s.lamp}
	for _, l := range s.lines() {
		objects = append(objects, l.Text)
	}
	objects = append(objects, s.bar.objects()...)
	objects = append(objects, s.start, s.stop, s.force, s.tail, s.quit)
	s.root = container.New(placer{fyne.NewSize(windowWidth, windowHeight*2/3), s.place}, objects...)
	return s
}

func (s *remoteScreen) lines() []*line {
	return []*line{s.link, s.name, s.headline, s.count, s.detail, s.amount, s.run}
}

// attach makes the screen the content of a window's canvas.
func (s *remoteScreen) attach(c fyne.Canvas) {
	s.canvas = c
	c.SetOnTypedKey(s.typed)
}

// typed handles keys that no button has handled.
func (s *remoteScreen) typed(e *fyne.KeyEvent) {
	switch {
	case e.Name == fyne.KeyEscape:
		s.do.Quit()
	case e.Name == fyne.KeyLeft && s.canvas != nil:
		s.canvas.FocusPrevious()
	case e.Name == fyne.KeyRight && s.canvas != nil:
		s.canvas.FocusNext()
	case e.Name == fyne.KeyF5 && s.start.Visible():
		s.do.Start()
	case e.Name == fyne.KeyF6 && s.stop.Visible():
		s.do.Stop()
	default:
		s.tail.page(e.Name)
	}
}

// show paints a scene.
func (s *remoteScreen) show(scene RemoteScene) {
	colour := quiet
	if scene.Live {
		colour = fine
	}
	if s.lamp.FillColor != colour {
		s.lamp.FillColor = colour
		s.lamp.Refresh()
	}
	s.link.set(scene.Link)
	s.name.set(scene.Name)
	s.headline.set(scene.Headline)
	s.detail.set(scene.Detail)
	s.count.set(scene.Count)
	s.amount.set(scene.Bar.Amount)
	if scene.Speed != "" {
		s.amount.set(scene.Bar.Amount + " · " + scene.Speed)
	}
	s.placeDetail()
	s.bar.show(scene.Bar.Shown || scene.Busy)
	if scene.Busy {
		s.bar.set(steady(scene.Pulse), true)
	} else {
		s.bar.set(scene.Bar.Fraction, false)
	}
	s.run.set(scene.Run)
	s.offer(scene)
	s.tail.set(scene.Log, scene.LogSeen)
}

// offer shows the applicable buttons. If the focused button is hidden, the focus moves to its replacement.
func (s *remoteScreen) offer(scene RemoteScene) {
	game := []*choice{s.start, s.stop, s.force}
	var was, now *choice
	for i, can := range []bool{scene.CanStart, scene.CanStop, scene.CanForce} {
		if game[i].focused && !can {
			was = game[i]
		}
		if can {
			now = game[i]
		}
		setVisible(game[i], can)
	}
	switch {
	case was == nil || s.canvas == nil:
	case now == nil:
		s.canvas.Focus(s.quit)
	default:
		s.canvas.Focus(now)
	}
}

// place lays out everything from the top down; the log gets the rest.
func (s *remoteScreen) place(size fyne.Size) {
	s.size = size
	s.root.Objects[0].Resize(size)
	width := size.Width - 2*margin
	s.lamp.Move(fyne.NewPos(margin, margin+6))
	s.lamp.Resize(fyne.NewSquareSize(lampSize))
	s.link.put(margin+lampSize+10, margin, width*0.62-lampSize)
	s.name.put(margin+width*0.64, margin+2, width*0.36)
	s.headline.put(margin, 60, width*0.62)
	s.count.put(margin+width*0.62, 66, width*0.38)
	s.placeDetail()
	s.amount.put(margin+width*0.58, 90, width*0.42)
	s.bar.put(margin, 114, width)
	s.placeGame(width)
	quit := s.quit.MinSize()
	s.quit.Resize(quit)
	s.quit.Move(fyne.NewPos(size.Width-margin-quit.Width+ringGap, size.Height-margin-quit.Height+8))
	s.tail.Move(fyne.NewPos(margin, 194))
	s.tail.Resize(fyne.NewSize(width, max(size.Height-194-margin-quit.Height, 3*rowHeight)))
}

// placeDetail gives the detail line the width that the amount leaves.
func (s *remoteScreen) placeDetail() {
	if width := s.size.Width - 2*margin; s.amount.whole != "" {
		s.detail.put(margin, 90, width*0.58)
	} else if width > 0 {
		s.detail.put(margin, 90, width)
	}
}

// placeGame places the state of the game, and at the right the button that changes it.
func (s *remoteScreen) placeGame(width float32) {
	widest := float32(0)
	for _, button := range []*choice{s.start, s.stop, s.force} {
		min := button.MinSize()
		button.Resize(min)
		button.Move(fyne.NewPos(margin+width-min.Width+ringGap, 140))
		widest = max(widest, min.Width)
	}
	s.run.put(margin, 145, width-widest-margin)
}
