// SPDX-License-Identifier: Apache-2.0
/** Which calls to the driver may run at the same time, and what each call carries. */
import { type CsiCallOptions, type CsiChannel, CsiError } from '@csi-sidecars/csi';
import { done } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aDriver, anAttachment, finalizer, someSettings } from '../../testing/builders.ts';
import { attachmentKey } from '../attachment.ts';
import { createAttachmentRuns } from '../attachment-runs.ts';
import { createAttachMemory, type Publication, type UnpublishCall } from './memory.ts';
import type { AttachContext, AttachRun } from './look.ts';
import { publish, unpublish, unpublishOrphan } from './steps.ts';

const publishMethod = '/csi.v1.Controller/ControllerPublishVolume';
const unpublishMethod = '/csi.v1.Controller/ControllerUnpublishVolume';
const { signal } = new AbortController();
const span = { child: () => undefined } as never;

interface Sent {
  readonly method: string;
  readonly request: object;
  readonly options: object;
}

/** A driver that records calls and answers none of them before `answer` settles. */
function callsTo(answer: Promise<object>) {
  const sent: Sent[] = [];
  const call = async (method: string, request: object, options: CsiCallOptions) => {
    const { signal: passed, ...limits } = options;
    sent.push({ method, request, options: { ...limits, isOfTheRun: passed === signal } });
    return await answer;
  };
  const context: AttachContext = {
    driver: aDriver(),
    channel: { call } as unknown as CsiChannel,
    settings: someSettings({ timeoutMs: 7_000 }),
    finalizer,
    memory: createAttachMemory(),
    runs: createAttachmentRuns(),
  };
  return { sent, context };
}

const target = (facts: Partial<UnpublishCall> = {}): UnpublishCall => ({
  volumeId: 'volume-1',
  nodeId: 'id-of-node1',
  secrets: undefined,
  migrated: false,
  ...facts,
});

const runOf = (context: AttachContext, name: string): AttachRun =>
  ({ context, key: attachmentKey(anAttachment({ name })), signal, span }) as unknown as AttachRun;

function publishFor(context: AttachContext, name: string, { volumeId, nodeId, secrets, migrated }: UnpublishCall) {
  const request = { volume_id: volumeId, node_id: nodeId, ...(secrets && { secrets }) };
  return publish(runOf(context, name), anAttachment({ name }), { request, migrated });
}

const unpublishFor = (context: AttachContext, name: string, call: UnpublishCall) =>
  unpublish(runOf(context, name), call);

function publicationOf(name: string, undo: UnpublishCall): Publication {
  const attachment = attachmentKey(anAttachment({ name }));
  return { uid: `uid-of-${name}`, attachment, nodeName: 'node1', volumeName: 'pv1', undo };
}

const unpublishOrphanFor = (context: AttachContext, publication: Publication) =>
  unpublishOrphan(runOf(context, publication.attachment), publication);

describe('calls in flight', () => {
  it('given one volume and three nodes, when each needs a call, then all calls are in flight at once', async () => {
    const { sent, context } = callsTo(Promise.resolve({ publish_context: {} }));
    const all = Promise.allSettled([
      publishFor(context, 'va1', target()),
      publishFor(context, 'va2', target({ nodeId: 'id-of-node2' })),
      unpublishFor(context, 'va3', target({ nodeId: 'id-of-node3' })),
    ]);
    expect(sent.map(({ request }) => request)).toEqual([
      { volume_id: 'volume-1', node_id: 'id-of-node1' },
      { volume_id: 'volume-1', node_id: 'id-of-node2' },
      { volume_id: 'volume-1', node_id: 'id-of-node3' },
    ]);
    expect(await all).toMatchObject([{ value: {} }, { value: {} }, { value: 'done' }]);
  });

  it('given a call for a volume and a node in flight, when another attachment needs a call for them, then it is busy', async () => {
    const answer = Promise.withResolvers<object>();
    const { sent, context } = callsTo(answer.promise);
    const first = Promise.allSettled([publishFor(context, 'va1', target())]);
    const orphan = publicationOf('va4', target());
    expect([
      await publishFor(context, 'va2', target()),
      await unpublishFor(context, 'va3', target()),
      await unpublishOrphanFor(context, orphan),
    ]).toEqual(['busy', 'busy', 'busy']);
    expect([sent.length, [...context.memory.publications.keys()]]).toEqual([1, ['va1']]);
    answer.resolve({ publish_context: {} });
    await first;
    expect(await unpublishFor(context, 'va3', target())).toBe('done');
  });

  it('given a call that fails, then the next call for the same volume and node is made', async () => {
    const failure = new CsiError({ code: 'Internal', method: publishMethod, detail: 'no' });
    const { sent, context } = callsTo(Promise.reject(failure));
    await expect(publishFor(context, 'va1', target())).rejects.toBe(failure);
    await expect(unpublishFor(context, 'va1', target())).rejects.toBe(failure);
    expect(sent.map(({ method }) => method)).toEqual([publishMethod, unpublishMethod]);
    expect(context.memory.calls.size).toBe(0);
  });
});

