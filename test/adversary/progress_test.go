// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

const (
	// atATime is how many send a large honest body at a time, again and again for sendingTime, a second after each refusal.
	atATime     = 200
	sendingTime = 10 * time.Second
	comesAgain  = time.Second
	// largeBytes is the size of such a body. It has texts of textBytes.
	largeBytes, textBytes = 8 << 20, 128 << 10
	// firstSenders begin before the others, one after the other. So many fit into the share of messages that arrive over gRPC.
	firstSenders  = 4
	betweenFirsts = 5 * time.Millisecond
)

// receiving is a configuration in which only the intakes work. %s are the addresses of pprof, OTLP over gRPC, OTLP over HTTP and health.
const receiving = `yaml:
receivers:
  pprof: {server: {endpoint: "%s"}}
  otlp:
    protocols:
      grpc: {endpoint: "%s", max_recv_msg_size_mib: 16, middlewares: [{id: memory_budget}]}
      http: {endpoint: "%s", compression_algorithms: [], middlewares: [{id: memory_budget}]}
exporters: {nop: }
extensions: {memory_budget: , health_check: {endpoint: "%s"}}
service:
  extensions: [memory_budget, health_check]
  pipelines: {profiles: {receivers: [pprof, otlp], exporters: [nop]}}
`

// TestProgress: of honest large requests that exceed the budget together, those that began first arrive, and ordinary ones are served
// meanwhile. It prints how many arrive. With -short, it takes a fifth of the time.
func TestProgress(t *testing.T) {
	if os.Getenv(modeVariable) == "" {
		t.Skip(modeVariable + " is not set")
	}
	protobuf := []string{"Content-Type", "application/x-protobuf"}
	for _, to := range []intake{
		{"OTLP over HTTP", otlpHTTP, profilesPath, protobuf, messageWith},
		{"OTLP over gRPC", otlpGRPC, profilesCall, grpcHeaders(""), func(texts int) []byte { return grpcMessage(false, messageWith(texts)) }},
		{"pprof", pprofServer, "/v1/pprof?service.name=honest", nil, pprofWith},
	} {
		t.Run(to.name, func(t *testing.T) { testProgress(t, to) })
	}
}

// intake is where honest profiles are sent. with returns one with so many texts.
type intake struct {
	name    string
	to      listener
	path    string
	headers []string
	with    func(texts int) []byte
}

// textsOf are texts that nothing refers to: what is measured is how memory is shared, not the translation.
func textsOf(field protowire.Number, texts int) content {
	return repeat(textField(field, strings.Repeat("a", textBytes)).plain(), texts)
}

func messageWith(texts int) []byte {
	return join(resourceOf(profileOf(samplesOf(1))), dictionaryOf(attributesOf(1), textsOf(5, texts))).plain()
}

func pprofWith(texts int) []byte {
	return join(field(1, number(1, 1), number(2, 2)), field(2, field(2, text("\x01"))),
		textField(6, ""), textField(6, "cpu"), textField(6, "nanoseconds"), textsOf(6, texts)).plain()
}

func testProgress(t *testing.T, to intake) {
	t.Helper()
	const mib = 512
	addresses, err := gateway.FreeAddresses(t.Context(), 4)
	require.NoError(t, err)
	running, err := gateway.Start(context.WithoutCancel(t.Context()), gateway.Options{
		Binary:      distribution(t),
		Configs:     []string{fmt.Sprintf(receiving, addresses[0], addresses[1], addresses[2], addresses[3])},
		HealthURL:   "http://" + addresses[3],
		Environment: []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", mib*80/100)},
	})
	require.NoError(t, err)
	watch := startWatch(running, tooMuch*mib<<20)
	url := "http://" + addresses[slices.Index([]listener{pprofServer, otlpGRPC, otlpHTTP}, to.to)] + to.path
	ordinary := startHonest(context.WithoutCancel(t.Context()), "ordinary", func(ctx context.Context) error {
		status, text := request(ctx, url, to.headers, to.with(0))
		if !arrived[status] {
			return fmt.Errorf("%s: %s", status, text)
		}
		return nil
	})
	large := &largeSenders{url: url, headers: to.headers, wire: to.with(largeBytes / textBytes)}
	large.send(t)
	ordinary.close()
	faults, slowest := ordinary.take()
	peak, _ := watch.largest()
	require.NoError(t, running.Stop(busyMachine*stopsWithin))
	watch.gone.Wait()
	t.Logf("%d arrived, also from %d of the %d that began first, %d of them at once; %s; an ordinary one within %s; at most %d MiB",
		large.arrived.Load(), large.firsts.Load(), firstSenders, large.atOnce.Load(), &large.answers, slowest.Round(time.Millisecond), peak>>20)
	assert.Empty(t, append(large.answers.faults, faults...))
	assert.EqualValues(t, firstSenders, large.firsts.Load(), "those that began first arrive")
	assert.Less(t, peak, int64(mib<<20))
}

// largeSenders are the senders of a large body.
type largeSenders struct {
	url     string
	headers []string
	wire    []byte

	// arrived counts the bodies that arrived, firsts those of the first senders that did, and atOnce those of their first attempts.
	arrived, firsts, atOnce atomic.Int64
	answers                 tally
}

// send sends until the time has passed, and until each attempt has its answer.
func (l *largeSenders) send(t *testing.T) {
	t.Helper()
	length := sendingTime
	if testing.Short() {
		length /= 5
	}
	ctx, cancel := context.WithTimeout(t.Context(), length+answerWithin)
	defer cancel()
	end := time.Now().Add(length)
	var senders sync.WaitGroup
	for i := range atATime {
		senders.Go(func() { l.sendUntil(ctx, end, i < firstSenders) })
		if i < firstSenders {
			time.Sleep(betweenFirsts)
		}
	}
	senders.Wait()
}

// sendUntil is one sender.
func (l *largeSenders) sendUntil(ctx context.Context, end time.Time, first bool) {
	for attempts, successes := 0, 0; time.Now().Before(end); attempts++ {
		if !l.attempt(ctx) {
			time.Sleep(comesAgain)
			continue
		}
		l.arrived.Add(1)
		if first && successes == 0 {
			l.firsts.Add(1)
		}
		if first && attempts == 0 {
			l.atOnce.Add(1)
		}
		successes++
	}
}

var (
	arrived = map[string]bool{"200": true, "204": true, "gRPC 0": true}
	// refused are the answers that say to come again. A client over HTTP/1 that still writes may not see the answer.
	refused = map[string]bool{"429": true, "503": true, "gRPC 1": true, "gRPC 8": true, "gRPC 14": true, cutOff: true}
)

// attempt reports whether the body has arrived.
func (l *largeSenders) attempt(ctx context.Context) bool {
	status, text := request(ctx, l.url, l.headers, l.wire)
	l.answers.add(status, text)
	if !arrived[status] && !refused[status] {
		l.answers.fault("%s: %.200s", status, text)
	}
	return arrived[status]
}
