package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"time"

	"collet"
	"collet/app/acquire"
	"collet/app/beacon"
	"collet/app/download"
	"collet/app/install"
	"collet/app/settings"
	"collet/app/token"
	"collet/app/update"
	"collet/netproto/dial"
	"collet/netproto/release/location"
)

// upstream is where updates come from: the configured or redirected server, and the mirrors of signed releases.
type upstream struct {
	*setup
	server string               // address as configured
	route  route                // connection settings for it
	signed signed               // trust and mirrors of signed releases
	before *redirect            // the state before a redirect; nil without one
	valve  acquire.Valve        // pauses downloads and limits their rate
	warm   *download.HTTPMirror // the mirror that was asked in advance; nil without one
}

// findUpstream completes an upstream from its complete setup, and begins the log.
func (u *upstream) findUpstream() (err error) {
	u.server = cmp.Or(u.opt.Server, u.settings.Server())
	u.startLog(u.server)
	u.route = newRoute(u.server, u.opt, u.settings, u.folder, os.Getenv, u.log)
	if u.signed, err = newSigned(u.opt, u.settings, u.folder, os.Getenv); err != nil {
		return err
	}
	u.signed.token = token.New(token.Options{
		Token: u.settings.Release.Token, Command: u.settings.Release.TokenCommand, Folder: u.folder, Mirrors: u.signed.urls, Log: u.log,
	})
	u.valve.SetCap(u.signed.bandwidth)
	address := cmp.Or(u.opt.Beacon, u.settings.Release.Beacon)
	if address == "" || address == settings.BeaconOff {
		return nil
	}
	authorities, err := u.authorities()
	if err != nil {
		u.log.Warn().Err(err).Msg("no beacons are sent")
		return nil // what uses the authorities for more reports it
	}
	u.beacon = beacon.New(beacon.Options{Address: address, Target: string(u.target), Channel: u.signed.channel,
		Dialer: u.route.web(), TLS: authorities, Log: u.log})
	return nil
}

// sourceName names the source of releases for players: the host of the first mirror, else the server.
func (u *upstream) sourceName() string {
	if len(u.signed.urls) == 0 {
		return u.server
	}
	at, err := location.ParsePrivate(u.signed.urls[0])
	if err != nil {
		return u.server
	}
	return at.Host
}

// openWarmMirror asks the first mirror for the files that come first, while the install is opened.
func (u *upstream) openWarmMirror(ctx context.Context) {
	if u.warm != nil || !u.signed.on() || len(u.signed.urls) == 0 {
		return
	}
	mirror, err := u.mirror(u.signed.urls[0])
	if err != nil {
		return // the update reports it
	}
	kept := filepath.Join(u.paths.data, u.settings.Baking.CacheResources, install.ReleaseFolder)
	mirror.Warm(ctx, acquire.FirstFiles(u.signed.root, os.DirFS(kept), time.Now())...)
	u.warm = mirror
}

// takeWarmMirror passes the mirror that was asked in advance to the caller; nil without one.
func (u *upstream) takeWarmMirror() *download.HTTPMirror {
	mirror := u.warm
	u.warm = nil
	return mirror
}

// closeWarmMirror closes the mirror that was asked in advance, if it is unused.
func (u *upstream) closeWarmMirror() error {
	if mirror := u.takeWarmMirror(); mirror != nil {
		return mirror.Close()
	}
	return nil
}

// mirror opens a release folder on a web server or in a service.
func (u *upstream) mirror(address string) (*download.HTTPMirror, error) {
	if u.signed.plainErr != nil {
		return nil, &update.Fault{Cause: update.Unreachable, Subject: location.Shown(address), Err: u.signed.plainErr}
	}
	with := download.HTTPOptions{
		Agent: collet.Version(), PlainProxy: u.signed.plain, Log: u.log, Token: u.signed.token.For(address),
		PublicOnly: u.before != nil && u.before.public && address == u.before.packs,
	}
	if d := u.route.dialer; d != nil {
		with.Proxy, with.ProxyOnly = d.Proxy, d.ProxyOnly
	}
	var err error
	if with.TLS, err = u.authorities(); err != nil {
		return nil, err
	}
	return download.NewHTTPMirror(address, with)
}

// authorities are the certificate authorities of web servers; nil for those of the system.
func (u *upstream) authorities() (*tls.Config, error) {
	file := authorityFile(u.opt, u.settings, u.folder)
	if file == "" {
		return nil, nil
	}
	return dial.ClientTLS(file, "")
}

// trust is the trust that native code needs in this attempt.
func (u *upstream) trust() install.Trust {
	return install.Trust(settings.NativeBy(trustWord(u.opt, u.settings), u.signed.on(), u.secure()))
}
