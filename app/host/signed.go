package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"collet"
	"collet/app/download"
	"collet/app/install"
	"collet/app/settings"
	"collet/app/transfer"
	"collet/app/update"
	"collet/assets"
	"collet/netproto/dial"
	"collet/runtime/abi"
)

const (
	// maxRootFile is the largest trusted root in bytes that is read.
	maxRootFile = settings.MaxRoot
	// defaultOfflineAfter is how long a player waits before the installed game starts without an answer, where updates come
	// as signed releases: longer, and it feels broken.
	defaultOfflineAfter = 3 * time.Second
)

// signed says where signed releases come from. The zero value is that nobody signs anything.
type signed struct {
	root      []byte // the trusted root; empty: files are taken that are not signed
	urls      []string
	product   string
	channel   string
	server    bool  // the updater connection is a place, too
	bandwidth int64 // bytes a second; 0 is no cap
	offline   time.Duration
	plain     func(*url.URL) (*url.URL, error) // the proxy of requests that are not encrypted
	plainErr  error                            // why there is no telling which: told when somebody is asked
}

// on reports whether only what is signed is taken.
func (s signed) on() bool { return len(s.root) > 0 }

// announces reports whether a server is told which version is installed.
func (s signed) announces() bool { return !s.on() || s.server }

// newSigned puts flags, settings and what is built in together.
func newSigned(opt Options, set settings.Settings, folder string, env func(string) string) (signed, error) {
	s := signed{
		urls: opt.Release, product: set.Release.Product, channel: cmp.Or(opt.Channel, set.Release.Channel, transfer.DefaultChannel),
	}
	if len(s.urls) == 0 {
		s.urls = set.Release.Urls
	}
	s.server = opt.Server != "" || set.NamesServer || len(s.urls) == 0
	s.bandwidth, _ = settings.ParseRate(cmp.Or(opt.Bandwidth, set.Release.Bandwidth)) // both were checked
	var err error
	if s.root, err = trustedRoot(opt, set, folder); err != nil {
		return signed{}, err
	}
	switch word := trustWord(opt, set); {
	case opt.Trust == "" && len(s.urls) > 0 && (word == settings.TrustSHA256 || word == settings.TrustFNV):
		return signed{}, fmt.Errorf("addresses of signed releases and Update.Trust = %q exclude each other; --trust release takes what is signed", word)
	case word == settings.TrustSHA256 || word == settings.TrustFNV:
		s.root = nil
	case len(s.root) == 0 && (word == settings.TrustRelease || len(s.urls) > 0):
		return signed{}, errors.New("signed releases need a trusted root: name its file with --trusted-root or Release.TrustedRoot, or give its text in Release.Root")
	}
	fallback := time.Duration(0)
	if s.on() {
		fallback = defaultOfflineAfter
	}
	if s.offline, err = settings.ParseOfflineAfter(set.Client.OfflineAfter, fallback); err != nil {
		return signed{}, err
	}
	s.plain, s.plainErr = download.PlainProxy(cmp.Or(opt.Proxy, set.ClientNetwork.Proxy), env)
	return s, nil
}

// trustWord is what native code is taken by, as the command line or else the settings say it.
func trustWord(opt Options, set settings.Settings) string {
	return cmp.Or(opt.Trust, set.Update.Trust, settings.TrustAuto)
}

// trustedRoot reads the root: that of the command line goes before that of the settings, where a file goes before a text, and
// all before the one built in.
func trustedRoot(opt Options, set settings.Settings, folder string) ([]byte, error) {
	name := opt.TrustedRoot
	if name == "" && set.Release.TrustedRoot != "" {
		if name = set.Release.TrustedRoot; !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
	}
	switch {
	case name == "" && set.Release.Root != "":
		return []byte(set.Release.Root), nil
	case name == "":
		return assets.TrustedRoot(), nil
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxRootFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxRootFile)
	}
	var root []byte
	if err == nil {
		root, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("trusted root: %w", err)
	}
	return root, nil
}

