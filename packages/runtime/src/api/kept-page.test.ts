// SPDX-License-Identifier: Apache-2.0
/** Lists of which only a part is kept. */
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, scriptedTransport, type ScriptedStep } from '../../testing/index.ts';
import type { ListOptions } from './client.ts';
import { createApiClient } from './create-client.ts';
import type { Pod } from './objects.ts';
import { pods } from './resource.ts';
import { TransportError } from './transport.ts';

const brokenOff = new TransportError('eof', 'the connection ended');

const podOf = (name: string) => ({
  metadata: { name, managedFields: [{ manager: 'kubelet' }] },
  spec: { nodeName: 'n' },
});

/** A page in chunks: a chunk is a pod, with the comma in front of it. */
function chunksOf(...names: readonly string[]): Uint8Array[] {
  const metadata = { resourceVersion: '7', continue: 'more', remainingItemCount: 3 };
  const head = `{"kind":"PodList","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`;
  const items = names.map((name, at) => (at === 0 ? '' : ',') + JSON.stringify(podOf(name)));
  return [head, ...items, ']}'].map((text) => Buffer.from(text));
}

async function listed(options: ListOptions<Pod>, ...steps: [ScriptedStep, ...ScriptedStep[]]) {
  const clock = new FakeClock();
  const { transport, requests, openBodies } = scriptedTransport(...steps);
  const client = createApiClient(
    { transport, clock, logger: recordingLogger() },
    { userAgent: 'csi-test/v1', qps: -1, burst: 0 },
  );
  const answer = client.list(pods, { limit: 2 }, options).catch((error: unknown) => error);
  await clock.advance(60_000);
  return { answer: await answer, requests: requests.length, openBodies: openBodies() };
}

describe('a list with keep', () => {
  it('given a page, then each object is handed over once with its kind and its managedFields, and the page has what is kept', async () => {
    const seen: Pod[] = [];
    const keep = (pod: Pod): Pod | undefined => {
      seen.push(pod);
      return pod.metadata?.name === 'b' ? { metadata: { name: 'kept' } } : undefined;
    };
    const { answer, openBodies } = await listed({ keep }, { body: chunksOf('a', 'b') });
    expect(answer).toEqual({
      items: [{ metadata: { name: 'kept' } }],
      resourceVersion: '7',
      continue: 'more',
      remainingItemCount: 3,
    });
    const pod = (name: string) => ({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name, managedFields: [{ manager: 'kubelet' }] },
      spec: { nodeName: 'n' },
    });
    expect(seen).toEqual([pod('a'), pod('b')]);
    expect(openBodies).toBe(0);
  });

  it('given the last page, then it has no token', async () => {
    const body = { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items: [] };
    const { answer } = await listed({ keep: (pod) => pod }, { body });
    expect(answer).toEqual({ items: [], resourceVersion: '7' });
  });

  it('given a body that breaks off after its first object, then the list rejects, is not read again, and no object is handed over twice', async () => {
    const seen: (string | undefined)[] = [];
    const keep = (pod: Pod): undefined => void seen.push(pod.metadata?.name);
    const begun = chunksOf('a', 'b').slice(0, 3);
    const { answer, requests } = await listed(
      { keep },
      { body: begun, broken: brokenOff },
      { body: chunksOf('a', 'b') },
    );
    expect(answer).toMatchObject({
      name: 'ApiError',
      message: 'a list of pods broke off after 1 objects: TransportError: the connection ended',
      cause: brokenOff,
    });
    expect([seen, requests]).toEqual([['a'], 1]);
  });

  it('given a body that ends in the middle of an object, then the list rejects', async () => {
    const { answer } = await listed({ keep: (pod) => pod }, { body: chunksOf('a', 'b').slice(0, 3) });
    expect(String(answer)).toContain('ApiError: a list of pods broke off after 1 objects');
  });

  it('given a body that breaks off before its first object, then the list is read again', async () => {
    const [head] = chunksOf();
    const { answer, requests } = await listed(
      { keep: (pod) => pod },
      { body: [head], broken: brokenOff },
      { body: chunksOf('a') },
    );
    expect(answer).toMatchObject({ items: [{ metadata: { name: 'a' } }] });
    expect(requests).toBe(2);
  });

  it.each([
    [{ kind: 'Table', rows: [] }, 'DecodeError: the server answered a list with a Table'],
    [{ kind: 'NodeList', items: [{ kind: 'Node', apiVersion: 'v1', metadata: {} }] }, 'objects of another kind'],
  ])('given the answer %j, then the list rejects', async (body, what) => {
    const { answer } = await listed({ keep: (pod) => pod }, { body });
    expect(String(answer)).toContain(what);
  });

  it('given a page of a proxy, then the list rejects with its media type', async () => {
    const page = { headers: { 'content-type': 'text/html' }, body: '<html>' };
    const { answer } = await listed({ keep: (pod) => pod }, page);
    expect(String(answer)).toContain('an unexpected media type');
  });

  it('given items without metadata, then they are not handed over', async () => {
    const body = {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [{ spec: {} }, { metadata: { name: 'a' } }],
    };
    const { answer } = await listed({ keep: (pod) => pod }, { body });
    expect(answer).toMatchObject({ items: [{ metadata: { name: 'a' } }] });
  });

  it('given an exception of keep, then it is the rejection, and the body is ended', async () => {
    const bug = new TypeError('a bug');
    const keep = (): never => {
      throw bug;
    };
    const { answer, openBodies } = await listed({ keep }, { body: chunksOf('a', 'b') });
    expect([answer, openBodies]).toEqual([bug, 0]);
  });
});