describe('what a call carries', () => {
  const secrets = { password: 'x' };

  it.each([true, false])(
    'given a volume with migrated %s, then each call carries that, the timeout, and the signal and the span of the run',
    async (migrated) => {
      const { sent, context } = callsTo(Promise.resolve({ publish_context: {} }));
      await publishFor(context, 'va1', target({ migrated, secrets }));
      const publication = context.memory.publications.get(attachmentKey(anAttachment({ name: 'va1' })))!;
      await unpublishOrphanFor(context, publication);
      await unpublishFor(context, 'va1', target({ migrated }));
      const options = { timeoutMs: 7_000, migrated, span, isOfTheRun: true };
      const names = { volume_id: 'volume-1', node_id: 'id-of-node1' };
      expect(sent).toEqual([
        { method: publishMethod, request: { ...names, secrets }, options },
        { method: unpublishMethod, request: { ...names, secrets }, options },
        { method: unpublishMethod, request: names, options },
      ]);
    },
  );
});

describe('what is remembered of a publish', () => {
  it('given a publish in flight, then the call that undoes it is in memory', async () => {
    const { context } = callsTo(new Promise(() => undefined));
    void Promise.allSettled([publishFor(context, 'va1', target())]);
    expect([...context.memory.publications.values()]).toEqual([publicationOf('va1', target())]);
  });

  it.each([
    { outcome: 'done', answer: () => Promise.resolve({}), left: [] },
    { outcome: 'a failure', answer: () => Promise.reject(new Error('no')), left: ['va1'] },
  ])(
    'given an unpublish that ends with $outcome, then these publications are left: $left',
    async ({ outcome, answer, left }) => {
      for (const undo of [
        (context: AttachContext) => unpublishFor(context, 'va1', target()),
        (context: AttachContext) => unpublishOrphanFor(context, publicationOf('va1', target())),
      ]) {
        const { context } = callsTo(answer());
        const publication = publicationOf('va1', target());
        context.memory.publications.set(publication.attachment, publication);
        expect(await undo(context).catch(() => 'a failure')).toBe(outcome);
        expect([...context.memory.publications.keys()]).toEqual(left);
      }
    },
  );

  it.each([
    { call: 'publish', make: (context: AttachContext) => publishFor(context, 'va1', target()) },
    { call: 'unpublish', make: (context: AttachContext) => unpublishFor(context, 'va1', target()) },
    {
      call: 'unpublish an orphan',
      make: (context: AttachContext) => unpublishOrphanFor(context, publicationOf('va1', target())),
    },
  ])('given a call to $call, then the comparison with the driver sees it until the run ends', async ({ make }) => {
    const { context } = callsTo(Promise.resolve({ publish_context: {} }));
    const attachment = anAttachment({ name: 'va1' });
    await make(context);
    using during = context.runs.watchCalls();
    context.runs.end(attachmentKey(attachment), done);
    using after = context.runs.watchCalls();
    expect([during.has(attachment), after.has(attachment)]).toEqual([true, false]);
  });
});
