// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startBroker starts a Kafka broker in this process. It acknowledges records without keeping them, so that its memory does not grow.
func startBroker() (*kfake.Cluster, error) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "otlp_profiles"))
	if err != nil {
		return nil, err
	}
	broker.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		return acknowledge(request.(*kmsg.ProduceRequest)), nil, true
	})
	return broker, nil
}

func acknowledge(request *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	response := request.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range request.Topics {
		acknowledged := kmsg.NewProduceResponseTopic()
		acknowledged.Topic, acknowledged.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition = partition.Partition
			acknowledged.Partitions = append(acknowledged.Partitions, p)
		}
		response.Topics = append(response.Topics, acknowledged)
	}
	return response
}
