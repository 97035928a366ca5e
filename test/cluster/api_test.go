// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// connect makes the HTTP client of the tests. It waits until the API server has written its certificate.
func (c *controlPlane) connect() error {
	if c.client != nil {
		return nil
	}
	certificate, err := os.ReadFile(c.authority())
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	c.client = &http.Client{Timeout: patience, Transport: bearer{&http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: writers,
	}}}
	return nil
}

// bearer adds the token of the tests to a request.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+adminToken)
	return b.next.RoundTrip(request)
}

func (c *controlPlane) url(path string) string {
	return "https://127.0.0.1:" + strconv.Itoa(c.port) + path
}

// object is an object of the API as JSON, or a part of one.
type object = map[string]any

// at follows keys into an object. If a key is missing, it returns nil.
func at(value any, keys ...string) any {
	for _, key := range keys {
		m, _ := value.(object)
		value = m[key]
	}
	return value
}

func name(o object) string { return at(o, "metadata", "name").(string) }

// call sends a request to the API, and returns the status and the object of the answer. Cleanups can call it too.
func (c *controlPlane) call(t *testing.T, method, path string, body any) (int, object) {
	t.Helper()
	status, answer, err := c.request(context.WithoutCancel(t.Context()), method, path, body)
	require.NoError(t, err)
	return status, answer
}

// request is call for goroutines of a test.
func (c *controlPlane) request(ctx context.Context, method, path string, body any) (status int, answer object, err error) {
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url(path), bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w: %s", method, path, err, text)
	}
	return response.StatusCode, answer, nil
}

// must is call for a request that has to succeed.
func (c *controlPlane) must(t *testing.T, method, path string, body any) object {
	t.Helper()
	status, answer := c.call(t, method, path, body)
	require.Less(t, status, 300, "%s %s: %v", method, path, answer["message"])
	return answer
}

// list returns the objects of a path.
func (c *controlPlane) list(t *testing.T, path string) (objects []object) {
	t.Helper()
	items, _ := c.must(t, http.MethodGet, path, nil)["items"].([]any)
	for _, item := range items {
		objects = append(objects, item.(object))
	}
	return objects
}

// kubectl runs kubectl against the API server, and returns its output.
func (c *controlPlane) kubectl(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	arguments = append([]string{"--kubeconfig=" + c.path("kubeconfig"), "--cache-dir=" + c.path("cache")}, arguments...)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "kubectl", arguments...)
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "kubectl %s\n%s", strings.Join(arguments, " "), output)
	return strings.TrimSpace(string(output))
}
