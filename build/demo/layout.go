package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"collet/build/qa/fileset"
	"collet/netproto/product"
)

const (
	// game is the sample game's name, and so that of host, module and log.
	game = "Lathe"
	// packFolder is where packs lie, at the client and at the server (the source's default of Baking.ClientResources).
	packFolder = "Resources"
	// modulesFolder is where the modules of both releases stand beside the programs, if they were built before.
	modulesFolder = "modules"
	// binaryFolder is where the server keeps modules (the source's default of Baking.PlatformBinaries).
	binaryFolder = "PlatformBinaries"
)

// Release is one version of the sample game as it lies on disk.
type Release struct {
	Number        int
	Compatibility string
	Window        string   // title of the game's window
	Module        string   // absolute path of the native module
	Packs         []string // absolute paths of the packs
}

// packNames lists the packs for a person.
func (r Release) packNames() string {
	names := make([]string, len(r.Packs))
	for i, p := range r.Packs {
		names[i] = filepath.Base(p)
	}
	return strings.Join(names, ", ")
}

// size is the number of bytes of the packs.
func (r Release) size() (sum int64) {
	for _, p := range r.Packs {
		if info, err := os.Stat(p); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// Layout is the demo's folder: a client that has Old installed and a server that offers New. It is a value.
type Layout struct {
	Root          string // absolute
	Target        product.Target
	ServerProgram string // the server to start
	Old, New      Release
}

// Client is the install folder.
func (l *Layout) Client() string { return filepath.Join(l.Root, "client") }

// Guest is a second install, of a player who stays with release 1.
func (l *Layout) Guest() string { return filepath.Join(l.Root, "guest") }

// Server is the package folder of the server.
func (l *Layout) Server() string { return filepath.Join(l.Root, "server") }

// Host is the client's program, under the game's name.
func (l *Layout) Host() string { return filepath.Join(l.Client(), game+exeExt()) }

// Library is the file name of the module.
func (l *Layout) Library() string { return l.Target.LibraryName(game) }

// LiveModule is the module that the host loads.
func (l *Layout) LiveModule() string { return filepath.Join(l.Client(), l.Library()) }

// Log is the client's log.
func (l *Layout) Log() string { return filepath.Join(l.Client(), game+".log") }

// ServerSettings is the server's settings file.
func (l *Layout) ServerSettings() string { return filepath.Join(l.Server(), "server.toml") }

func exeExt() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// Prepare makes the folder: it takes or compiles the module of both releases, draws and writes their packs, installs release 1
// for the client and packages release 2 for the server. programs is the folder of collet-client and collet-server;
// levelsMB is the size of release 2's large pack in MB of 2^20 bytes. The same arguments give the same packs.
func Prepare(ctx context.Context, root, programs string, levelsMB int) (*Layout, error) {
	l := &Layout{
		Root: root, Target: product.TargetFor(runtime.GOOS, runtime.GOARCH),
		ServerProgram: filepath.Join(programs, "collet-server"+exeExt()),
	}
	for _, program := range []string{l.ServerProgram, filepath.Join(programs, "collet-client"+exeExt())} {
		if _, err := os.Stat(program); err != nil {
			return nil, fmt.Errorf("%w; build the programs first (make build) or name their folder (--programs)", err)
		}
	}
	steps := []func() error{
		func() error { return l.install(ctx, filepath.Join(programs, modulesFolder)) },
		func() error { return l.publish(ctx, filepath.Join(programs, modulesFolder), levelsMB) },
		func() error { return copyFile(l.Host(), filepath.Join(programs, "collet-client"+exeExt()), 0o755) },
		l.writeServerSettings,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// install puts release 1 where the client is.
func (l *Layout) install(ctx context.Context, modules string) (err error) {
	l.Old, err = build(ctx, edition1(), modules, l.LiveModule(), filepath.Join(l.Client(), packFolder), 0)
	return err
}

// publish puts release 2 where the server is.
func (l *Layout) publish(ctx context.Context, modules string, levelsMB int) (err error) {
	module := filepath.Join(l.Server(), binaryFolder, string(l.Target), l.Library())
	l.New, err = build(ctx, edition2(), modules, module, filepath.Join(l.Server(), packFolder), levelsMB)
	return err
}

// NewSet is what the install has to hold after the update: the client's folder with the server's files in it.
func (l *Layout) NewSet() (fileset.Set, error) {
	set, err := fileset.Read(l.Client())
	if err != nil {
		return nil, err
	}
	offered, err := fileset.Read(l.Server())
	for name, content := range offered {
		if module, is := strings.CutPrefix(name, path.Join(binaryFolder, string(l.Target))+"/"); is {
			set[module] = content
		} else if strings.HasPrefix(name, packFolder+"/") {
			set[name] = content
		}
	}
	return set, err
}

func (l *Layout) writeServerSettings() error {
	text := fmt.Sprintf("CompatibilityVersion = %q\n\n[ServerNetwork]\nUpdateFilesInMemory = false\n\n"+
		"[Baking]\nClientResources = %q\nPlatformBinaries = %q\n", l.New.Compatibility, packFolder, binaryFolder)
	return os.WriteFile(l.ServerSettings(), []byte(text), 0o644)
}

// Point writes the client's settings file, so that it asks the server at this port of the loopback interface, and takes modules from
// it although nothing is signed or encrypted there. An empty lang leaves the language to the system.
func (l *Layout) Point(port int, lang string) error {
	text := fmt.Sprintf("[ClientNetwork]\nServerHost = \"127.0.0.1\"\nServerPort = %d\n\n[Client]\nTitle = %q\nLanguage = %q\n\n"+
		"[Baking]\nClientResources = %q\n\n"+
		"# For a server on this machine. What players get is signed, or reached through TLS: leave this line out of it.\n[Update]\nTrust = \"sha256\"\n", port, game, lang, packFolder)
	return os.WriteFile(filepath.Join(l.Client(), game+".toml"), []byte(text), 0o644)
}

// copyFile copies a program. Links would share what the client may one day replace.
func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
