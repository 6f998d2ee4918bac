// SPDX-License-Identifier: Apache-2.0
import { memoryFiles, recordingLogger } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { headersFrom, parseHeaders } from './headers-file.ts';

it('given a file that changes, goes away and comes back, then each batch gets the headers of now, else the last ones', async () => {
  const files = memoryFiles();
  const logger = recordingLogger();
  const headers = headersFrom({ files, logger }, '/h');
  const text = 'Cannot read --tracing-headers-file, spans are sent with the headers that it had last';
  expect(await headers()).toEqual({});
  files.write('/h', 'authorization: Bearer s3cret\n');
  expect(await headers()).toEqual({ authorization: 'Bearer s3cret' });
  files.write('/h', 'Authorization: Bearer n3w\r\nx-tenant:  a b \n');
  expect(await headers()).toEqual({ authorization: 'Bearer n3w', 'x-tenant': 'a b' });
  const kept = { authorization: 'Bearer n3w', 'x-tenant': 'a b' };
  files.remove('/h');
  expect([await headers(), await headers()]).toEqual([kept, kept]);
  expect(logger.lines.map(({ message }) => message)).toEqual([text, text]);
});

it('given no file, then there are no headers', async () => {
  expect(await headersFrom({ files: memoryFiles(), logger: recordingLogger() }, undefined)()).toEqual({});
});

it('given lines that are no headers, or headers of the exporter, then the others apply, and the log has their numbers alone', async () => {
  const files = memoryFiles();
  const logger = recordingLogger();
  files.write('/h', '# comment\n\na: 1\ns3cret\nb : 2\nc: \u0001\nhost: x\nContent-Length: 1\nd:\n');
  expect(await headersFrom({ files, logger }, '/h')()).toEqual({ a: '1', d: '' });
  expect(logger.lines.map(({ message }) => message)).toEqual([
    'Lines of --tracing-headers-file are not "name: value": 4, 5, 6, 7, 8',
  ]);
  expect(JSON.stringify(logger.lines)).not.toContain('s3cret');
});

it('given a name of an object of JavaScript, then it is a header like another', () => {
  expect(Object.entries(parseHeaders('__proto__: x\nconstructor: y').headers)).toEqual([['constructor', 'y']]);
});
