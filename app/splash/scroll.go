package splash

import (
	"sort"
	"strings"
	"unicode"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
)

const (
	lineSpacing = 1.45 // line height as a multiple of the text size
	// scrollBarRoom is the space to the right of a text for the scroll bar.
	scrollBarRoom = 14
)

// scrollText is text wrapped to its width and scrolled if it is too long. Each line is an object; only visible ones are
// painted.
type scrollText struct {
	*container.Scroll
	text    string
	size    float32
	source  fyne.Resource
	content *fyne.Container
	width   float32
	log     bool // shown on a board
	toEnd   bool // scrolled to the end initially
}

func newScrollText(text string, size float32, source fyne.Resource) *scrollText {
	content := container.NewWithoutLayout()
	return &scrollText{Scroll: container.NewVScroll(content), text: text, size: size, source: source, content: content}
}

// put places the text and wraps it again if the width has changed.
func (s *scrollText) put(at fyne.Position, size fyne.Size) {
	s.Move(at)
	anew := size.Width != s.width
	if anew {
		s.width = size.Width
		s.fill(size.Width - scrollBarRoom)
	}
	s.Resize(size)
	if anew && s.toEnd {
		s.ScrollToBottom()
	}
}

func (s *scrollText) fill(width float32) {
	high := s.size * lineSpacing
	var objects []fyne.CanvasObject
	var y float32
	for _, l := range wrap(s.text, width, s.size, s.source) {
		if l == "" {
			y += high / 2
			continue
		}
		t := canvas.NewText(l, text)
		t.TextSize, t.FontSource = s.size, s.source
		t.Move(fyne.NewPos(0, y))
		t.Resize(fyne.NewSize(width, high))
		objects = append(objects, t)
		y += high
	}
	s.content.Layout = placer{fyne.NewSize(1, y), func(fyne.Size) {}}
	s.content.Objects = objects
	s.content.Refresh()
}

// page scrolls for a key and reports whether the key scrolls.
func (s *scrollText) page(key fyne.KeyName) bool {
	step := s.Size().Height - 2*s.size*lineSpacing
	switch key {
	case fyne.KeyUp:
		s.by(-s.size * lineSpacing)
	case fyne.KeyDown:
		s.by(s.size * lineSpacing)
	case fyne.KeyPageUp:
		s.by(-step)
	case fyne.KeyPageDown:
		s.by(step)
	case fyne.KeyHome:
		s.ScrollToTop()
	case fyne.KeyEnd:
		s.ScrollToBottom()
	default:
		return false
	}
	return true
}

func (s *scrollText) by(distance float32) {
	lowest := max(s.content.MinSize().Height-s.Size().Height, 0)
	s.ScrollToOffset(fyne.NewPos(0, min(max(s.Offset.Y+distance, 0), lowest)))
}

// wrap breaks text into lines no wider than width: at line breaks, between words, and inside words that are too long, such
// as paths.
func wrap(text string, width, size float32, source fyne.Resource) []string {
	fits := func(s string) bool { return textWidth(s, size, source) <= width }
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		if fits(paragraph) {
			lines = append(lines, paragraph)
			continue
		}
		lines = append(lines, wrapWords(words(paragraph), fits)...)
	}
	return lines
}

// word is what stays in one line. Between letters of Chinese and Japanese there is no blank.
type word struct {
	text  string
	glued bool // no blank before it
}

// words are the words of a paragraph. A line may break between two letters of East Asia, but no line begins with a mark that ends
// something, and none ends with one that opens something.
func words(paragraph string) (all []word) {
	for _, field := range strings.Fields(paragraph) {
		runes, from := []rune(field), 0
		for i := 1; i <= len(runes); i++ {
			if i == len(runes) || (isWide(runes[i-1]) || isWide(runes[i])) && !strings.ContainsRune(closing, runes[i]) && !strings.ContainsRune(opening, runes[i-1]) {
				all = append(all, word{string(runes[from:i]), from > 0})
				from = i
			}
		}
	}
	return all
}

const (
	closing = "、。，．・：；！？）］｝」』】〉》”’…ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ%,.:;!?)]}"
	opening = "（［｛「『【〈《“‘([{"
)

// isWide reports whether a letter is one of East Asia, or a mark of theirs.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF
}

func wrapWords(words []word, fits func(string) bool) []string {
	var lines []string
	current := ""
	for _, w := range words {
		word, blank := w.text, " "
		if w.glued {
			blank = ""
		}
		longer := strings.TrimPrefix(current+blank+word, " ")
		if fits(longer) {
			current = longer
			continue
		}
		if current != "" {
			lines = append(lines, current)
		}
		for current = word; !fits(current); {
			head, rest := breakWord(current, fits)
			lines, current = append(lines, head), rest
		}
	}
	return append(lines, current)
}

// breakWord cuts off as many characters as fit, at least one, and leaves at least one.
func breakWord(word string, fits func(string) bool) (head, rest string) {
	runes := []rune(word)
	n := sort.Search(len(runes)-1, func(n int) bool { return !fits(string(runes[:n+1])) })
	n = max(n, 1)
	return string(runes[:n]), string(runes[n:])
}
