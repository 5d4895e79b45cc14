package pkcs11

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"collet/platform/text"
)

const (
	// maxPIN is how many bytes of a file with a PIN are read, more than any token accepts.
	maxPIN = 256
	// maxNamed is how many tokens or keys an error names.
	maxNamed = 8
)

// Tokens opens keys in tokens. It remembers their PINs as long as it lives, so each is asked for once. It is safe for concurrent use, and works on one
// signature at a time.
type Tokens struct {
	ask func(token string, last bool) ([]byte, error)

	mu   sync.Mutex
	pins map[string][]byte // by label and serial of the token
}

// NewTokens uses ask for the PIN of a token whose URI has no pin-source. token names it for a person. last says that a wrong PIN will lock
// it, which only a person should risk.
func NewTokens(ask func(token string, last bool) ([]byte, error)) *Tokens {
	return &Tokens{ask: ask, pins: map[string][]byte{}}
}

// Key is an Ed25519 key in a token.
type Key struct {
	Public ed25519.PublicKey // nil if the token does not tell
	tokens *Tokens
	uri    URI
}

// Open finds a key, and so shows that module, token, PIN and key are right. Nothing stays open.
func (t *Tokens) Open(uri URI) (*Key, error) {
	k := &Key{tokens: t, uri: uri}
	err := t.use(uri, func(s *session, key uint64, _ []byte) error {
		k.Public = s.public(key)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Sign makes the Ed25519 signature of a message. It is not verified.
func (k *Key) Sign(message []byte) (signature []byte, err error) {
	err = k.tokens.use(k.uri, func(s *session, key uint64, pin []byte) error {
		signature, err = s.sign(key, pin, message)
		return err
	})
	return signature, err
}

// use opens a session, logs in, finds the key and does some work with it. pin is nil where the token asks for none or by itself.
func (t *Tokens) use(uri URI, work func(s *session, key uint64, pin []byte) error) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, err := load(uri.Module)
	if err != nil {
		return err
	}
	token, err := m.choose(uri)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("token %v: %w", token, err)
		}
	}()
	s, err := m.openSession(token.slot)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	pin, err := t.login(s, token, uri)
	if err != nil {
		return err
	}
	key, err := s.key(uri)
	if err != nil {
		return err
	}
	return work(s, key, pin)
}

