// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

const (
	pushPath  = "/push.v1.PusherService/Push"
	parcaPath = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
)

// TestReplayPush replays requests of a Connect client, and the same messages in other encodings.
func TestReplayPush(t *testing.T) {
	labels := map[string]any{"service.name": "checkout", "namespace": "shop", "pod": "checkout-1"}
	for _, payload := range payloadsOf(t, "push-v1-connect/") {
		t.Run(payload.File, func(t *testing.T) {
			r := run(t, nil)
			got := r.replay(t, capture(t, payload.File))
			require.Equal(t, http.StatusOK, got.status, got.text)
			if strings.HasSuffix(payload.File, "json") {
				assert.Equal(t, "application/json", got.header.Get("Content-Type"))
				assert.JSONEq(t, "{}", got.text)
			} else {
				assert.Equal(t, "application/proto", got.header.Get("Content-Type"))
				assert.Empty(t, got.text)
			}
			assertPush(t, r, payload, labels)
			info := client.FromContext(r.sink.ctx[0])
			assert.Equal(t, []string{"team-a"}, info.Metadata.Get("X-Scope-OrgID"))
		})
	}
}

func assertPush(t *testing.T, r *running, payload profiletest.ClientPayload, labels map[string]any) {
	t.Helper()
	pd := r.sink.one(t)
	resource := pd.ResourceProfiles().At(0)
	assertPayload(t, payload, pd.Dictionary(), resource.ScopeProfiles().At(0))
	assert.Equal(t, labels, resource.Resource().Attributes().AsRaw())
	assert.Equal(t, []string{"process_cpu", "process_cpu"}, profileNames(pd.Dictionary(), resource.ScopeProfiles().At(0)))
}

// TestPushUnderGzip sends the message like the Python, Ruby and Rust SDKs: a plain profile in a message in gzip.
func TestPushUnderGzip(t *testing.T) {
	body := pushRequest(false, map[string]string{"service_name": "rust-app", "__name__": "process_cpu", "process.runtime.name": "ruby"}, plain(t, cpuProfile(3)))
	for encoding, compress := range map[string]func(testing.TB, []byte) []byte{"gzip": gz, "zstd": zs} {
		r := run(t, nil)
		got := r.post(t, pushPath, compress(t, body), "Content-Type", "application/proto", "Content-Encoding", encoding, "User-Agent", "pyroscope-rs/pyspy/1.0 reqwest")
		require.Equal(t, http.StatusOK, got.status, got.text)
		assert.Equal(t, map[string]any{"service.name": "rust-app", "process.runtime.name": "ruby"}, r.sink.resource(t))
	}
}

// pushRequest returns a message with one series for each profile. All have the same labels.
func pushRequest(parca bool, labels map[string]string, profiles ...[]byte) []byte {
	field := func(to []byte, number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
	}
	var set []byte
	for name, value := range labels {
		set = field(set, 1, field(field(nil, 1, []byte(name)), 2, []byte(value)))
	}
	series := protowire.Number(1)
	if parca {
		series, set = 2, field(nil, 1, set)
	}
	var message []byte
	for _, profile := range profiles {
		message = field(message, series, field(bytes.Clone(set), 2, field(nil, 1, profile)))
	}
	return message
}

// parcaJSON returns the same message for Parca in JSON.
func parcaJSON(t *testing.T, labels map[string]string, profile []byte) []byte {
	t.Helper()
	var list []map[string]string
	for name, value := range labels {
		list = append(list, map[string]string{"name": name, "value": value})
	}
	message, err := json.Marshal(map[string]any{"series": []any{map[string]any{
		"labels":  map[string]any{"labels": list},
		"samples": []any{map[string]any{"rawProfile": base64.StdEncoding.EncodeToString(profile)}},
	}}})
	require.NoError(t, err)
	return message
}

// TestParca sends WriteRaw in every form except gRPC, which has its own tests.
func TestParca(t *testing.T) {
	labels := map[string]string{"__name__": "memory", "job": "shop/checkout", "instance": "10.0.0.1:6060"}
	profile := gz(t, plain(t, cpuProfile(3)))
	for name, c := range map[string]struct {
		path, contentType string
		body              []byte
		want              string
	}{
		"Connect":         {path: parcaPath, contentType: "application/proto", body: pushRequest(true, labels, profile)},
		"Connect in JSON": {path: parcaPath, contentType: "application/json; charset=utf-8", body: parcaJSON(t, labels, profile), want: "{}"},
		"gateway":         {path: "/api/profiles/writeraw", contentType: "application/json", body: parcaJSON(t, labels, profile), want: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			got := r.post(t, c.path, c.body, "Content-Type", c.contentType)
			require.Equal(t, http.StatusOK, got.status, got.text)
			assert.Equal(t, c.want, got.text)
			assert.Equal(t, map[string]any{"service.name": "shop/checkout", "job": "shop/checkout", "instance": "10.0.0.1:6060"}, r.sink.resource(t))
			pd := r.sink.one(t)
			assert.Equal(t, []string{"memory", "memory"}, profileNames(pd.Dictionary(), pd.ResourceProfiles().At(0).ScopeProfiles().At(0)))
			assert.Equal(t, map[string]int64{"parca": 1}, r.counts("otelcol_receiver_pprof_payloads", "api"))
		})
	}
}

