package host

import (
	"context"
	"errors"
	"sync"

	"collet/app/acquire"
	"collet/app/download"
	"collet/netproto/compat"
)

// connection is the updater connection as a source of signed releases. Only signed files are accepted from it, so its own file list is
// not requested. One Updater uses it at a time; Close may be called from any goroutine.
type connection struct {
	source *source
	mu     sync.Mutex
	mirror *download.SessionMirror
}

var _ acquire.Server = (*connection)(nil)

// Connect implements acquire.Server.
func (l *connection) Connect(ctx context.Context, answered func()) (compat.Judgement, download.Mirror, error) {
	if err := l.Close(); err != nil {
		return compat.Judgement{}, nil, err
	}
	l.source.options.Unlisted, l.source.options.OnAnswer = true, answered
	judgement, err := l.source.Connect(ctx)
	if err != nil {
		return judgement, nil, err
	}
	client := l.source.session()
	if !client.Objects() {
		return judgement, nil, nil
	}
	mirror := download.NewSessionMirror(client, l.source.options.Addr)
	l.mu.Lock()
	l.mirror = mirror
	l.mu.Unlock()
	return judgement, mirror, nil
}

// Close implements acquire.Server.
func (l *connection) Close() error {
	err := l.source.Close()
	l.mu.Lock()
	mirror := l.mirror
	l.mu.Unlock()
	if mirror != nil {
		err = errors.Join(err, mirror.Close())
	}
	return err
}
