// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"
	"net/http"
	"strconv"
)

// discoverySettings make targets come from a server. Its address is added when there is one.
const discoverySettings = "yaml:{receivers: {pprof: {scrape: {discovery: [target_discovery]}}}, " +
	"service: {extensions: [memory_budget, health_check, target_discovery]}}"

// discoveredBodies are answers of a server that names targets.
func discoveredBodies() []body {
	answered := func(name string, answer content) body {
		return body{name: name, to: discovered, only: "discovery", alone: true, times: 1, attack: naming(answer)}
	}
	distinct := func(before string, count int, after, end string) content {
		return join(text(before), counting(count, func(to []byte, i int) []byte {
			return append(strconv.AppendInt(append(to, `"a`...), int64(i), 10), after...)
		}), text(end))
	}
	return []body{
		answered("discovered-endless-groups", join(text("["), filling([]byte("{},"), 1<<30))),
		answered("discovered-endless-text", join(text(`[{"targets":["`), filling([]byte("x"), 1<<30))),
		answered("discovered-labels", distinct(`[{"targets":["a:1"],"labels":{`, 4_000_000, `":"",`, `"b":""}}]`)),
		answered("discovered-targets", distinct(`[{"targets":[`, 300_000, `:1",`, `"a:1"]}]`)),
	}
}

// naming answers each request for targets, until the second one begins: then the process has worked on the first answer.
func naming(answer content) attack {
	return func(ctx context.Context, p *process, _ []byte, _ int) *tally {
		hostile := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer.writeTo(w)
		}
		return answering(func(*targets) http.HandlerFunc { return hostile })(ctx, p, nil, 1)
	}
}
