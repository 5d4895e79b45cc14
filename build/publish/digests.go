package publish

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"collet/build/advice"
	"collet/build/publish/cache"
	"collet/build/publish/game"
	"collet/build/publish/parallel"
	"collet/netproto/release"
	"collet/platform"
)

// hashBuffer is the read size for hashing in bytes: the data stays in the core's cache between reading and hashing.
const hashBuffer = 128 << 10

// pageFor returns a read buffer for a file of a size. Packs have thousands of files much smaller than hashBuffer.
func pageFor(size int64) []byte { return make([]byte, min(max(size, 0)+1, hashBuffer)) }

// digester computes digests of files, and keeps a cache of them in the release folder.
type digester struct {
	fs      platform.FS // the release folder
	meter   *meter
	workers int
	now     func() time.Time
}

// addDigests computes the digest of every file of a folder. Unchanged files come from the cache.
func (d *digester) addDigests(ctx context.Context, fsys platform.FS, folder string, files []*game.File) error {
	digests := cache.LoadDigests(d.fs, fsys.Path(folder))
	var missing []*game.File
	total := int64(0)
	for _, file := range files {
		sum, known := digests.Find(fsys.Path(file.Name), file.Info)
		if file.Sum = sum; !known {
			missing = append(missing, file)
			total += file.Info.Size()
		}
	}
	// Large files first, so that no single core ends with a large one.
	slices.SortStableFunc(missing, func(a, b *game.File) int { return int(max(-1, min(1, b.Info.Size()-a.Info.Size()))) })
	d.meter.startStep("hash", "", total)
	now := d.now()
	var mu sync.Mutex
	err := parallel.Each(ctx, d.workers, len(missing), func(ctx context.Context, i int) error {
		sum, err := d.digestOf(ctx, fsys, missing[i])
		mu.Lock()
		defer mu.Unlock()
		if missing[i].Sum = sum; err == nil {
			digests.Add(fsys.Path(missing[i].Name), missing[i].Info, sum, now)
		}
		return err
	})
	if len(missing) == 0 {
		return err
	}
	return errors.Join(err, digests.Save(d.fs))
}

func (d *digester) digestOf(ctx context.Context, fsys platform.FS, file *game.File) (release.Digest, error) {
	in, err := openFile(fsys, file.Name)
	if err != nil {
		return release.Digest{}, advice.Because(err, "", "read %s", fsys.Path(file.Name))
	}
	defer in.Close()
	sum, h, buf := int64(0), release.SHA256.NewHash(), pageFor(file.Info.Size())
	for {
		n, err := in.Read(buf)
		h.Write(buf[:n])
		sum += int64(n)
		d.meter.addBytes(int64(n), file.Path)
		switch {
		case err == io.EOF && sum != file.Info.Size():
			return release.Digest{}, advice.Wrong("publish when nothing writes there", "%s changed while it was read", fsys.Path(file.Name))
		case err == io.EOF:
			return release.SHA256.SumOf(h), nil
		case err != nil:
			return release.Digest{}, advice.Because(err, "", "read %s", fsys.Path(file.Name))
		case ctx.Err() != nil:
			return release.Digest{}, ctx.Err()
		}
	}
}
