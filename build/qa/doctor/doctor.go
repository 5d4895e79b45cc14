// Package doctor examines an install without changing it.
//
// Diagnose reads the host's settings, the journal, the set, permissions, running clients and the log. It predicts what the next start does
// and how it ends. A Diagnosis is written as a short text, as a full report and as JSON; all of them escape text from the disk.
//
// Only the state of the disk counts: a prediction says what happens unless the disk changes first. Faults of the install are part of the
// diagnosis; an error means that there is no install to examine. HostSettings are the settings that decide where a client's files are.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"collet"
	"collet/app/install"
	"collet/app/install/inspect"
	"collet/build/qa/fileset"
	"collet/build/qa/report"
	"collet/netproto/product"
	"collet/platform"
)

// Options select the install and the checks.
type Options struct {
	Dir  string // the install folder, or the writable root of one
	Name string // base name of the host; empty: determined, which fails if several hosts share the folder
	Base string // the install folder below a writable root; empty: the selector's, if any
	Hash bool   // hash every file of the set, regardless of its size and the cache
}

// Diagnosis is the state of an install, for people and as JSON.
type Diagnosis struct {
	Version  string         `json:"version"` // of this program
	Target   string         `json:"target"`
	Time     time.Time      `json:"time"`
	BootID   string         `json:"boot_id,omitempty"`
	Dir      string         `json:"dir"`
	Volume   string         `json:"volume"`
	Host     string         `json:"host"`
	Clues    []string       `json:"clues,omitempty"`    // files that determined the host's name
	Settings string         `json:"settings,omitempty"` // the settings file; empty if missing
	Packaged string         `json:"packaged,omitempty"` // the host's packaged name; empty if it was not packaged
	Odd      string         `json:"odd,omitempty"`      // what is wrong with the settings
	Selector string         `json:"selector,omitempty"` // the module that the selector names
	DataAt   string         `json:"data_at,omitempty"`  // the writable root, where it is another folder
	Access   []Access       `json:"access,omitempty"`
	Users    []FileUser     `json:"users,omitempty"`
	Log      []string       `json:"log,omitempty"` // its last lines
	Install  inspect.Report `json:"install"`
	// Endings predict the end of the next start, as far as the disk decides it. Empty while a client runs, and if the writable root is
	// another folder.
	Endings []inspect.Ending `json:"endings,omitempty"`
	Signed  bool             `json:"signed,omitempty"` // updates come as signed releases
	// Program is the state of program updates; nil if the program was never updated.
	Program *inspect.ProgramReport `json:"program,omitempty"`
}

// Access says whether this user may change a folder's content or a file.
type Access struct {
	Name  string `json:"name"`
	Mode  string `json:"mode"`
	Fault string `json:"fault,omitempty"` // empty: writable, according to the system's permissions
}

// FileUser is a process that has a file of the install open.
type FileUser struct {
	File string `json:"file"`
	PID  int    `json:"pid"`
	Name string `json:"name,omitempty"`
}

// WhichHostError says that a folder has no host, or several.
type WhichHostError struct {
	Dir   string
	Names []string // the candidates
}

func (e *WhichHostError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("folder %s has no settings, module or program of a client; say the host's base name with --name", e.Dir)
	}
	return fmt.Sprintf("folder %s is shared by several hosts (%s); choose one with --name", e.Dir, strings.Join(e.Names, ", "))
}

// Diagnose examines an install without changing it. The error is a *WhichHostError, one about the folder itself, or the end of ctx. All other
// faults are part of the diagnosis.
func Diagnose(ctx context.Context, o Options) (*Diagnosis, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	d := &Diagnosis{
		Version: collet.Version(), Target: report.ThisTarget(), Time: time.Now(), BootID: platform.BootID(), Dir: dir,
		Volume: platform.VolumeOf(dir),
	}
	names, err := d.layout(fsys, o.Name)
	if err != nil {
		return nil, err
	}
	if err := d.inspect(ctx, fsys, o, names); err != nil {
		return nil, err
	}
	if err := d.readProgram(fsys, names.Runtime); err != nil {
		return nil, err
	}
	d.checkAccess(fsys)
	d.findUsers(fsys)
	d.Log = logTail(fsys, d.Host+".log")
	return d, nil
}

// readProgram determines whether the program itself was ever updated.
func (d *Diagnosis) readProgram(fsys platform.FS, base string) error {
	p, found, err := inspect.Program(fsys, base, product.Target(d.Target).ProgramName(""))
	if found {
		d.Program = &p
	}
	return err
}

// inspect examines the folder, and the base folder below it.
func (d *Diagnosis) inspect(ctx context.Context, fsys platform.FS, o Options, names install.Names) error {
	below := o.Base
	if below == "" && d.Selector != "" && filepath.Dir(d.Selector) != d.Dir {
		if info, err := os.Stat(filepath.Dir(d.Selector)); err == nil && info.IsDir() {
			below = filepath.Dir(d.Selector)
		}
	}
	if below == "" {
		found, err := inspect.Folder(ctx, fsys, nil, names, o.Hash)
		if d.Install = found; err == nil {
			err = d.predict(ctx, fsys, nil)
		}
		return inspectError(d.Dir, err)
	}
	base, err := platform.OpenDir(below)
	if err != nil {
		return err
	}
	defer base.Close()
	if d.Install, err = inspect.Folder(ctx, fsys, base, names, o.Hash); err == nil {
		err = d.predict(ctx, fsys, base)
	}
	return inspectError(d.Dir, err)
}

