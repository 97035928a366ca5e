// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package push reads the messages in which clients push profiles in series with labels: Pyroscope's PushRequest and
// Parca's WriteRawRequest, from the wire and from JSON. They are read in place and under limits; fields that mean
// nothing here are skipped.
package push
