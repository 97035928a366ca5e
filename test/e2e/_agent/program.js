// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// A program with Splunk's agent: node program.js <http|grpc> <service> <endpoint>. It burns CPU time in burnCpu, every
// second time inside a span, and prints the ids of the spans.
'use strict';

const [transport, serviceName, endpoint] = process.argv.slice(2);
process.env.OTEL_EXPORTER_OTLP_PROTOCOL = transport === 'grpc' ? 'grpc' : 'http/protobuf';

// This version sends profiles over HTTP only: over gRPC its records go through the exporter that OpenTelemetry has for
// that, and that older versions of the agent had inside.
function overGrpc(options) {
  const { OtlpHttpProfilingExporter } = require('@splunk/otel/lib/profiling/OtlpHttpProfilingExporter');
  const { OTLPLogExporter } = require('@opentelemetry/exporter-logs-otlp-grpc');
  const exporter = new OtlpHttpProfilingExporter({ ...options, instrumentationSource: 'continuous' });
  exporter._exporter = new OTLPLogExporter({ url: endpoint });
  return [exporter];
}

const profiling = { callstackInterval: 20, collectionDuration: 1500, memoryProfilingEnabled: true };
if (transport === 'grpc') {
  profiling.exporterFactory = overGrpc;
}
const agent = require('@splunk/otel');
agent.start({ serviceName, endpoint, profiling, metrics: false });
const tracer = require('@opentelemetry/api').trace.getTracer('program');

function burnCpu(until) {
  const kept = [];
  for (let sum = 0; Date.now() < until; kept.push(new Array(100).fill(sum))) {
    for (let i = 0; i < 1000; i++) sum += Math.sqrt(i + sum);
    if (kept.length > 1000) kept.length = 0;
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function main() {
  const spans = [];
  for (let i = 0; i < 30; i++) {
    if (i % 2) {
      tracer.startActiveSpan('work', (span) => {
        const { traceId, spanId } = span.spanContext();
        spans.push({ traceId, spanId });
        burnCpu(Date.now() + 100);
        span.end();
      });
    } else {
      burnCpu(Date.now() + 100);
    }
    await pause(5);
  }
  await agent.stop();
  await pause(1000); // The agent does not wait for the answer to its last profile.
  console.log(JSON.stringify(spans));
  process.exit(0);
}

main();
