// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// answerWithin is how long a hostile client waits. The gateway owes it an answer, a refusal most of the time.
const answerWithin = 60 * time.Second

// attack is what is done so many times at once; it returns what came back.
type attack func(ctx context.Context, p *process, wire []byte, times int) *tally

// tally counts answers by what they say.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	// accepted tells whether there was a success: what was taken may take memory later.
	accepted bool
	// first is the text of the first refusal.
	first string
	// faults are answers that must not be.
	faults []string
}

func (a *tally) add(status, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[string]int{}
	}
	a.counts[status]++
	success := strings.HasPrefix(strings.TrimPrefix(status, "upload "), "2") || status == "gRPC 0"
	a.accepted = a.accepted || success
	if a.first == "" && !success {
		a.first = fmt.Sprintf("%.160q", strings.TrimSpace(text))
	}
}

func (a *tally) fault(format string, values ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if fault := fmt.Sprintf(format, values...); !slices.Contains(a.faults, fault) {
		a.faults = append(a.faults, fault)
	}
}

// String is such as "413 ×7, 503".
func (a *tally) String() string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(a.counts)) {
		if n := a.counts[status]; n > 1 {
			status = fmt.Sprintf("%s ×%d", status, n)
		}
		all = append(all, status)
	}
	return strings.Join(all, ", ")
}

// send is the attack of most bodies: the request, so many times at once, each on a connection of its own.
func send(ctx context.Context, p *process, b body, wire []byte, times int) *tally {
	var answers tally
	var senders sync.WaitGroup
	for i := range times {
		senders.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, answerWithin)
			defer cancel()
			status, text := request(ctx, "http://"+p.listening(b.to)+b.path, append(slices.Clip(b.headers), tenantHeader, fmt.Sprintf("hostile%d", i)), wire)
			answers.add(status, text)
			if status == noAnswer {
				answers.fault("no answer within %s", answerWithin)
			}
		})
	}
	senders.Wait()
	return &answers
}

const (
	noAnswer = "no answer"
	cutOff   = "cut off"
)

// request posts a body and returns the status of HTTP or gRPC.
func request(ctx context.Context, url string, headers []string, wire []byte) (status, text string) {
	return stream(ctx, url, headers, bytes.NewReader(wire))
}

func stream(ctx context.Context, url string, headers []string, body io.Reader) (status, text string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return err.Error(), ""
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{}
	grpc := request.Header.Get("Te") != ""
	if grpc {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return broken(err), err.Error()
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return broken(err), err.Error()
	}
	if !grpc {
		return strconv.Itoa(response.StatusCode), string(answer)
	}
	for _, header := range []http.Header{response.Trailer, response.Header} {
		if code := header.Get("Grpc-Status"); code != "" {
			return "gRPC " + code, header.Get("Grpc-Message")
		}
	}
	return strconv.Itoa(response.StatusCode), string(answer)
}

// broken tells a time that was over from a connection that was closed before all was sent, as servers do that refuse.
func broken(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
		return noAnswer
	}
	return cutOff
}

// sleep waits for a moment, or until ctx ends.
func sleep(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

const (
	honestTenant = "honest"
	tenantHeader = "X-Scope-OrgID"
)

// startHonest starts the honest clients of a process: one that uploads, and one that looks at a page where there are any.
func (p *process) startHonest(t *testing.T) []*honest {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	transport, scheme := &http.Transport{DisableKeepAlives: true}, "http://"
	if p.tls {
		transport.TLSClientConfig, scheme = clientOf(p.certificate), "https://"
	}
	client := &http.Client{Transport: transport}
	var all []*honest
	if p.listening(pprofServer) != "" {
		url := scheme + p.listening(pprofServer) + "/v1/pprof?service.name=honest&resource.upload=%d"
		headers := []string{tenantHeader, honestTenant, "Authorization", honestPassword}
		all = append(all, startHonest(ctx, "upload", uploading(client, url, headers, captured(t, "pprof", "cpu.pb.gz"))))
	}
	if p.listening(otlpHTTP) != "" && !p.tls {
		what, call, path, message := "OTLP profile", profilesCall, profilesPath, profilesOf(t)
		if p.takesLogs() {
			logs := captured(t, "splunk", "splunk-otel-js", "v4.7.2-mixed-cpu-1-http.pb")
			what, call, path, message = "log record", logsCall, logsPath, func() []byte { return logs }
		}
		all = append(all,
			startHonest(ctx, what, exporting("http://"+p.listening(otlpHTTP)+path, []string{"Content-Type", "application/x-protobuf"}, "200", message)),
			startHonest(ctx, what+" over gRPC", exporting("http://"+p.listening(otlpGRPC)+call, grpcHeaders(""), "gRPC 0", func() []byte { return grpcMessage(false, message()) })),
		)
	}
	if p.targets != nil {
		all = append(all, startHonest(ctx, "scraped target", p.targets.honestFiles(p.directory)))
	}
	if address := p.listening(pages); address != "" {
		all = append(all, startHonest(ctx, "page", looking(client, "http://"+address+"/")))
	}
	if !strings.Contains(p.text, "group_id:") { // What only reads from Kafka has no port for senders.
		require.NotEmpty(t, all)
	}
	return all
}

// profilesOf returns a profile as a sender of OTLP sends it, each time with another id, so that it is not a repeated one. Safe for concurrent use.
func profilesOf(t *testing.T) func() []byte {
	t.Helper()
	profiles, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(captured(t, "pprof", "cpu.pb.gz"), pprof.Source{})
	require.NoError(t, err)
	var mu sync.Mutex
	var id pprofile.ProfileID
	return func() []byte {
		mu.Lock()
		defer mu.Unlock()
		binary.BigEndian.PutUint64(id[:], binary.BigEndian.Uint64(id[:])+1)
		profiles.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).SetProfileID(id)
		message, _ := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles) // never fails
		return message
	}
}

func captured(t *testing.T, elements ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(profiletest.Testdata(t, elements...))
	require.NoError(t, err)
	return content
}

// waitHonest waits until each honest client has been served by a round that began now.
func (p *process) waitHonest() {
	for _, h := range p.honest {
		h.wait(p.running.Running)
	}
}

// takeFaults returns what honest clients met since the last time, and how long the slowest waited.
func (p *process) takeFaults() (faults []string, slowest time.Duration) {
	for _, h := range p.honest {
		more, slow := h.take()
		faults, slowest = append(faults, more...), max(slowest, slow)
	}
	return faults, slowest
}
