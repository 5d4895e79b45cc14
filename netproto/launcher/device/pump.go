package device

import (
	"context"
	"fmt"
	"time"

	"collet/netproto/launcher/wire"
	"collet/platform/interrupt"
)

// sendLogs sends log lines, within the rate limit, and reports.
func (s *deviceSession) sendLogs(ctx context.Context) error {
	var budget lineBudget
	for ctx.Err() == nil {
		n, wait := budget.grant(time.Now(), maxLogBatch)
		lines, lost, reports := s.device.log.removeLines(n)
		budget.lines += float64(n - len(lines))
		if err := s.sendReports(ctx, reports); err != nil {
			return err
		}
		if err := s.sendLines(ctx, lines, lost); err != nil {
			return err
		}
		switch {
		case wait > 0:
			_ = interrupt.Sleep(ctx, wait)
		case s.device.log.empty():
			select {
			case <-ctx.Done():
			case <-s.device.log.more:
			}
		}
	}
	return nil
}

// sendReports sends the outcomes of applications, in our own mode. Other desks see them in the log and the run state.
func (s *deviceSession) sendReports(ctx context.Context, reports []wire.RunReport) error {
	if !s.own {
		return nil
	}
	for _, r := range reports {
		if err := s.send(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}

// draftTime is the layout of Draft time stamps.
const draftTime = "2006-01-02 15:04:05.000"

func (s *deviceSession) sendLines(ctx context.Context, lines []Line, lost int) error {
	if lost > 0 {
		text := fmt.Sprintf("%d lines are left out here: there were more than can be sent", lost)
		lines = append([]Line{{Time: time.Now(), Level: wire.LevelWarning, Source: SourceDevice, Text: text}}, lines...)
	}
	if s.own && len(lines) > 0 {
		return s.sendTogether(ctx, lines)
	}
	for _, l := range lines {
		m := &wire.Logs{Level: l.Level, Source: l.Source, Timestamp: l.Time.Format(draftTime), Message: l.Text}
		if err := s.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// sendTogether sends lines in messages of at most MaxBulk bytes.
func (s *deviceSession) sendTogether(ctx context.Context, lines []Line) error {
	m, size := &wire.LogLines{}, 0
	for _, l := range lines {
		n := 12 + len(l.Source) + len(l.Text)
		if size+n > wire.MaxBulk/2 {
			if err := s.send(ctx, m); err != nil {
				return err
			}
			m, size = &wire.LogLines{}, 0
		}
		m.Lines = append(m.Lines, wire.TimedLine{Time: l.Time.UnixMilli(), Level: l.Level, Source: l.Source, Message: l.Text})
		size += n
	}
	return s.send(ctx, m)
}
