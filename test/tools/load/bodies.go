// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"strconv"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"
)

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
