// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package load generates uploads for tests that cause failures in a gateway. Each upload has a number, which determines
// its content, its protocol and the expected result.
package load // import "github.com/otelpprof/otelpprof/test/e2e/load"

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// services is the number of services that the uploads belong to.
const services = 20

// protocol is the protocol of an upload.
type protocol int

const (
	// protocolRaw posts a pprof. protocolIngest does so like Pyroscope's clients.
	protocolRaw protocol = iota
	protocolIngest
	// protocolPush is Pyroscope's newer API over Connect, protocolPushGRPC the same over gRPC. Both send two series.
	protocolPush
	protocolPushGRPC
	// protocolParca is Parca's WriteRaw over Connect, protocolParcaGRPC the same over gRPC.
	protocolParca
	protocolParcaGRPC
	// protocolDatadog posts a form with two profiles and an event, like Datadog's profilers.
	protocolDatadog
	// protocolOTLP sends OTLP profiles over gRPC.
	protocolOTLP
	// protocolSplunk sends log records like Splunk's agents.
	protocolSplunk
	// protocolInvalid sends invalid uploads, which must be refused, see [invalid].
	protocolInvalid
)

// protocols are the protocols of Cycle consecutive uploads.
var protocols = [Cycle]protocol{
	protocolRaw, protocolOTLP, protocolIngest, protocolPush, protocolDatadog, protocolSplunk, protocolParca, protocolIngest, protocolRaw, protocolInvalid,
	protocolRaw, protocolOTLP, protocolPush, protocolPushGRPC, protocolDatadog, protocolSplunk, protocolParcaGRPC, protocolIngest, protocolOTLP, protocolInvalid,
}

// Cycle is the period of protocols: uploads whose numbers differ by Cycle use the same one. Upload 0 is raw.
const Cycle = 20

func protocolOf(number int) protocol { return protocols[number%Cycle] }

// Uploads generates uploads. It is safe for concurrent use.
type Uploads struct {
	payloads [][]byte
	logs     plog.Logs
	pprof    *pprof.Decoder
	splunk   *splunk.Decoder
}

// The numbers of payloads and Cycle have no common factor, so that each payload is sent over each protocol. Neighbours
// differ, since one request can contain both.
var (
	// mixed payloads are mostly small. One has 100 kB and one 600 kB.
	mixed = []string{"goroutine", "labelled", "mutex", "block", "cpu", "goroutine", "deep", "mutex", "block", "wide", "heap"}
	small = []string{"goroutine", "labelled", "mutex", "block", "labelled", "goroutine", "mutex"}
)

// NewUploads reads the profiles of the repository with this root.
func NewUploads(root string) (*Uploads, error) { return newUploads(root, mixed) }

// NewSmallUploads only uses profiles of up to 10 kB, for runs in which the number of uploads matters.
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

// Profiles returns the profiles that must arrive for an upload. There are none if the whole upload must be refused.
func (u *Uploads) Profiles(number int) ([]pprofile.Profiles, error) {
	switch protocolOf(number) {
	case protocolInvalid:
		if invalidOf(number).partial {
			return u.decode(number, pushName)
		}
		return nil, nil
	case protocolSplunk:
		profiles, _ := u.splunk.Decode(u.logsOf(number), 0, nil)
		return []pprofile.Profiles{profiles}, nil
	case protocolPush, protocolPushGRPC:
		return u.decode(number, pushName, pushName)
	case protocolParca, protocolParcaGRPC:
		return u.decode(number, parcaName)
	case protocolDatadog:
		return u.decode(number, datadogNames[:]...)
	default:
		return u.decode(number, "")
	}
}

