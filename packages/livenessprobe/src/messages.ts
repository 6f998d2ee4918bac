// SPDX-License-Identifier: Apache-2.0
/** Texts that users see and search for, in upstream's words. */
export const messages = {
  exclusivePort: 'Only one of `--health-port` and `--http-endpoint` can be explicitly set',
  exclusiveMetrics: 'Only one of `--metrics-address` and `--http-endpoint` can be explicitly set',
  connectFailed: 'Failed to establish connection to CSI driver',
  askingName: 'Calling CSI driver to discover driver name',
  nameFailed: 'Failed to get CSI driver name',
  metricsListening: 'Separate metrics ServeMux listening',
  metricsFailed: 'Failed to start prometheus metrics endpoint on specified address and path',
  listening: 'ServeMux listening',
  listenFailed: 'Failed to start http server',
  probing: 'Sending probe request to CSI driver',
  healthy: 'Health check succeeded',
  unhealthy: 'Health check failed',
  notReady: 'Driver responded but is not ready',
  notReadyBody: 'driver responded but is not ready',
  metricsPathTaken: (path: string) => `--metrics-path=${path}: this path is that of the health check`,
  metricsPathRelative: (path: string) => `--metrics-path=${path}: a path begins with a slash`,
} as const;
