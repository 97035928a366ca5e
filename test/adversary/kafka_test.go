// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

const (
	// brokerPort is the port of the broker in the files.
	brokerPort = "9092"
	partitions = 8
)

// startBroker runs a broker of Kafka at an address until the test ends.
func startBroker(t *testing.T, address string) {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.SeedTopics(partitions, "otlp_profiles"),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "22000000"})) // as config/kafka-front.yaml has it
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
}

// honestRecord is an attribute of an honest profile: it has a number.
var honestRecord = regexp.MustCompile(`through-kafka-(\d+)\.`)

// waitBackend uploads a profile, and waits until the backend has it: by then the process has read the records before it.
func (p *process) waitBackend(ctx context.Context, profile []byte, answers *tally) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	p.uploads++
	url := fmt.Sprintf("http://%s/v1/pprof?service.name=honest&resource.upload=through-kafka-%d.", p.listening(pprofServer), p.uploads)
	for status := ""; status != "204" && ctx.Err() == nil; sleep(ctx) {
		status, _ = request(ctx, url, nil, profile)
	}
	for p.backend.through.Load() < p.uploads && p.running.Running() {
		if ctx.Err() != nil {
			answers.fault("a profile does not come through Kafka within %s", answerWithin)
			return
		}
		sleep(ctx)
	}
}

// look reads a message of gRPC and looks for an honest profile.
func (b *backend) look(body io.Reader) {
	message, err := io.ReadAll(body)
	if err != nil || len(message) < 5 {
		return
	}
	plain, _, err := inflate.Into(nil, message[5:], 64<<20, nil)
	if err != nil {
		return
	}
	for _, found := range honestRecord.FindAllSubmatch(plain, -1) {
		if n, err := strconv.ParseInt(string(found[1]), 10, 64); err == nil {
			b.through.Store(max(n, b.through.Load()))
		}
	}
}

// listsPerMiB is how many empty values the list of a record has for each MiB of the container, so that the record is accepted.
const listsPerMiB = 1000

// recordBodies are small on the wire and in Kafka, and large where the back tier reads them.
func recordBodies() []body {
	whileStopped := func(name string, times int, value func(p *process) content) body {
		return body{name: name, to: otlpHTTP, only: "kafka-back", times: times, attack: whileStopped(value)}
	}
	// A record may need half of the budget.
	lists := func(p *process) content { return field(5, repeat(empty(1), p.mib*listsPerMiB)) }
	texts := func(p *process) content { return field(1, repeat([]byte{'x'}, min(15_000_000, p.mib*12_000))) }
	busy := whileStopped("kafka-lists-until-the-end", 32, lists)
	busy.alone, busy.busy = true, true
	return []body{busy, whileStopped("kafka-lists", 32, lists), whileStopped("kafka-texts", 64, texts)}
}

// messageOf is a message of a service whose resource has another attribute.
func messageOf(service string, value content) []byte {
	name := field(1, textField(1, "service.name"), field(2, textField(1, service)))
	attribute := field(1, textField(1, "hostile"), field(2, value))
	resource := field(1, field(1, name, attribute), field(2, profileOf(samplesOf(1))))
	return zstandard(join(resource, dictionaryOf(attributesOf(1), field(stackTable, indices(10)))))
}

// whileStopped sends messages of as many services as there are partitions while the process is stopped, so that it reads all of
// them at once.
func whileStopped(value func(p *process) content) attack {
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		if err := syscall.Kill(p.running.PID(), syscall.SIGSTOP); err != nil {
			answers.fault("cannot stop the process: %s", err)
			return &answers
		}
		var senders sync.WaitGroup
		for i := range partitions {
			senders.Go(func() {
				wire := messageOf(fmt.Sprintf("hostile%d", i), value(p))
				for range times / partitions {
					status, text := "503", ""
					for status == "503" && ctx.Err() == nil {
						status, text = request(ctx, "http://"+p.listening(otlpHTTP)+profilesPath, []string{"Content-Type", "application/x-protobuf", "Content-Encoding", "zstd"}, wire)
					}
					answers.add(status, text)
					if status != "200" {
						answers.fault("the front tier answers with %s, so there is no record: %.200s", status, text)
					}
				}
			})
		}
		senders.Wait()
		_ = syscall.Kill(p.running.PID(), syscall.SIGCONT)
		return &answers
	}
}

// discoverySettings make targets come from a server. Its address is added when there is one.
const discoverySettings = "yaml:{receivers: {pprof: {scrape: {discovery: [target_discovery]}}}, " +
	"service: {extensions: [memory_budget, health_check, target_discovery]}}"

// discoveredBodies are answers of a server that names targets.
func discoveredBodies() []body {
	answered := func(name string, answer content) body {
		return body{name: name, to: discovered, only: "discovery", alone: true, times: 1, attack: naming(answer)}
	}
	distinct := func(before string, count int, after, end string) content {
		return join(text(before), counting(count, func(to []byte, i int) []byte {
			return append(strconv.AppendInt(append(to, `"a`...), int64(i), 10), after...)
		}), text(end))
	}
	return []body{
		answered("discovered-endless-groups", join(text("["), filling([]byte("{},"), 1<<30))),
		answered("discovered-endless-text", join(text(`[{"targets":["`), filling([]byte("x"), 1<<30))),
		answered("discovered-labels", distinct(`[{"targets":["a:1"],"labels":{`, 4_000_000, `":"",`, `"b":""}}]`)),
		answered("discovered-targets", distinct(`[{"targets":[`, 300_000, `:1",`, `"a:1"]}]`)),
	}
}

// naming answers each request for targets, until the second one begins: then the process has worked on the first answer.
func naming(answer content) attack {
	return func(ctx context.Context, p *process, _ []byte, _ int) *tally {
		hostile := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer.writeTo(w)
		}
		return answering(func(*targets) http.HandlerFunc { return hostile })(ctx, p, nil, 1)
	}
}
