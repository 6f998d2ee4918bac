// SPDX-License-Identifier: Apache-2.0
/**
 * Tracing with the exporter of OpenTelemetry's SDK: OTLP over HTTP, as JSON. Imported only when tracing is asked for; a bundle of its own.
 * The SDK reads OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT and _COMPRESSION (and their forms for traces) from the environment of the process, as well
 * as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
 */
import { CompressionAlgorithm, OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import { type ISerializer, JsonTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import {
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { collectorAgent } from './agent.ts';
import { createSpanExport } from './export-spans.ts';
import { headersFrom } from './headers-file.ts';
import { createRecorder } from './recorder.ts';
import type { OpenTracing, TracingDeps, TracingOptions } from './tracing.ts';

export const openTracing: OpenTracing = (deps, options) => {
  const { clock, random } = deps;
  const { endpoint, samplingRatio, traceIds, version } = options;
  let resource = resourceOf(deps, options, undefined);
  const rejections = countedRejections();
  const agent = collectorAgent(deps, endpoint);
  const { keep, close } = createSpanExport(
    {
      ...deps,
      exporter: exporterOf(deps, options, { agent: agent.open, serializer: rejections.serializer }),
      cutOff: agent.cutOff,
      takeRejected: rejections.take,
    },
    { resource: () => resource, version, collector: endpoint.host },
  );
  return {
    tracerOf: (controller) =>
      createRecorder(
        { clock, random, keep },
        { samplingRatio, traceIds, attributes: { 'csi_sidecars.controller': controller } },
      ),
    setDriver: (name) => {
      resource = resourceOf(deps, options, name);
    },
    close,
  };
};

interface ExporterParts {
  readonly agent: ReturnType<typeof collectorAgent>['open'];
  readonly serializer: TraceSerializer;
}

type TraceSerializer = typeof JsonTraceSerializer;

/** What `OTLPTraceExporter` of the SDK is, with a serializer that sees the answers. */
function exporterOf(
  deps: TracingDeps,
  { endpoint, headersFile }: TracingOptions,
  { agent, serializer }: ExporterParts,
): OTLPExporterBase<ReadableSpan[]> {
  const { env } = deps;
  const isSet = (name: string): boolean => (env[name] ?? '') !== '';
  const compresses = isSet('OTEL_EXPORTER_OTLP_TRACES_COMPRESSION') || isSet('OTEL_EXPORTER_OTLP_COMPRESSION');
  const configuration = convertLegacyHttpOptions(
    {
      url: endpoint.href,
      headers: headersFrom(deps, headersFile),
      httpAgentOptions: agent,
      concurrencyLimit: 4,
      ...(compresses ? {} : { compression: CompressionAlgorithm.GZIP }),
    },
    'TRACES',
    'v1/traces',
    { 'Content-Type': 'application/json' },
  );
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(
      configuration,
      serializer,
      'otlp_http_span_exporter',
      TraceExporterMetricsHelper,
      undefined,
    ),
  );
}

/** A collector may take a batch without some of its spans. The SDK reads the answer right before it reports the end of the export. */
function countedRejections(): { readonly serializer: TraceSerializer; readonly take: () => number } {
  let rejected = 0;
  const serializer: ISerializer<ReadableSpan[], ReturnType<TraceSerializer['deserializeResponse']>> = {
    serializeRequest: (spans) => JsonTraceSerializer.serializeRequest(spans),
    deserializeResponse: (bytes) => {
      const response = JsonTraceSerializer.deserializeResponse(bytes);
      // As JSON a 64-bit number is a string.
      const count = Number.parseInt(`${response.partialSuccess?.rejectedSpans ?? 0}`, 10);
      rejected = Number.isSafeInteger(count) && count > 0 ? count : 0;
      return {};
    },
  };
  return {
    serializer,
    take: () => {
      const taken = rejected;
      rejected = 0;
      return taken;
    },
  };
}

function resourceOf({ env }: TracingDeps, options: TracingOptions, driver: string | undefined): Resource {
  const { program, version, hostName } = options;
  const pod = env['POD_NAME'] ?? hostName;
  return resourceFromAttributes({
    'service.name': program,
    'service.version': version,
    'service.instance.id': pod,
    'k8s.pod.name': pod,
    ...(env['POD_NAMESPACE'] === undefined ? {} : { 'k8s.namespace.name': env['POD_NAMESPACE'] }),
    ...(driver === undefined ? {} : { 'csi.driver.name': driver }),
  }).merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
}
