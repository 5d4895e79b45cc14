package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"collet/build/qa/process"
	"collet/build/qa/screen"
)

const (
	frameBound = 1.15 // client ÷ minimal program, medians
	// The screen that the splashes appear on, in pixels.
	screenWidth, screenHeight = 1024, 768
	// bandFrom and bandLines are the lines of the screen that are watched: the middle, where a centred splash has its
	// picture. Reading the whole screen each time would take a core from what is measured.
	bandFrom, bandLines = screenHeight/2 - 32, 64
	// lookEvery is the resolution of the measurement.
	lookEvery = 500 * time.Microsecond
	// frameLimit is how long a first frame may take before the run counts as broken.
	frameLimit = 30 * time.Second
	// settle is how long the screen must stay blank between two runs, so that the last one has gone.
	settle = 300 * time.Millisecond
	// stopGrace is how long a splash may take to end when it is asked to.
	stopGrace = 3 * time.Second
)

// frame measures the first frame of both programs in turn.
func (b *bench) frame(ctx context.Context) error {
	display, err := screen.Start(ctx, screenWidth, screenHeight)
	if err != nil {
		return err
	}
	defer display.Close()
	band, err := openBand(display.Frame(), bandFrom, bandLines)
	if err != nil {
		return err
	}
	defer band.frame.Close()
	client, stop, err := b.splashingClient(ctx, display)
	if err != nil {
		return err
	}
	defer stop()
	programs := []process.Options{{Path: b.program("minimal-splash"), Env: display.Environ()}, client}
	times := make([][]time.Duration, len(programs))
	for round := -1; round < b.Runs; round++ { // the first round only warms the page cache
		for i, p := range programs {
			took, err := firstFrame(ctx, band, p)
			if err != nil {
				return err
			}
			if round >= 0 {
				times[i] = append(times[i], took)
			}
		}
	}
	minimal, ours := median(times[0]), median(times[1])
	fmt.Fprintf(b.out, "first frame, medians of %d interleaved runs: minimal Fyne splash %d ms (%s), client %d ms (%s)\n",
		b.Runs, minimal.Milliseconds(), spread(times[0]), ours.Milliseconds(), spread(times[1]))
	b.verdict("first frame, client ÷ minimal", float64(ours)/float64(minimal), frameBound, "")
	return nil
}

// firstFrame starts a program, waits for its first pixels in the band, ends it and waits until the screen is blank.
func firstFrame(ctx context.Context, band *band, o process.Options) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, frameLimit)
	defer cancel()
	began := time.Now()
	p, err := process.Start(o)
	if err != nil {
		return 0, err
	}
	err = waitDrawn(ctx, band, p)
	took := time.Since(began)
	p.Stop(stopGrace)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", o.Path, err)
	}
	for blank := time.Now(); time.Since(blank) < settle; time.Sleep(lookEvery) {
		drawn, err := band.changed()
		if err != nil || ctx.Err() != nil {
			return 0, errors.Join(err, ctx.Err())
		}
		if drawn {
			blank = time.Now()
		}
	}
	return took, nil
}

// waitDrawn returns when the band has changed, or an error when p ends before.
func waitDrawn(ctx context.Context, band *band, p *process.Process) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		drawn, err := band.changed()
		if err != nil || drawn {
			return err
		}
		select {
		case <-tick.C:
		case <-p.Done():
			return fmt.Errorf("ended with code %d before it drew", p.Code())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// band is some lines of a screen. Comparing them costs little enough for a thousand times a second.
type band struct {
	frame      *os.File
	offset     int64
	first, now []byte
}

// openBand records the current lines of a window dump. Its file must be closed.
func openBand(name string, from, lines int) (*band, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	offset, size, count, err := screen.XWDLines(f)
	if err == nil && (from < 0 || lines < 1 || from+lines > count) {
		err = fmt.Errorf("lines %d to %d of a screen with %d", from, from+lines, count)
	}
	b := &band{frame: f}
	if err == nil {
		b.offset, b.first, b.now = offset+int64(from)*int64(size), make([]byte, lines*size), make([]byte, lines*size)
		_, err = f.ReadAt(b.first, b.offset)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

// changed reports whether the lines differ from the recorded ones.
func (b *band) changed() (bool, error) {
	_, err := b.frame.ReadAt(b.now, b.offset)
	return !bytes.Equal(b.now, b.first), err
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

func spread(times []time.Duration) string {
	return fmt.Sprintf("%d to %d", slices.Min(times).Milliseconds(), slices.Max(times).Milliseconds())
}
