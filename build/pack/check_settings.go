package pack

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"collet/app/settings"
	"collet/build/advice"
)

// ownSettings are client settings that have their own key in a description.
var ownSettings = map[string]string{
	"ClientNetwork.ServerHost": "client.server", "ClientNetwork.ServerPort": "client.server",
	"Release.Urls": "client.urls", "Release.Channel": "client.channel", "Release.Product": "client.product",
	"Release.Root": "client.trusted-root", "Release.TrustedRoot": "client.trusted-root",
	"Client.WebsiteUrl": "client.website", "Client.StoreUrl": "client.store",
	"Client.Kind": "target.program", "Client.Title": "game.nice-name", "Client.GameName": "game.name",
}

// settingForm is the form of a client setting's name with its tables. A name without a table belongs to the game.
var settingForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$`)

// checkSettings checks each additional client setting in the table at key.
func (c *valueChecker) checkSettings(key string, values map[string]any) {
	for _, s := range flatten(values) {
		at := key + "." + s.key
		c.checkSetting(at, s)
		for own, instead := range ownSettings {
			if strings.EqualFold(own, s.name) && key == "client.settings" {
				c.add(at, "give it as "+instead, "has a key of its own")
			}
		}
	}
}

func (c *valueChecker) checkSetting(key string, s setting) {
	if !settingForm.MatchString(s.name) {
		c.add(key, `want a name such as Client.OfflineAfter, or one word for a setting of the game`, "%q is no name of a setting", s.name)
		return
	}
	if strings.EqualFold(s.name, "Release.Token") {
		c.add(key, "give it to each player in a settings file beside the client, or name a Release.TokenCommand", "is a secret, and everybody who has the package can read it")
		return
	}
	if text, is := s.value.(string); is && strings.Contains(text, "://") {
		if u, err := url.Parse(text); err == nil && u.User != nil {
			c.add(key, "take them out: everybody who has the package can read them", "has a user name or password")
		}
	}
	known := settings.Names()
	if isKnown := slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, s.name) }); !isKnown && strings.Contains(s.name, ".") {
		c.add(key, advice.Suggest(s.name, known, "collet-client --help lists them"), "the client has no setting %s", s.name)
		return
	}
	if _, err := settings.Parse("", s.name+" = "+valueText(s.value)); err != nil {
		c.add(key, "", "%s", settingFault(err))
	}
}

// settingFault returns the client's error about a setting on one line.
func settingFault(err error) string {
	text := err.Error()
	var fault *settings.Error
	if errors.As(err, &fault) {
		text = fault.Text
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// checkConfig checks the complete settings of a build with the client's parser.
func (c *valueChecker) checkConfig(key, text string) {
	if len(c.list) > 0 {
		return // already reported one by one
	}
	s, err := settings.Parse(key, text)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		c.add(key, "", "clients would not take it: %s", settingFault(err))
	}
}
