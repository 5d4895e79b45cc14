package host

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"time"

	"collet"
	"collet/app/acquire"
	"collet/app/download"
	"collet/app/install"
	"collet/app/update"
	"collet/runtime/abi"
)

// updates updates the installed files, from the upstream to the disk.
type updates struct {
	*setup
	*upstream
	*disk
	*game
	renewal        *renewal
	reply          serverReply // of the last server
	loaded         bool        // this attempt had a module or the built-in client ready to run
	canAsk         bool        // the view can ask the player
	acceptedUpdate bool        // the player agreed to an update that the account requires
}

// update runs one Updater. If the server redirects, it runs another one with the second server, once in an attempt.
func (u *updates) update(ctx context.Context, f view, compatibility string) (update.Status, error) {
	status, err := u.updateHere(ctx, f, compatibility)
	if err != nil || status.Outcome != update.Redirected {
		return status, err
	}
	if err := u.followRedirect(ctx, f, status.Judgement.Endpoint); err != nil {
		u.log.Error().Err(err).Msg("a redirect is not followed")
		status.Outcome = update.ClientTooNew
		return status, nil
	}
	return u.updateHere(ctx, f, compatibility)
}

// updateHere runs one Updater, and a second one without this program's own update if that was why the first one failed.
func (u *updates) updateHere(ctx context.Context, f view, compatibility string) (update.Status, error) {
	status, err := u.updateOnce(ctx, f, compatibility)
	if err == nil && u.renewal.withoutHost(ctx, status) {
		return u.updateOnce(ctx, f, compatibility)
	}
	if u.renewal.due != "" {
		f.Note(u.texts.Get("note.host"))
	}
	return status, err
}

// updateOnce runs one Updater and updates the loop guard: a staged module is recorded, a successful update removes the record.
func (u *updates) updateOnce(ctx context.Context, f view, compatibility string) (status update.Status, err error) {
	u.reply = serverReply{}
	if u.signed.on() {
		status, err = u.updateSigned(ctx, f, compatibility)
	} else {
		status, err = u.updatePlain(ctx, f, compatibility)
	}
	switch {
	case err != nil:
	case status.Outcome == update.BinariesStaged:
		u.guardUpdate(status.Offer)
	case status.Outcome == update.ResourcesReady && status.Judgement.Plays():
		u.dropGuard()
	}
	return status, err
}

// policy completes an Updater's configuration.
func (u *updates) policy(c update.Config) update.Config {
	c.CanSelfUpdate, c.Log = u.target.CanSelfUpdate(), u.log
	c.Redirected, c.Prefetch, c.Applied = u.redirected(), true, u.applied()
	c.AskPinned, c.First = u.canAsk && !u.acceptedUpdate, !u.loaded
	return c
}

// updatePlain is update for unsigned files of a server.
func (u *updates) updatePlain(ctx context.Context, f view, compatibility string) (update.Status, error) {
	s := newSource(u, compatibility)
	updater, err := u.newUpdater(s)
	if err != nil {
		return update.Status{}, err
	}
	status := u.runUpdater(ctx, f, updater, s.progress)
	u.reply = s.reply
	u.hintGeneration(f, s, status)
	return u.checkAndRecordContent(s.offered, u.consistent(s, status)), nil
}

// newUpdater makes an Updater with the source s.
func (u *updates) newUpdater(s *source) (*update.Updater, error) {
	updater, err := update.New(u.policy(update.Config{Source: s, Destination: u.renewal.destination(), Server: u.server}))
	if err != nil {
		return nil, fmt.Errorf("updater: %w", err)
	}
	return updater, nil
}

// hintGeneration tells the player about a forced generation that may be why the server ended the session.
func (u *updates) hintGeneration(f view, s *source, status update.Status) {
	refused := status.Outcome == update.UpdaterOutdated
	if status.Fault != nil && s.client == nil {
		refused = status.Fault.Cause == update.Interrupted || status.Fault.Cause == update.ServerFault
	}
	if s.options.Auto || !refused {
		return
	}
	u.log.Warn().Stringer("generation", s.options.Generation).Msg("the server may speak another generation than the one that was asked for with --generation")
	f.Note(u.texts.Get("note.generation", "generation", s.options.Generation.String()))
}

