// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Targets are the addresses of a gateway.
type Targets struct {
	// Pprof, OTLP (gRPC) and Splunk (HTTP) are those of its receivers.
	Pprof, OTLP, Splunk string
}

// Sender uploads, from one connection of each kind. Not safe for concurrent use.
type Sender struct {
	uploads *Uploads
	targets Targets
	http    *http.Client
	otlp    *grpc.ClientConn
}

// NewSender returns a Sender. Close it after use.
func NewSender(uploads *Uploads, targets Targets) (*Sender, error) {
	otlp, err := grpc.NewClient(targets.OTLP, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("cannot send OTLP: %w", err)
	}
	return &Sender{uploads: uploads, targets: targets, otlp: otlp, http: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}}, nil
}

// Close ends all connections.
func (s *Sender) Close() error {
	s.http.CloseIdleConnections()
	return s.otlp.Close()
}

// Outcome is what became of an upload. Its fields are those of a line of JSON.
type Outcome struct {
	Number int `json:"n"`
	// Refused is the answer by which it was refused for good, "" if it was accepted.
	Refused string `json:"refused,omitempty"`
	// Attempts counts how often it was sent, and Seconds is what the last time took.
	Attempts int     `json:"attempts"`
	Seconds  float64 `json:"seconds"`
	// Busy counts answers that said to come again, and Broken attempts without an answer.
	Busy   int `json:"busy,omitempty"`
	Broken int `json:"broken,omitempty"`
}

// pause is how long a sender waits before it comes again.
const pause = 50 * time.Millisecond

// Send uploads until the gateway takes it or refuses it for good. Whoever gets no answer cannot know what became of the
// upload, and comes again.
func (s *Sender) Send(ctx context.Context, number int) (Outcome, error) {
	o := Outcome{Number: number}
	for {
		begin := time.Now()
		answer := s.attempt(ctx, number)
		o.Attempts++
		o.Seconds = time.Since(begin).Seconds()
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

// answer is what one attempt led to.
type answer struct {
	verdict verdict
	text    string
}

func (s *Sender) attempt(ctx context.Context, number int) answer {
	query := fmt.Sprintf("service.name=%s&resource.upload=%d", service(number), number)
	switch ways[number%len(ways)] {
	case wayOTLP:
		return s.sendOTLP(ctx, number)
	case waySplunk:
		body, err := (&plog.ProtoMarshaler{}).MarshalLogs(s.uploads.logsOf(number))
		if err != nil {
			return answer{refused, err.Error()}
		}
		return s.post(ctx, s.targets.Splunk, "/v1/logs", "application/x-protobuf", body)
	case wayIngest:
		name := fmt.Sprintf("/ingest?format=pprof&name=%s%%7Bupload=%d%%7D", service(number), number)
		return s.post(ctx, s.targets.Pprof, name, "", s.uploads.payload(number))
	case wayBroken:
		return s.post(ctx, s.targets.Pprof, "/v1/pprof?"+query, "", s.uploads.payload(number)[:100])
	default:
		return s.post(ctx, s.targets.Pprof, "/v1/pprof?"+query, "", s.uploads.payload(number))
	}
}

// Request is an upload of a profile as such, whose answer is for the caller.
func (u *Uploads) Request(ctx context.Context, targets Targets, number int) (*http.Request, error) {
	target := fmt.Sprintf("http://%s/v1/pprof?service.name=%s&resource.upload=%d", targets.Pprof, service(number), number)
	return http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(u.payload(number)))
}

func (s *Sender) post(ctx context.Context, address, path, contentType string, body []byte) answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	if err != nil {
		return answer{refused, err.Error()}
	}
	request.Header.Set("Content-Type", contentType)
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
		return answer{refused, fmt.Sprintf("%s: %.80s", response.Status, text)}
	}
}

func (s *Sender) sendOTLP(ctx context.Context, number int) answer {
	profiles, err := s.uploads.Profiles(number)
	if err != nil {
		return answer{refused, err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err = pprofileotlp.NewGRPCClient(s.otlp).Export(ctx, pprofileotlp.NewExportRequestFromProfiles(profiles))
	switch status.Code(err) {
	case codes.OK:
		return answer{verdict: accepted}
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.ResourceExhausted:
		return answer{busy, err.Error()}
	default:
		return answer{refused, err.Error()}
	}
}
