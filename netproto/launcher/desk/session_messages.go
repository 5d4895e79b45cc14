package desk

import (
	"strings"
	"time"

	"collet/netproto/launcher/wire"
	"collet/platform/text"
)

func (s *session) takeProperty(m *wire.ResponseSystemProperty) {
	switch m.Property {
	case wire.PropertyNames:
		s.info.Properties = names(m.Value)
	case wire.PropertyProfiles:
		s.info.Profiles = names(m.Value)
	case wire.PropertyDefaultProfile:
		s.info.DefaultProfile = text.Line(m.Value)
	}
}

// names are the lines of a list.
func names(value string) []string {
	list := []string{}
	for line := range strings.Lines(value) {
		if line = text.Line(strings.TrimRight(line, "\r\n")); line != "" && len(list) < maxProperties {
			list = append(list, line)
		}
	}
	return list
}

// log passes a line on, unless too many came in this second.
func (s *session) log(now, stamp time.Time, level wire.LogLevel, source, message string) []effect {
	if !s.rate.allow(now) {
		s.info.LogsDropped++
		s.lost++
		return nil
	}
	line := LogLine{Device: s.id, Time: stamp, Level: min(level, wire.LevelError+1), Source: text.Line(source), Text: text.Line(message), Lost: s.lost}
	if line.Level > wire.LevelError {
		line.Level = wire.LevelInfo
	}
	s.lost = 0
	s.run.logged(line)
	return []effect{logEffect{line}}
}

// reportLost reports dropped lines when no line follows them.
func (s *session) reportLost(now time.Time) []effect {
	if s.lost == 0 || now.Before(s.rate.next()) {
		return nil
	}
	line := LogLine{Device: s.id, Time: now, Level: wire.LevelWarning, Lost: s.lost}
	s.lost = 0
	return []effect{logEffect{line}}
}

func (s *session) takeLines(m *wire.LogLines, now time.Time) (out []effect) {
	if !s.own {
		return nil
	}
	for _, l := range m.Lines {
		out = append(out, s.log(now, time.UnixMilli(l.Time), l.Level, l.Source, l.Message)...)
	}
	return out
}

// linked handles a change of the run state; unknown values count as stopped.
func (s *session) linked(state uint8, now time.Time) []effect {
	s.setRunning(state == wire.RunRunning, now)
	return s.run.tick(now)
}

func (s *session) setRunning(running bool, now time.Time) {
	if running && !s.run.running {
		s.info.RunningSince = now
	}
	if !running && s.run.running {
		s.info.RunningSince, s.info.EndedAt, s.info.End = time.Time{}, now, wire.RunEnd{Exit: -1}
	}
	s.run.running, s.info.Running = running, running
}

// takeReport handles the game report of a device in our own mode, which it sends beside the link.
func (s *session) takeReport(m *wire.RunReport, now time.Time) []effect {
	if !s.own {
		return nil
	}
	switch m.Event {
	case wire.RunStarted:
		s.setRunning(true, now)
	case wire.RunRefused:
		return s.run.refused(&DeviceError{Device: s.id, Op: "start", Reason: text.Line(m.Text)})
	case wire.RunEnded:
		s.setRunning(false, now)
		s.info.EndedAt, s.info.End = now, wire.RunEnd{Exit: int(m.Exit), Text: text.Line(m.Text)}
		// This end can't belong to a start in progress: a device reports a run's start before its end.
		out := s.log(now, now, wire.LevelInfo, "", "the game ended: "+m.Text)
		return append(out, s.run.tick(now)...)
	}
	return s.run.tick(now)
}
