package pack

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"collet/build/advice"
	"collet/build/publish/check"
	"collet/netproto/product"
)

// Formats of each system, and scopes of installers.
var (
	windowsFormats = []string{"zip", "nsis", "msi"}
	linuxFormats   = []string{"tar.gz", "tar.zst", "deb", "rpm", "appdir", "appimage"}
	macOSFormats   = []string{"app-zip"}
	serverFormats  = []string{"tar.gz", "tar.zst", "deb", "container"}
	scopes         = []string{ScopeAsk, ScopeUser, ScopeMachine}
)

// Installer scopes.
const (
	ScopeAsk     = "ask"
	ScopeUser    = "user"
	ScopeMachine = "machine"
)

var (
	guidForm     = regexp.MustCompile(`^[0-9A-F]{8}-([0-9A-F]{4}-){3}[0-9A-F]{12}$`)
	mimeForm     = regexp.MustCompile(`^[a-z]+/[a-z0-9][a-z0-9.+-]*$`)
	systemForm   = regexp.MustCompile(`^[1-9][0-9]?(\.[0-9]{1,2}){0,2}$`)
	categoryName = regexp.MustCompile(`^public\.app-category\.[a-z-]+$`)
)

const noGUID = "00000000-0000-0000-0000-000000000000"

// maxMSI limits the first two numbers of a version for MSI (ProductVersion in its reference).
const maxMSI = 255

// orDefault returns fallback for a missing list. An explicit empty list stays empty.
func orDefault(formats []string, fallback string) []string {
	if formats == nil {
		return []string{fallback}
	}
	return formats
}

// systemChecker checks how clients for each system are packed.
type systemChecker struct {
	*fileChecker
	p *Project // with checked targets
}

func (c *systemChecker) checkWindows() {
	w := &c.p.Windows
	w.Formats = orDefault(w.Formats, "zip")
	c.checkWords("windows.formats", w.Formats, windowsFormats)
	for _, t := range c.p.Targets {
		if isWindows(t.Name) && t.Host != "" && len(w.Formats) > 0 && len(c.p.Formats(product.Target(t.Name))) == 0 {
			c.add("windows.formats", `add "zip"`, "installers are made for %s only, and there are clients for %s", installable, t.Name)
		}
	}
	w.UpgradeCode = strings.ToUpper(w.UpgradeCode)
	c.checkUpgradeCode()
	w.Scope = cmp.Or(w.Scope, ScopeAsk)
	c.checkWords("windows.scope", []string{w.Scope}, scopes)
	if slices.Contains(w.Formats, "msi") && c.packsWindows() {
		for i, number := range strings.Split(c.p.Game.Version, ".") {
			if n, _ := strconv.Atoi(number); i < 2 && n > maxMSI {
				c.add("game.version", fmt.Sprintf("keep the first two numbers at %d or less, or leave msi out of windows.formats", maxMSI), "MSI can't have %d there", n)
			}
		}
	}
}

// packsWindows reports whether a client for Windows is packed.
func (c *systemChecker) packsWindows() bool {
	return slices.ContainsFunc(c.p.Targets, func(t Target) bool { return isWindows(t.Name) && t.Host != "" })
}

func (c *systemChecker) checkUpgradeCode() {
	w := &c.p.Windows
	const key, want = "windows.upgrade-code", "collet pack init makes one; never change it afterwards"
	code := w.UpgradeCode
	if bare := strings.Trim(code, "{}"); bare != code && guidForm.MatchString(bare) {
		c.add(key, "write "+bare, "has braces")
	}
	switch {
	case code == "" && (slices.Contains(w.Formats, "nsis") || slices.Contains(w.Formats, "msi")):
		c.addMissing(key, want)
	case code != "" && (!guidForm.MatchString(code) || code == noGUID):
		c.add(key, want, "%q is no GUID", code)
	}
}

func (c *systemChecker) checkLinux() {
	s := &c.p.Linux
	s.Formats = orDefault(s.Formats, "tar.zst")
	c.checkWords("linux.formats", s.Formats, linuxFormats)
	c.checkTexts("linux.deb-depends", s.DebDepends)
	c.checkTexts("linux.rpm-requires", s.RPMRequires)
	for i, name := range s.MIMETypes {
		c.checkRequired(element("linux.mime-types", i), name, mimeForm, `want small letters, such as "application/x-lathe-save"`)
	}
	c.checkAppImage()
}

