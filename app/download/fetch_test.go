package download_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"collet/app/download"
)

func TestWholeFromOneServer(t *testing.T) {
	began := time.Now()
	for _, size := range []int{0, 1, 1000, 100_000, 3_000_000, 20_000_000} {
		data := random(size, uint64(size))
		server := holding(data)
		f := fetcher(t, download.FetchOptions{Now: func() time.Time { return began }}, serve(t, server)) // no request is slow
		s := diskSpool(t)
		last := int64(-1)
		err := f.Whole(t.Context(), object(data), s, func(done int64) { last = done })
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !bytes.Equal(content(t, s, object(data)), data) || last != int64(size) {
			t.Errorf("%d bytes: wrong bytes, or progress ended with %d", size, last)
		}
		if server.bytes() != int64(size) {
			t.Errorf("%d bytes: the server sent %d", size, server.bytes())
		}
		again := len(server.requests())
		if err := f.Whole(t.Context(), object(data), s, nil); err != nil || len(server.requests()) != again {
			t.Errorf("%d bytes: a second time asked again, or %v", size, err)
		}
	}
}

func TestWholeOfUnknownSize(t *testing.T) {
	for _, size := range []int{1, 70_000, 3_000_000} {
		data := random(size, 5)
		f := fetcher(t, download.FetchOptions{}, serve(t, holding(data)))
		s := freshSpool(t)
		o := object(data)
		o.Size = -1
		if err := f.Whole(t.Context(), o, s, nil); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(content(t, s, o), data) {
			t.Errorf("%d bytes are wrong", size)
		}
	}
}

func TestSmall(t *testing.T) {
	server := holding()
	server.content["metadata/timestamp.json"] = []byte("{}")
	server.content["objects/aa/x"] = []byte("there")
	empty := holding()
	f := fetcher(t, download.FetchOptions{}, serve(t, empty), serve(t, server))
	if data, err := f.Small(t.Context(), "objects/aa/x", 5, nil); string(data) != "there" || err != nil {
		t.Errorf("an object that only the second way has: %q, %v", data, err)
	}
	if _, err := f.Small(t.Context(), "metadata/timestamp.json", 5, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("metadata that the first way does not have: %v", err)
	}
	if n := len(empty.requests()) + len(server.requests()); n != 3 {
		t.Errorf("%d requests, want 3: %q %q", n, empty.requests(), server.requests())
	}
	alone := fetcher(t, download.FetchOptions{}, serve(t, server))
	if data, err := alone.Small(t.Context(), "metadata/timestamp.json", 2, nil); string(data) != "{}" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	var wrong *download.WrongError
	if _, err := alone.Small(t.Context(), "objects/aa/x", 4, nil); !errors.As(err, &wrong) || wrong.Kind != download.WrongLong {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestRanges(t *testing.T) {
	data := random(5_000_000, 9)
	server := holding(data)
	f := fetcher(t, download.FetchOptions{}, serve(t, server))
	ranges := []download.Range{{Start: 0, End: 10}, {Start: 10, End: 10}, {Start: 12, End: 40_000}, {Start: 200_000, End: 2_900_000}, {Start: 2_900_000, End: 2_900_001}, {Start: 4_999_999, End: 5_000_000}}
	got := make([][]byte, len(ranges))
	at, index := int64(0), 0
	err := f.Ranges(t.Context(), object(data), ranges, nil, func(i int, offset int64, piece []byte) error {
		if i < index || offset < at || offset != ranges[i].Start+int64(len(got[i])) {
			return fmt.Errorf("piece at %d of range %d behind %d of %d", offset, i, at, index)
		}
		index, at = i, offset+int64(len(piece))
		got[i] = append(got[i], piece...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range ranges {
		if !bytes.Equal(got[i], data[r.Start:r.End]) {
			t.Errorf("range %d is wrong", i)
		}
	}
	for _, asked := range server.requests() {
		if strings.Contains(asked, ",") {
			t.Errorf("several ranges in one request: %s", asked)
		}
	}
	stop := errors.New("enough")
	if err := f.Ranges(t.Context(), object(data), ranges, nil, func(int, int64, []byte) error { return stop }); err != stop {
		t.Errorf("the caller's own error came back as %v", err)
	}
	for _, bad := range [][]download.Range{{{Start: 5, End: 4}}, {{Start: 5, End: 6}, {Start: 4, End: 7}}, {{Start: 0, End: 5_000_001}}, {{Start: -1, End: 3}}} {
		if err := f.Ranges(t.Context(), object(data), bad, nil, nil); err == nil {
			t.Errorf("took %v", bad)
		}
	}
}

// TestCloseEndsCalls closes while a server is silent.
func TestCloseEndsCalls(t *testing.T) {
	data := random(10_000, 1)
	silent := remembering("silent", data)
	silent.broken = func(int) (int64, error) { return 100, nil }
	f := fetcher(t, download.FetchOptions{}, silent)
	s := freshSpool(t)
	began := make(chan struct{}, 1)
	ended := make(chan error)
	go func() {
		ended <- f.Whole(context.Background(), object(data), s, func(int64) {
			select {
			case began <- struct{}{}:
			default:
			}
		})
	}()
	<-began
	f.Close()
	if err := <-ended; err != download.ErrClosed {
		t.Errorf("the call ended with %v", err)
	}
	if _, err := f.Small(t.Context(), "x", 1, nil); err != download.ErrClosed {
		t.Errorf("a call after Close: %v", err)
	}
}

// TestOtherSize has a mirror that says, beside the right bytes, that the file is another one.
func TestOtherSize(t *testing.T) {
	data := random(200_000, 1)
	liar := remembering("liar", data)
	liar.claims = 199_999
	for _, size := range []int64{-1, 200_000} {
		o := object(data)
		o.Size = size
		_, err := fetchInto(t, freshSpool(t), o, liar)
		var wrong *download.WrongError
		want := map[int64]download.WrongKind{-1: download.WrongStale, 200_000: download.WrongLength}[size]
		if !errors.As(err, &wrong) || wrong.Kind != want {
			t.Errorf("size %d: %v", size, err)
		}
		s := freshSpool(t)
		f := fetcher(t, download.FetchOptions{}, liar, remembering("good", data))
		if err := f.Whole(t.Context(), o, s, nil); err != nil || !bytes.Equal(content(t, s, o), data) {
			t.Errorf("size %d, beside a good one: %v", size, err)
		}
	}
}
