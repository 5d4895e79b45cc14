package public

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collet/app/download"
	"collet/netproto/release"
	"collet/netproto/release/location"
	"collet/netproto/release/trust"
)

// List is a signed list as players get it.
type List struct {
	Role    trust.KeyRole `json:"list"`
	Expires time.Time     `json:"expires"` // UTC
	Unix    int64         `json:"expires_unix"`
}

// CheckLists reads the signed lists of a place from a trusted root on, as a client that starts for the first time: a few requests, and no
// release folder is needed. Findings are lists that clients reject, lists that end before now+left, and answers that caches keep for too long.
// So it tells when signing has stopped, when what was signed does not reach the place, and when a cache answers because the place does not. An
// error means that the place can't be read at all, that the root is invalid, or that ctx ended it.
func CheckLists(ctx context.Context, address string, root []byte, now time.Time, left time.Duration, o download.HTTPOptions) (r Result, err error) {
	at, err := location.ParsePrivate(address)
	if err != nil {
		return r, err
	}
	info, err := trust.DescribeRoot(root)
	if err != nil {
		return r, err
	}
	c := &checker{private: o.Token != nil || at.HasSignature(), found: map[complaint][]string{}}
	c.folder.NextRoot = fmt.Sprintf("metadata/%d.root.json", info.Version+1)
	o.Answered = c.seen
	if c.mirror, err = download.NewHTTPMirror(address, o); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.mirror.Close()) }()
	client, err := trust.Open(root, new(trust.MemoryStore), func() time.Time { return now })
	if err != nil {
		return r, err
	}
	_, err = client.Refresh(ctx, fetcher{c}, release.Query{})
	var unreachable *download.NetError
	var rejected *trust.Error
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.As(err, &unreachable):
		return r, err
	case errors.As(err, &rejected):
		c.complain("metadata/"+rejected.Document, "publish there again with --to; if clients accept these lists, compare --trusted-root with the root of the clients",
			"is rejected by clients: %v", rejected)
	case err != nil && !errors.Is(err, release.ErrNoRelease): // the query is for none
		c.explain(timestamp, err)
	}
	expiries, err := client.Expiries()
	if err != nil && !errors.Is(err, trust.ErrNothingKnown) {
		return r, err
	}
	var lists []List
	for _, role := range trust.KeyRoles() {
		ends, is := expiries[role]
		if !is {
			continue
		}
		lists = append(lists, List{role, ends.UTC(), ends.Unix()})
		want := "look whether collet release refresh runs every day, and whether what it signs reaches this place (--to)"
		if role == trust.RoleRoot {
			want = "bring the holders of the root keys together: collet keys rotate"
		}
		if ends.Sub(now) < left {
			c.complain(string(role), want, "ends %s, in less than %v", ends.UTC().Format(time.RFC3339), left)
		}
	}
	r = c.result()
	r.Files, r.Lists = c.files, lists
	return r, nil
}

// fetcher is the place for package trust.
type fetcher struct{ c *checker }

// Fetch implements trust.Fetcher.
func (f fetcher) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	f.c.mu.Lock()
	f.c.files++
	f.c.mu.Unlock()
	data, err := f.c.get(ctx, name, 0, -1, limit)
	var wrong *download.WrongError
	if errors.As(err, &wrong) && wrong.Kind == download.WrongLong {
		err = errors.Join(trust.ErrTooLong, err)
	}
	if err != nil {
		return trust.Unverified{}, err
	}
	return trust.UnverifiedBytes(data), nil
}
