// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"

	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// Queue is the section sending_queue.
type Queue = configoptional.Optional[exporterhelper.QueueBatchConfig]

// LeastQueueBytes is the smallest queue size in bytes. A smaller number was probably meant as a number of requests.
const LeastQueueBytes = 1 << 20

// NewDefaultQueue returns a queue that is limited in bytes. A limit in requests would not limit its memory, since clients
// choose the size of a request.
func NewDefaultQueue() Queue {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeBytes
	queue.QueueSize = 64 << 20
	queue.NumConsumers = 4
	return configoptional.Some(queue)
}

// ValidateQueue returns an error for a size in bytes below LeastQueueBytes.
func ValidateQueue(configured Queue) error {
	queue := configured.Get()
	if queue != nil && queue.Sizer == exporterhelper.RequestSizerTypeBytes && queue.QueueSize < LeastQueueBytes {
		return fmt.Errorf("sending_queue::queue_size is in bytes and must be at least %d, is %d: set sending_queue::sizer to requests or items for another unit",
			LeastQueueBytes, queue.QueueSize)
	}
	return nil
}