// checkAppImage checks the AppImage run-time, which is for one processor.
func (c *systemChecker) checkAppImage() {
	s := &c.p.Linux
	const key = "linux.appimage-runtime"
	wanted := slices.Contains(s.Formats, "appimage")
	if wanted && s.AppImageRuntime == "" {
		c.addMissing(key, "fetch the AppImage project's type2-runtime and name it, or take appdir instead of appimage")
	}
	if !c.resolve(key, &s.AppImageRuntime, aFile) || !wanted {
		return
	}
	is := builtFor(s.AppImageRuntime)
	for _, t := range c.p.Targets {
		target := product.Target(t.Name)
		if target.System() == product.Linux && t.Host != "" && len(is) > 0 && !slices.Contains(is, target) {
			c.add(key, "take appdir instead of appimage, or describe that target in a file of its own", "%s is for %s, and there are clients for %s", filepath.Base(s.AppImageRuntime), is[0], target)
		}
	}
}

func (c *systemChecker) checkMacOS() {
	m := &c.p.MacOS
	m.Formats = orDefault(m.Formats, "app-zip")
	c.checkWords("macos.formats", m.Formats, macOSFormats)
	c.checkOptional("macos.bundle-id", m.BundleID, idForm, `want a reverse domain name, such as "org.example.lathe"`)
	m.BundleID = cmp.Or(m.BundleID, c.p.Game.ID)
	m.MinimumSystem = cmp.Or(m.MinimumSystem, "12.0")
	c.checkOptional("macos.minimum-system", m.MinimumSystem, systemForm, `want a version, such as "12.0"`)
	m.Category = cmp.Or(m.Category, "public.app-category.games")
	c.checkOptional("macos.category", m.Category, categoryName, `want "public.app-category.games" or another one of Apple's`)
}

// serverChecker checks the table [server].
type serverChecker struct {
	*fileChecker
	server    *Server
	isProgram bool // the game is a program of its own
}

func (c *serverChecker) check() {
	s := c.server
	c.checkWords("server.formats", s.Formats, serverFormats)
	if c.isProgram && len(s.Formats) > 0 {
		c.add("server.formats", "leave it out, run collet release publish, and name the release folder in the server's Release.Folder",
			"is for modules: a server offers a program only by signed releases")
	}
	c.resolve("server.settings", &s.Settings, aFile)
	if len(s.Formats) > 0 && len(s.Programs) == 0 {
		c.addMissing("server.program", "add a table [[server.program]] with target and from")
	}
	c.checkCompatibility()
	c.checkCount("server.program", len(s.Programs), maxTargets)
	for i := range s.Programs {
		p, key := &s.Programs[i], element("server.program", i)
		known := check.Packable()
		switch {
		case p.Target == "":
			c.addMissing(key+".target", "want "+advice.OneOf(known))
		case !slices.Contains(known, p.Target):
			c.add(key+".target", advice.DidYouMean(p.Target, known), "%q is unknown", p.Target)
		case slices.ContainsFunc(s.Programs[:i], func(o Program) bool { return o.Target == p.Target }):
			c.add(key+".target", "take one out", "%q is there twice", p.Target)
		}
		if p.From == "" {
			c.addMissing(key+".from", "name the built collet-server")
		} else if c.resolve(key+".from", &p.From, aFile) {
			c.checkTarget(key+".from", p.From, product.Target(p.Target), check.Host)
		}
	}
}

// defaultCompatibility is the compatibility version of games that are programs: they don't talk to the update server, so that all their
// releases go with all of its.
const defaultCompatibility = "1"

// maxCompatibility is the server's limit for a compatibility version in bytes (netproto/server).
const maxCompatibility = 256

// checkCompatibility checks the compatibility version for generated server settings: a server does not start without one.
func (c *serverChecker) checkCompatibility() {
	s := c.server
	const key = "server.compatibility"
	if s.Compatibility == "" && c.isProgram {
		s.Compatibility = defaultCompatibility
	}
	switch {
	case s.Compatibility != "" && s.Settings != "" && !c.isProgram:
		c.add(key, "say it in the settings file, as CompatibilityVersion", "goes without server.settings")
	case len(s.Formats) > 0 && s.Compatibility == "" && s.Settings == "":
		c.addMissing(key, "name the compatibility version that the module says of itself, or the server's settings file in server.settings")
	case len(s.Compatibility) > maxCompatibility:
		c.add(key, "", "is longer than %d bytes", maxCompatibility)
	default:
		c.checkLine(key, s.Compatibility)
	}
}
