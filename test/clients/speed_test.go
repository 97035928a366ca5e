// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/internal/gateway"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// senders is how many requests are under way at a time.
const senders = 4

// speedConfig is a gateway that drops what it takes: what remains is the receiver.
const speedConfig = `yaml:
receivers:
  pprof:
    server: {endpoint: %s}
exporters:
  nop:
extensions:
  health_check:
    endpoint: %s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [pprof]
      exporters: [nop]
`

// BenchmarkGateway uploads a profile of about 100 kB to the built distribution, a process of its own, by each API, and
// compares the CPU time that the gateway takes with that of the translator alone, inflating included:
//
//	gateway-us/profile  CPU time of the gateway, of all its threads, garbage collection included
//	decode-us/profile   the same of the translator, measured right after, in the process of the benchmark
//	ratio               of the two
//	p50-ms, p99-ms      from the request to its answer, with 4 requests under way at a time
//
// How to run it:
//
//	OTELPPROF_BINARY=$PWD/_build/otelcol-pprof go -C test/clients test -run '^$' -bench Gateway -benchtime 3000x -count 6 .
func BenchmarkGateway(b *testing.B) {
	profile, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pprof", "cpu.pb.gz"))
	require.NoError(b, err)
	form, formType := formOf(b, profile)
	message, err := proto.Marshal(&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{
		{Labels: request("bench").Msg.Series[0].Labels, Samples: []*pushv1.RawSample{{RawProfile: profile}}},
	}})
	require.NoError(b, err)
	url, pid := startSpeed(b)
	for _, c := range []struct {
		name, path, contentType string
		body                    []byte
	}{
		{"pprof", "/v1/pprof?service.name=bench", "application/octet-stream", profile},
		{"pyroscope_ingest", "/ingest?name=bench%7Bpod%3Da%7D&from=1700000000&until=1700000010&spyName=gospy", formType, form},
		{"pyroscope_push", "/push.v1.PusherService/Push", "application/proto", message},
	} {
		b.Run("api="+c.name, func(b *testing.B) {
			upload(b, url+c.path, c.contentType, c.body, 200) // warm
			before := cpuTime(b, pid)
			b.ResetTimer()
			latencies := upload(b, url+c.path, c.contentType, c.body, b.N)
			b.StopTimer()
			perProfile := (cpuTime(b, pid) - before) / time.Duration(b.N)
			decoding := decodeTime(b, profile, max(b.N/4, 200))
			slices.Sort(latencies)
			b.ReportMetric(float64(perProfile.Microseconds()), "gateway-us/profile")
			b.ReportMetric(float64(decoding.Microseconds()), "decode-us/profile")
			b.ReportMetric(float64(perProfile)/float64(decoding), "ratio")
			b.ReportMetric(milliseconds(latencies[len(latencies)/2]), "p50-ms")
			b.ReportMetric(milliseconds(latencies[len(latencies)*99/100]), "p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func formOf(b *testing.B, profile []byte) (body []byte, contentType string) {
	b.Helper()
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("profile", "profile.pprof")
	require.NoError(b, err)
	_, err = part.Write(profile)
	require.NoError(b, err)
	require.NoError(b, writer.Close())
	return form.Bytes(), writer.FormDataContentType()
}

// startSpeed runs the distribution and returns where it listens, and its process.
func startSpeed(b *testing.B) (url string, pid int) {
	b.Helper()
	binary := os.Getenv("OTELPPROF_BINARY")
	if binary == "" {
		missing(b, "OTELPPROF_BINARY does not name the built distribution")
	}
	addresses, err := gateway.FreeAddresses(b.Context(), 2)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	g, err := gateway.Start(ctx, gateway.Options{
		Binary: binary, Configs: []string{fmt.Sprintf(speedConfig, addresses[0], addresses[1])}, HealthURL: "http://" + addresses[1],
	})
	if err != nil {
		cancel()
		require.NoError(b, err)
	}
	b.Cleanup(func() {
		defer cancel()
		if err := g.Stop(patience); err != nil {
			b.Errorf("%v; it said:\n%s", err, g.Log())
		}
	})
	return "http://" + addresses[0], g.PID()
}

// upload sends n requests and returns how long each took.
func upload(b *testing.B, url, contentType string, body []byte, n int) []time.Duration {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
	defer client.CloseIdleConnections()
	latencies := make([]time.Duration, n)
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			for i := sender; i < n; i += senders {
				start := time.Now()
				response, err := client.Post(url, contentType, bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				text, _ := io.ReadAll(response.Body)
				response.Body.Close()
				latencies[i] = time.Since(start)
				if response.StatusCode/100 != 2 {
					b.Errorf("status %d: %s", response.StatusCode, text)
					return
				}
			}
		})
	}
	all.Wait()
	return latencies
}

// decodeTime is the CPU time of this process for translating the profile once.
func decodeTime(b *testing.B, profile []byte, n int) time.Duration {
	b.Helper()
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	before := ownTime(b)
	for range n {
		_, _, err := decoder.Decode(profile, pprof.Source{})
		require.NoError(b, err)
	}
	return (ownTime(b) - before) / time.Duration(n)
}

func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// cpuTime is what a process has used so far: fields 14 and 15 of its stat, in hundredths of a second.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(b, err)
	// The name of the program, in parentheses, may hold blanks.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
