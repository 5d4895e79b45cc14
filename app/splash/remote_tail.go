package splash

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

const (
	rowHeight = sizeLog * lineSpacing
	// tailInset is the space between the edge of the board and its text.
	tailInset = 10
	// rowsAWheel is the number of lines for one turn of a mouse wheel.
	rowsAWheel = 3
)

// tail is the end of a log with as many lines as fit, the newest at the bottom unless the user has scrolled back. Only the
// visible rows are objects. They are reused, so that a fast log costs no more than a slow one.
type tail struct {
	widget.BaseWidget
	board *canvas.Rectangle
	empty string // shown while the log is empty
	rows  []*line
	log   []RemoteRow
	seen  uint64 // number of all lines so far
	back  int    // number of lines below the view; 0 follows new lines
}

var _ fyne.Scrollable = (*tail)(nil)

func newTail(empty string) *tail {
	t := &tail{board: canvas.NewRectangle(board), empty: empty}
	t.board.CornerRadius = 6
	t.ExtendBaseWidget(t)
	return t
}

// set shows a log. After scrolling back, the visible lines stay in view while the log still has them.
func (t *tail) set(log []RemoteRow, seen uint64) {
	if seen == t.seen && len(log) == len(t.log) {
		return
	}
	if t.back > 0 {
		t.back += int(min(seen-t.seen, MaxRemoteLines))
	}
	t.log, t.seen = log, seen
	t.scroll(0)
}

// scroll scrolls back by a number of lines, or forward if it is negative.
func (t *tail) scroll(lines int) {
	t.back = min(max(t.back+lines, 0), max(len(t.log)-len(t.rows), 0))
	t.fill()
}

// Scrolled implements fyne.Scrollable.
func (t *tail) Scrolled(e *fyne.ScrollEvent) {
	if e.Scrolled.DY > 0 {
		t.scroll(rowsAWheel)
	} else if e.Scrolled.DY < 0 {
		t.scroll(-rowsAWheel)
	}
}

// page scrolls for a key and reports whether the key scrolls.
func (t *tail) page(key fyne.KeyName) bool {
	page := max(len(t.rows)-1, 1)
	lines, scrolls := map[fyne.KeyName]int{
		fyne.KeyUp: 1, fyne.KeyDown: -1, fyne.KeyPageUp: page, fyne.KeyPageDown: -page, fyne.KeyHome: MaxRemoteLines, fyne.KeyEnd: -MaxRemoteLines,
	}[key]
	if scrolls {
		t.scroll(lines)
	}
	return scrolls
}

// fill writes the rows.
func (t *tail) fill() {
	first := len(t.log) - t.back - len(t.rows)
	for i, row := range t.rows {
		text, c := "", color.Color(quiet)
		if n := max(first, 0) + i; n < len(t.log) {
			text, c = t.log[n].Text, rowColour(t.log[n].Level)
		} else if i == 0 && len(t.log) == 0 {
			text = t.empty
		}
		if row.Color != c {
			row.Color = c
			row.Refresh()
		}
		row.set(text)
	}
}

func rowColour(level RemoteLevel) color.Color {
	switch level {
	case RemoteError:
		return alarm
	case RemoteWarning:
		return amberHot
	default:
		return text
	}
}

// CreateRenderer implements fyne.Widget.
func (t *tail) CreateRenderer() fyne.WidgetRenderer { return &tailRenderer{t} }

type tailRenderer struct{ tail *tail }

// Destroy implements fyne.WidgetRenderer.
func (r *tailRenderer) Destroy() {}

// MinSize implements fyne.WidgetRenderer.
func (r *tailRenderer) MinSize() fyne.Size { return fyne.NewSize(1, 3*rowHeight+2*tailInset) }

// Objects implements fyne.WidgetRenderer.
func (r *tailRenderer) Objects() []fyne.CanvasObject {
	objects := []fyne.CanvasObject{r.tail.board}
	for _, row := range r.tail.rows {
		objects = append(objects, row.Text)
	}
	return objects
}

// Layout implements fyne.WidgetRenderer. It makes as many rows as fit.
func (r *tailRenderer) Layout(size fyne.Size) {
	t := r.tail
	t.board.Resize(size)
	n := max(int((size.Height-2*tailInset)/rowHeight), 1)
	for len(t.rows) < n {
		row := newLine(sizeLog, false, quiet)
		row.FontSource = theme.DefaultTextMonospaceFont()
		t.rows = append(t.rows, row)
	}
	t.rows = t.rows[:n]
	for i, row := range t.rows {
		row.put(tailInset, tailInset+float32(i)*rowHeight, size.Width-2*tailInset)
	}
	t.scroll(0)
}

// Refresh implements fyne.WidgetRenderer.
func (r *tailRenderer) Refresh() {
	r.tail.board.Refresh()
	r.tail.fill()
}
