package origin

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"strings"

	"collet/netproto/server/config"
	"collet/netproto/server/limits"
)

const (
	// maxTokens is how many readers of a private release folder have a token of their own. Each request compares with all.
	maxTokens = 1000
	// minToken is the shortest token in bytes: 16 random characters can't be guessed.
	minToken = 16
	// maxToken is the longest token in bytes; it has to fit into maxHeaderSize.
	maxToken = 6 << 10
	// maxTokensFile is the largest file of tokens in bytes.
	maxTokensFile = 1 << 20
)

// causeReader counts warnings about wrong tokens. They are not limited otherwise: tokens can't be guessed, and players with an expired one
// should be told to sign in, and not that the server is busy.
const causeReader limits.Cause = "reader"

// readers are the SHA-256 of the tokens that give access to the files of a private release folder.
type readers [][sha256.Size]byte

// readReaders reads the file of a setting: a token on each line, which white space and a note may follow. Empty lines and those that begin with # do
// not count. The error is a *config.Error and repeats no token.
func readReaders(name string) (readers, error) {
	wrong := func(format string, values ...any) error {
		return &config.Error{Key: "Release.TokensFile", Text: fmt.Sprintf(format, values...)}
	}
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxTokensFile) {
		err = fmt.Errorf("%s is no file of at most %d bytes", name, maxTokensFile)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, wrong("%v: write a token on each line of it", err)
	}
	var list readers
	n := 0
	for line := range bytes.Lines(data) {
		n++
		fields := bytes.Fields(line)
		switch {
		case len(fields) == 0 || fields[0][0] == '#':
		case len(fields[0]) < minToken || len(fields[0]) > maxToken:
			return nil, wrong("%s:%d: a token has %d to %d characters, for example those of openssl rand -hex 32", name, n, minToken, maxToken)
		case len(list) == maxTokens:
			return nil, wrong("%s has more than %d tokens", name, maxTokens)
		default:
			list = append(list, sha256.Sum256(fields[0]))
		}
	}
	if len(list) == 0 {
		return nil, wrong("%s has no token: write one on each line of it", name)
	}
	return list, nil
}

// accept reports whether the request has one of the tokens. Its time depends only on how many there are.
func (r readers) accept(token string) bool {
	sum, found := sha256.Sum256([]byte(token)), 0
	for i := range r {
		found |= subtle.ConstantTimeCompare(sum[:], r[i][:])
	}
	return found == 1
}

// mayRead reports whether a request gets files of the release folder, and answers it if not.
func (m *Monitor) mayRead(w http.ResponseWriter, r *http.Request) bool {
	list := m.readers.Load()
	if list == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	given := strings.EqualFold(scheme, "Bearer") && token != ""
	if given && list.accept(token) {
		return true
	}
	challenge := `Bearer realm="releases"`
	if given {
		challenge += `, error="invalid_token"`
		m.server.Load().Warn(limits.Client(limits.Address(r.RemoteAddr)), causeReader, limits.WarnKnown).Str("peer", r.RemoteAddr).
			Msg("Refused a wrong or withdrawn token for the release folder")
	}
	w.Header().Set("WWW-Authenticate", challenge)
	refuse(w, http.StatusUnauthorized, "these releases are private: send a bearer token that the server knows")
	return false
}

// keepPrivate keeps an answer out of shared caches, which would give it to others.
func keepPrivate(h http.Header) {
	for name := range h {
		if strings.HasSuffix(name, "Cache-Control") && name != "Cache-Control" { // of RFC 9213
			h.Del(name)
		}
	}
	if kept := h.Get("Cache-Control"); kept != "" && kept != "no-store" {
		h.Set("Cache-Control", "private, "+strings.TrimPrefix(kept, "public, "))
	}
}

// openReaders reads the tokens, if the settings name a file of them.
func (m *Monitor) openReaders() error {
	if m.set.Release.TokensFile == "" {
		return nil
	}
	list, err := readReaders(m.set.Release.TokensFile)
	if err != nil {
		return err
	}
	m.readers.Store(&list)
	return nil
}
