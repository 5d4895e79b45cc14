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

// origin is the source of updates: the configured or redirected server, and the mirrors of signed releases.
type origin struct {
	*setup
	server string               // address as configured
	route  route                // connection settings for it
	signed signed               // trust and mirrors of signed releases
	before *redirect            // the state before a redirect; nil without one
	valve  acquire.Valve        // pauses downloads and limits their rate
	warm   *download.HTTPMirror // the mirror with a connection opened in advance; nil without one
}

// findOrigin completes an origin from its complete setup, and begins the log.
func (o *origin) findOrigin() (err error) {
	o.server = cmp.Or(o.opt.Server, o.settings.Server())
	o.startLog(o.server)
	o.route = newRoute(o.server, o.opt, o.settings, o.folder, os.Getenv, o.log)
	if o.signed, err = newSigned(o.opt, o.settings, o.folder, os.Getenv); err != nil {
		return err
	}
	o.signed.token = token.New(token.Options{
		Token: o.settings.Release.Token, Command: o.settings.Release.TokenCommand, Folder: o.folder, Mirrors: o.signed.urls, Log: o.log,
	})
	o.valve.SetCap(o.signed.bandwidth)
	address := cmp.Or(o.opt.Beacon, o.settings.Release.Beacon)
	if address == "" || address == settings.BeaconOff {
		return nil
	}
	authorities, err := o.authorities()
	if err != nil {
		o.log.Warn().Err(err).Msg("no beacons are sent")
		return nil // what uses the authorities for more reports it
	}
	o.beacon = beacon.New(beacon.Options{Address: address, Target: string(o.target), Channel: o.signed.channel,
		Dialer: o.route.web(), TLS: authorities, Log: o.log})
	return nil
}

// sourceName names the source of releases for players: the host of the first mirror, else the server.
func (o *origin) sourceName() string {
	if len(o.signed.urls) == 0 {
		return o.server
	}
	at, err := location.ParsePrivate(o.signed.urls[0])
	if err != nil {
		return o.server
	}
	return at.Host
}

// openWarmMirror starts connecting to the first mirror while the install is opened.
func (o *origin) openWarmMirror(ctx context.Context) {
	if o.warm != nil || !o.signed.on() || len(o.signed.urls) == 0 {
		return
	}
	mirror, err := o.mirror(o.signed.urls[0])
	if err != nil {
		return // the update reports it
	}
	kept := filepath.Join(o.paths.data, o.settings.Baking.CacheResources, install.ReleaseFolder)
	mirror.Warm(ctx, acquire.FirstFiles(o.signed.root, os.DirFS(kept), time.Now())...)
	o.warm = mirror
}

// takeWarmMirror passes the mirror of warmUp to the caller; nil without one.
func (o *origin) takeWarmMirror() *download.HTTPMirror {
	mirror := o.warm
	o.warm = nil
	return mirror
}

// closeWarmMirror closes an unused mirror of warmUp.
func (o *origin) closeWarmMirror() error {
	if mirror := o.takeWarmMirror(); mirror != nil {
		return mirror.Close()
	}
	return nil
}

// mirror opens a release folder on a web server or in a service.
func (o *origin) mirror(address string) (*download.HTTPMirror, error) {
	if o.signed.plainErr != nil {
		return nil, &update.Fault{Cause: update.Unreachable, Subject: location.Shown(address), Err: o.signed.plainErr}
	}
	with := download.HTTPOptions{
		Agent: collet.Version(), PlainProxy: o.signed.plain, Log: o.log, Token: o.signed.token.For(address),
		PublicOnly: o.before != nil && o.before.public && address == o.before.packs,
	}
	if d := o.route.dialer; d != nil {
		with.Proxy, with.ProxyOnly = d.Proxy, d.ProxyOnly
	}
	var err error
	if with.TLS, err = o.authorities(); err != nil {
		return nil, err
	}
	return download.NewHTTPMirror(address, with)
}

// authorities are the certificate authorities of web servers; nil for those of the system.
func (o *origin) authorities() (*tls.Config, error) {
	file := authorityFile(o.opt, o.settings, o.folder)
	if file == "" {
		return nil, nil
	}
	return dial.ClientTLS(file, "")
}

// trust is the trust that native code needs in this attempt.
func (o *origin) trust() install.Trust {
	return install.Trust(settings.NativeBy(trustWord(o.opt, o.settings), o.signed.on(), o.secure()))
}
