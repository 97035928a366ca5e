// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// Queue is the section sending_queue.
type Queue = configoptional.Optional[exporterhelper.QueueBatchConfig]

// LeastQueueBytes is the smallest queue size in bytes. A smaller number was probably meant as a number of requests.
const LeastQueueBytes = 1 << 20

// NewDefaultQueue returns a queue that is limited in bytes. A limit in requests would not limit its memory, since clients
// choose the size of a request. It has no batch, even with the feature gate of exporterhelper that makes it the default.
func NewDefaultQueue() Queue {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeBytes
	queue.QueueSize = 64 << 20
	queue.NumConsumers = 4
	queue.Batch = configoptional.Default(exporterhelper.NewDefaultBatchConfig())
	return configoptional.Some(queue)
}

// ValidateQueue returns an error for a size in bytes below LeastQueueBytes, and for a batch: that would join and split requests after
// their memory was counted.
func ValidateQueue(configured Queue) error {
	queue := configured.Get()
	if queue == nil {
		return nil
	}
	var err error
	if queue.Batch.HasValue() {
		err = errors.New("sending_queue::batch is not supported: use batch of the processor profile_deduplicator")
	}
	if queue.Sizer == exporterhelper.RequestSizerTypeBytes && queue.QueueSize < LeastQueueBytes {
		err = errors.Join(err, fmt.Errorf("sending_queue::queue_size is in bytes and must be at least %d, is %d: set sending_queue::sizer to requests or items for another unit",
			LeastQueueBytes, queue.QueueSize))
	}
	return err
}