// decode returns the profiles of one payload for each name.
func (u *Uploads) decode(number int, names ...string) ([]pprofile.Profiles, error) {
	all := make([]pprofile.Profiles, 0, len(names))
	for i, name := range names {
		resource := pcommon.NewMap()
		resource.PutStr("service.name", service(number))
		resource.PutStr("upload", strconv.Itoa(number))
		if p := protocolOf(number); p == protocolParca || p == protocolParcaGRPC {
			resource.PutStr("job", service(number)) // which stays in addition to service.name
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

const (
	pushPath    = "/push.v1.PusherService/Push"
	parcaPath   = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
	datadogPath = "/profiling/v1/input"

	typeConnect  = "application/proto"
	typeProtobuf = "application/x-protobuf"

	// Names of the profiles in these uploads.
	pushName  = "process_cpu"
	parcaName = "memory"
)

var datadogNames = [...]string{"cpu", "heap"}

// request is an upload over HTTP, without its address.
type request struct {
	// splunk is true for the receiver of log records.
	splunk                      bool
	path, contentType, encoding string
	body                        []byte
}

// query returns the query that describes a raw profile.
func query(number int) string {
	return fmt.Sprintf("?service.name=%s&resource.upload=%d", service(number), number)
}

// request returns an upload that is sent over HTTP.
func (u *Uploads) request(number int) (request, error) {
	switch protocolOf(number) {
	case protocolInvalid:
		return invalidOf(number).request(u, number)
	case protocolSplunk:
		return logsRequest(u.logsOf(number))
	case protocolIngest:
		path := fmt.Sprintf("/ingest?format=pprof&name=%s%%7Bupload=%d%%7D", service(number), number)
		return request{path: path, body: u.payload(number)}, nil
	case protocolPush:
		return request{path: pushPath, contentType: typeConnect, body: u.pushMessage(number)}, nil
	case protocolParca:
		return request{path: parcaPath, contentType: typeConnect, body: u.parcaMessage(number)}, nil
	case protocolDatadog:
		return u.datadogRequest(number)
	default:
		return request{path: "/v1/pprof" + query(number), body: u.payload(number)}, nil
	}
}

func logsRequest(logs plog.Logs) (request, error) {
	body, err := (&plog.ProtoMarshaler{}).MarshalLogs(logs)
	return request{splunk: true, path: "/v1/logs", contentType: typeProtobuf, body: body}, err
}

// pushMessage returns a push.v1.PushRequest with two series.
func (u *Uploads) pushMessage(number int) []byte {
	return pushRequest(number, u.payload(number), u.payload(number+1))
}

// pushRequest returns a request with one series for each profile.
func pushRequest(number int, profiles ...[]byte) []byte {
	labels := labelFields([][2]string{{"service_name", service(number)}, {"upload", strconv.Itoa(number)}, {"__name__", pushName}})
	var message []byte
	for _, profile := range profiles {
		message = appendField(message, 1, appendSample(bytes.Clone(labels), profile))
	}
	return message
}

// parcaMessage returns a WriteRawRequest with one series.
func (u *Uploads) parcaMessage(number int) []byte {
	labels := labelFields([][2]string{{"job", service(number)}, {"upload", strconv.Itoa(number)}, {"__name__", parcaName}})
	return appendField(nil, 2, appendSample(appendField(nil, 1, labels), u.payload(number)))
}

// labelFields returns pairs of names and values as field 1 of a message.
func labelFields(pairs [][2]string) (message []byte) {
	for _, pair := range pairs {
		message = appendField(message, 1, appendField(appendField(nil, 1, []byte(pair[0])), 2, []byte(pair[1])))
	}
	return message
}

func appendSample(to, profile []byte) []byte { return appendField(to, 2, appendField(nil, 1, profile)) }

func appendField(to []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
}

// datadogRequest returns a form with two profiles and the event that describes them.
func (u *Uploads) datadogRequest(number int) (request, error) {
	return datadogForm(number,
		file{datadogNames[0] + ".pprof", u.payload(number)},
		file{"delta-" + datadogNames[1] + ".pprof", u.payload(number + 1)})
}

// file is a file of a form.
type file struct {
	name    string
	content []byte
}

func datadogForm(number int, files ...file) (request, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	event := fmt.Sprintf(`{"version":"4","family":"go","tags_profiler":"service:%s,upload:%d"}`, service(number), number)
	for _, f := range append(files, file{"event", []byte(event)}) {
		part, err := form.CreateFormFile(f.name, f.name)
		if err != nil {
			return request{}, err
		}
		if _, err := part.Write(f.content); err != nil {
			return request{}, err
		}
	}
	err := form.Close()
	return request{path: datadogPath, contentType: form.FormDataContentType(), body: body.Bytes()}, err
}
