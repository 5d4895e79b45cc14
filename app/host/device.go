package host

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"collet/app/device"
	"collet/assets"
)

// device runs this program as a device of a remote launcher and returns the exit code.
func (s *setup) device(ctx context.Context, stdout, stderr io.Writer) int {
	if why := s.noDevice(); why != "" {
		fmt.Fprintf(stderr, "collet-client: %s\n", why)
		return exitUsage
	}
	if !s.opt.Headless {
		s.adoptWindowLog()
	}
	return device.Run(ctx, device.Options{
		Desk: s.opt.RemoteLauncher, Name: s.opt.DeviceName, Dialect: s.opt.Dialect, Headless: s.opt.Headless, JSON: s.opt.JSON,
		Data: s.paths.data, Exe: s.exe, Module: s.opt.ClientLibPath, Runtime: s.opt.RuntimeName, Target: s.target,
		Packs: s.settings.Baking.ClientResources, Args: s.opt.Args, Profiles: s.settings.Remote, Texts: s.texts, Log: s.log,
	}, stdout, stderr)
}

// noDevice returns why this program must not be a device, or "". A controller replaces and starts programs on a device, so programs
// for players refuse.
func (s *setup) noDevice() string {
	for _, folder := range []string{s.folder, filepath.Dir(s.exe)} {
		if isMarked(folder) {
			return s.texts.Get("remote.refused.installed", "path", folder)
		}
	}
	if s.packed.on() || len(assets.TrustedRoot()) > 0 {
		return s.texts.Get("remote.refused.packaged")
	}
	return ""
}
