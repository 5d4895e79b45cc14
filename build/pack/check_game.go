package pack

import (
	"cmp"
	"fmt"
	"net/mail"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"collet/build/advice"
	"collet/netproto/product"
)

// Limits of texts and pictures.
const (
	maxName    = 48  // with all words of a variant it fits into the 127-byte name area
	maxSummary = 100 // AppStream's limit for one line
	maxNumber  = 1<<16 - 1
	minIcon    = 256  // the largest size that Windows and Linux request
	maxPicture = 2560 // limit of clients (app, maxSide)
	maxSplash  = 4 << 20
	maxIcon    = 2048
	firstYear  = 1980 // the first year of zip times
)

var (
	nameForm    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	idForm      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z][A-Za-z0-9-]*)+$`)
	versionForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,4})(\.(0|[1-9][0-9]{0,4})){1,3}$`)
	licenseForm = regexp.MustCompile(`^[A-Za-z0-9(][A-Za-z0-9.+() -]*$`)
	schemeForm  = regexp.MustCompile(`^[a-z][a-z0-9+.-]{1,31}$`) // RFC 3986, section 3.1, in its canonical case
	anyForm     = regexp.MustCompile(``)
)

const versionWant = `want two to four numbers up to 65535 with dots, such as "1.4.2"`

// gameChecker checks the table [game].
type gameChecker struct {
	*fileChecker
	game *Game
}

// check returns the time of the packages, zero if it is missing.
func (c *gameChecker) check(getenv func(string) string) time.Time {
	g := c.game
	c.checkRequired("game.name", g.Name, nameForm, `want letters, digits, "-" and "_", beginning with a letter, such as "Lathe"`)
	if len(g.Name) > maxName {
		c.add("game.name", "", "is longer than %d bytes", maxName)
	}
	g.NiceName = cmp.Or(g.NiceName, g.Name)
	c.checkLine("game.nice-name", g.NiceName)
	c.checkRequired("game.id", g.ID, idForm, `want a reverse domain name, such as "org.example.lathe"`)
	c.checkVersion(g.Version)
	c.checkRequired("game.publisher", g.Publisher, anyForm, "name who makes the game")
	c.checkMaintainer(g.Maintainer)
	c.checkDescription()
	c.checkWebAddress("game.homepage", g.Homepage)
	g.License = cmp.Or(g.License, "LicenseRef-proprietary")
	c.checkOptional("game.license", g.License, licenseForm, `want an SPDX expression, such as "MIT" or "LicenseRef-proprietary"`)
	c.checkPictures()
	c.checkScheme(g.URIScheme)
	c.checkCategories()
	return c.readTime(g.Time, getenv)
}

func (c *gameChecker) checkVersion(version string) {
	const key = "game.version"
	c.checkRequired(key, version, versionForm, versionWant)
	for number := range strings.SplitSeq(version, ".") {
		if n, err := strconv.Atoi(number); err == nil && n > maxNumber {
			c.add(key, versionWant, "%d is too large", n)
		}
	}
}

func (c *gameChecker) checkMaintainer(text string) {
	const key, want = "game.maintainer", `want "Name <mail@example.org>"`
	if text == "" {
		c.addMissing(key, want)
		return
	}
	if a, err := mail.ParseAddress(text); c.checkLine(key, text) && (err != nil || a.Name == "") {
		c.add(key, want, "%q is no name with a mail address", text)
	}
}

func (c *gameChecker) checkDescription() {
	g := c.game
	const summary, text = "game.summary", "game.description"
	switch {
	case g.Summary == "":
		c.addMissing(summary, "say in one line what the game is")
	case len([]rune(g.Summary)) > maxSummary:
		c.add(summary, "move the rest to game.description", "is longer than %d characters", maxSummary)
	case strings.HasSuffix(g.Summary, "."):
		c.add(summary, "take it away: systems show it as a title", "ends with a dot")
	default:
		c.checkLine(summary, g.Summary)
	}
	g.Description = strings.TrimSpace(strings.ReplaceAll(cmp.Or(g.Description, g.Summary), "\r\n", "\n"))
	if len(g.Description) > maxPage {
		c.add(text, "", "is longer than %d bytes", maxPage)
	}
	if strings.IndexFunc(g.Description, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) >= 0 {
		c.add(text, "want text and line breaks only", "has control characters")
	}
}

