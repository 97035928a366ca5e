// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// collector is the configuration of a Collector with the environment put in.
type collector map[string]any

var variable = regexp.MustCompile(`\$\{env:([A-Za-z_0-9]+)\}`)

// load merges texts as the Collector does: maps grow together, anything else is replaced. Each variable must be there.
func load(t *testing.T, environment map[string]string, texts ...string) collector {
	t.Helper()
	merged := map[string]any{}
	for _, text := range texts {
		text = variable.ReplaceAllStringFunc(text, func(match string) string {
			name := variable.FindStringSubmatch(match)[1]
			require.Contains(t, environment, name, "a variable that the container does not have")
			return environment[name]
		})
		var one map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &one))
		merge(merged, one)
	}
	return merged
}

func merge(into, from map[string]any) {
	for key, value := range from {
		below, isMap := value.(map[string]any)
		if there, both := into[key].(map[string]any); isMap && both {
			merge(there, below)
			continue
		}
		into[key] = value
	}
}

// walk calls f with the path and value of everything that is no map or list.
func walk(path []string, value any, f func(path []string, value any)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			walk(append(slices.Clip(path), key), value[key], f)
		}
	case collector:
		walk(path, map[string]any(value), f)
	case []any:
		for i, element := range value {
			walk(append(slices.Clip(path), strconv.Itoa(i)), element, f)
		}
	default:
		f(path, value)
	}
}

// listens returns the ports that others can reach: of receivers, extensions, servers of exporters, and of the metrics.
func (c collector) listens(t *testing.T) []int {
	t.Helper()
	var ports []int
	walk(nil, c, func(path []string, value any) {
		joined := strings.Join(path, "/")
		switch {
		case strings.HasSuffix(joined, "/prometheus/port"):
			ports = append(ports, value.(int))
		case path[len(path)-1] == "endpoint" && !c.isDestination(path):
			host, port, err := net.SplitHostPort(value.(string))
			require.NoError(t, err, joined)
			if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
				ports = append(ports, number(t, port))
			}
		}
	})
	slices.Sort(ports)
	return ports
}

// sendsTo returns the ports of destinations. The Collector splits a text for a list of brokers, but not an element of that list.
func (c collector) sendsTo(t *testing.T) []int {
	t.Helper()
	var ports []int
	walk(nil, c, func(path []string, value any) {
		last := path[len(path)-1]
		isBroker := len(path) > 1 && path[len(path)-2] == "brokers"
		if last != "brokers" && !isBroker && (last != "endpoint" || !c.isDestination(path)) {
			return
		}
		addresses := []string{value.(string)}
		if last == "brokers" {
			addresses = strings.Split(addresses[0], ",")
		}
		for _, address := range addresses {
			if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
				address = parsed.Host
			}
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err, strings.Join(path, "/"))
			ports = append(ports, number(t, port))
		}
	})
	return ports
}

func (collector) isDestination(path []string) bool {
	kind, _, _ := strings.Cut(path[1], "/")
	return path[0] == "exporters" && kind != "profile_view"
}

// files returns the absolute paths that the configuration names: those it writes below, and those it reads.
func (c collector) files() (directories, inputs []string) {
	walk(nil, c, func(path []string, value any) {
		text, _ := value.(string)
		if !strings.HasPrefix(text, "/") {
			return
		}
		switch last := path[len(path)-1]; {
		case last == "directory":
			directories = append(directories, text)
		case last == "file" || last == "filename" || strings.HasSuffix(last, "_file"):
			inputs = append(inputs, text)
		}
	})
	return directories, inputs
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
