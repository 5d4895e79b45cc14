package qa

import (
	"context"

	"collet/app/install"
	"collet/app/update"
)

// receive gives an install what it lacks of one planned file, in portions, as a server's answers come.
func receive[T string | []byte](ctx context.Context, d *install.Dir, i int, want update.Want, content T, portion int64) error {
	for _, missing := range want.Missing {
		if err := d.Advance(ctx, i); err != nil {
			return err
		}
		for at := missing.Start; at < missing.End; at += portion {
			if err := d.Write(i, []byte(content[at:min(at+portion, missing.End)])); err != nil {
				return err
			}
		}
	}
	return d.Finish(ctx, i)
}
