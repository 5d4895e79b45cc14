package host

import (
	"cmp"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"collet"
	"collet/app/beacon"
	"collet/app/install"
	"collet/app/logfile"
	"collet/app/memory"
	"collet/app/settings"
	"collet/app/splash"
	"collet/app/update"
	"collet/assets"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/text"
)

// setup is what a start reads first: options, settings, paths and log.
type setup struct {
	opt      Options
	settings settings.Settings
	packed   packed // what packaging put into this program
	texts    assets.Texts
	locale   string // the player's language as a tag
	log      zerolog.Logger
	logs     *logfile.File

	beacon    *beacon.Teller    // nil sends none
	collector *memory.Collector // nil leaves the garbage collector as it is

	exe    string // absolute path of this program
	folder string // absolute path of the install; paths.install
	paths  paths  // install folder and writable root
	base   string // base name of the host and of the module
	target product.Target
}

// findSetup completes a setup from its options.
func (s *setup) findSetup() (err error) {
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
	s.paths = s.findPaths()
	locale := cmp.Or(s.opt.Lang, s.settings.Client.Language, splash.SystemLocale())
	s.texts, s.locale = splash.TextsFor(locale, !s.opt.Headless), languageTag(locale)
	return nil
}

// findPaths finds the folders from options and settings, which may be incomplete after an error.
func (s *setup) findPaths() paths {
	return findPaths(pathsQuery{
		goos: runtime.GOOS, install: s.folder, packs: s.settings.Baking.ClientResources, marked: isMarked(s.folder),
		asked: cmp.Or(s.opt.UserWritablePath, s.settings.Client.UserWritablePath),
		game:  cmp.Or(s.settings.Client.GameName, s.packed.Name, s.base), folder: func() (string, error) { return platform.DataFolder(os.Getenv) },
	})
}

// startLog opens the log and writes the first event: version, paths and server of this start.
func (s *setup) startLog(server string) {
	s.openLog()
	s.log.Info().Str("version", collet.Version()).Str("target", string(s.target)).
		Int("pid", os.Getpid()).Str("exe", s.exe).Str("folder", s.folder).Str("data", s.paths.data).Str("server", server).Str("packaged", s.packed.Name).
		Str("variant", variant(s.settings.Client.GameName, cmp.Or(s.packed.Name, s.base))).
		Int("relaunched", s.opt.Relaunched).Msg("collet-client starts")
	if s.paths.refused != nil {
		s.log.Warn().Err(s.paths.refused).Msg("everything is written to the install folder")
	}
}

// openLog opens the log in the writable root.
func (s *setup) openLog() {
	s.logs = logfile.Open(s.paths.data, s.base+".log")
	s.log = zerolog.New(text.NewJSONWriter(s.logs)).Level(logLevel(s.opt.LogLevel)).With().Timestamp().Logger()
}

// logLevel parses a level's name, which kong has checked.
func logLevel(name string) zerolog.Level {
	level, err := zerolog.ParseLevel(name)
	if err != nil {
		return zerolog.InfoLevel
	}
	return level
}

// names are the names of the game's files in the install.
func (s *setup) names() install.Names {
	return install.Names{
		Runtime: s.base, Server: s.packed.Name, Ext: s.moduleExt(),
		Resources: s.settings.Baking.ClientResources, Cache: s.settings.Baking.CacheResources,
	}
}

// openFolders opens the writable root and the install folder. base is nil if both are one folder, and for a program, which runs in the
// writable root only.
func (s *setup) openFolders() (data *platform.Dir, base platform.FS, err error) {
	if data, err = platform.OpenDir(s.paths.data); err != nil || s.paths.portable() || s.isProgram() {
		return data, nil, err
	}
	below, err := platform.OpenDir(s.paths.install)
	if err != nil {
		data.Close()
		return nil, nil, err
	}
	return data, below, nil
}

// notePaths tells the player if the configured writable root can't be used.
func (s *setup) notePaths(f view) {
	if s.paths.refused != nil {
		f.Note(s.texts.Get("note.portable", "path", s.paths.install))
	}
}

// packFolders are the folders of packs, the delivered one first.
func (s *setup) packFolders() []string {
	folders := []string{filepath.Join(s.paths.install, s.settings.Baking.ClientResources)}
	if !s.paths.portable() {
		folders = append(folders, filepath.Join(s.paths.data, s.settings.Baking.ClientResources))
	}
	return folders
}

// hasPacks reports whether at least one pack is installed.
func (s *setup) hasPacks() bool {
	return slices.ContainsFunc(s.packFolders(), func(folder string) bool {
		entries, err := os.ReadDir(folder)
		return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return !strings.HasPrefix(e.Name(), install.PartPrefix)
		})
	})
}

// remedy is a command line that writes to the per-user data folder, for players without write permission in the install folder. It is
// empty for other faults, or if another writable root is configured already.
func (s *setup) remedy(f *update.Fault) string {
	if f == nil || f.Cause != update.NoPermission || !s.paths.portable() || s.paths.refused != nil {
		return ""
	}
	return strconv.Quote(filepath.Base(s.exe)) + ` "--UserWritablePath=*"`
}

// stopWithin is how long a running game may take to end when this program has to end.
func (s *setup) stopWithin() time.Duration {
	within, err := settings.ParseStopWithin(s.settings.Client.StopWithin)
	if err != nil { // can't happen: loaded settings were checked
		return settings.DefaultStopWithin
	}
	return within
}

// title is the game's name in the window.
func (s *setup) title() string {
	if s.settings.Client.Title != "" {
		return s.settings.Client.Title
	}
	return s.base
}

// adoptWindowLog redirects the standard logger to the host's log. The window library uses it for messages about the desktop, such as a
// missing message bus, which don't belong on a player's terminal.
func (s *setup) adoptWindowLog() {
	log.SetFlags(0)
	log.SetOutput(s.log.With().Str("stream", "window").Logger())
}

// ownFile is the regular path of this program. In its trial it runs from another file beside that.
func (s *setup) ownFile() string { return cmp.Or(s.opt.Trial, s.exe) }

// programNames are the names of the program's own install. In releases the program has the name that it was packaged with.
func (s *setup) programNames() install.Names {
	return install.ProgramNames(s.base, s.packed.Name, s.target.ProgramName(""))
}
