package sign

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/minio/sha256-simd"

	"collet/platform/interrupt"
)

// digest reads a file to its end, as long as the context lasts.
func digest(ctx context.Context, name string) (sum [32]byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, interrupt.Reader(ctx, f)); err != nil {
		return sum, err
	}
	return [32]byte(h.Sum(nil)), nil
}

// replacing has make write a file in a folder beside name, under the same name, and puts it in the place of name when all is well.
// Otherwise name stays as it was. The folder is removed.
func replacing(name string, make func(beside string) error) (err error) {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	dir := filepath.Join(filepath.Dir(name), ".signing-"+rand.Text())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	beside := filepath.Join(dir, filepath.Base(name))
	if err := make(beside); err != nil {
		return err
	}
	if err := os.Chmod(beside, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(beside, name)
}

// copyFile copies a file's bytes.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, interrupt.Reader(ctx, in))
	return err
}
