// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { acceptedFormat, type Formats, hasTooManyValues, jsonFormat } from './media.ts';

const json = jsonFormat(100);
const formats: Formats = [json, { ...json, contentType: 'application/yaml' }];

it.each(['{', '[', ','])(
  '[snapshot-conversion-webhook#13] given 200000 of %s, then the values are not too many; with one more they are',
  (beginning) => {
    const isTooMuch = (text: string) => hasTooManyValues(Buffer.from(text), 200_000);
    expect(isTooMuch(beginning.repeat(200_000))).toBe(false);
    expect(isTooMuch(beginning.repeat(200_001))).toBe(true);
    expect(isTooMuch(':'.repeat(200_001))).toBe(false);
  },
);

it.each([
  { accept: undefined, format: 'application/json' },
  { accept: '', format: 'application/json' },
  { accept: 'application/yaml', format: 'application/yaml' },
  { accept: ' APPLICATION/YAML ; Q=0.9 , application/json;q=0.8', format: 'application/yaml' },
  { accept: 'application/yaml;v=1;q=0.1, application/json;q=0.2', format: 'application/json' },
  { accept: 'application/json;q=0.5, application/yaml', format: 'application/yaml' },
  { accept: 'application/json;q=0.5, application/yaml;q=odd', format: 'application/yaml' },
  { accept: 'application/json, application/yaml;q=odd', format: 'application/json' },
  { accept: 'application/yaml, application/json', format: 'application/yaml' },
  { accept: 'application/yaml;q=1, application/json', format: 'application/yaml' },
  { accept: 'application/yaml;q=1, application/json;q=0.5', format: 'application/yaml' },
  { accept: 'application/yaml;q=0.5, */*', format: 'application/json' },
  { accept: 'text/html', format: 'none' },
  { accept: ';q=1', format: 'none' },
])('given a client that accepts $accept, then it gets $format', ({ accept, format }) => {
  const found = formats.find((each) => each === acceptedFormat(formats, accept));
  expect(found === undefined ? 'none' : found.contentType).toBe(format);
});
