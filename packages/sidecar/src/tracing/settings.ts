// SPDX-License-Identifier: Apache-2.0
/** Turns the flags of tracing into settings, or says why they are refused. No text holds a part of a URL, which may hold a password. */
import type { TracingValues } from '../programs/shared-flags.ts';

export interface TracingSettings {
  /** Where spans are posted: scheme, host, port and path. */
  readonly endpoint: URL;
  /** 0 to 1. */
  readonly samplingRatio: number;
  readonly traceIds: 'object' | 'run';
  readonly headersFile: string | undefined;
}

export type ReadTracing =
  | { readonly kind: 'off' }
  | { readonly kind: 'on'; readonly settings: TracingSettings }
  | { readonly kind: 'refused'; readonly reason: string };

type Environment = Readonly<Record<string, string | undefined>>;

export function readTracing(values: TracingValues, env: Environment): ReadTracing {
  const address = values['tracing-endpoint'];
  const samplingRatio = values['tracing-sampling-ratio'];
  const traceIds = values['tracing-trace-id'];
  if (!(samplingRatio >= 0 && samplingRatio <= 1)) return refused('--tracing-sampling-ratio must be from 0 to 1');
  if (traceIds !== 'object' && traceIds !== 'run') return refused('--tracing-trace-id must be object or run');
  if (address === '' || isDisabled(env)) return { kind: 'off' };
  const endpoint = address === 'env' ? fromEnvironment(env) : readEndpoint('--tracing-endpoint', address);
  if (typeof endpoint === 'string') return refused(endpoint);
  const headersFile = values['tracing-headers-file'] === '' ? undefined : values['tracing-headers-file'];
  return { kind: 'on', settings: { endpoint, samplingRatio, traceIds, headersFile } };
}

function refused(reason: string): ReadTracing {
  return { kind: 'refused', reason };
}

function isDisabled(env: Environment): boolean {
  return env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true';
}

const tracesVariable = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
const baseVariable = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const tracesPath = '/v1/traces';

/** As the specification of OpenTelemetry has it: the path is appended to the endpoint of all signals, and to no other. */
function fromEnvironment(env: Environment): URL | string {
  const own = env[tracesVariable] ?? '';
  if (own !== '') return readEndpoint(`--tracing-endpoint=env: ${tracesVariable}`, own);
  const base = env[baseVariable] ?? '';
  if (base === '') return `--tracing-endpoint=env needs ${tracesVariable} or ${baseVariable}`;
  const url = readEndpoint(`--tracing-endpoint=env: ${baseVariable}`, base, '');
  if (typeof url !== 'string') url.pathname = url.pathname.replace(/\/$/, '') + tracesPath;
  return url;
}

/** The reason if it cannot be used. */
function readEndpoint(name: string, text: string, defaultPath = tracesPath): URL | string {
  const url = URL.parse(text);
  if (url === null || !text.includes('://')) return `${name} must be a URL such as http://collector:4318`;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `${name} must begin with http:// or https://`;
  if (url.username !== '' || url.password !== '')
    return `${name} must hold no user and no password: --tracing-headers-file is for credentials`;
  if (url.search !== '' || url.hash !== '') return `${name} must end with its path, without ? and #`;
  if (url.pathname === '/') url.pathname = defaultPath;
  return url;
}
