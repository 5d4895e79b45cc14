package acquire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"collet/app/download"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// DefaultChannel is the channel if no channel is configured.
const DefaultChannel = "stable"

// trusted is the verified release for this install, with the query that it answers.
type trusted struct {
	trust.Current
	query release.Query
}

// trustFolder has the verified documents, in the folder of a Source.
const trustFolder = "trust"

// maxRoots is how many stored roots are searched: one or two are published a year.
const maxRoots = 100

// FirstFiles are the files that a Source with this root requests first: the timestamp, and if the client asks for it now, the root after the
// newest stored one. kept is the folder of the Source.
func FirstFiles(root []byte, kept fs.FS, now time.Time) []download.First {
	info, err := trust.DescribeRoot(root)
	if err != nil {
		return nil
	}
	files := []download.First{{Name: "metadata/timestamp.json", Limit: trust.MaxTimestamp}}
	if !trust.RootOverdue(readAsked(kept), now) {
		return files
	}
	next := info.Version + 1
	for range maxRoots {
		if _, err := fs.Stat(kept, fmt.Sprintf("%s/%d.root.json", trustFolder, next)); err != nil {
			break
		}
		next++
	}
	return append(files, download.First{Name: fmt.Sprintf("metadata/%d.root.json", next), Limit: trust.MaxRoot})
}

// readAsked returns nil if the file can't be read: then the client asks.
func readAsked(kept fs.FS) []byte {
	f, err := kept.Open(trustFolder + "/" + trust.AskedFile)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, trust.MaxAsked))
	if err != nil {
		return nil
	}
	return data
}

// trustedLists are the signed lists of releases, as far as they are verified.
type trustedLists struct {
	o          Options
	remembered *rememberedSets
	mirrors    *mirrorPool
	objects    *objectStore
	onVerified func()        // called for each verified document
	client     *trust.Client // nil before open
}

// openClient reads the stored documents, once.
func (l *trustedLists) openClient() error {
	if l.client != nil {
		return nil
	}
	store := &trustStore{fs: l.o.FS, folder: l.o.Folder + "/" + trustFolder, log: l.o.Log, onVerified: l.onVerified}
	client, err := trust.Open(l.o.Root, store, l.o.Now)
	if err != nil {
		return err
	}
	for _, name := range client.Ignored() {
		l.o.Log.Warn().Str("file", name).Msg("what was verified once is damaged, or its keys count no more; it is asked for again")
	}
	l.client = client
	return nil
}

// current refreshes the metadata from all mirrors together. If a document is rejected, it tries each mirror alone, so that one bad mirror
// can't hide the documents of the others.
func (l *trustedLists) current(ctx context.Context, have installedRelease) (trusted, error) {
	query := release.Query{Product: l.o.Product, Channel: l.o.Channel, Target: l.o.Target, Install: l.remembered.install(), Have: have.Number}
	if have.Channel != query.Channel || have.Target != query.Target {
		query.Have = 0
	}
	answer, err := l.refresh(ctx, l.objects.resuming(), query)
	var rejected *trust.Error
	if l.objects.dropRejected(err) {
		answer, err = l.refresh(ctx, l.objects.direct(), query)
	}
	mirrors := l.mirrors.list()
	if !errors.As(err, &rejected) || len(mirrors) < 2 {
		return answer, err
	}
	for _, mirror := range mirrors {
		l.o.Log.Warn().Err(err).Str("mirror", mirror.Name()).Msg("signed metadata rejected; asking each mirror separately")
		alone, openErr := download.NewFetcher([]download.Mirror{mirror}, l.mirrors.fetch)
		if openErr != nil {
			return answer, openErr
		}
		other, otherErr := l.refresh(ctx, documents{Fetcher: alone}, query)
		alone.Close()
		if otherErr == nil || ctx.Err() != nil {
			return other, otherErr
		}
	}
	return answer, err
}

// refresh refreshes the metadata with one fetcher. Without a configured product it uses the only one of the list for this channel and
// target.
func (l *trustedLists) refresh(ctx context.Context, f trust.Fetcher, q release.Query) (trusted, error) {
	now, err := l.client.Refresh(ctx, f, q)
	q.Product = cmp.Or(q.Product, now.Product)
	if errors.Is(err, release.ErrNoRelease) && q.Product == "" {
		if entries, readErr := l.client.Entries(); readErr == nil {
			if names := release.Products(entries, q.Channel, q.Target); len(names) > 1 {
				err = fmt.Errorf("%w: it has %s; say which with Release.Product", err, strings.Join(names, ", "))
			}
		}
	}
	return trusted{now, q}, err
}