// choose finds the one token of a URI.
func (m *module) choose(uri URI) (token, error) {
	slots, err := m.slots()
	if err != nil {
		return token{}, err
	}
	var all, found []token
	for _, slot := range slots {
		t, err := m.token(slot)
		if err != nil || t.flags&tokenInitialized == 0 {
			continue // it was just removed, or has no keys yet
		}
		all = append(all, t)
		if uri.selects(t) {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(all) == 0:
		return token{}, fmt.Errorf("module %s has no token: plug it in, and check that its reader or service works", m.path)
	case len(found) == 0:
		return token{}, fmt.Errorf("module %s has no such token; it has %s", m.path, names(all))
	}
	return token{}, fmt.Errorf("%d tokens are meant: %s; add serial= to the URI", len(found), names(found))
}

func (u URI) selects(t token) bool {
	for want, is := range map[*string]string{&u.Token: t.label, &u.Manufacturer: t.manufacturer, &u.Model: t.model, &u.Serial: t.serial} {
		if *want != "" && *want != is {
			return false
		}
	}
	return u.Slot == nil || *u.Slot == t.slot
}

// names lists the first few.
func names[T fmt.Stringer](list []T) string {
	var out []string
	for _, one := range list[:min(len(list), maxNamed)] {
		out = append(out, one.String())
	}
	if more := len(list) - maxNamed; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// login enters the PIN, if the token wants one. A wrong one is tried once.
func (t *Tokens) login(s *session, is token, uri URI) (pin []byte, err error) {
	switch {
	case is.flags&tokenLogin == 0:
		return nil, nil
	case is.flags&tokenLocked != 0:
		return nil, errors.New("its PIN is locked; unlock it with the tool that came with it")
	}
	name := is.label + "\x00" + is.serial
	if pin = t.pins[name]; pin == nil && is.flags&tokenPINPad == 0 {
		if pin, err = t.findPIN(is, uri); err != nil {
			return nil, err
		}
	}
	err = s.do(fnLogin, s.handle, uint64(userNormal), pin, uint64(len(pin)))
	var c code
	switch {
	case err == nil, errors.Is(err, errLoggedIn):
		t.pins[name] = pin
		return pin, nil
	case errors.As(err, &c) && slices.Contains([]code{errPIN, errPINInvalid, errPINLength, errPINLocked}, c):
		delete(t.pins, name)
		if now, infoErr := s.token(is.slot); infoErr == nil {
			is = now
		}
		return nil, fmt.Errorf("%w; the token reports: %s", err, is.tries())
	}
	return nil, fmt.Errorf("log in: %w", err)
}

// findPIN reads the PIN from its file, or asks.
func (t *Tokens) findPIN(is token, uri URI) ([]byte, error) {
	last := is.flags&tokenFinalTry != 0
	if uri.PINSource == "" {
		pin, err := t.ask(text.Shorten(is.label, maxPIN), last)
		if err == nil && len(pin) == 0 {
			err = errors.New("no PIN was given")
		}
		return pin, err
	}
	if last {
		return nil, fmt.Errorf("one try is left before its PIN is locked, so the PIN in %s was not tried: correct it, and enter the right PIN once with another tool", uri.PINSource)
	}
	file, err := os.Open(uri.PINSource)
	if err != nil {
		return nil, fmt.Errorf("pin-source: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPIN))
	if err != nil {
		return nil, fmt.Errorf("pin-source: %w", err)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
		return nil, fmt.Errorf("pin-source: the first line of %s is empty; it has to be the PIN", uri.PINSource)
	}
	return line, nil
}

// object is a key in messages.
type object struct {
	label, id []byte
}

// String is how a URI says it.
func (o object) String() string {
	return fmt.Sprintf("%s (id %X)", text.Quote(string(o.label)), o.id)
}

func (s *session) describe(handles []uint64) (list []object) {
	for _, h := range handles {
		list = append(list, object{s.value(h, attributeLabel), s.value(h, attributeID)})
	}
	return list
}

// key finds the one key of a URI.
func (s *session) key(uri URI) (uint64, error) {
	private := number(attributeClass, classPrivate)
	wanted := []attribute{private}
	if uri.Object != "" {
		wanted = append(wanted, attribute{attributeLabel, []byte(uri.Object)})
	}
	if len(uri.ID) > 0 {
		wanted = append(wanted, attribute{attributeID, uri.ID})
	}
	found, err := s.find(wanted...)
	if err != nil {
		return 0, err
	}
	fit := slices.DeleteFunc(slices.Clone(found), func(h uint64) bool { return s.number(h, attributeKeyType) != typeEdwards })
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return 0, fmt.Errorf("%d keys are meant: %s; name one with object= and id=", len(fit), names(s.describe(fit)))
	case len(found) > 0:
		return 0, fmt.Errorf("key %s is not Ed25519, and only Ed25519 keys sign releases; make one in the token, as edwards25519", names(s.describe(found)))
	}
	all, err := s.find(private)
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, errors.New("it has no private key; make one in the token, as edwards25519")
	}
	return 0, fmt.Errorf("it has no such key; it has %s", names(s.describe(all)))
}

// public is the public half of a key: that of the object beside it with the same id, or what the private key itself tells.
func (s *session) public(key uint64) ed25519.PublicKey {
	pair := attribute{attributeID, s.value(key, attributeID)}
	if len(pair.value) == 0 {
		pair = attribute{attributeLabel, s.value(key, attributeLabel)}
	}
	objects, err := s.find(number(attributeClass, classPublic), number(attributeKeyType, typeEdwards), pair)
	if err != nil {
		objects = nil // the private key may still tell
	}
	for _, o := range append(objects, key) {
		if p, err := parsePoint(s.value(o, attributePoint)); err == nil {
			return p
		}
	}
	return nil
}

// parsePoint reads the public key of Ed25519 from CKA_EC_POINT. Modules differ: some have the 32 bytes of RFC 8032 as they are, some put them into an
// octet string of DER, some into a bit string, as certificates do. SoftHSM has the second form of keys that it made, and the first of imported ones.
func parsePoint(point []byte) (ed25519.PublicKey, error) {
	for _, prefix := range []string{"", "\x04\x20", "\x03\x21\x00"} {
		if p, is := bytes.CutPrefix(point, []byte(prefix)); is && len(p) == ed25519.PublicKeySize {
			return bytes.Clone(p), nil
		}
	}
	return nil, fmt.Errorf("%d bytes are not a point of Ed25519", len(point))
}

// sign signs a message with a key.
func (s *session) sign(key uint64, pin, message []byte) ([]byte, error) {
	mechanism := append(appendWord(nil, eddsa), make([]byte, pointer+word)...) // no parameters: plain Ed25519
	always := s.value(key, attributeAuthenticate)
	if err := s.do(fnSignInit, s.handle, mechanism, key); err != nil {
		return nil, fmt.Errorf("begin to sign: %w", err)
	}
	if len(always) == 1 && always[0] != 0 {
		if err := s.do(fnLogin, s.handle, uint64(userContext), pin, uint64(len(pin))); err != nil {
			return nil, fmt.Errorf("enter the PIN for a signature: %w", err)
		}
	}
	signature, length := make([]byte, ed25519.SignatureSize), appendWord(nil, ed25519.SignatureSize)
	if err := s.do(fnSign, s.handle, message, uint64(len(message)), signature, length); err != nil {
		return nil, fmt.Errorf("sign %d bytes: %w", len(message), err)
	}
	if n := wordAt(length, 0); n != ed25519.SignatureSize {
		return nil, fmt.Errorf("it made a signature of %d bytes, which Ed25519 does not have", n)
	}
	return signature, nil
}
