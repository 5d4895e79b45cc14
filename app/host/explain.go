package host

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"collet"
	"collet/app/diskfault"
	"collet/app/install"
	"collet/app/splash"
	"collet/app/update"
	"collet/netproto/dial"
	"collet/platform"
)

// endInfo completes the explanation of an end.
func (h *host) endInfo(e outcome) splash.EndInfo {
	info := e.info
	info.Target, info.Server, info.Fault, info.Path, info.Remedy = string(h.target), h.sourceName(), e.fault, h.paths.data, h.remedy(e.fault)
	info.RetryAfter = time.Duration(e.status.Judgement.RetryAfter) * time.Second
	info.StoreURL, info.WebsiteURL = h.settings.Client.StoreUrl, h.settings.Client.WebsiteUrl
	if e.outcome == update.RuntimeFailed {
		info.Reason = e.detail
	}
	h.verdictInfo(e, &info)
	if e.fault == nil {
		return info
	}
	var space *diskfault.SpaceError
	var inUse *diskfault.InUseError
	var vanished *diskfault.VanishedError
	var way *platform.ObstacleError
	var untrusted *dial.TLSError
	var unproven *install.UnprovenError
	var proxy *dial.ProxyError
	switch {
	case errors.As(e.fault.Err, &space):
		info.Needed, info.Free, info.Volume, info.NoNames = max(space.Need, 0), space.Free, space.Volume, space.NoNames()
	case errors.As(e.fault.Err, &inUse):
		info.Holders = inUse.Names()
	case errors.As(e.fault.Err, &way):
		info.InTheWay = true
	case errors.As(e.fault.Err, &vanished):
		info.Vanished = true
	case errors.As(e.fault.Err, &untrusted):
		info.Certificate = certificateWords()[untrusted.Fault]
	case errors.As(e.fault.Err, &unproven):
		info.Unproven = true
	case errors.As(e.fault.Err, &proxy):
		info.Proxy = proxy.Proxy
	}
	return info
}

// certificateWords are the certificate faults with a text of their own.
func certificateWords() map[dial.CertificateFault]string {
	return map[dial.CertificateFault]string{
		dial.CertificateDates: "dates", dial.CertificateHost: "host", dial.CertificateAuthority: "authority",
	}
}

// explain is the explanation of an end as text for a terminal; empty for ends that are not shown.
func (h *host) explain(e outcome) string {
	d := splash.ComposeEnd(e.row(), h.endInfo(e), h.texts)
	if !e.row().Shown() {
		return ""
	}
	return strings.ReplaceAll(d.Text(), "\n\n", "\n")
}

// report is a text for support that a player can copy and send: version, folders, last outcome and the end of the log.
func (h *host) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s build %d\n", collet.App().Name, collet.Version(), collet.App().Build)
	fmt.Fprintf(&b, "system %s/%s, target %s, %s\n", runtime.GOOS, runtime.GOARCH, h.target, time.Now().Format(time.RFC3339))
	fmt.Fprintf(&b, "folder %s\ndata %s\nmodule %s\nserver %s\n", h.folder, h.paths.data, h.modules().library(), h.server)
	if last := h.last.Load(); last != nil {
		fmt.Fprintf(&b, "outcome %s %s\n", last.outcome, last.detail)
		h.reportVerdict(&b, last)
		if last.fault != nil {
			fmt.Fprintf(&b, "fault %v\n", last.fault)
		}
	}
	return b.String() + "\n" + h.logTail()
}

func (s *setup) logTail() string {
	if s.logs == nil {
		return s.texts.Get("details.empty")
	}
	return s.logs.Tail()
}
