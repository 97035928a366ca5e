// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// behaviours are attacks that are more than a body: what a client does with its connection, or between requests.
func behaviours() []body {
	looking := func(name string, patience time.Duration, requests ...string) body {
		return body{name: name, to: pages, alone: true, wire: deepProfile, attack: func(ctx context.Context, p *process, wire []byte, times int) *tally {
			return lookAt(ctx, p, wire, times, patience, requests)
		}}
	}
	return []body{
		looking("pages-flamegraph", answerWithin, "querier.v1.QuerierService/SelectMergeStacktraces {"+measured+`,"maxNodes":131072}`),
		looking("pages-series", answerWithin, "querier.v1.QuerierService/SelectSeries {"+measured+`,"step":0.001,"groupBy":["service_name","__profile_type__"]}`),
		looking("pages-expressions", answerWithin, "querier.v1.QuerierService/SelectMergeStacktraces {"+measured+`,"labelSelector":"{service_name=~\".{0,200}e\"}"}`),
		looking("pages-long-requests", answerWithin, "querier.v1.QuerierService/SelectMergeStacktraces {"+measured+`,"profileIdSelector":[`+strings.Repeat(`"",`, 20_000)+`""]}`),
		looking("pages-image", answerWithin, "download/svg"+ofType),
		looking("pages-functions", answerWithin, "functions"+ofType),
		looking("pages-plain", answerWithin, "plain/functions"+ofType),
		looking("pages-diff", answerWithin, "functions"+ofType+"&base_query={}"),
		looking("pages-text", answerWithin, "download/collapsed"+ofType),
		looking("pages-merged-profile", answerWithin, "profiles/hostile/cpu"),
		looking("pages-abandoned", time.Second, "functions"+ofType, "download/svg"+ofType),
		{name: "pages-read-slowly", to: pages, alone: true, wire: longStacks, attack: readSlowly},
		{name: "pages-of-another-host", to: pages, attack: rebind},
		{name: "slow-senders", to: pprofServer, attack: stall("/v1/pprof", "application/octet-stream")},
		{name: "slow-senders-of-otlp", to: otlpHTTP, attack: stall(profilesPath, "application/x-protobuf")},
		{name: "slow-senders-of-grpc", to: otlpGRPC, attack: stallCalls},
		{
			name: "repeated-id-in-a-held-batch", to: pprofServer, only: "gateway", away: true, path: "/v1/pprof?service.name=hostile",
			settings: fullQueue, wire: func() []byte { return gzipped(smallProfile()) }, attack: repeatID,
		},
	}
}

const (
	// hostileType is the type of the profile of the attack on pages.
	hostileType = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	ofType      = "?type=" + hostileType
	// measured selects the type in a request of Pyroscope's API.
	measured = `"profileTypeID":"` + hostileType + `"`
)

// deepProfile is small on the wire and has many deep stacks. It is accepted in 512 MiB, and held in the 64 MiB of max_memory: a profile
// with more of them is refused, and there is no page to draw. No two frames of a page are equal.
func deepProfile() []byte { return zstandard(join(distinctStacks(1000, 1000, unnamed), period())) }

// period is a period in the type of the samples.
func period() content {
	return join(field(pprofPeriodType, number(1, 1), number(2, 2)), number(12, 1_000_000))
}

// longStacks is 100 stacks of eight frames with a name of 1 KiB each, and a root of their own. It takes little work to write their text of 800 kB.
func longStacks() []byte {
	const stacks, depth = 100, 8
	var stack []byte
	frames := ids(depth).plain()
	return zstandard(join(head(), period(), field(pprofString, repeat([]byte{'n'}, 1<<10)), field(pprofFunction, number(1, 1), number(2, 3)), locations(depth),
		counting(stacks, func(to []byte, i int) []byte {
			id := uint64(depth + i + 1)
			to = appendField(to, pprofLocation, appendNumber(appendNumber(nil, 1, id), 3, id))
			stack = protowire.AppendVarint(append(stack[:0], frames...), id)
			return appendField(to, pprofSample, appendField([]byte{0x12, 1, 1}, sampleLocation, stack))
		})))
}

