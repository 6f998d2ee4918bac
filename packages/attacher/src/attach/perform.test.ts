// SPDX-License-Identifier: Apache-2.0
/** Each action of the attach loop alone: the request that it sends, and the signal that may abort it. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { ApiError, type KubeObject } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aDriver, anAttachment, attached, aVolume, finalizer, someSettings } from '../../testing/builders.ts';
import { attachmentKey } from '../attachment.ts';
import { createAttachmentRuns } from '../attachment-runs.ts';
import { createAttachMemory } from './memory.ts';
import { performers } from './perform.ts';
import type { Action } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

const attachment = anAttachment({ ...attached, finalizers: [finalizer, 'x/y'] });
const { status: _status, ...withoutStatus } = anAttachment();
const { signal } = new AbortController();

/** Performs the action with an API server that refuses everything, or answers with `stored`. */
async function requestsOf(action: StepAction, stored?: KubeObject | ApiError) {
  const requests: unknown[] = [];
  const refuse = async (target: object, detail: object, options: { readonly signal?: AbortSignal }) => {
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
  const client = { patch: refuse, list, get: refuse };
  const cache = { remember: () => undefined, doubt: () => undefined };
  const caches = { attachments: cache, volumes: cache };
  const context = {
    driver: aDriver(),
    channel: {} as CsiChannel,
    settings: someSettings(),
    finalizer,
    memory: createAttachMemory(),
    runs: createAttachmentRuns(),
  };
  const logger = recordingLogger();
  const state = { isForced: false, publication: undefined };
  const ports = { client, clock: new FakeClock(), random: seededRandom(1), logger };
  const step = { ...ports, key: attachmentKey(attachment), action, state, caches, signal };
  const perform = performers(context)[action.kind] as (step: unknown) => Promise<object>;
  const learned = await perform(step);
  return { requests, learned, logger, context };
}

const uid = 'uid-of-va1';
const clean = { attached: false, attachmentMetadata: null, detachError: null };
const time = expect.any(String);

it.each<{ action: StepAction; body: object }>([
  {
    action: { row: 'A11', kind: 'mark', attachment: anAttachment(), nodeId: 'n' },
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
    action: { row: 'A11', kind: 'mark', attachment, nodeId: 'n' },
    body: { metadata: { uid, resourceVersion: '7', annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' } } },
  },
  {
    action: { row: 'A14', kind: 'saveAttached', attachment, context: { a: 'b' } },
    body: { metadata: { uid }, status: { attached: true, attachmentMetadata: { a: 'b' }, attachError: null } },
  },
  {
    action: { row: 'A14', kind: 'saveAttached', attachment, context: {} },
    body: { metadata: { uid }, status: { attached: true, attachmentMetadata: null, attachError: null } },
  },
  {
    action: {
      row: 'A14',
      kind: 'saveAttached',
      attachment: anAttachment({ status: { attached: true, attachmentMetadata: { a: 'x', former: 'y' } } }),
      context: { a: 'b' },
    },
    body: {
      metadata: { uid },
      status: { attached: true, attachmentMetadata: { a: 'b', former: null }, attachError: null },
    },
  },
  {
    action: { row: 'A14', kind: 'saveAttached', attachment: withoutStatus, context: { a: 'b' } },
    body: { metadata: { uid }, status: { attached: true, attachmentMetadata: { a: 'b' }, attachError: null } },
  },
  {
    action: { row: 'D9', kind: 'release', attachment },
    body: { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [finalizer] } },
  },
  { action: { row: 'D10', kind: 'saveDetached', attachment }, body: { metadata: { uid }, status: clean } },
  {
    action: {
      row: 'A13',
      kind: 'report',
      attachment: anAttachment(),
      error: { field: 'attachError', message: 'full', code: 8 },
    },
    body: { metadata: { uid, resourceVersion: '7' }, status: { attachError: { message: 'full', time, errorCode: 8 } } },
  },
  {
    action: {
      row: 'A4',
      kind: 'report',
      attachment: anAttachment(),
      error: { field: 'attachError', message: 'no volume', code: undefined },
    },
    body: {
      metadata: { uid, resourceVersion: '7' },
      status: { attachError: { message: 'no volume', time, errorCode: null } },
    },
  },
  {
    action: { row: 'D8', kind: 'report', attachment, error: { field: 'detachError', message: 'no' } },
    body: { metadata: { uid, resourceVersion: '7' }, status: { detachError: { message: 'no', time } } },
  },
])(
  'given the action $action.kind of row $action.row, then the patch carries the UID, and the signal of the run',
  async (row) => {
    const { requests } = await requestsOf(row.action);
    const type = ['mark', 'release'].includes(row.action.kind) ? 'strategic' : 'merge';
    expect(requests).toEqual([{ detail: { type, body: row.body }, isOfTheRun: true }]);
  },
);

it('given the actions that read or write other objects, then their requests carry the signal of the run', async () => {
  const found = await requestsOf({ row: 'A3', kind: 'findVolume', name: 'pv1' });
  const protectedVolume = await requestsOf({
    row: 'A6',
    kind: 'addVolumeFinalizer',
    volume: aVolume({ finalizers: [] }),
  });
  const read = await requestsOf({ row: 'A9', kind: 'readSecrets', reference: { namespace: 'ns', name: 's' } });
  expect(found.requests).toEqual([{ detail: { fieldSelector: 'metadata.name=pv1' }, isOfTheRun: true }]);
  expect(protectedVolume.requests).toEqual([
    { detail: expect.objectContaining({ type: 'strategic' }), isOfTheRun: true },
  ]);
  expect(read.requests).toEqual([{ detail: { namespace: 'ns', name: 's' }, isOfTheRun: true }]);
  expect(protectedVolume.context.memory.volumeFinalizers.size).toBe(0);
});

it('given an attachment that is gone, when it is marked, then the missing object is not a failure', async () => {
  const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
  const action: StepAction = { row: 'A11', kind: 'mark', attachment, nodeId: 'n' };
  expect((await requestsOf(action, notFound)).learned).toEqual({ marked: { value: 'n' } });
});

it('given our finalizer is added to a volume, then the run continues with the volume that the server returned', async () => {
  const stored = aVolume({ finalizers: ['x/y', finalizer] });
  const volume = aVolume({ finalizers: [] });
  const { learned } = await requestsOf({ row: 'A6', kind: 'addVolumeFinalizer', volume }, stored);
  expect(learned).toEqual({ volumeFinalizer: 'done', volume: { value: stored } });
});

it('given an error that cannot be written to the status, then the failure is logged at level 2, and the run continues', async () => {
  const { learned, logger } = await requestsOf({
    row: 'D8',
    kind: 'report',
    attachment,
    error: { field: 'detachError', message: 'no' },
  });
  expect(learned).toEqual({ isReported: true });
  expect(logger.lines).toEqual([
    {
      kind: 'info',
      level: 2,
      message: 'Failed to save an error to a VolumeAttachment',
      facts: { VolumeAttachment: 'va1', reason: expect.stringMatching(/^refused: .*"va1"/) },
    },
  ]);
});
