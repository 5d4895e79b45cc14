package splash

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"sync"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"collet/app/update"
	"collet/assets"
)

// stage is a screen on a canvas of its own.
func stage(t *testing.T, language string) (*screen, fyne.Window) {
	t.Helper()
	return stageWith(t, language, decode(assets.SplashPNG))
}

// faceOnce is the font of a language, which has megabytes, for all tests.
var faceOnce sync.Map // of func() (fyne.Resource, error)

func faces(language string) (fyne.Resource, error) {
	once, _ := faceOnce.LoadOrStore(language, sync.OnceValues(func() (fyne.Resource, error) { return faceOf(assets.TextsFor(language)) }))
	return once.(func() (fyne.Resource, error))()
}

// shownLanguages are the languages that this system has letters for; the others are named, and left out.
func shownLanguages(t *testing.T) (shown []string) {
	t.Helper()
	for _, language := range assets.Languages() {
		if _, err := faces(language); err != nil {
			t.Logf("%s is left out: %v", language, err)
			continue
		}
		shown = append(shown, language)
	}
	return shown
}

func stageWith(t *testing.T, language string, picture image.Image) (*screen, fyne.Window) {
	t.Helper()
	a := test.NewTempApp(t)
	face, err := faces(language)
	if err != nil {
		t.Fatal(err)
	}
	a.Settings().SetTheme(newLook(face))
	s := newScreen("Ember Reach", picture, assets.TextsFor(language), actions{
		cancel: func() {}, logTail: func() string { return sampleLog }, report: func() string { return "report" },
		copy: func(string) {}, open: func(string) error { return nil },
	})
	w := a.NewWindow("")
	w.SetPadded(false)
	w.SetContent(s.root)
	w.Resize(fyne.NewSize(windowWidth, windowHeight))
	s.attach(w.Canvas())
	t.Cleanup(w.Close)
	return s, w
}

// No text is cut off: every headline, label and amount of every phase fits, in every language.
func TestEveryTextFitsIntoTheWindow(t *testing.T) {
	for _, language := range shownLanguages(t) {
		s, _ := stage(t, language)
		for _, m := range moments() {
			s.show(Compose(m.status, noon, s.texts))
			for _, l := range s.progress.lines() {
				if l.Text.Text != l.whole && l != s.progress.detail {
					t.Errorf("%s, %s: %q is cut to %q", language, m.name, l.whole, l.Text.Text)
				}
			}
		}
		for _, note := range []string{"note.embedded", "note.rolledback", "note.offline", "note.notcurrent", "note.notrunning"} {
			s.progress.setNote(s.texts.Get(note, "file", "EmberReach.so"))
			if l := s.progress.note; l.Text.Text != l.whole {
				t.Errorf("%s: %q is cut to %q", language, l.whole, l.Text.Text)
			}
		}
	}
}

func TestEveryDialogFitsIntoTheWindow(t *testing.T) {
	for _, language := range shownLanguages(t) {
		s, _ := stage(t, language)
		s.do.installed = func() bool { return true }
		s.leave()
		checkFit(t, language+", cancel", s.card)
		for _, e := range update.Ends() {
			for name, info := range variants(e) {
				if !e.Shown() {
					continue
				}
				info.Path = "/home/ada/" + strings.Repeat("a rather long folder/", 5) + "EmberReach"
				s.ask(ComposeEnd(e, info, s.texts), func(update.Action) {})
				checkFit(t, fmt.Sprint(language, ", ", e.Key, ", ", name), s.card)
			}
		}
	}
}

func checkFit(t *testing.T, name string, c *card) {
	t.Helper()
	if c.heading.Text.Text != c.heading.whole {
		t.Errorf("%s: the heading is cut to %q", name, c.heading.Text.Text)
	}
	if need, have := c.body.content.MinSize().Height, c.body.Size().Height; need > have {
		t.Errorf("%s: the body is %v high and has %v", name, need, have)
	}
	rows := map[float32]bool{}
	for i, choice := range c.choices {
		rows[choice.Position().Y] = true
		right := choice.Position().X + choice.Size().Width
		if right > windowWidth-cardMargin+ringGap || len(rows) > 2 {
			t.Errorf("%s: button %d (%s) ends at %v or stands in a third row", name, i, choice.label, right)
		}
		if i > 0 && choice.Position().Y == c.choices[i-1].Position().Y && choice.Position().X <= c.choices[i-1].Position().X+c.choices[i-1].Size().Width {
			t.Errorf("%s: button %d overlaps the one before", name, i)
		}
	}
}

