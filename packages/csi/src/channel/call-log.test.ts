// SPDX-License-Identifier: Apache-2.0
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { callLog } from './call-log.ts';
import { failed } from './exchange.ts';

const method = '/csi.v1.Identity/GetPluginInfo';
const response = { name: 'd', vendor_version: '', manifest: {} };
const json = '{"name":"d"}';

function logged(maxResponseBytes: number, verbosity = 5) {
  const log = recordingLogger({ verbosity });
  const formatted: unknown[] = [];
  const format = (_method: string, message: unknown): string => {
    formatted.push(message);
    return json;
  };
  const sanitizer = { request: format, response: format, message: format };
  return { calls: callLog({ log, sanitizer }, maxResponseBytes), log, formatted };
}

it('given a lower level, then nothing is logged, and no message is formatted', () => {
  const { calls, log, formatted } = logged(0, 4);
  calls.called(method, {});
  calls.ended(method, { kind: 'answered', response });
  expect([log.lines, formatted]).toEqual([[], []]);
});

describe('a response', () => {
  it.each([
    { limit: 0, text: json },
    { limit: -1, text: json },
    { limit: 1, text: '{ [response body too large, log capped to 1 chars]' },
    { limit: json.length - 1, text: '{"name":"d" [response body too large, log capped to 11 chars]' },
    { limit: json.length, text: json },
    { limit: json.length + 1, text: json },
  ])('given a limit of $limit bytes, then it is logged as $text', ({ limit, text }) => {
    const { calls, log } = logged(limit);
    calls.ended(method, { kind: 'answered', response });
    expect(log.lines.map(({ message, facts }) => [message, facts])).toEqual([
      ['GRPC response', { response: text, err: null }],
    ]);
  });
});

it('given a call that fails, then its request and its error are logged', () => {
  const { calls, log } = logged(0);
  const outcome = failed({ code: 'Internal', method, detail: 'broken' });
  calls.called(method, {});
  calls.ended(method, outcome);
  expect(log.lines.map(({ message, facts }) => [message, facts])).toEqual([
    ['GRPC call', { method, request: json }],
    ['GRPC response', { response: '{}', err: outcome.error }],
  ]);
});