// languageTag turns a locale such as "pt_BR.UTF-8" into a tag such as "pt-BR"; of several the first.
func languageTag(locale string) string {
	return strings.ReplaceAll(locale[:indexAny(locale, ":.@")], "_", "-")
}

// indexAny is where one of the letters is first, else behind the end.
func indexAny(text, letters string) int {
	if i := strings.IndexAny(text, letters); i >= 0 {
		return i
	}
	return len(text)
}

// valve passes a player's wishes on to the source that is at work, and to those that follow. It is safe for concurrent use.
type valve struct {
	mu     sync.Mutex
	source *transfer.Source
	paused bool
	cap    int64
}

// hold makes a source obey; nil lets go of it.
func (v *valve) hold(s *transfer.Source) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.source = s
	if s == nil {
		v.paused = false // nobody pauses what comes later without having seen it
		return
	}
	s.SetCap(v.cap)
}

// Pause implements splash.Valve.
func (v *valve) Pause(paused bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.paused = paused
	switch {
	case v.source == nil:
	case paused:
		v.source.Pause()
	default:
		v.source.Resume()
	}
}

// SetCap implements splash.Valve.
func (v *valve) SetCap(bytesPerSecond int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cap = bytesPerSecond
	if v.source != nil {
		v.source.SetCap(bytesPerSecond)
	}
}

// updateSigned is update for signed releases.
func (u *updates) updateSigned(ctx context.Context, f front, compatibility string) (status update.Status, err error) {
	options, closeWays, err := u.releaseOptions(f, compatibility)
	if err != nil {
		return update.Status{}, err
	}
	defer func() { err = errors.Join(err, closeWays()) }()
	stage := u.renewal.stage()
	options.Disk, options.Renew = stage, u.renewal.renewable
	s, err := transfer.NewSource(options)
	if err != nil {
		return update.Status{}, err
	}
	u.valve.hold(s)
	defer func() {
		u.valve.hold(nil)
		err = errors.Join(err, s.Release())
	}()
	updater, err := update.New(u.policy(update.Config{Source: s, Stage: stage, Server: u.places()}))
	if err != nil {
		return update.Status{}, fmt.Errorf("updater: %w", err)
	}
	status = u.follow(ctx, f, updater, func() progress {
		p := s.Progress()
		return progress{answers: p.Answers, bytes: p.Bytes, waiting: p.Waiting, paused: s.Traffic().Paused}
	})
	if c, is := options.Server.(*connection); is {
		u.met = c.source.met
	}
	u.renewal.renewing = s.Renewing()
	if files, err := s.List(ctx); err == nil && !u.renewal.renewing {
		status = u.settleContent(files, status)
	}
	f.Report(s.Report())
	return status, nil
}

// places names where releases come from, for a person.
func (o *origin) places() string {
	if len(o.signed.urls) == 0 {
		return o.server
	}
	u, err := url.Parse(o.signed.urls[0])
	if err != nil {
		return o.server
	}
	return u.Host
}

// releaseOptions wires a source of signed releases. closeWays lets go of its mirrors.
func (u *updates) releaseOptions(f front, compatibility string) (o transfer.Options, closeWays func() error, err error) {
	var opened []*download.HTTPWay
	closeWays = func() (err error) {
		for _, way := range opened {
			err = errors.Join(err, way.Close())
		}
		return err
	}
	o = transfer.Options{
		FS: u.fs, Folder: path.Join(filepath.ToSlash(u.settings.Baking.CacheResources), install.ReleaseFolder), Disk: u.dir,
		Root: u.signed.root, Product: u.signed.product, Channel: u.signed.channel, Target: string(u.target),
		HostABI: abi.HostABIVersion, HostBuild: uint64(collet.App().Build),
		Language: u.locale, Notes: f.Notes, Log: u.log,
		Mirror: func(address string) (download.Way, error) { return u.mirror(address) },
	}
	for _, address := range u.signed.urls {
		way, err := u.takeWarm(), error(nil) // it is the first one
		if way == nil {
			way, err = u.mirror(address)
		}
		if err != nil {
			return o, closeWays, errors.Join(err, closeWays())
		}
		opened = append(opened, way)
		o.Ways = append(o.Ways, way)
	}
	if u.signed.server {
		o.Server = &connection{source: newSource(u, compatibility)}
	}
	return o, closeWays, nil
}

