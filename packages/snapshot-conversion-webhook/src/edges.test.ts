// SPDX-License-Identifier: Apache-2.0
/** Odd objects, odd headers, and files that change one after the other. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestAuthority, FakeClock, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import { afterEach, expect, it } from 'vitest';
import { type Pair, readPair, watchPair } from '@csi-sidecars/runtime/internal';
import { convert, listAnnotation } from './convert.ts';

const group = 'groupsnapshot.storage.k8s.io';
const kind = 'VolumeGroupSnapshotContent';
const [v1, beta1] = [`${group}/v1`, `${group}/v1beta1`];

it.each([
  { from: v1, to: `${group}/v2` },
  { from: 'v0', to: beta1 },
])('[snapshot-conversion-webhook#7] given $from to $to, then one unknown version is a failure', ({ from, to }) => {
  const status = { volumeSnapshotInfoList: [] };
  expect(convert({ apiVersion: from, kind, status }, to)).toEqual({
    failure: `unexpected conversion version from "${from}" to "${to}"`,
  });
});

it('[snapshot-conversion-webhook#4] given pairs without an annotation, then the other fields of the status stay', () => {
  const status = { readyToUse: true, volumeSnapshotHandlePairList: [{ volumeHandle: 'v' }] };
  expect(convert({ apiVersion: beta1, kind, status }, v1)).toEqual({
    converted: {
      apiVersion: v1,
      kind,
      status: { readyToUse: true, volumeSnapshotInfoList: [{ volumeHandle: 'v' }] },
    },
  });
});

it('given annotations that are no map, then they are replaced', () => {
  const object = { apiVersion: v1, kind, metadata: { annotations: 'abc' }, status: { volumeSnapshotInfoList: [] } };
  expect(convert(object, beta1)).toEqual({
    converted: {
      apiVersion: beta1,
      kind,
      metadata: { annotations: { [listAnnotation]: '[]' } },
      status: { volumeSnapshotHandlePairList: [] },
    },
  });
});

it('[snapshot-conversion-webhook#7] given an annotation that is no JSON, then the failure is the text of the parser', () => {
  const object = { apiVersion: beta1, kind, metadata: { annotations: { [listAnnotation]: '[' } } };
  expect(convert(object, v1)).toEqual({
    failure: `unable to deserialize annotation "${listAnnotation}": invalid JSON (1 characters)`,
  });
});

const authority = createTestAuthority();
const [first, second] = ['first', 'second'].map((commonName) => authority.issue({ commonName, hosts: ['localhost'] }));
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Certificate and key, each in a folder of its own. */
function apart(pair: Pair) {
  const root = mkdtempSync(join(tmpdir(), 'apart-'));
  folders.push(root);
  for (const name of ['a', 'b']) mkdirSync(join(root, name));
  const files = { certFile: join(root, 'a', 'crt'), keyFile: join(root, 'b', 'key') };
  writeFileSync(files.certFile, pair.cert);
  writeFileSync(files.keyFile, pair.key);
  return files;
}

it.each([
  { given: 'a key of another certificate', change: { key: second!.key }, reason: /key values mismatch/ },
  { given: 'an empty certificate', change: { cert: '' }, reason: /\/a\/crt is empty$/ },
  { given: 'an empty key', change: { key: '' }, reason: /\/b\/key is empty$/ },
])('[snapshot-conversion-webhook#12] given $given, then the reason says so', async ({ change, reason }) => {
  await expect(readPair(apart({ ...first!, ...change }))).rejects.toThrow(reason);
});

it.each([
  { earlier: 'certFile', later: 'keyFile' },
  { earlier: 'keyFile', later: 'certFile' },
] as const)(
  '[snapshot-conversion-webhook#6] given two folders, when $earlier and, after it was read, $later changes, then the pair is used within the minute',
  async ({ earlier, later }) => {
    const files = apart(first!);
    const texts = { certFile: second!.cert, keyFile: second!.key };
    const clock = new FakeClock();
    const log = recordingLogger();
    const used: Pair[] = [];
    const stop = new AbortController();
    const use = (pair: Pair) => void used.push(pair);
    const ended = watchPair({ clock, log }, { ...files, current: first! }, { use, signal: stop.signal });
    const isLogged = (message: string) => async () => {
      if (clock.pending > 1 && clock.monotonicMs() < 50_000) await clock.advance(50);
      return log.messages().includes(message);
    };
    writeFileSync(files[earlier], texts[earlier]);
    await until(isLogged('error re-reading certificate'));
    writeFileSync(files[later], texts[later]);
    await until(isLogged('Updated current TLS certificate'));
    expect([used, clock.monotonicMs() < 60_000]).toEqual([[{ cert: second!.cert, key: second!.key }], true]);
    stop.abort();
    await ended;
  },
);
