// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gatewaytest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Text   string
}

// Send sends a request on a connection of its own. headers are pairs of names and values.
func Send(t require.TestingT, method, url string, body []byte, headers ...string) Answer {
	request := must.Get(http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body)))(t)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	response := must.Get(client.Do(request))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	return Answer{response.StatusCode, response.Header, string(text)}
}