// Buttons that do not fit into one row make a second one, and the body shrinks.
func TestButtonsWrap(t *testing.T) {
	s, _ := stage(t, "en")
	d := Dialog{Title: "Many", Body: "choices"}
	for i := range 12 {
		d.Buttons = append(d.Buttons, Button{Action: update.Action(fmt.Sprint(i)), Label: fmt.Sprintf("Choice number %d", i)})
	}
	s.ask(d, func(update.Action) {})
	rows := map[float32]int{}
	for _, c := range s.card.choices {
		rows[c.Position().Y]++
		if right := c.Position().X + c.Size().Width; right > windowWidth-cardMargin+ringGap {
			t.Errorf("%q ends at %v", c.label, right)
		}
		if bottom := c.Position().Y + c.Size().Height; bottom > windowHeight {
			t.Errorf("%q ends at %v", c.label, bottom)
		}
	}
	if len(rows) < 3 {
		t.Errorf("%d rows", len(rows))
	}
	if end := s.card.body.Position().Y + s.card.body.Size().Height; end > s.card.choices[0].Position().Y {
		t.Error("the body covers the buttons")
	}
}

// A window manager may give the window another size than requested.
func TestOtherSizes(t *testing.T) {
	s, w := stage(t, "en")
	for _, size := range []fyne.Size{fyne.NewSize(1280, 800), fyne.NewSize(640, 480), fyne.NewSize(900, 500)} {
		w.Resize(size)
		s.show(Compose(sampleFetching(), noon, s.texts))
		p := s.progress
		if right := p.allBar.track.Position().X + p.allBar.track.Size().Width; right != size.Width-margin {
			t.Errorf("%v: the bar ends at %v", size, right)
		}
		if p.speed.Position().Y != size.Height-36 {
			t.Errorf("%v: the last line is at %v", size, p.speed.Position().Y)
		}
		if picture := s.backdrop[1].Size(); picture.Width != size.Width || picture.Height != size.Width*9/16 {
			t.Errorf("%v: the picture is %v", size, picture)
		}
		s.ask(interrupted(), func(update.Action) {})
		if got := s.card.veil.Size(); got != size {
			t.Errorf("%v: the veil is %v", size, got)
		}
		s.dismiss()
	}
}

func TestGauge(t *testing.T) {
	test.NewTempApp(t)
	g := newGauge()
	g.put(10, 20, 100)
	for _, c := range []struct {
		fraction float64
		busy     bool
		x, width float32
	}{
		{0, false, 10, 0}, {0.001, false, 10, barHeight}, {0.5, false, 10, 50}, {1, false, 10, 100},
		{0, true, 10, 22}, {1, true, 88, 22}, {0.5, true, 49, 22},
	} {
		g.set(c.fraction, c.busy)
		if x, width := g.fill.Position().X, g.fill.Size().Width; math.Abs(float64(x-c.x)) > 0.01 || math.Abs(float64(width-c.width)) > 0.01 {
			t.Errorf("%v, busy %v: from %v, %v wide; want %v, %v", c.fraction, c.busy, x, width, c.x, c.width)
		}
	}
	g.show(false)
	if g.track.Visible() || g.fill.Visible() {
		t.Error("a hidden bar is seen")
	}
}

// calm are the settings of a system with reduced motion.
type calm struct{ fyne.Settings }

func (calm) ShowAnimations() bool { return false }

type calmApp struct{ fyne.App }

func (a calmApp) Settings() fyne.Settings { return calm{a.App.Settings()} }

func TestBusyBarStandsStillWhereMotionIsUnwanted(t *testing.T) {
	a := test.NewTempApp(t)
	if got := steady(0.9); got != 0.9 {
		t.Errorf("with motion it is at %v", got)
	}
	fyne.SetCurrentApp(calmApp{a})
	if got := steady(0.9); got != 0.5 {
		t.Errorf("without motion it is at %v", got)
	}
}

func TestTheLookIsDark(t *testing.T) {
	test.NewTempApp(t)
	l := newLook(nil)
	for _, variant := range []fyne.ThemeVariant{theme.VariantDark, theme.VariantLight} {
		for name, want := range map[fyne.ThemeColorName]color.Color{
			theme.ColorNameBackground: ground, theme.ColorNameForeground: text, theme.ColorNamePrimary: amber,
			theme.ColorNameFocus: amber, theme.ColorNameScrollBar: quiet, theme.ColorNameShadow: invisible,
			theme.ColorNameError: theme.DefaultTheme().Color(theme.ColorNameError, theme.VariantDark),
		} {
			if got := l.Color(name, variant); got != want {
				t.Errorf("%s in variant %d is %v, want %v", name, variant, got, want)
			}
		}
	}
	if l.Size(theme.SizeNameText) != sizeLog || l.Size(theme.SizeNamePadding) != theme.DefaultTheme().Size(theme.SizeNamePadding) {
		t.Error("a size is not what it should be")
	}
}

func TestLineCutsItsMiddle(t *testing.T) {
	test.NewTempApp(t)
	l := newLine(sizeSmall, false, text)
	l.put(0, 0, 120)
	l.set("Resources/Textures/Caves/Deep/Walls.zip")
	shown := l.Text.Text
	if !strings.Contains(shown, "…") || !strings.HasPrefix(shown, "Res") || !strings.HasSuffix(shown, ".zip") {
		t.Errorf("shown is %q", shown)
	}
	if width := l.measure(shown); width > 120 || width < 90 {
		t.Errorf("%q is %v wide, there is room for 120", shown, width)
	}
	l.put(0, 0, 600)
	if l.Text.Text != l.whole {
		t.Errorf("with room for all of it %q is shown", l.Text.Text)
	}
	l.put(0, 0, 1)
	if l.Text.Text != "…" {
		t.Errorf("without room %q is shown", l.Text.Text)
	}
}

