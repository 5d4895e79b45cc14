package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// TellTime is the time between two messages of Tell. A server forgets after a minute of silence.
	TellTime = 20 * time.Second
	// tellLimit is how long one may take.
	tellLimit = 10 * time.Second
	// maxRefusal is how much of a refusal is read, in bytes.
	maxRefusal = 1 << 10
)

// Dashboard is where a game server tells of its sessions: a collet-server with a compatibility store.
type Dashboard struct {
	URL   string // of its HTTP port, such as https://updates.example.org
	Token string // of any role
	Name  string // of the game server
}

// sessions is one entry of the message.
type sessions struct {
	Logic int32 `json:"logic"`
	Count int   `json:"count"`
}

// Tell tells how many games are played, at once and then every TellTime until ctx ends, and that there are none then. failed is called with
// each error; a message that fails is not repeated before its time.
func (h *Host) Tell(ctx context.Context, to Dashboard, failed func(error)) {
	client := &http.Client{Timeout: tellLimit}
	defer client.CloseIdleConnections()
	ticks := time.NewTicker(TellTime)
	defer ticks.Stop()
	for {
		if err := to.tell(ctx, client, h.sessions()); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			if err := to.tell(context.WithoutCancel(ctx), client, []sessions{}); err != nil {
				failed(err)
			}
			return
		}
	}
}

// tell sends one message.
func (to Dashboard) tell(ctx context.Context, client *http.Client, now []sessions) error {
	body, err := json.Marshal(map[string]any{"sessions": now})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, to.URL+"/api/games/"+url.PathEscape(to.Name), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("tell of sessions: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+to.Token)
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("tell of sessions: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal)) // the status says enough
		return fmt.Errorf("tell of sessions: %s: %q", answer.Status, why)
	}
	return nil
}
