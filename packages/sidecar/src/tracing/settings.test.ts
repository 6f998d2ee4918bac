// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { readTracing } from './settings.ts';

const values = {
  'tracing-endpoint': '',
  'tracing-sampling-ratio': 0.1,
  'tracing-trace-id': 'object',
  'tracing-headers-file': '',
};
const read = (endpoint: string, env: Readonly<Record<string, string>> = {}) =>
  readTracing({ ...values, 'tracing-endpoint': endpoint }, env);

function endpointOf(endpoint: string, env: Readonly<Record<string, string>> = {}): string {
  const found = read(endpoint, env);
  return found.kind === 'on' ? found.settings.endpoint.href : found.kind;
}

function reasonOf(endpoint: string, env: Readonly<Record<string, string>> = {}): string {
  const found = read(endpoint, env);
  return found.kind === 'refused' ? found.reason : found.kind;
}

describe('the endpoint', () => {
  it.each([
    ['http://collector:4318', 'http://collector:4318/v1/traces'],
    ['http://collector:4318/', 'http://collector:4318/v1/traces'],
    ['https://[fd00::1]/otlp', 'https://[fd00::1]/otlp'],
    ['HTTP://collector/own/path/', 'http://collector/own/path/'],
  ])('given %s, then spans are posted to %s', (given, expected) => {
    expect(endpointOf(given)).toBe(expected);
  });

  it.each([
    ['ftp://x', '--tracing-endpoint must begin with http:// or https://'],
    [
      'http://u:p4ss@x',
      '--tracing-endpoint must hold no user and no password: --tracing-headers-file is for credentials',
    ],
    [
      'http://:p4ss@x',
      '--tracing-endpoint must hold no user and no password: --tracing-headers-file is for credentials',
    ],
    ['http://x/?token=p4ss', '--tracing-endpoint must end with its path, without ? and #'],
    ['http://x/#p4ss', '--tracing-endpoint must end with its path, without ? and #'],
    ['u:p4ss@x:4318', '--tracing-endpoint must be a URL such as http://collector:4318'],
    ['http:p4ss', '--tracing-endpoint must be a URL such as http://collector:4318'],
    ['http://u:p4ss@', '--tracing-endpoint must be a URL such as http://collector:4318'],
  ])(
    '[explain#141] given %s, then it is refused with the name of the flag and without the password',
    (given, reason) => {
      expect(reasonOf(given)).toBe(reason);
      expect(reason).not.toContain('p4ss');
    },
  );
});

describe('the endpoint from the environment', () => {
  const [own, base] = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;

  it.each([
    [{ [own]: 'http://a:1/own', [base]: 'http://b:2' }, 'http://a:1/own'],
    [{ [own]: 'http://a:1' }, 'http://a:1/v1/traces'],
    [{ [own]: '', [base]: 'http://b:2' }, 'http://b:2/v1/traces'],
    [{ [base]: 'http://b:2/gateway/' }, 'http://b:2/gateway/v1/traces'],
  ])('given env and %o, then spans are posted to %s', (env, expected) => {
    expect(endpointOf('env', env)).toBe(expected);
  });

  it.each([
    [{}, `--tracing-endpoint=env needs ${own} or ${base}`],
    [
      { [base]: 'http://u:p4ss@b' },
      `--tracing-endpoint=env: ${base} must hold no user and no password: --tracing-headers-file is for credentials`,
    ],
    [{ [own]: 'grpc://b' }, `--tracing-endpoint=env: ${own} must begin with http:// or https://`],
  ])('given env and %o, then it is refused', (env, reason) => {
    expect(reasonOf('env', env)).toBe(reason);
  });

  it('[explain#132] given no endpoint, then variables for exporters switch nothing on', () => {
    const env = { [own]: 'http://a:1', [base]: 'http://b:2', OTEL_TRACES_EXPORTER: 'otlp' };
    expect(read('', env)).toEqual({ kind: 'off' });
  });

  it('given OTEL_SDK_DISABLED, then it is off although there is an endpoint', () => {
    expect([
      read('http://x', { OTEL_SDK_DISABLED: ' True ' }).kind,
      read('http://x', { OTEL_SDK_DISABLED: '1' }).kind,
    ]).toEqual(['off', 'on']);
  });
});

describe('the other flags', () => {
  const all = (more: Partial<typeof values>) => readTracing({ ...values, 'tracing-endpoint': 'http://x', ...more }, {});

  it('given them, then the settings have their values', () => {
    const given = { 'tracing-sampling-ratio': 1, 'tracing-trace-id': 'run', 'tracing-headers-file': '/headers' };
    expect(all(given)).toMatchObject({
      settings: { samplingRatio: 1, traceIds: 'run', headersFile: '/headers' },
    });
    expect(all({ 'tracing-sampling-ratio': 0 })).toMatchObject({
      kind: 'on',
      settings: { samplingRatio: 0, traceIds: 'object' },
    });
  });

  it.each([
    [{ 'tracing-sampling-ratio': -0.1 }, '--tracing-sampling-ratio must be from 0 to 1'],
    [{ 'tracing-sampling-ratio': 1.5 }, '--tracing-sampling-ratio must be from 0 to 1'],
    [{ 'tracing-sampling-ratio': Number.NaN }, '--tracing-sampling-ratio must be from 0 to 1'],
    [{ 'tracing-trace-id': 'claim' }, '--tracing-trace-id must be object or run'],
  ])('[explain#141] given %o, then it is refused', (given, reason) => {
    expect(all(given)).toEqual({ kind: 'refused', reason });
  });
});
