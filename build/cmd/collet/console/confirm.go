package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxAnswer is how many bytes of an answer are read; "yes" has three.
const maxAnswer = 64

// Confirm asks a person on a terminal. Only y and yes mean yes. It ends with ctx, as by Ctrl-C; the read that is under way then ends with the
// process, because reads of terminals can't be cancelled.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprintf(out, "%s [y/N] ", question)
	type answer struct {
		line string
		err  error
	}
	came := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(in, maxAnswer)).ReadString('\n')
		came <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case a := <-came:
		if errors.Is(a.err, io.EOF) {
			a.err = nil
		}
		word := strings.ToLower(strings.TrimSpace(a.line))
		return a.err == nil && (word == "y" || word == "yes"), a.err
	}
}
