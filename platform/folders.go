package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// DataFolder is the system's folder for per-user data, absolute, without a folder for this program. It is LOCALAPPDATA or else APPDATA
// on Windows, HOME/Library/Application Support on macOS, elsewhere XDG_DATA_HOME if it is absolute (as its specification demands) or
// else HOME/.local/share. The engine uses the same folders. getenv is os.Getenv. The folder need not exist and is not created.
func DataFolder(getenv func(string) string) (string, error) { return dataFolder(runtime.GOOS, getenv) }

func dataFolder(goos string, getenv func(string) string) (string, error) {
	home := func(below string) string {
		if getenv("HOME") == "" {
			return ""
		}
		return strings.TrimRight(getenv("HOME"), "/") + below
	}
	var asked string
	var folders []string
	switch goos {
	case "windows":
		asked, folders = "LOCALAPPDATA or APPDATA", []string{getenv("LOCALAPPDATA"), getenv("APPDATA")}
	case "darwin", "ios":
		asked, folders = "HOME", []string{home("/Library/Application Support")}
	default:
		asked, folders = "XDG_DATA_HOME or HOME", []string{getenv("XDG_DATA_HOME"), home("/.local/share")}
	}
	for _, folder := range folders {
		if IsAbsOn(goos, folder) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("folder for the data of this user is unknown; set %s to an absolute path", asked)
}

// IsAbsOn is filepath.IsAbs for any system.
func IsAbsOn(goos, name string) bool {
	if goos != "windows" {
		return strings.HasPrefix(name, "/")
	}
	return strings.HasPrefix(name, `\\`) || len(name) > 2 && name[1] == ':' && strings.ContainsRune(`\/`, rune(name[2]))
}

// PersonalFolders are the folders in which this system keeps a person's documents, downloads, pictures and the like, absolute, by the names
// that they have here: the known folders of Windows, which may lie in OneDrive, and those of user-dirs.dirs elsewhere. What can't be found out is
// left out. getenv is os.Getenv. macOS always calls them by their English names, and has no list.
func PersonalFolders(getenv func(string) string) []string {
	return append(knownFolders(), userDirs(getenv)...)
}

// maxUserDirs is the size in bytes up to which user-dirs.dirs is read; it has some 600.
const maxUserDirs = 64 << 10

// userDirs are the folders of user-dirs.dirs, in the order of the file. Its format is that of xdg-user-dirs: lines as XDG_NAME_DIR="$HOME/Folder"
// or an absolute path, with backslashes before special characters.
func userDirs(getenv func(string) string) (list []string) {
	config := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(getenv("HOME"), ".config")
	}
	if !filepath.IsAbs(config) {
		return nil
	}
	f, err := os.Open(filepath.Join(config, "user-dirs.dirs"))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxUserDirs)) // what came counts
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value, quoted := strings.CutPrefix(strings.TrimSuffix(value, `"`), `"`)
		if !strings.HasPrefix(name, "XDG_") || !strings.HasSuffix(name, "_DIR") || !quoted {
			continue
		}
		value = unescape.Replace(value)
		if below, inHome := strings.CutPrefix(value, "$HOME"); inHome {
			value = getenv("HOME") + below
		}
		if filepath.IsAbs(value) {
			list = append(list, filepath.Clean(value))
		}
	}
	return list
}

// unescape takes away the backslashes of user-dirs.dirs.
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, "$", "\\`", "`")

// Writable returns nil if files can be created in a folder, else the error. It creates and removes an empty file with a random name
// that begins with ".collet-", because permissions, access control lists, mounts and virtual folders can't be checked otherwise. It waits
// for a virus scanner that has the file open. A crash in between leaves that file.
func Writable(dir string) error {
	name := filepath.Join(dir, fmt.Sprintf(".collet-%016x", rand.Uint64()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	closed := f.Close()
	return errors.Join(closed, RetryWhileLocked(context.Background(), func() error { return os.Remove(name) }))
}

// MakeWritable creates a folder with access for this user only, as in the XDG Base Directory Specification, unless it exists. It returns
// nil if files can be created in it, else the error.
func MakeWritable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Writable(dir)
}

// Below is the path of name relative to folder, with slashes. inside reports whether name is the folder or lies in it, by the names
// alone: links are not followed. Both are absolute.
func Below(folder, name string) (rel string, inside bool) {
	rel, err := filepath.Rel(folder, name)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}
