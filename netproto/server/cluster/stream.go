//go:build !nocluster

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams and of their subjects. They are in the members' files.
const (
	logStream     = "COLLET_LOG"
	logSubject    = "collet.log"
	logHint       = "collet.hint.log"
	floorStream   = "COLLET_FLOORS"
	floorSubjects = "collet.floors.*"
	floorSubject  = "collet.floors.%04x"
	floorHint     = "collet.hint.floors"
)

const (
	// answerTime is how long one request may take.
	answerTime = 2 * time.Second
	// replicaTime is how long a replica may be silent and still count as there: the engine's heartbeat is one second.
	replicaTime = 4 * time.Second
	// maxBatch is how many messages are asked for at once, and maxBatchBytes how large they may be together.
	maxBatch      = 256
	maxBatchBytes = 4 << 20
)

// message is a message of a stream.
type message struct {
	subject string
	seq     uint64
	data    []byte
}

// streams are the two streams, with their replicas. They are not compressed: a compressed block of the engine (2.15.2) could not be
// written to any more after kill -9 ("s2: unsupported input"), at more than one replica, and nothing could be changed from then on.
func streams(replicas int) []jetstream.StreamConfig {
	common := jetstream.StreamConfig{
		Storage: jetstream.FileStorage, Replicas: replicas, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		DenyDelete: true, DenyPurge: true, AllowDirect: true, MaxMsgSize: maxMessage,
	}
	log, floors := common, common
	log.Name, log.Subjects, log.RePublish = logStream, []string{logSubject}, &jetstream.RePublish{Source: logSubject, Destination: logHint, HeadersOnly: true}
	floors.Name, floors.Subjects, floors.MaxMsgsPerSubject = floorStream, []string{floorSubjects}, 1
	floors.RePublish = &jetstream.RePublish{Source: floorSubjects, Destination: floorHint, HeadersOnly: true}
	return []jetstream.StreamConfig{log, floors}
}

// wrongLast reports whether a message was refused because it does not follow the newest one.
func wrongLast(err error) bool {
	const moved, movedHere = 10071, 10164 // of the engine's API
	var fault *jetstream.APIError
	return errors.As(err, &fault) && (fault.ErrorCode == moved || fault.ErrorCode == movedHere)
}

// info is the state of a stream, as its leader has it. It needs a majority of the stream's replicas.
func info(ctx context.Context, js jetstream.JetStream, name string) (*jetstream.StreamInfo, error) {
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	i := stream.CachedInfo()
	if i.Cluster == nil || len(i.Cluster.Replicas) == 0 {
		return i, nil
	}
	here := 1 // the leader
	for _, r := range i.Cluster.Replicas {
		if !r.Offline && r.Active <= replicaTime {
			here++
		}
	}
	if i.Cluster.Leader == "" || 2*here <= len(i.Cluster.Replicas)+1 {
		return nil, errSilent
	}
	return i, nil
}

// fetch are at most maxBatch messages of a stream from a number on; none if there is none. They come from any replica, and so the
// newest may be missing.
func fetch(ctx context.Context, conn *nats.Conn, stream, subjects string, from uint64) ([]message, error) {
	ask, err := json.Marshal(map[string]any{"seq": from, "batch": maxBatch, "max_bytes": maxBatchBytes, "next_by_subj": subjects})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	inbox := conn.NewInbox()
	answers, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer answers.Unsubscribe() // the connection may be gone
	if err := conn.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, ask); err != nil {
		return nil, err
	}
	var got []message
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return got, err
		}
		const end, noMessage, noResponder = "204", "404", "503"
		switch status := m.Header.Get("Status"); {
		case status == end, status == noMessage:
			return got, nil
		case status == noResponder:
			return got, nats.ErrNoResponders
		case status != "":
			return got, fmt.Errorf("stream %s: %s %s", stream, status, m.Header.Get("Description"))
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil || seq < from || len(got) >= maxBatch {
			return got, fmt.Errorf("stream %s: message %q was not asked for", stream, m.Header.Get(jetstream.SequenceHeader))
		}
		got = append(got, message{m.Header.Get(jetstream.SubjectHeader), seq, m.Data})
		from = seq + 1
	}
}

// publish stores a message in a stream, and returns its number. expect says which message it follows.
func publish(ctx context.Context, js jetstream.JetStream, subject string, data []byte, expect jetstream.PublishOpt) (uint64, error) {
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	ack, err := js.Publish(ctx, subject, data, expect)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}
