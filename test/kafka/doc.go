// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package kafka tests the two tiers around Kafka, as config/kafka-front.yaml and config/kafka-back.yaml have them, with the
// built distribution and a broker that speaks Kafka's protocol, in the process of the test.
//
// OTELPPROF_BINARY names the binary; `make test-kafka` builds it and sets that.
package kafka
