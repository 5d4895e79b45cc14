package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/demo"
	"collet/build/qa"
	"collet/build/qa/fileset"
	"collet/build/qa/process"
)

// politeEnd is how long a server may take to end when it is asked to.
const politeEnd = 5 * time.Second

// subjectFlags say which client is tried, and what it is to update to. Embed it. Without --client it is the demo's game.
type subjectFlags struct {
	Client   string   `group:"subject" placeholder:"PATH" help:"The client: its program, or an install folder with one program in it (default: the demo's game, with all flags below). It is not changed."`
	Install  string   `group:"subject" placeholder:"DIR" help:"Install folder with the old set (default: the client's folder). It is copied."`
	Server   string   `group:"subject" placeholder:"HOST:PORT" aliases:"address" help:"A running update server that offers the new set."`
	Settings string   `name:"server-settings" group:"subject" placeholder:"FILE" help:"Instead of --server: start collet-server, from --programs, with this settings file."`
	NewSet   string   `group:"subject" placeholder:"DIR" help:"Expected content of the install afterwards (default: the result of an undisturbed update)."`
	Args     []string `name:"client-arg" sep:"none" group:"subject" placeholder:"ARG" help:"Argument for each run of the client. May be repeated."`

	Programs string `group:"where" placeholder:"DIR" help:"Folder of collet-client and collet-server (default: that of this program)."`
	Data     int    `group:"where" default:"2" placeholder:"MB" help:"Size of the demo's large pack (default: ${default})."`
	Scratch  string `group:"where" placeholder:"DIR" help:"Folder for copies, on the disk to test (default: the folder of temporary files)."`
}

// given names the flags of a subject that were given.
func (f *subjectFlags) given() (names []string) {
	for _, flag := range []struct{ name, value string }{
		{"--client", f.Client}, {"--install", f.Install}, {"--server", f.Server}, {"--server-settings", f.Settings},
		{"--new-set", f.NewSet}, {"--client-arg", strings.Join(f.Args, " ")},
	} {
		if flag.value != "" {
			names = append(names, flag.name)
		}
	}
	return names
}

// check finds what the parser can't.
func (f *subjectFlags) check() error {
	switch {
	case f.Server != "" && f.Settings != "":
		return console.Usage(errors.New("--server and --server-settings exclude each other"))
	case f.Client != "" && f.Server == "" && f.Settings == "":
		return console.Usage(errors.New("--client goes with --server or --server-settings"))
	case f.Client == "" && f.Install+f.Server+f.Settings+f.NewSet != "":
		return console.Usage(errors.New("--install, --server, --server-settings and --new-set go with --client"))
	}
	var err error
	if f.Programs != "" {
		f.Programs, err = filepath.Abs(f.Programs)
		return err
	}
	exe, err := os.Executable()
	f.Programs = filepath.Dir(exe)
	return err
}

// withLab finds or makes client and server, opens a lab with them, does the work of a kit in it, and takes everything down.
func (f *subjectFlags) withLab(ctx context.Context, r *qaRun, o qa.LabOptions, work func(l *qa.Lab) error) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if o.Scratch, err = os.MkdirTemp(f.Scratch, "collet-qa-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Scratch)) }()
	if o.Scratch, err = filepath.EvalSymlinks(o.Scratch); err != nil {
		return err
	}
	o.Args = f.Args
	prepare := f.own
	if f.Client == "" {
		prepare = f.demo
	}
	settings, err := prepare(ctx, &o)
	if err != nil {
		return err
	}
	if o.Server == "" {
		server, address, err := process.StartServer(ctx, filepath.Join(f.Programs, "collet-server"+exeExt()), settings, 0)
		if err != nil {
			return err
		}
		defer server.Stop(politeEnd)
		o.Server = address
	}
	r.progress(0, 0, "an undisturbed update")
	l, err := qa.OpenLab(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	r.product(filepath.Base(o.Client))
	r.comment("%s.", l)
	return work(l)
}

// own takes the client, install and server that the flags name, or the settings of a server to be started.
func (f *subjectFlags) own(_ context.Context, o *qa.LabOptions) (settings string, err error) {
	var install string
	if o.Client, install, err = qa.FindClient(f.Client); err != nil {
		return "", console.Usage(err)
	}
	if o.Install, o.Server = install, f.Server; f.Install != "" {
		o.Install = f.Install
	}
	if f.NewSet != "" {
		if o.New, err = fileset.Read(f.NewSet); err != nil {
			return "", console.Usage(err)
		}
	}
	if f.Settings == "" {
		return "", nil
	}
	return filepath.Abs(f.Settings)
}

// demo lays the demo's releases out: the new set is the client's folder with the server's files in it.
func (f *subjectFlags) demo(ctx context.Context, o *qa.LabOptions) (settings string, err error) {
	layout, err := demo.Prepare(ctx, filepath.Join(o.Scratch, "demo"), f.Programs, f.Data)
	if err != nil {
		return "", err
	}
	o.Client, o.Install = layout.Host(), layout.Client()
	o.Args = append([]string{"--trust", "sha256"}, o.Args...) // its server is ours, and nothing is signed
	if o.New, err = layout.NewSet(); err != nil {
		return "", err
	}
	if o.Game == nil {
		o.Game = []string{"--frames", "3"}
	}
	o.Env = append(o.Env, "SDL_VIDEODRIVER=dummy") // no kit needs a display for it
	return layout.ServerSettings(), nil
}

func exeExt() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
