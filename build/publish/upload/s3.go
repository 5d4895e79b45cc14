package upload

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"collet/build/advice"
)

const (
	s3Scheme = "s3://"
	// s3Part is the part size of a large upload in bytes: 16 MiB. minio keeps one part in memory for each upload.
	s3Part = 16 << 20
	// Cache-Control of immutable and of changing files. With RFC 8246's immutable, readers do not revalidate. What changes is kept by shared
	// caches alone, for as long as collet-server tells a CDN: an object store keeps no CDN-Cache-Control.
	cacheLasting = "public, max-age=31536000, immutable"
	cacheShort   = "max-age=0, s-maxage=30, stale-while-revalidate=60, stale-if-error=86400"
)

// Bucket is an S3 bucket or a prefix in one. A store replaces an object atomically and answers when it is durable.
type Bucket struct {
	client         *minio.Client
	bucket, prefix string
	shown          string
}

// OpenS3 opens s3://bucket/prefix?endpoint=host:port&region=…&insecure=true. The default endpoint is Amazon's. Credentials come from the
// environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
func OpenS3(address string, getenv func(string) string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, advice.Wrong("want s3://bucket/prefix?endpoint=host:port", "%q is no address of a bucket", address)
	}
	q := u.Query()
	for name := range q {
		if name != "endpoint" && name != "region" && name != "insecure" {
			return nil, advice.Wrong("there are endpoint, region and insecure", "%q: parameter %q is not known", address, name)
		}
	}
	id, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return nil, advice.Wrong("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "there are no credentials for %s", u.Host)
	}
	endpoint := q.Get("endpoint")
	if endpoint == "" {
		endpoint = "s3.amazonaws.com"
	}
	client, err := minio.New(endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(id, secret, getenv("AWS_SESSION_TOKEN")), Secure: q.Get("insecure") != "true",
		Region: q.Get("region"), BucketLookup: minio.BucketLookupAuto,
	})
	if err != nil {
		return nil, advice.Because(err, "", "open %q", address)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &Bucket{client: client, bucket: u.Host, prefix: prefix, shown: s3Scheme + u.Host + "/" + prefix + " at " + endpoint}, nil
}

func (o *Bucket) String() string { return o.shown }

// List implements places.Place.
func (o *Bucket) List(ctx context.Context, folder string) (map[string]int64, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the lister if an error ends the loop
	list := map[string]int64{}
	for info := range o.client.ListObjects(ctx, o.bucket, minio.ListObjectsOptions{Prefix: o.prefix + folder + "/", Recursive: true}) {
		if info.Err != nil {
			return nil, o.fault(info.Err)
		}
		list[strings.TrimPrefix(info.Key, o.prefix)] = info.Size
	}
	return list, ctx.Err()
}

// Get implements places.Place.
func (o *Bucket) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	object, err := o.client.GetObject(ctx, o.bucket, o.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, o.fault(err)
	}
	defer object.Close()
	data, err := io.ReadAll(io.LimitReader(object, limit+1))
	if err != nil {
		return nil, o.fault(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, nil
}

// Put implements places.Place.
func (o *Bucket) Put(ctx context.Context, name string, data io.ReaderAt, size int64, lasting bool) error {
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", CacheControl: cacheShort, PartSize: s3Part}
	if lasting {
		options.CacheControl = cacheLasting
	}
	if strings.HasSuffix(name, ".json") {
		options.ContentType = "application/json"
	}
	_, err := o.client.PutObject(ctx, o.bucket, o.prefix+name, io.NewSectionReader(data, 0, size), size, options)
	return o.fault(err)
}

// Remove implements places.Place.
func (o *Bucket) Remove(ctx context.Context, name string) error {
	return o.fault(o.client.RemoveObject(ctx, o.bucket, o.prefix+name, minio.RemoveObjectOptions{}))
}

// Sync implements places.Place.
func (o *Bucket) Sync(context.Context) error { return nil }

// fault translates a store's error into one of this package.
func (o *Bucket) fault(err error) error {
	switch code := minio.ToErrorResponse(err).Code; {
	case err == nil:
		return nil
	case code == "NoSuchKey":
		return fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	case code == "NoSuchBucket":
		return advice.Because(err, "make the bucket first", "bucket %s", o.bucket)
	case code == "AccessDenied" || code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch":
		return advice.Because(err, "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do", "bucket %s", o.bucket)
	default:
		return err
	}
}