// upload sends a profile of the service "hostile" to whatever takes profiles.
func (p *process) upload(ctx context.Context, wire []byte) (status, answer string) {
	if address := p.listening(pprofServer); address != "" {
		return request(ctx, "http://"+address+"/v1/pprof?service.name=hostile", nil, wire)
	}
	if !p.takesLogs() {
		return p.uploadOTLP(ctx, wire)
	}
	record := profilingRecord("pprof-gzip-base64", text(base64Text(wire)))
	service := field(1, textField(1, "service.name"), field(2, textField(1, "hostile")))
	return request(ctx, "http://"+p.listening(otlpHTTP)+logsPath, []string{"Content-Type", "application/x-protobuf"}, profilingLogs(service, record).plain())
}

// uploadOTLP is upload to what takes OTLP profiles only.
func (p *process) uploadOTLP(ctx context.Context, wire []byte) (status, answer string) {
	service := pcommon.NewMap()
	service.PutStr("service.name", "hostile")
	profiles, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(wire, pprof.Source{Resource: service})
	if err != nil {
		return err.Error(), ""
	}
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	if err != nil {
		return err.Error(), ""
	}
	header := []string{"Content-Type", "application/x-protobuf", "Content-Encoding", "gzip"}
	return request(ctx, "http://"+p.listening(otlpHTTP)+profilesPath, header, gzipped(text(string(message))))
}

// uploadListed uploads a profile to draw pages of.
func (p *process) uploadListed(ctx context.Context, wire []byte, answers *tally) {
	status, answer := p.upload(ctx, wire)
	answers.add("upload "+status, answer)
	if status != "200" && status != "204" {
		answers.fault("the upload is refused with %s, so there is no page to draw", status)
	}
	if !p.waitListed(ctx) {
		answers.fault("the profile is not listed within %s, so there is no page to draw", answerWithin)
	}
}

// readSlowly asks for pages, eight for each time, and does not read them for eight seconds.
func readSlowly(ctx context.Context, p *process, wire []byte, times int) *tally {
	var answers tally
	p.uploadListed(ctx, wire, &answers)
	var readers sync.WaitGroup
	for range 8 * times {
		readers.Go(func() {
			connection, err := (&net.Dialer{Control: smallSegments}).DialContext(ctx, "tcp", p.listening(pages))
			if err != nil {
				answers.fault("cannot connect to a listener: %s", err)
				return
			}
			defer connection.Close()
			fmt.Fprintf(connection, "GET /download/collapsed%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", ofType)
			select {
			case <-ctx.Done():
			case <-time.After(slowReading):
			}
			begin := make([]byte, len("HTTP/1.1 200"))
			_ = connection.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := io.ReadFull(connection, begin); err != nil {
				answers.add(broken(err), err.Error())
				return
			}
			answers.add(string(begin[len("HTTP/1.1 "):]), "")
		})
	}
	readers.Wait()
	return &answers
}

// smallSegments makes a connection like one of a slow network: the system buffers little of an answer that is not read.
func smallSegments(_, _ string, raw syscall.RawConn) error {
	var errs [2]error
	err := raw.Control(func(socket uintptr) {
		errs[0] = syscall.SetsockoptInt(int(socket), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536)
		errs[1] = syscall.SetsockoptInt(int(socket), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
	})
	return errors.Join(err, errs[0], errs[1])
}

// slowReading is how long a client does not read its answer.
const slowReading = 8 * time.Second

// lookAt uploads a profile and asks for pages of it; a client leaves when its patience is over. A request of the API has its message
// behind its path.
func lookAt(ctx context.Context, p *process, wire []byte, times int, patience time.Duration, requests []string) *tally {
	var answers tally
	p.uploadListed(ctx, wire, &answers)
	var viewers sync.WaitGroup
	for i := range times {
		viewers.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			path, message, isCall := strings.Cut(requests[i%len(requests)], " ")
			target := "http://" + p.listening(pages) + "/" + path
			var status, text string
			if isCall {
				status, text = request(ctx, target, []string{"Content-Type", "application/json"}, []byte(message))
			} else {
				status, text = get(ctx, target, "")
			}
			answers.add(status, text)
			switch status {
			case "200", "400", "422", "429", "501", "503":
			case noAnswer:
				if patience == answerWithin {
					answers.fault("no page within %s", patience)
				}
			default:
				answers.fault("a page is answered with %s: %.200s", status, text)
			}
		})
	}
	viewers.Wait()
	return &answers
}

