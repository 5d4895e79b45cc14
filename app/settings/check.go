package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"collet/app/token"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/release/location"
)

// faults are the invalid values. said holds the last occurrence of each setting.
func (s Settings) faults(said map[string]*Error) (faults []error) {
	refuse := func(key string, err error) {
		if err == nil {
			return
		}
		e := &Error{Place: "defaults", Key: key}
		if at := said[strings.ToLower(key)]; at != nil {
			*e = *at
		}
		e.Key, e.Text = key, err.Error()
		faults = append(faults, e)
	}
	if p := s.ClientNetwork.ServerPort; p < 1 || p > 65535 {
		refuse("ClientNetwork.ServerPort", fmt.Errorf("it is %d; want 1 to 65535", p))
	}
	refuse("Update.Trust", TrustFault(s.Update.Trust))
	refuse("Release.Urls", ReleaseFault(s.Release.Urls))
	refuse("Release.Token", token.Fault(s.Release.Token))
	if c := s.Release.TokenCommand; s.Release.Token != "" && len(c) > 0 || len(c) > 0 && c[0] == "" {
		refuse("Release.TokenCommand", errors.New("it names no program, or Release.Token has a token already; want one of both"))
	}
	refuse("Release.Bandwidth", errorOf(ParseRate(s.Release.Bandwidth)))
	refuse("Release.Beacon", BeaconFault(s.Release.Beacon))
	refuse("Release.Root", rootFault(s.Release.Root))
	refuse("Client.OfflineAfter", errorOf(ParseOfflineAfter(s.Client.OfflineAfter, 0)))
	refuse("Client.StopWithin", errorOf(ParseStopWithin(s.Client.StopWithin)))
	refuse("Client.Kind", KindFault(s.Client.Kind))
	refuse("Update.WhilePlaying", errorOf(ParseWhilePlaying(s.Update.WhilePlaying)))
	s.Compatibility.faults(refuse)
	return faults
}

func errorOf[T any](_ T, err error) error { return err }

// faults are the values that can't be sent to a server.
func (c Compatibility) faults(refuse func(key string, err error)) {
	if c.LogicVersion != nil && *c.LogicVersion < 0 {
		refuse("Compatibility.LogicVersion", fmt.Errorf("it is %d; want 0 or more", *c.LogicVersion))
	}
	for key, told := range map[string]struct {
		text string
		max  int
	}{
		"BuildId": {c.BuildId, compat.MaxBuildID}, "Branch": {c.Branch, compat.MaxBranch}, "Account": {c.Account, netproto.MaxAccount},
	} {
		if len(told.text) > told.max {
			refuse("Compatibility."+key, fmt.Errorf("it has %d bytes, at most %d can be told", len(told.text), told.max))
		}
	}
}

// The kinds of a game, as in Client.Kind.
const (
	KindModule  = "module"  // a native module, which the program loads; empty is the same
	KindProgram = "program" // an executable of its own, which a description names
)

// KindFault checks the kind of a game.
func KindFault(kind string) error {
	switch kind {
	case "", KindModule, KindProgram:
		return nil
	default:
		return fmt.Errorf("%q is unknown; want %q or %q", kind, KindModule, KindProgram)
	}
}

// rootFault checks only the syntax; the trust client verifies the content.
func rootFault(text string) error {
	switch {
	case text == "":
		return nil
	case len(text) > MaxRoot:
		return fmt.Errorf("a trusted root has at most %d bytes", MaxRoot)
	case !json.Valid([]byte(text)):
		return errors.New("it is no JSON; want the text of root.json between '''")
	default:
		return nil
	}
}

// ReleaseFault checks addresses of release folders, see location.ParsePrivate. Its text does not repeat them: they may contain a password.
func ReleaseFault(urls []string) error {
	for _, address := range urls {
		if _, err := location.ParsePrivate(address); err != nil {
			return err
		}
	}
	return nil
}

// BeaconOff, as Release.Beacon, turns beacons off that a lower source turned on.
const BeaconOff = "off"

// maxBeacon is the longest address of beacons in bytes.
const maxBeacon = 500

// BeaconFault checks the address of beacons. It can't have a query, because that is where the figures are.
func BeaconFault(address string) error {
	if address == "" || address == BeaconOff {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.ContainsAny(address, "?# ") || len(address) > maxBeacon {
		return fmt.Errorf("%q is no address for beacons; want https://HOST/PATH without a query, or %q", address, BeaconOff)
	}
	return nil
}

// MaxOfflineAfter is the longest time to try before the installed version starts.
const MaxOfflineAfter = time.Hour

// ParseOfflineAfter parses the time to try, at most MaxOfflineAfter; "never" is 0, which asks the player. Empty is the
// fallback.
func ParseOfflineAfter(text string, fallback time.Duration) (time.Duration, error) {
	switch text {
	case "":
		return fallback, nil
	case "never":
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > MaxOfflineAfter {
		return 0, fmt.Errorf(`%q is no time up to %s; want something like "3s", or "never"`, text, MaxOfflineAfter)
	}
	return d, nil
}

// MaxWhilePlaying is the longest time between two looks for a newer release while the game runs.
const MaxWhilePlaying = 24 * time.Hour

// ParseWhilePlaying parses the time between two looks, at least a second; 0 is never.
func ParseWhilePlaying(text string) (time.Duration, error) {
	if text == "" || text == "never" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > MaxWhilePlaying {
		return 0, fmt.Errorf(`%q is no time from 1s to %s; want something like "10m", or "never"`, text, MaxWhilePlaying)
	}
	return d, nil
}

// ParseStopWithin parses the time for a game to end. Empty is DefaultStopWithin.
func ParseStopWithin(text string) (time.Duration, error) {
	if text == "" {
		return DefaultStopWithin, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > MaxStopWithin {
		return 0, fmt.Errorf(`%q is no time up to %s; want something like "5s"`, text, MaxStopWithin)
	}
	return d, nil
}

// ParseRate parses bytes per second: a number, and K, M or G for thousands, millions and billions. Empty is unlimited, 0.
func ParseRate(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, factor := text, 1.0
	for suffix, f := range map[string]float64{"K": 1e3, "M": 1e6, "G": 1e9} {
		if rest, found := strings.CutSuffix(strings.ToUpper(text), suffix); found {
			number, factor = rest, f
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n*factor >= 1) || n*factor > math.MaxInt32*1000.0 {
		return 0, fmt.Errorf("%q is no rate; want bytes a second such as 500K or 2M", text)
	}
	return int64(n * factor), nil
}
