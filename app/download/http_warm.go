package download

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// warmAge is how long an early answer counts.
const warmAge = 5 * time.Second

// First is a file that will be fetched whole, with its largest size in bytes.
type First struct {
	Name  string
	Limit int64
}

// Warm requests files in advance, for a start that has other work to do first. It may be called once, before the first Get. The first Get
// of each of these files gets the early answer; a failed request is made again.
func (w *HTTPMirror) Warm(ctx context.Context, files ...First) {
	w.warm.begun = time.Now()
	for _, f := range files {
		w.warm.requestFile(ctx, f.Name, func(ctx context.Context) (io.ReadCloser, error) { return w.request(ctx, f.Name, 0, openEnd, f.Limit) })
	}
}

// warmth has the requests that were made in advance. The zero value is empty.
type warmth struct {
	begun time.Time
	mu    sync.Mutex
	asked map[string]*eager
}

// eager is a request made in advance.
type eager struct {
	cancel context.CancelFunc
	done   chan struct{}
	body   io.ReadCloser
	err    error
}

// requestFile makes a request in advance. takeAnswer or close waits for its end.
func (w *warmth) requestFile(ctx context.Context, name string, get func(ctx context.Context) (io.ReadCloser, error)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &eager{cancel: cancel, done: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = map[string]*eager{}
	}
	w.asked[name] = e
	go func() {
		e.body, e.err = get(ctx)
		close(e.done)
	}()
}

// takeAnswer returns the early answer for a file, once. is is false if the file was not requested, the answer is too old, or the request
// failed with another error than a *MissingError: then the caller makes the request.
func (w *warmth) takeAnswer(ctx context.Context, name string) (body io.ReadCloser, err error, is bool) {
	w.mu.Lock()
	e := w.asked[name]
	delete(w.asked, name)
	old := time.Since(w.begun) > warmAge
	w.mu.Unlock()
	if e == nil {
		return nil, nil, false
	}
	if old {
		e.drop()
		return nil, nil, false
	}
	stop := context.AfterFunc(ctx, e.cancel)
	<-e.done
	var missing *MissingError
	if e.err != nil {
		stop()
		e.cancel()
		return nil, e.err, errors.As(e.err, &missing)
	}
	return &eagerBody{e.body, e.cancel, stop}, nil, true
}

// drop cancels and closes an unused answer.
func (e *eager) drop() {
	e.cancel()
	<-e.done
	if e.err == nil {
		_ = e.body.Close() // its content is not used
	}
}

// eagerBody is an early answer. Its request ends when it is closed, or with the context of the Get that took it.
type eagerBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	stop   func() bool
}

// Close implements io.Closer.
func (b *eagerBody) Close() error {
	err := b.ReadCloser.Close()
	b.stop()
	b.cancel()
	return err
}

// Total implements Sized.
func (b *eagerBody) Total() int64 {
	if sized, is := b.ReadCloser.(Sized); is {
		return sized.Total()
	}
	return -1
}

// close ends unused requests.
func (w *warmth) close() {
	w.mu.Lock()
	asked := w.asked
	w.asked = nil
	w.mu.Unlock()
	for _, e := range asked {
		e.drop()
	}
}
