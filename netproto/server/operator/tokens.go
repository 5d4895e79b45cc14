package operator

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"collet/netproto/compat"
)

// Token is the stored form of an actor's secret: its hash, not the secret itself. Secrets have 256 random bits, so a plain
// SHA-256 can't be reversed by guessing.
type Token struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Sum     string    `json:"sha256"` // hex, of the secret; Tokens leaves it out
}

// secretPrefix begins a secret, so scanners for leaked secrets can find it; secretBytes is the size of its random part.
const (
	secretPrefix = "collet_"
	secretBytes  = 32
)

// Tokens are the tokens of the admin API and the dashboard. They are kept in the store.
type Tokens struct {
	store Store
	audit *AuditLog
	all   atomic.Pointer[[]Token] // by name; written under the lock of audit
}

// openTokens reads the tokens of a store.
func openTokens(store Store, audit *AuditLog) (*Tokens, error) {
	t := &Tokens{store: store, audit: audit}
	_, err := t.read()
	return t, err
}

// read reads the tokens of the store, and takes them over. The caller holds the lock of audit, or is openTokens.
func (t *Tokens) read() ([]Token, error) {
	all, err := t.store.Tokens()
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Role = all[i].Role.Current()
	}
	t.all.Store(&all)
	return slices.Clone(all), nil
}

// Authenticate finds the actor of a secret. Its time depends only on the number of tokens.
func (t *Tokens) Authenticate(secret string) (Actor, bool) {
	sum, found, actor := []byte(Sum(secret)), 0, Actor{}
	for _, token := range *t.all.Load() {
		if subtle.ConstantTimeCompare(sum, []byte(token.Sum)) == 1 {
			found, actor = 1, Actor{Name: token.Name, Role: token.Role, Source: compat.SourceAPI}
		}
	}
	return actor, found == 1
}

// Exist reports whether there is a token. Without one only the control socket answers.
func (t *Tokens) Exist() bool { return len(*t.all.Load()) > 0 }

// List lists all tokens by name, without the hashes.
func (t *Tokens) List() []Token {
	all := slices.Clone(*t.all.Load())
	for i := range all {
		all[i].Sum = ""
	}
	return all
}

// Find finds the token with this name and hash, if it still exists.
func (t *Tokens) Find(name, sum string) (Token, bool) {
	for _, token := range *t.all.Load() {
		if token.Name == name && token.Sum == sum {
			return token, true
		}
	}
	return Token{}, false
}

// firstToken is the name of the token of CreateFirst.
const firstToken = "first"

// CreateFirst creates a token with RoleAdmin for a server without tokens and without a control socket to create one. The secret is
// returned only once and is for the operator that started the program. The errors are the store's.
func (t *Tokens) CreateFirst() (secret string, err error) {
	return t.Create(Actor{Name: compat.ActorBoot, Role: RoleAdmin, Source: compat.SourceBoot}, firstToken, RoleAdmin)
}

// Create creates a token and returns its secret, only once. The first token must have RoleAdmin, or no token could change
// anything. The errors are *ForbiddenError, *InputError and the store's.
func (t *Tokens) Create(by Actor, name string, role Role) (secret string, err error) {
	if err := by.CheckRights(RoleAdmin, ""); err != nil {
		return "", err
	}
	role = role.Current()
	random := make([]byte, secretBytes)
	rand.Read(random)
	secret = secretPrefix + base64.RawURLEncoding.EncodeToString(random)
	return secret, t.audit.change(func() error {
		all, err := t.read()
		if err == nil {
			err = checkToken(all, name, role)
		}
		if err != nil {
			return err
		}
		all = append(all, Token{Name: name, Role: role, Created: time.Now().UTC().Truncate(time.Second), Sum: Sum(secret)})
		slices.SortFunc(all, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
		return t.save(by, all, "tokens."+name, map[string]any{"role": role})
	})
}

func checkToken(all []Token, name string, role Role) error {
	switch {
	case !slices.Contains(Roles(), role):
		return &InputError{Field: "role", Why: fmt.Sprintf("%q is unknown: use view, operate, release or admin", role)}
	case len(all) == 0 && role != RoleAdmin:
		return &InputError{Field: "role", Why: fmt.Sprintf("the first token needs the role %q, or no token could change anything", RoleAdmin)}
	case len(all) >= MaxTokens:
		return &InputError{Field: "name", Why: fmt.Sprintf("there are %d tokens, the largest number: remove one first", MaxTokens)}
	case compat.CheckName(name) != nil || len(name) > MaxActor:
		return &InputError{Field: "name", Why: fmt.Sprintf("must have 1 to %d ASCII letters, digits, '_', '.' and '-'", MaxActor)}
	case slices.ContainsFunc(all, func(t Token) bool { return t.Name == name }):
		return &InputError{Field: "name", Why: fmt.Sprintf("token %q exists already: remove it first", name)}
	default:
		return nil
	}
}

// Drop removes a token; its secret is invalid from then on. The last token with RoleAdmin can't be removed while there are
// others. The errors are *ForbiddenError, *InputError, ErrUnknown and the store's.
func (t *Tokens) Drop(by Actor, name string) error {
	if err := by.CheckRights(RoleAdmin, ""); err != nil {
		return err
	}
	return t.audit.change(func() error {
		before, err := t.read()
		if err != nil {
			return err
		}
		all := slices.DeleteFunc(slices.Clone(before), func(t Token) bool { return t.Name == name })
		switch edits := func(t Token) bool { return t.Role == RoleAdmin }; {
		case len(all) == len(before):
			return fmt.Errorf("token %q: %w", name, ErrUnknown)
		case len(all) > 0 && !slices.ContainsFunc(all, edits):
			return &InputError{Field: "name", Why: fmt.Sprintf("it is the last one with the role %q: create another one first", RoleAdmin)}
		}
		return t.save(by, all, "tokens."+name, nil)
	})
}

// save stores the tokens with an audit record about one. The caller is within a change of audit.
func (t *Tokens) save(by Actor, all []Token, key string, after map[string]any) error {
	record, err := note(by, "", key, nil, after)
	if err != nil {
		return err
	}
	if err := t.audit.commit(Commit{Record: record, Tokens: &all}); err != nil {
		return err
	}
	t.all.Store(&all)
	return nil
}

// Sum is the hash of a secret, as Token has it.
func Sum(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
