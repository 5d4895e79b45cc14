package fileset

import (
	"context"

	"collet/app/install"
	"collet/app/update"
)

// Fill writes the missing bytes of one planned file to an install, in portions, like a server's answers.
func Fill[T string | []byte](ctx context.Context, d *install.Dir, i int, want update.Want, content T, portion int64) error {
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
