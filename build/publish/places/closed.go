package places

import (
	"context"
	"errors"
	"io"
)

// closed is a place that could not be opened.
type closed struct {
	name string
	err  error
}

// Closed is a Place that could not be opened: it fails in the first step, with the text of err. The cause is not wrapped, since a
// folder that is missing here says nothing about the files of the place.
func Closed(name string, err error) Place { return closed{name, errors.New(err.Error())} }

func (c closed) String() string { return c.name }

// List implements Place.
func (c closed) List(context.Context, string) (map[string]int64, error) { return nil, c.err }

// Get implements Place.
func (c closed) Get(context.Context, string, int64) ([]byte, error) { return nil, c.err }

// Put implements Place.
func (c closed) Put(context.Context, string, io.ReaderAt, int64, bool) error { return c.err }

// Remove implements Place.
func (c closed) Remove(context.Context, string) error { return c.err }

// Sync implements Place.
func (c closed) Sync(context.Context) error { return c.err }