// TestParcaService: the label service_name takes precedence over job.
func TestParcaService(t *testing.T) {
	r := run(t, nil)
	body := pushRequest(true, map[string]string{"service_name": "checkout", "job": "agent"}, plain(t, cpuProfile(1)))
	require.Equal(t, http.StatusOK, r.post(t, parcaPath, body, "Content-Type", "application/proto").status)
	assert.Equal(t, map[string]any{"service.name": "checkout", "job": "agent"}, r.sink.resource(t))
}

// TestPushPartial: the valid profiles of a message are accepted as one message, and the answer names the invalid ones.
func TestPushPartial(t *testing.T) {
	r := run(t, nil)
	good := plain(t, cpuProfile(2))
	body := append(pushRequest(false, map[string]string{"service_name": "a"}, good, good, []byte("bad"), nil),
		pushRequest(false, map[string]string{"service_name": "b"}, good)...)
	got := r.post(t, pushPath, body, "Content-Type", "application/proto")
	assert.Equal(t, http.StatusBadRequest, got.status)
	answer := connectError(t, got)
	assert.Equal(t, "invalid_argument", answer.Code)
	assert.Contains(t, answer.Message, "1 of 5 profiles refused, the others are accepted: series[2].samples[0]: ")
	pd := r.sink.one(t)
	require.Equal(t, 2, pd.ResourceProfiles().Len())
	assert.Equal(t, 2, pd.ResourceProfiles().At(0).ScopeProfiles().Len())
	assert.Equal(t, 1, pd.ResourceProfiles().At(1).ScopeProfiles().Len())
	assert.Equal(t, map[string]any{"service.name": "b"}, pd.ResourceProfiles().At(1).Resource().Attributes().AsRaw())
	assert.Equal(t, map[string]int64{"pyroscope_push": 1}, r.counts("otelcol_receiver_pprof_empty_profiles", "api"))
}

type connectAnswer struct{ Code, Message string }

func connectError(t *testing.T, got reply) (answer connectAnswer) {
	t.Helper()
	assert.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(got.text), &answer), got.text)
	return answer
}

func TestPushRefusals(t *testing.T) {
	good := plain(t, cpuProfile(2))
	proto := []string{"Content-Type", "application/proto"}
	asJSON := []string{"Content-Type", "application/json"}
	checkRefusals(t, pushPath, nil, map[string]refused{
		"all bad":          {body: pushRequest(false, nil, []byte("x"), []byte("y")), headers: proto, status: 400, reason: "malformed", says: "2 of 2 profiles refused: series[0].samples[0]: "},
		"truncated":        {body: pushRequest(false, nil, good)[:20], headers: proto, status: 400, reason: "malformed", says: "malformed message"},
		"truncated gzip":   {body: gz(t, pushRequest(false, nil, good))[:40], headers: append([]string{"Content-Encoding", "gzip"}, proto...), status: 400, reason: "malformed", says: "gzip"},
		"truncated JSON":   {body: []byte(`{"series":[`), headers: asJSON, status: 400, reason: "malformed", says: "malformed message"},
		"bad base64":       {body: []byte(`{"series":[{"samples":[{"rawProfile":"!"}]}]}`), headers: asJSON, status: 400, reason: "malformed", says: "base64"},
		"1 MB label":       {body: pushRequest(false, map[string]string{"a": strings.Repeat("x", 1<<20)}, good), headers: proto, status: 413, reason: "too_large", says: "the limit is 16384"},
		"many series":      {body: []byte(strings.Repeat("\x0a\x00", 10_000)), headers: proto, status: 413, reason: "too_large", says: "more than 256 series"},
		"many samples":     {body: pushSamples(10_000), headers: proto, status: 413, reason: "too_large", says: "more than 256 profiles"},
		"bomb":             {body: pushRequest(false, nil, gzipBomb(t)), headers: proto, status: 413, reason: "too_large", says: "67108864"},
		"bomb around":      {body: gzipBomb(t), headers: append([]string{"Content-Encoding", "gzip"}, proto...), status: 413, reason: "too_large", says: "67108864"},
		"no type":          {body: good, status: 415, reason: "unknown_format", says: `Content-Type ""`},
		"another type":     {body: good, headers: []string{"Content-Type", "application/connect+proto"}, status: 415, reason: "unknown_format", says: "application/connect+proto"},
		"unknown encoding": {body: good, headers: append([]string{"Content-Encoding", "br"}, proto...), status: 415, reason: "unknown_encoding", says: "br"},
		"not the encoding": {body: good, headers: append([]string{"Content-Encoding", "gzip"}, proto...), status: 400, reason: "malformed", says: "Content-Encoding"},
		"gRPC on HTTP/1":   {body: good, headers: []string{"Content-Type", "application/grpc"}, status: 415, reason: "unknown_format", says: "HTTP/2"},
	})
	got := run(t, nil).post(t, pushPath, good)
	assert.Contains(t, got.header.Get("Accept-Post"), "application/proto", "with 415")
}

