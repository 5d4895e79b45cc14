package host

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"collet/app/device"
	"collet/assets"
)

// device is this program as a device of a remote launcher. Its result is the exit code.
func (h *host) device(ctx context.Context, stdout, stderr io.Writer) int {
	if why := h.noDevice(); why != "" {
		fmt.Fprintf(stderr, "collet-client: %s\n", why)
		return exitUsage
	}
	if !h.opt.Headless {
		h.adoptWindowLog()
	}
	return device.Run(ctx, device.Options{
		Desk: h.opt.RemoteLauncher, Name: h.opt.DeviceName, Dialect: h.opt.Dialect, Headless: h.opt.Headless, JSON: h.opt.JSON,
		Data: h.roots.data, Exe: h.exe, Module: h.opt.ClientLibPath, Runtime: h.opt.RuntimeName, Target: h.target,
		Packs: h.settings.Baking.ClientResources, Args: h.opt.Args, Profiles: h.settings.Remote, Texts: h.texts, Log: h.log,
	}, stdout, stderr)
}

// noDevice says why a program that was made for players takes no working copies; empty: it does. A desk replaces and starts
// programs on a device.
func (h *host) noDevice() string {
	for _, folder := range []string{h.folder, filepath.Dir(h.exe)} {
		if isMarked(folder) {
			return h.texts.Get("remote.refused.installed", "path", folder)
		}
	}
	if h.packed.on() || len(assets.TrustedRoot()) > 0 {
		return h.texts.Get("remote.refused.packaged")
	}
	return ""
}
