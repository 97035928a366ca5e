// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package load makes uploads for the tests that disturb a gateway: each has a number, which says what is uploaded, by
// which protocol, and what must become of it.
package load // import "github.com/otelpprof/otelpprof/test/tools/load"

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// services is how many services the uploads are of.
const services = 20

// way is the protocol of an upload.
type way int

const (
	// wayRaw posts a pprof, wayIngest does so as clients of Pyroscope do.
	wayRaw way = iota
	wayIngest
	// wayPush is Pyroscope's newer API by Connect, wayPushGRPC the same by gRPC. Both send two series.
	wayPush
	wayPushGRPC
	// wayParca is Parca's WriteRaw by Connect, wayParcaGRPC the same by gRPC.
	wayParca
	wayParcaGRPC
	// wayDatadog posts a form with two profiles and an event, as Datadog's profilers do.
	wayDatadog
	// wayOTLP sends OTLP profiles over gRPC.
	wayOTLP
	// waySplunk sends log records, as an agent of Splunk does.
	waySplunk
	// wayBroken is what must be refused, see [faulty].
	wayBroken
)

// ways are those of as many uploads in a row.
var ways = [Cycle]way{
	wayRaw, wayOTLP, wayIngest, wayPush, wayDatadog, waySplunk, wayParca, wayIngest, wayRaw, wayBroken,
	wayRaw, wayOTLP, wayPush, wayPushGRPC, wayDatadog, waySplunk, wayParcaGRPC, wayIngest, wayOTLP, wayBroken,
}

// Cycle is the distance of uploads that go the same way. Those whose number it divides are raw.
const Cycle = 20

func wayOf(number int) way { return ways[number%Cycle] }

// Uploads makes uploads. Safe for concurrent use.
type Uploads struct {
	payloads [][]byte
	logs     plog.Logs
	pprof    *pprof.Decoder
	splunk   *splunk.Decoder
}

// Numbers of payloads and ways have no factor in common, so that each payload goes each way, and no two neighbours are
// equal, since they are in one request.
var (
	// mixed payloads are small, but for a tenth of 100 kB and one of 600 kB.
	mixed = []string{"goroutine", "labelled", "mutex", "block", "cpu", "goroutine", "deep", "mutex", "block", "wide", "heap"}
	small = []string{"goroutine", "labelled", "mutex", "block", "labelled", "goroutine", "mutex"}
)

// NewUploads reads the profiles of the repository, whose root this is.
func NewUploads(root string) (*Uploads, error) { return newUploads(root, mixed) }

// NewSmallUploads has profiles of up to 10 kB only, for runs where the number of uploads matters.
func NewSmallUploads(root string) (*Uploads, error) { return newUploads(root, small) }

func newUploads(root string, names []string) (*Uploads, error) {
	u := &Uploads{pprof: pprof.NewDecoder(pprof.DecodeOptions{}), splunk: splunk.NewDecoder(splunk.Options{})}
	for _, name := range names {
		payload, err := os.ReadFile(filepath.Join(root, "testdata", "pprof", name+".pb.gz")) //nolint:gosec // the root is the caller's
		if err != nil {
			return nil, fmt.Errorf("cannot read a profile to upload: %w", err)
		}
		u.payloads = append(u.payloads, payload)
	}
	body, err := os.ReadFile(filepath.Join(root, "testdata", "splunk", "splunk-otel-python", "cpu-continuous.pb")) //nolint:gosec // the root is the caller's
	if err != nil {
		return nil, fmt.Errorf("cannot read log records to send: %w", err)
	}
	if u.logs, err = (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body); err != nil {
		return nil, fmt.Errorf("cannot read log records to send: %w", err)
	}
	return u, nil
}

// Profiles returns what must arrive of an upload, which is nothing where all of it must be refused.
func (u *Uploads) Profiles(number int) ([]pprofile.Profiles, error) {
	switch wayOf(number) {
	case wayBroken:
		if faultOf(number).partial {
			return u.decode(number, pushName)
		}
		return nil, nil
	case waySplunk:
		profiles, _ := u.splunk.Decode(u.logsOf(number), 0)
		return []pprofile.Profiles{profiles}, nil
	case wayPush, wayPushGRPC:
		return u.decode(number, pushName, pushName)
	case wayParca, wayParcaGRPC:
		return u.decode(number, parcaName)
	case wayDatadog:
		return u.decode(number, datadogNames[:]...)
	default:
		return u.decode(number, "")
	}
}

// decode returns the profiles of as many payloads as there are names for them.
func (u *Uploads) decode(number int, names ...string) ([]pprofile.Profiles, error) {
	all := make([]pprofile.Profiles, 0, len(names))
	for i, name := range names {
		resource := pcommon.NewMap()
		resource.PutStr("service.name", service(number))
		resource.PutStr("upload", strconv.Itoa(number))
		if way := wayOf(number); way == wayParca || way == wayParcaGRPC {
			resource.PutStr("job", service(number)) // which stays beside the name of the service
		}
		profiles, _, err := u.pprof.Decode(u.payload(number+i), pprof.Source{Resource: resource, ProfileName: name})
		if err != nil {
			return nil, err
		}
		all = append(all, profiles)
	}
	return all, nil
}

func service(number int) string { return fmt.Sprintf("service-%d", number%services) }

// payload is a pprof.
func (u *Uploads) payload(number int) []byte { return u.payloads[number%len(u.payloads)] }

func (u *Uploads) logsOf(number int) plog.Logs {
	logs := plog.NewLogs()
	u.logs.CopyTo(logs)
	for _, resource := range logs.ResourceLogs().All() {
		resource.Resource().Attributes().PutStr("service.name", service(number))
		resource.Resource().Attributes().PutStr("upload", strconv.Itoa(number))
	}
	return logs
}
