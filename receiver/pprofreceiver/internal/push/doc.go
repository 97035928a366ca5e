// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package push parses the messages in which clients push series of profiles with labels: Pyroscope's PushRequest and
// Parca's WriteRawRequest, in protobuf and JSON. It parses them in place and under limits, and skips unknown fields.
package push
