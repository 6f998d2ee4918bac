// SPDX-License-Identifier: Apache-2.0
import type { LabelSelector } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { selectorLabel, selectorText } from './selector.ts';

const long = 'x'.repeat(63);
const labels = (matchLabels: Readonly<Record<string, string>>): LabelSelector => ({ matchLabels });
const needs = (key: string, operator: string, ...values: readonly string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
});
const consists =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

it.each<readonly [LabelSelector, string]>([
  [{}, ''],
  [labels({ b: '2', a: '1', c: '' }), 'a=1,b=2,c='],
  [{ ...labels({ k: 'v' }), matchExpressions: [{ key: 'k', operator: 'Exists' }] }, 'k=v,k'],
  [needs('k', 'In', 'z', 'a'), 'k in (a,z)'],
  [needs('k', 'NotIn', 'z', 'a'), 'k notin (a,z)'],
  [needs('k', 'DoesNotExist'), '!k'],
  [labels({ [`example.com/${long}`]: long }), `example.com/${long}=${long}`],
])('given the selector %j, then its text is %j', (selector, text) => {
  expect(selectorText(selector)).toEqual({ kind: 'ok', value: text });
  expect(selectorLabel(selector)).toBe(text === '' ? '<none>' : text);
});

it.each<readonly [LabelSelector, string]>([
  [needs('k', 'Gt', '1'), '"Gt" is not a valid label selector operator'],
  [needs('k', 'In'), "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
  [needs('k', 'NotIn'), "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
  [needs('k', 'Exists', 'v'), 'values: Invalid value: ["v"]: values set must be empty for exists and does not exist'],
  [needs('k', 'In', 'a', `${long}x`), `values[1][k]: Invalid value: "${long}x": must be no more than 63 characters`],
  [
    labels({ k: 'a,b' }),
    `values[0][k]: Invalid value: "a,b": a valid label must be an empty string or ${consists.slice(5)}`,
  ],
  [
    labels({ 'a/b/c': '' }),
    `key: Invalid value: "a/b/c": a valid label key ${consists} with an optional DNS subdomain prefix and '/'`,
  ],
  [labels({ '/b': '' }), 'key: Invalid value: "/b": prefix part must be non-empty'],
  [labels({ 'A/b': '' }), 'key: Invalid value: "A/b": prefix part must be a lowercase RFC 1123 subdomain'],
  [labels({ 'a/': '' }), 'key: Invalid value: "a/": name part must be non-empty'],
  [labels({ [`${long}x`]: '' }), `key: Invalid value: "${long}x": name part must be no more than 63 characters`],
  [labels({ 'a)': '' }), `key: Invalid value: "a)": name part ${consists}`],
])('[snapshot-controller#142] given the selector %j, then it is refused: %s', (selector, text) => {
  expect(selectorText(selector)).toEqual({ kind: 'error', message: text });
  expect(selectorLabel(selector)).toBe('<error>');
});