func TestWrap(t *testing.T) {
	fits := func(s string) bool { return len([]rune(s)) <= 10 }
	for in, want := range map[string]string{
		"one two three four":        "one two|three four",
		"exactly 10":                "exactly 10",
		"/a/path/that/is/too/long":  "/a/path/th|at/is/too/|long",
		"see /a/path/that/is there": "see|/a/path/th|at/is|there",
		"ж":                         "ж",
		"":                          "",
	} {
		if got := strings.Join(wrapWords(words(in), fits), "|"); got != want {
			t.Errorf("%q is wrapped as %q, want %q", in, got, want)
		}
	}
	if got := strings.Join(wrapWords([]word{{"abc", false}}, func(s string) bool { return s == "" }), "|"); got != "a|b|c|" {
		t.Errorf("where nothing fits: %q", got)
	}
	test.NewTempApp(t)
	if got := wrap("a\n\nb", 100, sizeBody, font(false)); len(got) != 3 || got[1] != "" {
		t.Errorf("paragraphs are %q", got)
	}
}

func TestChoiceShowsItsState(t *testing.T) {
	s, w := stage(t, "en")
	s.ask(interrupted(), func(update.Action) {})
	first, second := s.card.choices[0], s.card.choices[1]
	plainFace, _ := second.colours()
	second.MouseIn(&desktop.MouseEvent{})
	second.MouseMoved(&desktop.MouseEvent{})
	hotFace, _ := second.colours()
	second.MouseOut()
	if calm, _ := second.colours(); plainFace == hotFace || calm != plainFace {
		t.Error("a button looks the same under the mouse, or stays as it is there")
	}
	if face, label := first.colours(); face != color.Color(amber) || label != color.Color(ink) {
		t.Errorf("the default button is %v on %v", label, face)
	}
	if first.AccessibilityLabel() != "Try again" || first.AccessibilityRole() != fyne.AccessibleRoleButton {
		t.Errorf("it is called %q, a %s", first.AccessibilityLabel(), first.AccessibilityRole())
	}
	focused, has := w.Canvas().Capture(), first.focused
	w.Canvas().Unfocus()
	if plain := w.Canvas().Capture(); same(focused, plain) {
		t.Errorf("the focus can't be seen; the default button had it: %v, and has it now: %v", has, first.focused)
	}
	first.TypedRune('x')
	if first.Cursor() != desktop.PointerCursor || s.dialog == nil {
		t.Error("a letter pressed the button, or the cursor is not a pointer")
	}
}

func same(a, b image.Image) bool {
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if a.At(x, y) != b.At(x, y) {
				return false
			}
		}
	}
	return true
}

// Contrast of texts with their backgrounds, computed as in the accessibility guidelines (WCAG 2.1): 4.5 to 1 for text, 3 to
// 1 for bars and rings.
func TestContrast(t *testing.T) {
	for _, c := range []struct {
		name        string
		front, back color.NRGBA
		atLeast     float64
	}{
		{"headline", bright, ground, 4.5}, {"text", text, ground, 4.5}, {"quiet", quiet, ground, 4.5}, {"note", amber, ground, 4.5},
		{"dialog", text, veil, 4.5}, {"log", text, board, 4.5}, {"default button", ink, amber, 4.5},
		{"default button, hot", ink, amberHot, 4.5}, {"button", bright, plain, 4.5}, {"button, hot", bright, plainHot, 4.5},
		{"an error in a log", alarm, board, 4.5}, {"a warning in a log", amberHot, board, 4.5}, {"a lamp", fine, ground, 3},
		{"bar", amber, track, 3}, {"focus", bright, veil, 3}, {"focus round the default button", bright, ground, 3},
		{"brightest steel under the veil", text, over(veil, color.NRGBA{0xE8, 0xEE, 0xF4, 0xFF}), 4.5},
	} {
		if got := contrast(c.front, c.back); got < c.atLeast {
			t.Errorf("%s: %.1f to 1, want %.1f", c.name, got, c.atLeast)
		}
	}
}

func over(top, below color.NRGBA) color.NRGBA {
	a := float64(top.A) / 255
	part := func(t, b uint8) uint8 { return uint8(float64(t)*a + float64(b)*(1-a)) }
	return color.NRGBA{part(top.R, below.R), part(top.G, below.G), part(top.B, below.B), 0xFF}
}

func contrast(a, b color.NRGBA) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c color.NRGBA) float64 {
	part := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*part(c.R) + 0.7152*part(c.G) + 0.0722*part(c.B)
}
