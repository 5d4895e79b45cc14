package host

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"collet/netproto/release"
	"collet/platform"
)

// markerFile beside the host marks an install by an installer, in a folder that players can't write to. Only its presence counts, as
// in the engine.
const markerFile = "INSTALLED"

// perUser is the value of Client.UserWritablePath for the system's per-user data folder.
const perUser = "*"

// paths are the two folders of a client: one for the delivered files, one for everything that is written.
type paths struct {
	install string // absolute: the host, its settings, and what was delivered with them
	data    string // absolute: journal, cache, log, downloaded packs and modules; the same where the client is portable
	refused error  // why the configured writable root is not used; nil otherwise
}

// portable reports whether both are one folder.
func (r paths) portable() bool { return r.data == r.install }

// pathsQuery is the input for the choice of the writable root.
type pathsQuery struct {
	goos    string
	install string                 // absolute
	packs   string                 // Baking.ClientResources
	asked   string                 // Client.UserWritablePath: empty, perUser or a folder
	marked  bool                   // markerFile is in the install folder
	game    string                 // name of the per-user folder
	folder  func() (string, error) // platform.DataFolder
}

// writable is the configured writable root, absolute; by default the install folder.
func (q pathsQuery) writable() (string, error) {
	switch {
	case q.asked == "" && !q.marked:
		return q.install, nil
	case q.asked == "" || q.asked == perUser:
		return q.ofUser()
	case platform.IsAbsOn(q.goos, q.asked):
		return q.checked(q.asked)
	case q.goos == "windows" && (strings.HasPrefix(q.asked, `\`) || strings.HasPrefix(q.asked, "/") || strings.Contains(q.asked, ":")):
		return "", fmt.Errorf("%q depends on the current drive; want a path with a drive, one relative to the install folder, or %s", q.asked, perUser)
	default:
		return q.checked(join(q.goos, q.install, q.asked))
	}
}

// ofUser is the game's folder in the system's per-user data folder.
func (q pathsQuery) ofUser() (string, error) {
	if err := release.CheckPath(q.game); err != nil || strings.Contains(q.game, "/") {
		return "", fmt.Errorf("%q can't be the name of a folder; set Client.GameName", q.game)
	}
	folder, err := q.folder()
	if err != nil {
		return "", err
	}
	return q.checked(join(q.goos, folder, q.game))
}

// checked rejects a writable root in the folder of the delivered packs: its files would be taken for packs.
func (q pathsQuery) checked(data string) (string, error) {
	slashes := func(name string) string {
		if q.goos == "windows" {
			name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
		}
		return path.Clean(name) + "/"
	}
	if strings.HasPrefix(slashes(data), slashes(join(q.goos, q.install, q.packs))) {
		return "", fmt.Errorf("%q lies among the packs of the install folder", data)
	}
	return data, nil
}

// join is filepath.Join for any system.
func join(goos, folder, below string) string {
	if goos != "windows" {
		return path.Join(folder, below)
	}
	return strings.TrimRight(folder, `\/`) + `\` + strings.ReplaceAll(below, "/", `\`)
}

// findPaths creates the writable root and checks that it is writable. If it can't be used, the client is portable, and refused has
// the error.
func findPaths(q pathsQuery) paths {
	data, err := q.writable()
	if err == nil && data != q.install {
		data = filepath.Clean(data)
		err = platform.MakeWritable(data)
	}
	if err != nil {
		return paths{q.install, q.install, fmt.Errorf("folder for the player's own data: %w", err)}
	}
	if isOneFolder(data, q.install) {
		data = q.install
	}
	return paths{install: q.install, data: data}
}

func isOneFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errors.Join(errA, errB) == nil && os.SameFile(infoA, infoB)
}

// isMarked reports whether a folder has the installer's marker file.
func isMarked(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, markerFile))
	return err == nil
}
