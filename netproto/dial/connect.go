package dial

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// maxProxyAnswer is the size in bytes of the largest answer of an HTTP proxy, or of a WebSocket server. Real answers
// have a few hundred bytes; some proxies add an explanatory page, which is not read.
const maxProxyAnswer = 16 << 10

// connect requests a tunnel from an HTTP proxy (RFC 9110, section 9.3.6).
func (p *Proxy) connect(conn net.Conn, addr string) error {
	var ask strings.Builder
	fmt.Fprintf(&ask, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", addr, addr)
	if p.user != nil {
		password, _ := p.user.Password()
		fmt.Fprintf(&ask, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(p.user.Username()+":"+password)))
	}
	ask.WriteString("\r\n")
	if _, err := io.WriteString(conn, ask.String()); err != nil {
		return brokenProxy("broke the connection off", err)
	}
	answer, rest, err := readAnswer(conn, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return brokenProxy(err.Error(), nil)
	}
	if fault := p.checkAnswer(answer, addr); fault != nil {
		return fault
	}
	if rest.Buffered() > 0 { // the client sends first in every tunnelled protocol
		return brokenProxy("sent unrequested bytes", nil)
	}
	return nil
}

var (
	errAnswerLong = fmt.Errorf("answered with more than %d bytes", maxProxyAnswer)
	errAnswerCut  = errors.New("closed the connection before its answer was complete")
	errAnswerForm = errors.New("answered something that is not HTTP")
)

// readAnswer reads the header of an answer, within maxProxyAnswer bytes. Further bytes in the reader are unsolicited.
func readAnswer(conn net.Conn, request *http.Request) (*http.Response, *bufio.Reader, error) {
	limited := &io.LimitedReader{R: conn, N: maxProxyAnswer}
	reader := bufio.NewReader(limited)
	answer, err := http.ReadResponse(reader, request)
	var network net.Error
	switch {
	case err == nil:
		return answer, reader, nil
	case limited.N <= 0:
		return nil, nil, errAnswerLong
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, nil, errAnswerCut
	case errors.As(err, &network):
		return nil, nil, fmt.Errorf("broke the connection off: %w", err)
	default:
		return nil, nil, errAnswerForm
	}
}

// checkAnswer converts an answer's status to an error. It does not repeat the proxy's own text.
func (p *Proxy) checkAnswer(answer *http.Response, addr string) error {
	switch status := answer.StatusCode; status {
	case http.StatusProxyAuthRequired:
		return brokenProxy(p.credentialsText(answer.Header.Values("Proxy-Authenticate")), nil)
	case http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return &ProxyError{Fault: ProxyForbids, Text: fmt.Sprintf("forbids connections to %s (status %d); ask its operator to allow them", addr, status)}
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &ProxyError{Fault: ProxyServer, Text: fmt.Sprintf("can't reach %s (status %d)", addr, status)}
	default:
		if status >= 200 && status < 300 {
			return nil
		}
		return brokenProxy(fmt.Sprintf("can't connect us: status %d %s", status, http.StatusText(status)), nil)
	}
}

// credentialsText is the text for status 407. The challenges' first words name the authentication schemes.
func (p *Proxy) credentialsText(challenges []string) string {
	var ways []string
	for _, challenge := range challenges {
		way, _, _ := strings.Cut(challenge, " ")
		if strings.EqualFold(way, "Basic") {
			ways = nil
			break
		}
		ways = append(ways, way)
	}
	switch {
	case len(ways) > 0:
		return fmt.Sprintf("wants authentication by %s, which is not spoken here (status 407)", clipped(strings.Join(ways, ", ")))
	case p.user == nil:
		return "wants a user name and a password (status 407); put them into its address as USER:PASSWORD@HOST"
	default:
		return "doesn't accept the user name and password in its address (status 407)"
	}
}
