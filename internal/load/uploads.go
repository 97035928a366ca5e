// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package load makes uploads for the tests that disturb a gateway: each has a number, which says what is uploaded, by
// which protocol, and what must become of it.
package load // import "github.com/otelpprof/otelpprof/internal/load"

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
	// wayOTLP sends OTLP profiles over gRPC.
	wayOTLP
	// waySplunk sends log records, as an agent of Splunk does.
	waySplunk
	// wayBroken posts what is no profile. It must be refused.
	wayBroken
)

// ways are those of ten uploads in a row.
var ways = [10]way{wayRaw, wayOTLP, wayRaw, wayIngest, wayRaw, waySplunk, wayRaw, wayIngest, wayOTLP, wayBroken}

// Uploads makes uploads. Safe for concurrent use.
type Uploads struct {
	payloads [][]byte
	logs     plog.Logs
	pprof    *pprof.Decoder
	splunk   *splunk.Decoder
}

// NewUploads reads the profiles of the repository, whose root this is.
func NewUploads(root string) (*Uploads, error) {
	u := &Uploads{pprof: pprof.NewDecoder(pprof.DecodeOptions{}), splunk: splunk.NewDecoder(splunk.Options{})}
	// Most are small, a tenth have 100 kB and one has 600 kB.
	names := []string{"goroutine", "labelled", "mutex", "block", "cpu", "goroutine", "deep", "mutex", "block", "wide", "heap"}
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

// Profiles returns what must arrive of an upload, which is nothing where it must be refused.
func (u *Uploads) Profiles(number int) (pprofile.Profiles, error) {
	switch ways[number%len(ways)] {
	case wayBroken:
		return pprofile.NewProfiles(), nil
	case waySplunk:
		profiles, _ := u.splunk.Decode(u.logsOf(number), 0)
		return profiles, nil
	default:
		resource := pcommon.NewMap()
		resource.PutStr("service.name", service(number))
		resource.PutStr("upload", strconv.Itoa(number))
		profiles, _, err := u.pprof.Decode(u.payload(number), pprof.Source{Resource: resource})
		return profiles, err
	}
}

// Refused tells whether an upload must be refused for good.
func Refused(number int) bool { return ways[number%len(ways)] == wayBroken }

func service(number int) string { return fmt.Sprintf("service-%d", number%services) }

// payload is the pprof of an upload. Eleven of them and ten ways make each go each way.
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