func (c *gameChecker) checkPictures() {
	g := c.game
	if g.Icon == "" {
		c.addMissing("game.icon", fmt.Sprintf("name a square PNG of %d to %d pixels", minIcon, maxIcon))
	} else if size, ok := c.readPicture("game.icon", &g.Icon); ok {
		want := fmt.Sprintf("want a square of %d to %d pixels", minIcon, maxIcon)
		if size.X != size.Y || size.X < minIcon || size.X > maxIcon {
			c.add("game.icon", want, "the picture has %d × %d pixels", size.X, size.Y)
		}
	}
	size, ok := c.readPicture("game.splash", &g.Splash)
	if ok && (size.X > maxPicture || size.Y > maxPicture) {
		c.add("game.splash", fmt.Sprintf("want at most %d each way", maxPicture), "the picture has %d × %d pixels", size.X, size.Y)
	}
	if info, err := os.Stat(g.Splash); ok && err == nil && info.Size() > maxSplash {
		c.add("game.splash", fmt.Sprintf("want at most %d", maxSplash), "has %d bytes", info.Size())
	}
}

// takenSchemes are schemes of systems and browsers, which a game must not register.
var takenSchemes = []string{"about", "blob", "data", "file", "ftp", "http", "https", "irc", "javascript", "mailto", "ms-settings", "sftp", "sms", "ssh", "steam", "tel", "vbscript", "view-source", "ws", "wss"}

func (c *gameChecker) checkScheme(scheme string) {
	const key = "game.uri-scheme"
	c.checkOptional(key, scheme, schemeForm, `want only the scheme: a small letter, then small letters, digits, "+", "-" and ".", such as "lathe" for lathe://…`)
	if slices.Contains(takenSchemes, scheme) || strings.HasPrefix(scheme, "ms-") {
		c.add(key, "choose one that only this game has", "%q belongs to systems and browsers", scheme)
	}
}

// Categories of the freedesktop.org menu specification 1.1: main categories, and those of games.
var (
	mainCategories = []string{"AudioVideo", "Audio", "Video", "Development", "Education", "Game", "Graphics", "Network", "Office", "Science", "Settings", "System", "Utility"}
	gameCategories = []string{"ActionGame", "AdventureGame", "ArcadeGame", "BoardGame", "BlocksGame", "CardGame", "KidsGame", "LogicGame", "RolePlaying", "Shooter", "Simulation", "SportsGame", "StrategyGame"}
	categoryForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)
)

func (c *gameChecker) checkCategories() {
	g := c.game
	const key = "game.categories"
	if len(g.Categories) == 0 {
		g.Categories = []string{"Game"}
		return
	}
	known := slices.Concat(mainCategories, gameCategories)
	main := false
	for i, name := range g.Categories {
		main = main || slices.Contains(mainCategories, name)
		at := element(key, i)
		c.checkRequired(at, name, categoryForm, "want a category of freedesktop.org menus, such as RolePlaying")
		if best := advice.Nearest(name, known); best != "" && !slices.Contains(known, name) && !c.isBroken(at) {
			c.add(at, advice.DidYouMean(name, known), "%q is unknown", name)
		}
	}
	if !main {
		c.add(key, `add "Game"`, "has no main category")
	}
}

// epoch is the variable with the time of a reproducible build (reproducible-builds.org).
const epoch = "SOURCE_DATE_EPOCH"

// readTime returns the time of the packages in UTC.
func (c *gameChecker) readTime(text string, getenv func(string) string) time.Time {
	const key, want = "game.time", `want UTC in whole seconds, such as "2026-11-22T12:00:00Z"`
	var at time.Time
	var err error
	if text != "" {
		at, err = time.Parse(time.RFC3339, text)
	} else if text = getenv(epoch); text != "" {
		var seconds int64
		seconds, err = strconv.ParseInt(text, 10, 64)
		at, text = time.Unix(seconds, 0), epoch+"="+text
	} else {
		c.addMissing(key, "give it, or set "+epoch+": packages never have the time of the clock, so that they can be made again")
		return time.Time{}
	}
	at = at.UTC()
	switch {
	case err != nil:
		c.add(key, want, "%q is no time", text)
	case at.Nanosecond() != 0:
		c.add(key, want, "%s has fractions of a second", text)
	case at.Year() < firstYear || at.Year() > 2099:
		c.add(key, want, "%s is not between %d and 2099", text, firstYear)
	}
	return at
}

// variantOf converts a described variant to a product.Variant.
func (v Variant) variant() product.Variant {
	return product.Variant{Headless: v.Headless, Profiling: product.Profiling(v.Profiling), OpenGL: v.OpenGL, Postfix: v.Postfix}
}
