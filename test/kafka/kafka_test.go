// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	uploads  = 200
	services = 20
	senders  = 4
)

// upload is one profile of a service.
type upload struct {
	service, number string
	payload         []byte
	profiles        pprofile.Profiles
}

// allUploads are those of a test: the profiles of testdata in turn, each with a resource of its own.
func allUploads(t *testing.T) []upload {
	t.Helper()
	var payloads [][]byte
	for _, name := range []string{"cpu", "goroutine", "mutex", "block", "labelled"} {
		content := must.Get(os.ReadFile("../../testdata/pprof/" + name + ".pb.gz"))(t)
		payloads = append(payloads, content)
	}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	all := make([]upload, uploads)
	for i := range all {
		u := upload{service: fmt.Sprintf("service-%d", i%services), number: strconv.Itoa(i), payload: payloads[i%len(payloads)]}
		resource := pcommon.NewMap()
		resource.PutStr("service.name", u.service)
		resource.PutStr("upload", u.number)
		var err error
		u.profiles, _, err = decoder.Decode(u.payload, pprof.Source{Resource: resource})
		require.NoError(t, err)
		all[i] = u
	}
	return all
}

// send uploads a profile until it is taken. Its sender does not know what became of an upload without answer, so that
// it comes again.
func (ts *tiers) send(ctx context.Context, client *http.Client, u upload) error {
	target := fmt.Sprintf("http://%s/v1/pprof?service.name=%s&resource.upload=%s", ts.intake, u.service, u.number)
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(u.payload))
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("cannot upload %s: %w", u.number, ctx.Err())
		case err == nil:
			response.Body.Close()
			if response.StatusCode == http.StatusNoContent {
				return nil
			}
			if response.StatusCode != http.StatusServiceUnavailable {
				return fmt.Errorf("cannot upload %s: %s", u.number, response.Status)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// sendAll uploads all profiles from several senders, calls between after each, and returns when all were taken.
func (ts *tiers) sendAll(t *testing.T, all []upload, between func(done int)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next, done := make(chan upload), make(chan error, senders)
	for range senders {
		go func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for u := range next {
				ts.account.Sent(otlpsink.Delivered(u.profiles)...)
				if err := ts.send(ctx, client, u); err != nil {
					cancel()
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for i, u := range all {
		select {
		case next <- u:
			between(i + 1)
		case <-ctx.Done():
		}
	}
	close(next)
	for range senders {
		require.NoError(t, <-done)
	}
}

// waitForAll waits until everything that was sent has arrived, as it was.
func (ts *tiers) waitForAll(t *testing.T) profiletest.Balance {
	t.Helper()
	assert.Eventually(t, func() bool { return len(ts.account.Balance().Missing) == 0 }, patience, 100*time.Millisecond)
	b := ts.account.Balance()
	require.True(t, b.Even(), "%v: missing %.10q, unknown %.10q, changed %.10q", b, b.Missing, b.Unknown, b.Changed)
	return b
}

// TestServicesMeetInOnePartition sends the profiles of many services, and messages of several services, through both
// tiers. Each profile arrives as it was, and each service has its records in one partition.
func TestServicesMeetInOnePartition(t *testing.T) {
	ts := startTiers(t)
	ts.startBack(t, ts.destination.Address())
	all := allUploads(t)
	ts.sendAll(t, all[:uploads-services], func(int) {})
	ts.sendJoined(t, all[uploads-services:])
	t.Log(ts.waitForAll(t))

	byService, used := map[string]map[int32]bool{}, map[int32]bool{}
	records := ts.records(t)
	for _, record := range records {
		plain := profiletest.Inflate(t, record.Value)
		message := must.Get((&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(plain))(t)
		require.NoError(t, profiletest.CheckOptions{AllowAttributeStrings: true, Deduplicated: true}.Check(message))
		for _, resource := range message.ResourceProfiles().All() {
			service, _ := resource.Resource().Attributes().Get("service.name")
			require.Equal(t, service.Str(), string(record.Key))
			if byService[service.Str()] == nil {
				byService[service.Str()] = map[int32]bool{}
			}
			byService[service.Str()][record.Partition] = true
			used[record.Partition] = true
		}
	}
	require.Len(t, byService, services)
	for service, its := range byService {
		assert.Len(t, its, 1, "partitions of %s", service)
	}
	assert.Greater(t, len(used), partitions/2, "partitions that are used")
	t.Logf("%d records in %d of %d partitions", len(records), len(used), partitions)
}

// sendJoined sends profiles of several services as one OTLP message.
func (ts *tiers) sendJoined(t *testing.T, all []upload) {
	t.Helper()
	var messages []pprofile.Profiles
	for _, u := range all {
		ts.account.Sent(otlpsink.Delivered(u.profiles)...)
		messages = append(messages, u.profiles)
	}
	otlpsink.Send(t, ts.otlp, dedup.Join(messages))
}

// records reads the topic from its beginning to its end.
func (ts *tiers) records(t *testing.T) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(ts.broker), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	written := 0
	for _, partition := range ts.cluster.PartitionInfos(topic) {
		written += int(partition.HighWatermark)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []*kgo.Record
	for len(all) < written {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		all = append(all, fetches.Records()...)
	}
	return all
}

// TestTooLargeForKafka: the sender of a profile that is too large for a record is told so, and the next one is served.
func TestTooLargeForKafka(t *testing.T) {
	ts := startTiers(t)
	ts.startBack(t, ts.destination.Address())
	parsed, err := profile.ParseData(allUploads(t)[0].payload)
	require.NoError(t, err)
	parsed.Comments = []string{strings.Repeat("x", 21<<20)}
	var wire bytes.Buffer
	require.NoError(t, parsed.Write(&wire))
	err = ts.send(t.Context(), http.DefaultClient, upload{service: "large", number: "0", payload: wire.Bytes()})
	require.ErrorContains(t, err, "413")
	http.DefaultClient.CloseIdleConnections()
	ts.sendAll(t, allUploads(t)[:senders], func(int) {})
	ts.waitForAll(t)
}

// TestBackendUnavailable: while nobody listens at the backend's address, Kafka keeps the records.
func TestBackendUnavailable(t *testing.T) {
	ts := startTiers(t)
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
	ts.startBack(t, addresses[0])
	ts.sendAll(t, allUploads(t)[:services], func(int) {})
	time.Sleep(2 * time.Second) // The back tier tries several times.
	require.Zero(t, ts.account.Balance().Arrived)
	ts.startDestination(t, addresses[0])
	ts.waitForAll(t)
}

// TestBackTierKilled kills the back tier twice while profiles come, and starts another one. Nothing is lost, and what is sent twice
// does not pass a drop_repeated behind it.
func TestBackTierKilled(t *testing.T) {
	ts := startTiers(t)
	last := gatewaytest.RunOnce(t, ts.destination.Address())
	back := ts.startBack(t, last)
	ts.sendAll(t, allUploads(t), func(done int) {
		if done != uploads/3 && done != 2*uploads/3 {
			return
		}
		require.Eventually(t, func() bool { return ts.account.Balance().Arrived > done/4 }, patience, 10*time.Millisecond)
		back.Kill()
		back = ts.startBack(t, last)
	})
	b := ts.waitForAll(t)
	t.Log(b)
	assert.Zero(t, b.Repeated)
}
