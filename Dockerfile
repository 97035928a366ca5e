# Copyright The otelpprof Authors
# SPDX-License-Identifier: Apache-2.0
#
#   docker build --build-arg VERSION=$(git describe --tags --always) -t otelcol-pprof .
#   docker run --rm --read-only -p 127.0.0.1:4040:4040 -p 127.0.0.1:4041:4041 otelcol-pprof
#
# It ends in one static binary, the certificates of public authorities and a configuration; there is no shell. Pin the
# image of the first stage by its digest where builds must be repeatable; the binary itself is (`make reproducible`).

FROM golang:1.26 AS build
ARG VERSION=0.1.0-dev
WORKDIR /src
# The modules first: a change of the code does not fetch them again.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build-full VERSION=${VERSION}

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/_build/full/otelcol-pprof /otelcol-pprof
COPY deploy/docker/config.yaml /etc/otelcol-pprof/config.yaml

# Nobody in particular. It owns nothing in here: what writes files or a queue needs a volume that 10001 may write to.
USER 10001:10001

# pprof: POST /v1/pprof, and the clients of Pyroscope, Datadog and Parca
EXPOSE 4040
# pages of profiles and flame graphs
EXPOSE 4041
# OTLP over gRPC, Splunk's agents too
EXPOSE 4317
# OTLP over HTTP, Splunk's agents too
EXPOSE 4318
# 200 once the pipelines run
EXPOSE 13133
# metrics of the Collector
EXPOSE 8888

ENTRYPOINT ["/otelcol-pprof"]
CMD ["--config=/etc/otelcol-pprof/config.yaml", "--feature-gates=service.profilesSupport"]
