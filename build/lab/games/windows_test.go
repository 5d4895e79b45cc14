package games

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"collet/build/lab/wine"
	"collet/build/qa/screen"
)

// windows is a computer with Windows, which Wine plays.
type windows struct {
	t *testing.T
	*wine.Prefix
}

func newWindows(t *testing.T) *windows {
	t.Helper()
	return &windows{t, wine.For(t, wine.Options{Screen: size})}
}

func (w *windows) format() string { return "Windows-win64/zip" }

func (w *windows) screen() *screen.Screen { return w.Screen() }

func (w *windows) install(archive string) string {
	w.t.Helper()
	dir := w.Unix(`C:\Games`)
	in, err := zip.OpenReader(archive)
	must(w.t, err)
	defer in.Close()
	for _, f := range in.File {
		if f.FileInfo().IsDir() {
			continue
		}
		must(w.t, extract(f, filepath.Join(dir, filepath.FromSlash(f.Name))))
	}
	return onlyIn(w.t, dir)
}

func extract(f *zip.File, name string) (err error) {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	to, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

func (w *windows) command(folder string, args ...string) *exec.Cmd {
	cmd := w.Command(w.t.Context(), filepath.Join(folder, filepath.Base(folder)+".exe"), args...)
	cmd.Dir = folder
	return cmd
}

// ask asks the windows of the client to close, and no others.
func (w *windows) ask(h *host) {
	w.t.Helper()
	pid := h.waitFor(`"pid":(\d+),.*"collet-client starts"`)[1]
	said, err := w.Run(w.t.Context(), "taskkill.exe", "/PID", pid)
	w.t.Logf("taskkill: %v\n%s", err, said)
}
