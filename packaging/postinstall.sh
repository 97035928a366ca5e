#!/bin/sh
# Enables and starts the service. In a container there is no systemd.
if command -v systemctl >/dev/null && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl enable otelcol-pprof.service
	systemctl restart otelcol-pprof.service
fi