// waitListed waits until the exporter lists a hostile profile of the type that is drawn, and returns whether it does.
func (p *process) waitListed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for ctx.Err() == nil {
		_, list := request(ctx, "http://"+p.listening(pages)+"/querier.v1.QuerierService/Series", []string{"Content-Type", "application/json"},
			[]byte(`{"matchers":["{service_name=\"hostile\"}"],"labelNames":["__profile_type__"]}`))
		if strings.Contains(list, `"`+hostileType+`"`) {
			return true
		}
		sleep(ctx)
	}
	return false
}

func get(ctx context.Context, url, host string) (status, text string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error(), ""
	}
	request.Host = host
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return broken(err), err.Error()
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return broken(err), err.Error()
	}
	return strconv.Itoa(response.StatusCode), string(answer)
}

// rebind asks for pages as a browser does that was told that another name is this host.
func rebind(ctx context.Context, p *process, _ []byte, times int) *tally {
	var answers tally
	for range times {
		status, text := get(ctx, "http://"+p.listening(pages)+"/", "evil.example")
		answers.add(status, text)
		if status == "200" {
			answers.fault("a page for the host evil.example")
		}
	}
	return &answers
}

// stalledFor is longer than an honest client may have to wait meanwhile.
const stalledFor = servedWithin + 2*time.Second

// stall sends 64 kB of a large body on each connection, and nothing more for a while.
func stall(path, contentType string) attack {
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		address := p.listening(pprofServer)
		if path == profilesPath {
			address = p.listening(otlpHTTP)
		}
		var senders sync.WaitGroup
		for i := range times {
			senders.Go(func() {
				connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
				if err != nil {
					answers.add(cutOff, err.Error())
					return
				}
				defer connection.Close()
				head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nX-Scope-OrgID: slow%d\r\nContent-Length: 20000000\r\n\r\n",
					path, address, contentType, i)
				_, err = io.WriteString(connection, head+strings.Repeat("\x1a\x00", 33_000))
				time.Sleep(stalledFor)
				answers.add("stalled", fmt.Sprint(err))
			})
		}
		senders.Wait()
		return &answers
	}
}

// stallCalls sends half of the largest message over gRPC, and then nothing.
func stallCalls(ctx context.Context, p *process, _ []byte, times int) *tally {
	var answers tally
	var senders sync.WaitGroup
	ctx, cancel := context.WithTimeout(ctx, stalledFor)
	defer cancel()
	message := grpcMessage(false, make([]byte, 4<<20))
	for range times {
		senders.Go(func() {
			rest, sender := io.Pipe()
			defer sender.Close()
			status, text := stream(ctx, "http://"+p.listening(otlpGRPC)+profilesCall, grpcHeaders(""), io.MultiReader(bytes.NewReader(message[:len(message)/2]), rest))
			if status == noAnswer {
				status = "stalled"
			}
			answers.add(status, text)
		})
	}
	senders.Wait()
	return &answers
}

// fullQueue is a queue that a few small batches fill, whose senders are told of success before.
const fullQueue = "yaml:{exporters: {otlp_grpc: {sending_queue: {queue_size: 3000, num_consumers: 1}}}, " +
	"processors: {profile_deduplicator: {batch: {timeout: 50ms, wait_for_result: false}}}}"

// repeatID fills the queue of a backend that is away, and then sends one upload again and again, as clients do that get no
// answer.
func repeatID(ctx context.Context, p *process, wire []byte, times int) *tally {
	for i := range 30 {
		request(ctx, fmt.Sprintf("http://%s/v1/pprof?service.name=other%d", p.listening(pprofServer), i), nil, wire)
		time.Sleep(100 * time.Millisecond)
	}
	var answers tally
	var senders sync.WaitGroup
	for range times {
		senders.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 2*servedWithin)
			defer cancel()
			status, text := request(ctx, "http://"+p.listening(pprofServer)+"/v1/pprof?service.name=hostile", nil, wire)
			answers.add(status, text)
			if status == noAnswer {
				answers.fault("no answer within %s", 2*servedWithin)
			}
		})
	}
	senders.Wait()
	return &answers
}