// warmUp begins to connect to the first place that will be asked, while the install is opened.
func (o *origin) warmUp(ctx context.Context) {
	if o.warm != nil || !o.signed.on() || len(o.signed.urls) == 0 {
		return
	}
	way, err := o.mirror(o.signed.urls[0])
	if err != nil {
		return // the update says so
	}
	kept := filepath.Join(o.roots.data, o.settings.Baking.CacheResources, install.ReleaseFolder)
	way.Warm(ctx, transfer.FirstFiles(o.signed.root, func(name string) bool {
		_, err := os.Stat(filepath.Join(kept, filepath.FromSlash(name)))
		return err == nil
	})...)
	o.warm = way
}

// takeWarm gives away what warmUp began; nil without.
func (o *origin) takeWarm() *download.HTTPWay {
	way := o.warm
	o.warm = nil
	return way
}

// coolDown lets go of what nobody took.
func (o *origin) coolDown() error {
	if way := o.takeWarm(); way != nil {
		return way.Close()
	}
	return nil
}

// mirror opens a web server.
func (o *origin) mirror(address string) (*download.HTTPWay, error) {
	if o.signed.plainErr != nil {
		return nil, &update.Fault{Cause: update.Unreachable, Subject: address, Err: o.signed.plainErr}
	}
	with := download.HTTPOptions{
		Agent: collet.Version(), PlainProxy: o.signed.plain, Log: o.log,
		PublicOnly: o.before != nil && o.before.public && address == o.before.packs,
	}
	if d := o.route.dialer; d != nil {
		with.Proxy, with.ProxyOnly = d.Proxy, d.ProxyOnly
	}
	file := cmp.Or(o.opt.TlsCa, o.settings.ClientNetwork.TlsCa)
	if file != "" {
		if o.opt.TlsCa == "" && !filepath.IsAbs(file) {
			file = filepath.Join(o.folder, file)
		}
		config, err := dial.ClientTLS(file, "")
		if err != nil {
			return nil, err
		}
		with.TLS = config
	}
	return download.NewHTTPWay(address, with)
}

// follow runs an Updater and lets the front follow it. A start that exceeds the patience before something is fetched ends as it
// would after all attempts: as unreachable where no answer came, or the installed set is played instead.
func (u *updates) follow(ctx context.Context, f front, updater *update.Updater, read func() progress) update.Status {
	following := f.Follow(ctx, updater)
	inner, cancel := context.WithCancel(ctx)
	var late error
	limits := u.timeLimits()
	var watching sync.WaitGroup
	watching.Go(func() {
		if late = limits.watch(inner, updater.Status, read); late != nil {
			cancel()
		}
	})
	status := updater.Run(inner)
	cancel()
	watching.Wait()
	following()
	if late != nil && status.Outcome == update.Cancelled && ctx.Err() == nil {
		u.log.Warn().Err(late).Msg("the update is given up for now")
		cause := update.Unreachable
		if read().answers > 0 && !u.playsOffline() {
			cause = update.Interrupted
		}
		status.Outcome = update.Failed
		status.Fault = &update.Fault{Cause: cause, Transient: true, Subject: u.places(), Err: late}
	}
	return status
}

// offlineNow reports whether what is installed is played without asking: nobody can be reached, the settings allow it, and
// there is a set that has proven itself.
func (u *updates) offlineNow(status update.Status) bool {
	return status.Outcome == update.Failed && status.Fault != nil && status.Fault.Cause == update.Unreachable &&
		u.playsOffline()
}

// playsOffline reports whether there is a set that has proven itself and the settings let it be played without an answer.
func (u *updates) playsOffline() bool {
	return u.signed.offline > 0 && u.loaded && u.dir != nil && !u.dir.Pending() && u.hasPacks()
}
