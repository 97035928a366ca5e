// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Targets are the addresses of a gateway.
type Targets struct {
	// Pprof, OTLP (gRPC) and Splunk (HTTP) are the addresses of its receivers.
	Pprof, OTLP, Splunk string
}

// Sender sends uploads over one connection of each kind. It is not safe for concurrent use.
type Sender struct {
	uploads *Uploads
	targets Targets
	http    *http.Client
	otlp    *grpc.ClientConn
	pprof   *grpc.ClientConn
}

// NewSender returns a Sender. The caller must call Close.
func NewSender(uploads *Uploads, targets Targets) (*Sender, error) {
	otlp, err := grpc.NewClient(targets.OTLP, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("cannot send OTLP: %w", err)
	}
	pprof, err := grpc.NewClient(targets.Pprof, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("cannot call the receiver of pprof: %w", errors.Join(err, otlp.Close()))
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	return &Sender{uploads: uploads, targets: targets, otlp: otlp, pprof: pprof, http: client}, nil
}

// Close closes all connections.
func (s *Sender) Close() error {
	s.http.CloseIdleConnections()
	return errors.Join(s.otlp.Close(), s.pprof.Close())
}

// Outcome is the result of an upload.
type Outcome struct {
	Number int
	// Refused is the answer if the upload was rejected permanently, or "" if it was accepted.
	Refused string
	// Attempts is the number of attempts. Seconds is the duration of the last one.
	Attempts int
	Seconds  float64
	// Busy counts retryable refusals, Broken counts attempts without an answer.
	Busy   int
	Broken int
	// Refusals are the attempts that may have been counted as refused, for an upload that must be refused.
	Refusals []Attempt
}

// Attempt is an attempt that was refused, or not answered.
type Attempt struct {
	Begin    time.Time
	End      time.Time
	Answered bool
}

// pause is the time between attempts.
const pause = 50 * time.Millisecond

// Send sends an upload until the gateway accepts it or rejects it permanently. A sender without an answer does not know
// the result, and retries.
func (s *Sender) Send(ctx context.Context, number int) (Outcome, error) {
	o := Outcome{Number: number}
	_, mustRefuse := MustRefuse(number)
	for {
		begin := time.Now()
		answer := s.attempt(ctx, number)
		o.Attempts++
		o.Seconds = time.Since(begin).Seconds()
		if mustRefuse && (answer.verdict == refused || answer.verdict == broken) {
			o.Refusals = append(o.Refusals, Attempt{Begin: begin, End: time.Now(), Answered: answer.verdict == refused})
		}
		switch answer.verdict {
		case accepted:
			return o, nil
		case refused:
			o.Refused = answer.text
			return o, nil
		case busy:
			o.Busy++
		case broken:
			o.Broken++
		}
		select {
		case <-ctx.Done():
			return o, fmt.Errorf("cannot send upload %d after %d attempts, the last said %q: %w", number, o.Attempts, answer.text, ctx.Err())
		case <-time.After(pause):
		}
	}
}

type verdict int

const (
	accepted verdict = iota
	refused
	busy
	broken
)

// answer is the result of one attempt.
type answer struct {
	verdict verdict
	text    string
}

func (s *Sender) attempt(ctx context.Context, number int) answer {
	switch protocolOf(number) {
	case protocolOTLP:
		return s.sendOTLP(ctx, number)
	case protocolPushGRPC:
		return s.call(ctx, pushPath, s.uploads.pushMessage(number))
	case protocolParcaGRPC:
		return s.call(ctx, parcaPath, s.uploads.parcaMessage(number))
	default:
		return s.post(ctx, number)
	}
}

// Request sends an upload over HTTP once, and returns the answer.
func (u *Uploads) Request(ctx context.Context, targets Targets, number int) (*http.Request, error) {
	upload, err := u.request(number)
	if err != nil {
		return nil, err
	}
	address := targets.Pprof
	if upload.splunk {
		address = targets.Splunk
	}
	made, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+upload.path, bytes.NewReader(upload.body))
	if err != nil {
		return nil, err
	}
	made.Header.Set("Content-Type", upload.contentType)
	if upload.encoding != "" {
		made.Header.Set("Content-Encoding", upload.encoding)
	}
	return made, nil
}

func (s *Sender) post(ctx context.Context, number int) answer {
	request, err := s.uploads.Request(ctx, s.targets, number)
	if err != nil {
		return answer{refused, err.Error()}
	}
	response, err := s.http.Do(request)
	if err != nil {
		return answer{broken, err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch code := response.StatusCode; {
	case code/100 == 2:
		return answer{verdict: accepted}
	case err != nil:
		return answer{broken, err.Error()}
	case code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests:
		return answer{busy, response.Status}
	default:
		return answer{refused, fmt.Sprintf("%s: %.300s", response.Status, text)}
	}
}

// call sends a marshalled message.
func (s *Sender) call(ctx context.Context, path string, message []byte) answer {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var reply []byte
	return answerOf(s.pprof.Invoke(ctx, path, &message, &reply, grpc.ForceCodec(rawCodec{})))
}

// rawCodec passes on messages that are marshalled already.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (rawCodec) Unmarshal(content []byte, message any) error {
	*message.(*[]byte) = bytes.Clone(content)
	return nil
}

func (s *Sender) sendOTLP(ctx context.Context, number int) answer {
	all, err := s.uploads.Profiles(number)
	if err != nil {
		return answer{refused, err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err = pprofileotlp.NewGRPCClient(s.otlp).Export(ctx, pprofileotlp.NewExportRequestFromProfiles(all[0]))
	return answerOf(err)
}

// answerOf returns the answer for the error of a call.
func answerOf(err error) answer {
	switch status.Code(err) {
	case codes.OK:
		return answer{verdict: accepted}
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.ResourceExhausted:
		return answer{busy, err.Error()}
	default:
		return answer{refused, err.Error()}
	}
}