// predict predicts how the next start ends.
func (d *Diagnosis) predict(ctx context.Context, fsys, base platform.FS) (err error) {
	if d.DataAt != "" && d.DataAt != d.Dir || d.Install.Running == inspect.LockHeld {
		return nil
	}
	if info, err := fsys.Lstat(path.Join(d.Install.Names.Cache, install.ReleaseFolder)); err == nil && info.IsDir() {
		d.Signed = true
	}
	d.Endings, err = inspect.Predict(ctx, fsys, base, d.Install, d.Signed)
	return err
}

func inspectError(dir string, err error) error {
	if err != nil {
		return fmt.Errorf("inspect %s: %w", dir, err)
	}
	return nil
}

// layout determines the names of the install's files.
func (d *Diagnosis) layout(fsys platform.FS, name string) (install.Names, error) {
	hosts, err := hostsIn(fsys)
	if err != nil {
		return install.Names{}, err
	}
	if name == "" {
		if len(hosts) != 1 {
			return install.Names{}, &WhichHostError{d.Dir, hosts.names()}
		}
		name = hosts[0].name
	}
	names := install.Names{
		Runtime: name, Ext: product.TargetFor(runtime.GOOS, runtime.GOARCH).LibraryExt(), Resources: "Resources", Cache: "Cache",
	}
	if i := slices.IndexFunc(hosts, func(h hostClues) bool { return h.name == name }); i >= 0 {
		d.Clues = hosts[i].files
		if hosts[i].ext != "" {
			names.Ext = hosts[i].ext
		}
	}
	d.Host = name
	d.readSettings(fsys, &names)
	if data, err := platform.ReadFile(fsys, path.Join(fileset.SelectorDir, names.Library()+selectorEnd), maxSelector); err == nil {
		d.Selector = strings.TrimSuffix(string(data), "\n")
	}
	return names, nil
}

// maxSettings is the client's limit for a settings file in bytes.
const maxSettings = 1 << 20

// readSettings reads folder names from the host's settings: the file beside it overrides the embedded ones.
func (d *Diagnosis) readSettings(fsys platform.FS, names *install.Names) {
	file := names.Runtime + ".toml"
	var s HostSettings
	var err error
	if d.Packaged, err = s.ReadInside(fsys, names.Runtime); err != nil {
		d.Settings, d.Odd = names.Runtime, err.Error()
		return
	}
	data, err := platform.ReadFile(fsys, file, maxSettings)
	if err == nil {
		d.Settings, err = file, toml.Unmarshal(data, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Settings, d.Odd = file, err.Error()
		return
	}
	d.Signed = s.signed()
	if s.Client.Kind == kindProgram {
		names.Ext = product.DescriptionExt
	}
	d.DataAt = writableRoot(fsys, s.Client.UserWritablePath, cmp.Or(s.Client.GameName, d.Packaged, names.Runtime))
	for to, value := range map[*string]string{&names.Resources: s.Baking.ClientResources, &names.Cache: s.Baking.CacheResources} {
		if value != "" {
			*to = value
		}
	}
}

// checkAccess checks the permissions of the folders that an update writes to.
func (d *Diagnosis) checkAccess(fsys platform.FS) {
	names := d.Install.Names
	for _, name := range []string{".", install.StateDir, names.Resources, names.Cache, names.Library()} {
		info, err := fsys.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		a := Access{Name: name}
		if err == nil {
			a.Mode, err = info.Mode().String(), fsys.MayWrite(name)
		}
		if named, is := errors.AsType[*fs.PathError](err); is {
			err = named.Err // the name is printed already
		}
		if err != nil {
			a.Fault = err.Error()
		}
		d.Access = append(d.Access, a)
	}
}

// findUsers lists the processes that hold the files that running clients keep open.
func (d *Diagnosis) findUsers(fsys platform.FS) {
	names := d.Install.Names
	for _, name := range []string{path.Join(install.StateDir, "lock"), path.Join(install.StateDir, "readers"), names.Library()} {
		if _, err := fsys.Lstat(name); err != nil {
			continue
		}
		for _, h := range platform.Holders(fsys.Path(name)) {
			d.Users = append(d.Users, FileUser{File: name, PID: h.PID, Name: h.Name})
		}
	}
}

const (
	// logLines is the number of the log's last lines in a diagnosis: the last start or two.
	logLines = 40
	// logBytes is how many bytes are read for it.
	logBytes = 64 << 10
)

// logTail reads the last lines of the log; empty if it is missing.
func logTail(fsys platform.FS, name string) []string {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-logBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, from, logBytes))
	if err != nil {
		return nil
	}
	if from > 0 { // the first line is incomplete
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return lines[max(0, len(lines)-logLines):]
}

// Faults lists the problems outside the updater's own state: settings, permissions, and expected disk errors.
func (d *Diagnosis) Faults() []inspect.Problem {
	var found []inspect.Problem
	if d.Odd != "" {
		found = append(found, inspect.Problem{Severity: inspect.NeedsPlayer, What: d.Settings + ": " + d.Odd,
			Then: "the client does not start with such settings; mend or remove the file"})
	}
	for _, a := range d.Access {
		if a.Fault != "" && (d.DataAt == "" || d.DataAt == d.Dir) {
			found = append(found, inspect.Problem{Severity: inspect.NeedsPlayer, What: a.Name + " can't be written: " + a.Fault,
				Then: "updates need it; change the permissions, or let the client keep its files elsewhere (UserWritablePath)"})
		}
	}
	return append(found, d.expectedTroubles()...)
}

// NeedsAttention reports whether a problem exists that the next start does not repair.
func (d *Diagnosis) NeedsAttention() bool { return len(d.Faults()) > 0 || d.Install.NeedsAttention() }