// pushSamples returns one series of n samples without a profile.
func pushSamples(n int) []byte {
	series := []byte(strings.Repeat("\x12\x00", n))
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), series)
}

// TestParcaGatewayError: the answer has the format of google.rpc.Status.
func TestParcaGatewayError(t *testing.T) {
	r := run(t, nil)
	got := r.post(t, "/api/profiles/writeraw", []byte("{"), "Content-Type", "application/json")
	assert.Equal(t, http.StatusBadRequest, got.status)
	var answer struct {
		Code    int
		Message string
		Details []any
	}
	require.NoError(t, json.Unmarshal([]byte(got.text), &answer))
	assert.Equal(t, 3, answer.Code)
	assert.Contains(t, answer.Message, "malformed message")
	assert.NotNil(t, answer.Details)
}

// grpcFrame returns a message with gRPC's prefix.
func grpcFrame(flag byte, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(message))), message...)
}

// TestManyBombs: small payloads that inflate to much are refused one by one, until their limit is reached. Then the whole
// request is refused. It makes no difference when the fault of a payload is found.
func TestManyBombs(t *testing.T) {
	const limit = 1 << 20
	wrongSum := gz(t, make([]byte, limit))
	wrongSum[len(wrongSum)-8]++
	text := bytes.Repeat([]byte("a profile of something, somewhere. "), limit/30)
	for name, bomb := range map[string][]byte{
		"at the limit, and not a pprof": gz(t, make([]byte, limit)),
		"above the limit":               gz(t, make([]byte, limit+1)),
		"far above the limit":           gz(t, make([]byte, 10*limit)),
		"gzip in gzip":                  gz(t, gz(t, make([]byte, limit+1))),
		"zstd above the limit":          zs(t, text),
		"wrong checksum":                wrongSum,
		"cut off":                       gz(t, make([]byte, limit))[:len(wrongSum)-8],
		"inner layer is damaged":        gz(t, append([]byte{0x1f, 0x8b, 0}, make([]byte, limit-3)...)),
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, func(cfg *Config, _ *ServerConfig) { cfg.Limits.InflatedBytes = limit })
			good := gz(t, plain(t, cpuProfile(1)))
			request := func(bombs int) reply {
				return r.post(t, pushPath, pushRequest(false, nil, append(slices.Repeat([][]byte{bomb}, bombs), good)...), "Content-Type", "application/proto")
			}
			got := request(wasteFactor)
			assert.Contains(t, got.text, "4 of 5 profiles refused, the others are accepted")
			require.Len(t, r.sink.all(), 1)
			for _, bombs := range []int{wasteFactor + 1, 200} {
				got = request(bombs)
				assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
				assert.Contains(t, got.text, "inflate to 5242880 bytes, the limit is 4194304")
			}
			assert.Len(t, r.sink.all(), 1)
		})
	}
}

// TestLargeLayers: a payload counts with its largest layer, also if the pprof in it is small.
func TestLargeLayers(t *testing.T) {
	const limit = 1 << 20
	r := run(t, func(cfg *Config, _ *ServerConfig) { cfg.Limits.InflatedBytes = limit })
	payload := gz(t, zstdPadded(t, plain(t, cpuProfile(1)), limit/2))
	for payloads, status := range map[int]int{1: http.StatusOK, 2: http.StatusRequestEntityTooLarge} {
		got := r.post(t, pushPath, pushRequest(false, nil, slices.Repeat([][]byte{payload}, payloads)...), "Content-Type", "application/proto")
		assert.Equal(t, status, got.status, got.text)
		if payloads > 1 {
			assert.Contains(t, got.text, "inflate to more than limits.inflated_bytes, 1048576")
		}
	}
	assert.Len(t, r.sink.all(), 1)
}

// zstdPadded returns content in zstd with a skippable frame of padding, which decompresses to nothing.
func zstdPadded(tb testing.TB, content []byte, padding int) []byte {
	tb.Helper()
	out := binary.LittleEndian.AppendUint32(append(zs(tb, content), "\x50\x2a\x4d\x18"...), uint32(padding))
	return append(out, make([]byte, padding)...)
}
