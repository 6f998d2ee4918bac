// SPDX-License-Identifier: Apache-2.0
/** Each step of the attach loop alone: the request that it sends, and the signal that may abort it. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { ApiError, type KubeObject } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aDriver, anAttachment, attached, aVolume, finalizer, someSettings } from '../../testing/builders.ts';
import { attachmentKey } from '../attachment.ts';
import { createAttachmentRuns } from '../attachment-runs.ts';
import { createAttachMemory, type Publication } from './memory.ts';
import type { AttachRun } from './look.ts';
import * as step from './steps.ts';

const attachment = anAttachment({ ...attached, finalizers: [finalizer, 'x/y'] });
const { status: _status, ...withoutStatus } = anAttachment();
const { signal } = new AbortController();

type Alone = (run: AttachRun) => Promise<unknown>;

/** Performs the step with an API server that refuses everything, or answers with `stored`. */
async function requestsOf(perform: Alone, stored?: KubeObject | ApiError) {
  const requests: unknown[] = [];
  const answer = async (target: object, detail: object, options: { readonly signal?: AbortSignal }) => {
    requests.push({ detail, isOfTheRun: options.signal === signal });
    if (stored instanceof ApiError) throw stored;
    if (stored !== undefined) return stored;
    throw new Error(`refused: ${JSON.stringify(target)}`);
  };
  /** Whatever is looked for is gone. */
  const list = async (_resource: object, detail: object, options: { readonly signal?: AbortSignal }) => {
    requests.push({ detail, isOfTheRun: options.signal === signal });
    return { items: [] };
  };
  const cache = { get: () => undefined, remember: () => undefined, doubt: () => undefined };
  const context = {
    driver: aDriver(),
    channel: {} as CsiChannel,
    settings: someSettings(),
    finalizer,
    memory: createAttachMemory(),
    runs: createAttachmentRuns(),
  };
  const logger = recordingLogger();
  const ports = {
    client: { patch: answer, list, get: answer },
    clock: new FakeClock(),
    random: seededRandom(1),
    logger,
  };
  const caches = { attachments: cache, volumes: cache };
  const run = { ...ports, context, key: attachmentKey(attachment), caches, signal } as unknown as AttachRun;
  const result = await perform(run).catch((error: unknown) => error);
  return { requests, result, logger, context };
}

const uid = 'uid-of-va1';
const clean = { attached: false, attachmentMetadata: null, detachError: null };
const time = expect.any(String);

