package signin

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

const (
	// maxValues is how many values of the claim of roles are looked at. Directories have people in some hundred groups.
	maxValues = 1000
	// maxPath is how many objects a claim's name leads into.
	maxPath = 8
)

// claims are what the provider says of a person.
type claims map[string]any

// verify checks the token of the provider, and reads its claims. Those that it lacks are asked for.
func (p *Provider) verify(ctx context.Context, found *oidc.Provider, token *oauth2.Token, a Attempt) (claims, error) {
	raw, is := token.Extra("id_token").(string)
	if !is {
		return nil, errors.New("it has no ID token: is the scope openid allowed for this client?")
	}
	id, err := found.VerifierContext(ctx, &oidc.Config{ClientID: p.set.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return nil, clipped(err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.nonce)) != 1 {
		return nil, errors.New("its ID token is for another attempt")
	}
	all := claims{}
	if err := id.Claims(&all); err != nil {
		return nil, clipped(err)
	}
	if all.has(p.set.NameClaim) && (all.has(p.set.RoleClaim) || !p.rolesByClaim()) || found.UserInfoEndpoint() == "" {
		return all, nil
	}
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, clipped(err)
	}
	if info.Subject != id.Subject {
		return nil, errors.New("its user info is of another person")
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return nil, clipped(err)
	}
	maps.Copy(more, all) // what is signed counts
	return more, nil
}

// rolesByClaim reports whether a role depends on the claim.
func (p *Provider) rolesByClaim() bool {
	return slices.ContainsFunc(slices.Concat(p.set.View, p.set.Operate, p.set.Release, p.set.Admin), func(v string) bool { return v != config.SignInAnyone })
}

// find is the value of a claim. A name with dots is that claim, or else leads into objects.
func (c claims) find(name string) any {
	if value, there := c[name]; there {
		return value
	}
	var at any = map[string]any(c)
	for i, part := range strings.Split(name, ".") {
		object, is := at.(map[string]any)
		if !is || i >= maxPath {
			return nil
		}
		at = object[part]
	}
	return at
}

func (c claims) has(name string) bool { return c.find(name) != nil }

// values are the texts of a claim: one, or a list.
func (c claims) values(name string) (texts []string, err error) {
	switch v := c.find(name).(type) {
	case string:
		return []string{v}, nil
	case []any:
		if len(v) > maxValues {
			return nil, fmt.Errorf("the claim %q has %d values, more than %d: let the provider send only those that matter here", name, len(v), maxValues)
		}
		for _, item := range v {
			if one, is := item.(string); is {
				texts = append(texts, one)
			}
		}
	}
	return texts, nil
}

// personOf is the person that claims describe. The error is a *RejectedError or *NoRoleError.
func (p *Provider) personOf(c claims) (who Person, err error) {
	if who.Name, err = p.nameOf(c); err != nil {
		return who, &RejectedError{err}
	}
	has, err := c.values(p.set.RoleClaim)
	if err != nil {
		return who, &RejectedError{err}
	}
	for _, r := range []struct {
		role operator.Role
		by   []string
	}{{operator.RoleAdmin, p.set.Admin}, {operator.RoleRelease, p.set.Release}, {operator.RoleOperate, p.set.Operate}, {operator.RoleView, p.set.View}} {
		if slices.ContainsFunc(r.by, func(v string) bool { return v == config.SignInAnyone || slices.Contains(has, v) }) {
			who.Role = r.role
			return who, nil
		}
	}
	return who, &NoRoleError{who.Name, p.set.RoleClaim}
}

// nameOf is the name of a person for the history.
func (p *Provider) nameOf(c claims) (string, error) {
	name, _ := c.find(p.set.NameClaim).(string)
	switch name = strings.TrimSpace(name); {
	case name == "":
		return "", fmt.Errorf("it has no claim %q with a name: set SignIn.NameClaim to one that it has, or SignIn.Scopes", p.set.NameClaim)
	case !text.Visible(name):
		return "", fmt.Errorf("its claim %q is no readable name", p.set.NameClaim)
	case p.set.NameClaim == "email" && c.unverified():
		return "", fmt.Errorf("%q is not verified there: the person has to confirm the address first", name)
	}
	if !strings.Contains(name, "@") {
		name += "@" + p.Host()
	}
	if len(name) > operator.MaxActor {
		return "", fmt.Errorf("its claim %q has %d bytes, at most %d fit into the history", p.set.NameClaim, len(name), operator.MaxActor)
	}
	return name, nil
}

// unverified reports whether the provider says that the address is not verified. Some providers say it as a text.
func (c claims) unverified() bool {
	said, there := c["email_verified"]
	if !there {
		return false
	}
	word, err := json.Marshal(said)
	return err != nil || strings.Trim(string(word), `"`) != "true"
}
