package dial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/coder/websocket"
)

// WebSocketError says that a server rejected the WebSocket upgrade.
type WebSocketError struct {
	Status int // of its HTTP answer, 0 if there was none
	Err    error
}

func (e *WebSocketError) Error() string {
	if e.Status != 0 && e.Status != http.StatusSwitchingProtocols {
		return fmt.Sprintf("the server answered the request for a WebSocket with status %d %s; check port and path", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("no WebSocket with the server: %v", e.Err)
}

// Unwrap gives the underlying error.
func (e *WebSocketError) Unwrap() error { return e.Err }

// upgrade requests a WebSocket at path over conn.
func upgrade(ctx context.Context, conn net.Conn, addr, path string) (net.Conn, error) {
	asking := &asking{conn: conn}
	frames, _, err := websocket.Dial(ctx, "ws://"+addr+path, &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport:     asking,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Subprotocols: []string{WebSocketProtocol},
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &WebSocketError{Status: asking.status, Err: err}
	}
	// No limit: messages are streamed, and the frames inside are checked one by one.
	return NewWebSocket(frames, conn, -1), nil
}

// asking is an http.RoundTripper for one request on an existing connection.
type asking struct {
	conn   net.Conn
	status int
}

var errAskedTwice = errors.New("the connection is for one request")

// RoundTrip implements http.RoundTripper. After a successful upgrade the body of the answer is the connection.
func (a *asking) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.status != 0 {
		return nil, errAskedTwice
	}
	var answer *http.Response
	err := withContext(request.Context(), a.conn, func() error {
		if err := request.Write(a.conn); err != nil {
			return err
		}
		got, reader, err := readAnswer(a.conn, request)
		if err != nil {
			return fmt.Errorf("it %w", err)
		}
		early, err := reader.Peek(reader.Buffered())
		if answer = got; answer.StatusCode == http.StatusSwitchingProtocols {
			answer.Body = carrierBody{io.MultiReader(bytes.NewReader(early), a.conn), a.conn}
		} else {
			answer.Body = http.NoBody
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	a.status = answer.StatusCode
	return answer, nil
}

// carrierBody is the connection as the body of an answer; bytes read together with the answer come first.
type carrierBody struct {
	io.Reader
	io.WriteCloser
}