// updateSigned is update for signed releases.
func (u *updates) updateSigned(ctx context.Context, f view, compatibility string) (status update.Status, err error) {
	server := newSource(u, compatibility)
	options, closeMirrors, err := u.releaseOptions(f, server)
	if err != nil {
		return update.Status{}, err
	}
	defer func() { err = errors.Join(err, closeMirrors()) }()
	destination := u.renewal.destination()
	options.Disk, options.Renew = destination, u.renewal.renewable
	s, err := acquire.NewSource(options)
	if err != nil {
		return update.Status{}, err
	}
	u.valve.SetSource(s)
	began := time.Now()
	defer func() {
		u.valve.SetSource(nil)
		err = errors.Join(err, s.Release())
	}()
	updater, err := update.New(u.policy(update.Config{Source: s, Destination: destination, Server: u.sourceName()}))
	if err != nil {
		return update.Status{}, fmt.Errorf("updater: %w", err)
	}
	status = u.runUpdater(ctx, f, updater, func() progress {
		p := s.Progress()
		return progress{answers: p.Answers, bytes: p.Bytes, waiting: p.Waiting, paused: s.Traffic().Paused}
	})
	u.reply = server.reply
	u.renewal.renewing = s.Renewing()
	if files, err := s.List(ctx); err == nil && !u.renewal.renewing {
		status = u.checkAndRecordContent(files, status)
	}
	status.Blocked = status.Blocked || isReady(status.Outcome) && s.Blocked()
	f.Report(s.Report())
	if !u.renewal.renewing {
		u.beacon.Updated(status, s.Report(), time.Since(began))
	}
	return status, nil
}

// releaseOptions are the options of a source of signed releases. closeMirrors closes its mirrors.
func (u *updates) releaseOptions(f view, server *source) (o acquire.Options, closeMirrors func() error, err error) {
	var opened []*download.HTTPMirror
	closeMirrors = func() (err error) {
		for _, mirror := range opened {
			err = errors.Join(err, mirror.Close())
		}
		return err
	}
	o = acquire.Options{
		FS: u.fs, Folder: path.Join(filepath.ToSlash(u.settings.Baking.CacheResources), install.ReleaseFolder), Disk: u.dir,
		Root: u.signed.root, Product: u.signed.product, Channel: u.signed.channel, Target: string(u.target),
		HostABI: abi.HostABIVersion, HostBuild: uint64(collet.App().Build),
		Language: u.locale, Notes: f.ReleaseNotes, Log: u.log, Reserve: u.collector.Reserve, Patience: u.patience(),
		OpenMirror: func(address string) (download.Mirror, error) { return u.mirror(address) },
	}
	if !u.redirected() { // the rules are those of the server that has redirected, and has answered with that
		o.Judge = server.judge
	}
	for _, address := range u.signed.urls {
		mirror, err := u.takeWarmMirror(), error(nil) // it is the first one
		if mirror == nil {
			mirror, err = u.mirror(address)
		}
		if err != nil {
			return o, closeMirrors, errors.Join(err, closeMirrors())
		}
		opened = append(opened, mirror)
		o.Mirrors = append(o.Mirrors, mirror)
	}
	if u.signed.server {
		o.Server = &connection{source: server}
	}
	return o, closeMirrors, nil
}

// runUpdater runs an Updater and shows it in the view. If a time limit is exceeded before the update fetches, the update fails: with
// Unreachable if no answer came or the installed set can be played instead, else with Interrupted.
func (u *updates) runUpdater(ctx context.Context, f view, updater *update.Updater, read func() progress) update.Status {
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
		status.Fault = &update.Fault{Cause: cause, Transient: true, Subject: u.sourceName(), Err: late}
	}
	return status
}

// offlineNow reports whether the installed set is played without asking the player: no server could be reached, or none lets this client in, and playsOffline.
func (u *updates) offlineNow(status update.Status) bool {
	return status.Outcome == update.Failed && status.Fault != nil && status.Fault.Cause.Away() &&
		u.playsOffline()
}

// offlineNote is the text key of why the installed set starts.
func offlineNote(f *update.Fault) string {
	if f.Cause == update.SignIn {
		return "note.signin"
	}
	return "note.unreachable"
}

// playsOffline reports whether a proven set is installed and the settings allow playing it without a server's answer.
func (u *updates) playsOffline() bool {
	return u.signed.offline > 0 && u.loaded && u.dir != nil && !u.dir.Pending() && u.hasPacks()
}
