// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetesaccessextension

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

const (
	reviewPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	// maxAnswer limits the bytes of an answer that are read.
	maxAnswer = 64 << 10
)

// review asks whether this service account may use a verb on a resource: a SelfSubjectAccessReview of the Kubernetes API.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		ResourceAttributes resourceAttributes `json:"resourceAttributes"`
	} `json:"spec"`
	Status struct {
		Allowed bool `json:"allowed"`
	} `json:"status"`
}

type resourceAttributes struct {
	Group     string `json:"group"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Verb      string `json:"verb"`
}

// missing returns the permissions that the service account does not have, each with the verbs that are not allowed. An error
// means that this is not known: the configuration cannot be read, or the API server did not answer.
func (cfg *Config) missing(ctx context.Context) (missing []Permission, err error) {
	endpoint, err := cfg.endpoint()
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(cfg.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read token_file: %w", err)
	}
	transport, err := cfg.transport()
	if err != nil {
		return nil, err
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects") // the token is for the API server alone
	}}
	for _, permission := range cfg.Permissions {
		denied := permission
		denied.Verbs = nil
		for _, verb := range permission.Verbs {
			allowed, err := ask(ctx, client, endpoint, strings.TrimSpace(string(token)), resourceAttributes{
				permission.APIGroup, permission.Resource, permission.Namespace, verb,
			})
			if err != nil {
				return nil, err
			}
			if !allowed {
				denied.Verbs = append(denied.Verbs, verb)
			}
		}
		if len(denied.Verbs) > 0 {
			missing = append(missing, denied)
		}
	}
	return missing, nil
}

// endpoint returns the URL of the API server, without a slash at the end.
func (cfg *Config) endpoint() (string, error) {
	if cfg.Endpoint != "" {
		return strings.TrimSuffix(cfg.Endpoint, "/"), nil
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", errors.New("this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, and endpoint is empty")
	}
	return "https://" + net.JoinHostPort(host, port), nil
}

// transport returns an HTTP transport that trusts only the authorities in CAFile.
func (cfg *Config) transport() (*http.Transport, error) {
	certificates, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, fmt.Errorf("ca_file %s has no certificate", cfg.CAFile)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}, nil
}

// ask sends one review and returns whether the API server allows it.
func ask(ctx context.Context, client *http.Client, endpoint, token string, attributes resourceAttributes) (allowed bool, err error) {
	asked := review{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
	asked.Spec.ResourceAttributes = attributes
	body, err := json.Marshal(asked)
	if err != nil {
		return false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+reviewPath, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return false, fmt.Errorf("cannot ask the API server: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return false, fmt.Errorf("cannot read the answer of the API server: %w", err)
	}
	if response.StatusCode != http.StatusCreated {
		return false, fmt.Errorf("the API server %s answers %s", endpoint, response.Status)
	}
	var answered review
	if err := json.Unmarshal(answer, &answered); err != nil {
		return false, fmt.Errorf("cannot read the answer of the API server: %w", err)
	}
	return answered.Status.Allowed, nil
}
