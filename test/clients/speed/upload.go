// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"sync"
	"time"

	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"
)

// upload is a request of one API.
type upload struct {
	api, path   string
	query       string
	contentType string
	body        []byte
}

// uploadsOf are requests that hold the profile as clients send it.
func uploadsOf(profile []byte) ([]upload, error) {
	form, formType, err := formOf(profile)
	if err != nil {
		return nil, err
	}
	message, err := proto.Marshal(&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{{
		Labels:  []*typesv1.LabelPair{{Name: "__name__", Value: "process_cpu"}, {Name: "service_name", Value: "speed"}, {Name: "pod", Value: "a"}},
		Samples: []*pushv1.RawSample{{RawProfile: profile}},
	}}})
	if err != nil {
		return nil, err
	}
	return []upload{
		{api: "raw pprof", path: "/v1/pprof", query: "?service.name=speed", contentType: "application/octet-stream", body: profile},
		{api: "Pyroscope", path: "/ingest", query: "?name=speed%7Bpod%3Da%7D&from=1700000000&until=1700000010&spyName=gospy", contentType: formType, body: form},
		{api: "push.v1", path: "/push.v1.PusherService/Push", contentType: "application/proto", body: message},
	}, nil
}

func formOf(profile []byte) (body []byte, contentType string, err error) {
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("profile", "profile.pprof")
	if err != nil {
		return nil, "", err
	}
	_, _ = part.Write(profile) // a buffer takes all
	err = writer.Close()
	return form.Bytes(), writer.FormDataContentType(), err
}

// sender has several uploads under way at a time.
type sender struct {
	client *http.Client
	url    string
	at     int
}

// send sends an upload so many times, and returns how long each took.
func (s *sender) send(u upload, count int) ([]time.Duration, error) {
	latencies := make([]time.Duration, count)
	failed := make([]error, s.at)
	var all sync.WaitGroup
	for i := range s.at {
		all.Go(func() {
			for n := i; n < count && failed[i] == nil; n += s.at {
				start := time.Now()
				failed[i] = s.sendOne(u)
				latencies[n] = time.Since(start)
			}
		})
	}
	all.Wait()
	return latencies, errors.Join(failed...)
}

func (s *sender) sendOne(u upload) error {
	response, err := s.client.Post(s.url+u.path+u.query, u.contentType, bytes.NewReader(u.body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	return err
}
