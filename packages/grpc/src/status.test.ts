// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type Code, codeFromNumber, numberOfCode } from './codes.ts';
import type { Header } from './hpack/hpack.ts';
import { codeOfReset, isGrpc, statusHeaders, statusOf, statusOfHttp } from './status.ts';

const goNames: readonly Code[] = [
  ...(['OK', 'Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound', 'AlreadyExists'] as const),
  ...(['PermissionDenied', 'ResourceExhausted', 'FailedPrecondition', 'Aborted', 'OutOfRange'] as const),
  ...(['Unimplemented', 'Internal', 'Unavailable', 'DataLoss', 'Unauthenticated', 'Code(17)'] as const),
];

it('given the number of a code, then it has its name in Go, and the name its number', () => {
  expect(goNames.map((_, number) => codeFromNumber(number))).toEqual(goNames);
  expect(goNames.map(numberOfCode)).toEqual([...goNames.keys()]);
});

it.each<readonly [string, string, Code, string]>([
  ['0', '', 'OK', ''],
  ['2147483647', '', 'Code(2147483647)', ''],
  ['2147483648', '', 'Internal', 'transport: malformed grpc-status: "2147483648"'],
  ['1'.repeat(101), '', 'Internal', `transport: malformed grpc-status: "${'1'.repeat(100)}"`],
  ['5', 'a%20b%c3%A4%zz%', 'NotFound', 'a bä%zz%'],
])('given the status %s with the message %s, then it is read as %s: %s', (...[number, message, code, detail]) => {
  const headers: Header[] = [['grpc-status', number]];
  if (message !== '') headers.push(['grpc-message', message]);
  expect(statusOf(headers)).toEqual({ code, detail });
});

it('given no status, then there is none', () => {
  expect(statusOf([['grpc-message', 'a']])).toBe(undefined);
});

it('given a detail, then only what a header cannot have is written percent-encoded', () => {
  expect(statusHeaders({ code: 'OK', detail: '' })).toEqual([['grpc-status', '0']]);
  expect(statusHeaders({ code: 'Code(99)', detail: ' ~%\x7F\x1F\nä' })).toEqual([
    ['grpc-status', '99'],
    ['grpc-message', ' ~%25%7F%1F%0A%C3%A4'],
  ]);
});

it.each<readonly [string, Code]>([
  ['400', 'Internal'],
  ['401', 'Unauthenticated'],
  ['403', 'PermissionDenied'],
  ['404', 'Unimplemented'],
  ['429', 'Unavailable'],
  ['502', 'Unavailable'],
  ['503', 'Unavailable'],
  ['504', 'Unavailable'],
  ['500', 'Unknown'],
  ['', 'Unknown'],
])('given the HTTP status "%s", then the code is %s', (status, code) => {
  const detail = `unexpected HTTP status code received from server: ${status}`;
  expect(statusOfHttp(status === '' ? [] : [[':status', status]])).toEqual({ code, detail });
});

it.each([
  [undefined, 'unexpected content-type ""'],
  ['x'.repeat(101), `unexpected content-type "${'x'.repeat(100)}"`],
  ['text/application/grpc', 'unexpected content-type "text/application/grpc"'],
  ['application/grpc-web', 'unexpected content-type "application/grpc-web"'],
  ['application/grpc', undefined],
  ['Application/gRPC+proto', undefined],
  ['application/grpc;charset=utf-8', undefined],
])('given the content type %s, then the response of status 200 is refused with: %s', (type, detail) => {
  const headers: Header[] = [[':status', '200']];
  if (type !== undefined) headers.push(['content-type', type]);
  expect(isGrpc(headers)).toBe(detail === undefined);
  expect(statusOfHttp(headers)?.detail).toBe(detail);
});

it.each<readonly [number, Code]>([
  [0, 'Internal'],
  [7, 'Unavailable'],
  [8, 'Canceled'],
  [11, 'ResourceExhausted'],
  [12, 'PermissionDenied'],
])('given a reset with error code %i, then the code is %s', (code, expected) => {
  expect(codeOfReset(code)).toBe(expected);
});