it.each<{ name: string; by: Alone; type?: string; body: object }>([
  {
    name: 'mark',
    by: (run) => step.mark(run, anAttachment(), 'n'),
    type: 'strategic',
    body: {
      metadata: {
        uid,
        resourceVersion: '7',
        finalizers: [finalizer],
        '$setElementOrder/finalizers': [finalizer],
        annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' },
      },
    },
  },
  {
    name: 'mark',
    by: (run) => step.mark(run, attachment, 'n'),
    type: 'strategic',
    body: { metadata: { uid, resourceVersion: '7', annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' } } },
  },
  {
    name: 'saveAttached',
    by: (run) => step.saveAttached(run, attachment, { a: 'b' }),
    body: { metadata: { uid }, status: { attached: true, attachmentMetadata: { a: 'b' }, attachError: null } },
  },
  {
    name: 'saveAttached',
    by: (run) => step.saveAttached(run, attachment, {}),
    body: { metadata: { uid }, status: { attached: true, attachmentMetadata: null, attachError: null } },
  },
  {
    name: 'saveAttached',
    by: (run) =>
      step.saveAttached(
        run,
        anAttachment({ status: { attached: true, attachmentMetadata: { a: 'x', former: 'y' } } }),
        { a: 'b' },
      ),
    body: {
      metadata: { uid },
      status: { attached: true, attachmentMetadata: { a: 'b', former: null }, attachError: null },
    },
  },
  {
    name: 'saveAttached',
    by: (run) => step.saveAttached(run, withoutStatus, { a: 'b' }),
    body: { metadata: { uid }, status: { attached: true, attachmentMetadata: { a: 'b' }, attachError: null } },
  },
  {
    name: 'release',
    by: (run) => step.release(run, attachment),
    type: 'strategic',
    body: { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [finalizer] } },
  },
  { name: 'saveDetached', by: (run) => step.saveDetached(run, attachment), body: { metadata: { uid }, status: clean } },
  {
    name: 'report',
    by: (run) => step.report(run, anAttachment(), { field: 'attachError', message: 'full', code: 8 }),
    body: { metadata: { uid, resourceVersion: '7' }, status: { attachError: { message: 'full', time, errorCode: 8 } } },
  },
  {
    name: 'report',
    by: (run) => step.report(run, anAttachment(), { field: 'attachError', message: 'no volume', code: undefined }),
    body: {
      metadata: { uid, resourceVersion: '7' },
      status: { attachError: { message: 'no volume', time, errorCode: null } },
    },
  },
  {
    name: 'report',
    by: (run) => step.report(run, attachment, { field: 'detachError', message: 'no' }),
    body: { metadata: { uid, resourceVersion: '7' }, status: { detachError: { message: 'no', time } } },
  },
])(
  'given the step $name, then the patch carries the UID, and the signal of the run',
  async ({ by, type = 'merge', body }) => {
    expect((await requestsOf(by)).requests).toEqual([{ detail: { type, body }, isOfTheRun: true }]);
  },
);

it('given the steps that read or write other objects, then their requests carry the signal of the run', async () => {
  const found = await requestsOf((run) => step.findVolume(run, 'pv1'));
  const protectedVolume = await requestsOf((run) => step.addVolumeFinalizer(run, aVolume({ finalizers: [] })));
  const read = await requestsOf((run) => step.readSecrets(run, { namespace: 'ns', name: 's' }));
  expect(found.requests).toEqual([{ detail: { fieldSelector: 'metadata.name=pv1' }, isOfTheRun: true }]);
  expect(protectedVolume.requests).toEqual([
    { detail: expect.objectContaining({ type: 'strategic' }), isOfTheRun: true },
  ]);
  expect(read.requests).toEqual([{ detail: { namespace: 'ns', name: 's' }, isOfTheRun: true }]);
  expect(protectedVolume.context.memory.volumeFinalizers.size).toBe(0);
});

it('given an attachment that is gone, when it is marked, then the missing object is not a failure', async () => {
  const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
  expect(await requestsOf((run) => step.mark(run, attachment, 'n'), notFound)).toMatchObject({
    result: 'done',
    requests: [{ isOfTheRun: true }, { isOfTheRun: true }],
  });
});

it('given our finalizer is added to a volume, then the run continues with the volume that the server returned', async () => {
  const stored = aVolume({ finalizers: ['x/y', finalizer] });
  const { result } = await requestsOf((run) => step.addVolumeFinalizer(run, aVolume({ finalizers: [] })), stored);
  expect(result).toBe(stored);
});

it('given an error that cannot be written to the status, then the failure is logged at level 2, and the run continues', async () => {
  const { result, logger } = await requestsOf((run) =>
    step.report(run, attachment, { field: 'detachError', message: 'no' }),
  );
  expect(result).toBe(undefined);
  expect(logger.lines).toEqual([
    {
      kind: 'info',
      level: 2,
      message: 'Failed to save an error to a VolumeAttachment',
      facts: { VolumeAttachment: 'va1', reason: expect.stringMatching(/^refused: .*"va1"/) },
    },
  ]);
});

it('given a call for the same volume and node is in flight, then nothing is called, and what is recorded stays', async () => {
  const undo = { volumeId: 'volume-1', nodeId: 'n', secrets: undefined, migrated: false };
  const publication = { uid, attachment: attachmentKey(attachment), nodeName: 'n', volumeName: 'pv1', undo };
  for (const by of [
    (run: AttachRun) => step.unpublish(run, undo),
    (run: AttachRun) => step.unpublishOrphan(run, publication),
  ]) {
    const { result, context } = await requestsOf(async (run) => {
      run.context.memory.publications.set(publication.attachment, publication);
      run.context.memory.calls.add(JSON.stringify(['volume-1', 'n']));
      return await by(run);
    });
    expect([result, [...context.memory.publications.keys()]]).toEqual(['busy', [publication.attachment]]);
  }
});

it('given an attachment that shows neither a status nor our finalizer, then the error of its detach is written only while a publication is left to undo', async () => {
  const undo = { volumeId: 'volume-1', nodeId: 'n', secrets: undefined, migrated: false };
  const publication = { uid, attachment: attachmentKey(attachment), nodeName: 'n', volumeName: 'pv1', undo };
  const sentWith = async (publications: readonly Publication[]): Promise<number> => {
    const { requests } = await requestsOf((run) => {
      for (const each of publications) run.context.memory.publications.set(each.attachment, each);
      return step.report(run, anAttachment(), { field: 'detachError', message: 'no' });
    });
    return requests.length;
  };
  expect([await sentWith([publication]), await sentWith([])]).toEqual([1, 0]);
});

it('given a secret that cannot be read, then the failure names it', async () => {
  const { result } = await requestsOf((run) => step.readSecrets(run, { namespace: 'ns', name: 's' }));
  expect(String(result)).toMatch(/Error: .*\bns\/s\b|s.*ns/);
});

it('given another object under the name, when it answers a write, then what is recorded stays', async () => {
  const key = attachmentKey(attachment);
  const undo = { volumeId: 'volume-1', nodeId: 'n', secrets: undefined, migrated: false };
  const publication = { uid, attachment: key, nodeName: 'n', volumeName: 'pv1', undo };
  const keptAfter = async (stored: KubeObject): Promise<boolean> => {
    const { context } = await requestsOf(async (run) => {
      run.context.memory.publications.set(key, publication);
      await step.saveDetached(run, attachment);
    }, stored);
    return context.memory.publications.has(key);
  };
  expect(await keptAfter(attachment)).toBe(false);
  expect(await keptAfter({ ...attachment, metadata: { ...attachment.metadata, uid: 'another' } })).toBe(true);
});

it('given error codes are switched off, then none is reported', async () => {
  const { requests } = await requestsOf((run) => {
    const settings = someSettings({ features: { ...run.context.settings.features, errorCodes: false } });
    const context = { ...run.context, settings };
    return step.report({ ...run, context }, anAttachment(), { field: 'attachError', message: 'full', code: 8 });
  });
  expect(requests).toMatchObject([{ detail: { body: { status: { attachError: { errorCode: null } } } } }]);
});

it('given a newer state in the cache, then the error is written to that; given another object there, then not', async () => {
  const guardOf = async (cached: KubeObject): Promise<unknown> => {
    const { requests } = await requestsOf((run) => {
      const attachments = { ...run.caches.attachments, get: () => cached };
      const caches = { ...run.caches, attachments } as never;
      return step.report({ ...run, caches }, anAttachment(), { field: 'attachError', message: 'no', code: undefined });
    });
    return requests;
  };
  const newer = { ...anAttachment(), metadata: { ...anAttachment().metadata, resourceVersion: '8' } };
  const other = { ...newer, metadata: { ...newer.metadata, uid: 'another' } };
  expect(await guardOf(newer)).toMatchObject([{ detail: { body: { metadata: { uid, resourceVersion: '8' } } } }]);
  expect(await guardOf(other)).toMatchObject([{ detail: { body: { metadata: { uid, resourceVersion: '7' } } } }]);
});
