package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rs/zerolog"

	"collet"
	"collet/app/install"
	"collet/app/settings"
	"collet/app/splash"
	"collet/assets"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/text"
)

// setup is what a start finds out before it does anything: what it was asked for, its settings, where things are, and its log.
type setup struct {
	opt      Options
	settings settings.Settings
	packed   packed // what packaging put into this program
	texts    assets.Texts
	locale   string // the player's language as a tag
	log      zerolog.Logger
	logs     *logFile

	exe    string // absolute path of this program
	folder string // absolute path of the install; roots.install
	roots  roots  // where things lie, and where they are written
	base   string // the host's name, and so the module's
	target product.Target
}

// find completes a setup of which the options are known.
func (s *setup) find() (err error) {
	if s.exe, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program's own file: %w", err)
	}
	s.target = product.Target(cmp.Or(s.opt.Target, string(product.TargetFor(runtime.GOOS, runtime.GOARCH))))
	s.base = cmp.Or(s.opt.RuntimeName, product.RuntimeBase(s.ownFile()))
	if s.folder, err = filepath.Abs(cmp.Or(s.opt.Dir, installFolder(runtime.GOOS, s.ownFile()))); err != nil {
		return err
	}
	if err := os.MkdirAll(s.folder, 0o755); err != nil {
		return fmt.Errorf("make the install folder: %w", err)
	}
	if s.packed, err = readPacked(); err != nil {
		return err
	}
	if s.settings, err = s.packed.settings(filepath.Join(s.folder, s.base+".toml")); err != nil {
		return err
	}
	s.roots = s.findRoots()
	locale := cmp.Or(s.opt.Lang, s.settings.Client.Language, splash.SystemLocale())
	s.texts, s.locale = assets.TextsFor(locale), languageTag(locale)
	return nil
}

// findRoots finds the folders, as far as the settings are known.
func (s *setup) findRoots() roots {
	return findRoots(rootsQuery{
		goos: runtime.GOOS, install: s.folder, packs: s.settings.Baking.ClientResources, marked: isMarked(s.folder),
		asked: cmp.Or(s.opt.UserWritablePath, s.settings.Client.UserWritablePath),
		game:  cmp.Or(s.settings.Client.GameName, s.packed.Name, s.base), folder: func() (string, error) { return platform.DataFolder(os.Getenv) },
	})
}

// startLog opens the log and says who starts.
func (s *setup) startLog(server string) {
	s.openLog()
	s.log.Info().Str("version", collet.Version()).Str("target", string(s.target)).
		Int("pid", os.Getpid()).Str("exe", s.exe).Str("folder", s.folder).Str("data", s.roots.data).Str("server", server).Str("packaged", s.packed.Name).
		Str("variant", variant(s.settings.Client.GameName, cmp.Or(s.packed.Name, s.base))).
		Int("relaunched", s.opt.Relaunched).Msg("collet-client starts")
	if s.roots.refused != nil {
		s.log.Warn().Err(s.roots.refused).Msg("everything is written to the install folder")
	}
}

// openLog opens the log in the writable root.
func (s *setup) openLog() {
	s.logs = openLog(s.roots.data, s.base+".log")
	s.log = zerolog.New(text.NewJSONWriter(s.logs)).Level(logLevel(s.opt.LogLevel)).With().Timestamp().Logger()
}

// names says which files of the folder are what.
func (s *setup) names() install.Names {
	return install.Names{
		Runtime: s.base, Server: s.packed.Name, Ext: s.target.LibraryExt(),
		Resources: s.settings.Baking.ClientResources, Cache: s.settings.Baking.CacheResources,
	}
}
