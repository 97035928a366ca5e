// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pause is the time before an upload is sent again that was refused for now.
const pause = 50 * time.Millisecond

// sender has several uploads under way at a time.
type sender struct {
	client *http.Client
	at     int
	// tenants is the number of values of the header X-Scope-OrgID. With 0 there is no header.
	tenants int
	// sent counts all uploads, so that each has a number of its own.
	sent int
}

// send sends an upload to an address this many times.
func (s *sender) send(address string, u upload, count int) error {
	failed := make([]error, s.at)
	var all sync.WaitGroup
	for i := range s.at {
		all.Go(func() {
			for n := i; n < count && failed[i] == nil; n += s.at {
				failed[i] = s.sendOne(address, u, s.sent+n)
			}
		})
	}
	all.Wait()
	s.sent += count
	return errors.Join(failed...)
}

// sendOne sends one upload, again and again while the gateway is busy.
func (s *sender) sendOne(address string, u upload, number int) error {
	query := u.query
	if strings.Contains(query, "%d") {
		query = fmt.Sprintf(query, number)
	}
	for {
		status, text, err := s.post("http://"+address+u.path+query, u, number)
		switch {
		case err != nil:
			return err
		case status/100 == 2:
			return nil
		case status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return fmt.Errorf("status %d: %s", status, text)
		}
		time.Sleep(pause)
	}
}

func (s *sender) post(url string, u upload, number int) (status int, text []byte, err error) {
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(u.body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", u.contentType)
	if s.tenants > 0 {
		request.Header.Set("X-Scope-OrgID", strconv.Itoa(number%s.tenants))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}
