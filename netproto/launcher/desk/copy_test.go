package desk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/device"
	"collet/platform/testlevel"
)

// replaced puts another folder in the place of the working copy, as a build or a checkout does.
func (b *deskBench) replaced(how string, files tree) {
	b.t.Helper()
	b.goes(how)
	other := b.root + ".new"
	files.write(b.t, other)
	if err := os.Rename(other, b.root); err != nil {
		b.t.Fatal(err)
	}
}

// goes takes the working copy away.
func (b *deskBench) goes(how string) {
	b.t.Helper()
	var err error
	if how == "mv" {
		err = os.Rename(b.root, filepath.Join(b.t.TempDir(), "old"))
	} else {
		err = os.RemoveAll(b.root)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestWorkingCopyThatIsReplaced: a push is about the folder that lies at the path when it begins.
func TestWorkingCopyThatIsReplaced(t *testing.T) {
	for _, how := range []string{"mv", "rm -rf"} {
		t.Run(how, func(t *testing.T) {
			b := newDeskBench(t, desk.Options{}, tree{"a": "1", "b/c": "2"})
			data := t.TempDir()
			b.own(device.Options{Root: data, Name: "Own"})
			b.untilConnected(1)
			b.push(desk.PushOptions{})
			b.replaced(how, tree{"a": "one", "d": "3"})
			b.push(desk.PushOptions{})
			expectTree(t, data, tree{"a": "one", "d": "3"})

			b.goes(how)
			result, err := b.desk.Push(t.Context(), desk.PushOptions{})
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is gone: put it back") {
				t.Errorf("without a working copy: %+v, %v", result, err)
			}
			expectTree(t, data, tree{"a": "one", "d": "3"})
			tree{"e": "4", "d": "3"}.write(t, b.root)
			b.push(desk.PushOptions{})
			expectTree(t, data, tree{"e": "4", "d": "3"})
		})
	}
}

// TestWatchFollowsTheWorkingCopy over a folder that is replaced, gone for a while, and changed afterwards.
func TestWatchFollowsTheWorkingCopy(t *testing.T) {
	testlevel.Slow(t)
	for _, how := range []string{"mv", "rm -rf"} {
		t.Run(how, func(t *testing.T) {
			b := newDeskBench(t, desk.Options{}, tree{"a": "1", "b/c": "2"})
			data := t.TempDir()
			b.own(device.Options{Root: data, Name: "Own"})
			b.untilConnected(1)
			faults := make(chan error, 100)
			pushed := make(chan struct{}, 100)
			ctx, cancel := context.WithCancel(t.Context())
			watched := make(chan error, 1)
			go func() {
				watched <- b.desk.Watch(ctx, desk.WatchOptions{Settle: 20 * time.Millisecond, Each: func(_ desk.PushResult, err error) {
					if err != nil {
						faults <- err
					}
					pushed <- struct{}{}
				}})
			}()
			for <-pushed; !sameTree(data, tree{"a": "1", "b/c": "2"}); {
				<-pushed
			}
			b.replaced(how, tree{"new/a": "one"})
			for !sameTree(data, tree{"new/a": "one"}) {
				<-pushed
			}
			tree{"new/b": "two"}.write(t, b.root) // is watched, too
			for !sameTree(data, tree{"new/b": "two"}) {
				<-pushed
			}
			for len(faults) > 0 {
				<-faults // between the two folders there may have been none
			}
			b.goes(how)
			for err := range faults {
				if errors.Is(err, fs.ErrNotExist) {
					break
				}
			}
			tree{"late": "3"}.write(t, b.root)
			for !sameTree(data, tree{"late": "3"}) {
				<-pushed
			}
			cancel()
			if err := <-watched; err != nil {
				t.Error(err)
			}
		})
	}
}
