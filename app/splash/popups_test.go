package splash

import (
	"time"

	"collet/app/update"
	"collet/netproto/compat"
)

// popup is one dialog about a verdict, as an end with its details.
type popup struct {
	outcome update.Outcome
	info    EndInfo
	answer  update.Action // of its first button; empty if that does not answer
}

// popups are all popups by their keys, with all texts that a server can send.
func popups() map[string]popup {
	info := func(change func(*EndInfo)) EndInfo {
		i := EndInfo{Target: "Linux-arm64", Server: "play.example.org:4000", WebsiteURL: "https://example.org/get", Client: "L5-344f237d92ca82f0"}
		change(&i)
		return i
	}
	return map[string]popup{
		compat.PopupStore:       {update.PlatformUnsupported, info(func(i *EndInfo) { i.StoreURL = "https://play.google.com/store/apps/details?id=x" }), ""},
		compat.PopupNoBinary:    {update.ServerMissingNativeUpdate, info(func(*EndInfo) {}), ""},
		compat.PopupNewer:       {update.ClientTooNew, info(func(i *EndInfo) { i.Message = "The new server opens on Friday at noon.\nSee you there!" }), update.Retry},
		compat.PopupUpdater:     {update.UpdaterOutdated, info(func(*EndInfo) {}), ""},
		compat.PopupPinned:      {update.PlayerPinned, info(func(i *EndInfo) { i.Floor, i.Offered = 7, true }), update.Update},
		compat.PopupMaintenance: {update.Maintenance, info(func(i *EndInfo) { i.RetryAfter = 20 * time.Minute }), update.Retry},
		compat.PopupLoop:        {update.UpdateLoop, info(func(i *EndInfo) { i.Code = "R9-12-536c49c9" }), ""},
		compat.PopupDeveloper:   {update.ComponentsMismatch, info(func(i *EndInfo) { i.Differences, i.Allowed = sampleDifferences(), true }), ""},
	}
}
