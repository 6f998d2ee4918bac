// SPDX-License-Identifier: Apache-2.0
/** The attach loop alone, with memory that the test can look into: what wakes the loop, and what is forgotten. */
import { createController, csiNodes, type KubeObject, volumeAttachments } from '@csi-sidecars/runtime';
import { recordingTracer } from '@csi-sidecars/runtime/testing';
import { driverInfoOf } from '@csi-sidecars/test-driver';
import { createProcess, createTestCluster } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import {
  aCsiNode,
  anAttachment,
  attached,
  aVolume,
  driverName,
  finalizer,
  someSettings,
} from '../../testing/builders.ts';
import { attachmentKey } from '../attachment.ts';
import { createAttachmentRuns } from '../attachment-runs.ts';
import { clusterRules } from '../rbac.ts';
import { watchedBy } from '../watched.ts';
import { attachLoop } from './loop.ts';
import { createAttachMemory } from './memory.ts';

async function aLoop(...seed: readonly KubeObject[]) {
  const cluster = createTestCluster({
    serviceAccount: 'csi:attacher',
    rules: clusterRules,
    driver: { name: driverName },
  });
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, { name: 'csi-attacher', interrupt: undefined });
  const [memory, runs] = [createAttachMemory(), createAttachmentRuns()];
  const tracer = recordingTracer();
  const driver = driverInfoOf(cluster.driver.settings);
  const settings = someSettings();
  const context = { driver, channel: process.ports.channel, settings, finalizer, memory, runs };
  const loop = attachLoop(context, watchedBy({ driverName, resyncMs: 0 }));
  const running = await process.run(createController({ ...process.ports, tracer }, [loop]));
  const adds = (): number | undefined => running.metrics.value('workqueue_adds_total', { name: 'csi-attacher-va' });
  return { ...running, memory, runs, tracer, adds };
}

it('given a forced attachment, when the object is gone, then it is not forced any more', async () => {
  const l = await aLoop();
  const attachment = anAttachment(attached);
  l.server.seed(attachment);
  await l.settle();
  l.runs.force(attachment);
  // The forced run fails, because there is no volume, and waits for its backoff.
  await l.settle();
  expect(l.runs.isForced(attachment)).toBe(true);
  l.server.objects.remove(volumeAttachments, { name: 'va1' });
  await l.settle();
  expect(l.runs.isForced(attachment)).toBe(false);
  await l.stop();
});

it('given an attachment with a volume, without one, and one that is gone, then each run belongs to the trace of the claim, to its own, and to none', async () => {
  const claimRef = { namespace: 'ns', name: 'claim', uid: 'uid-of-claim' };
  const inline = anAttachment({ name: 'inline', source: {} });
  const l = await aLoop(anAttachment(), inline, aVolume({ spec: { claimRef } }));
  const undo = { volumeId: 'volume-1', nodeId: 'n', secrets: undefined, migrated: false };
  const attachment = attachmentKey(inline);
  l.memory.publications.set(attachment, { attachment, uid: 'gone', nodeName: 'n', volumeName: undefined, undo });
  l.server.objects.remove(volumeAttachments, { name: 'inline' });
  await l.settle();
  expect(l.tracer.runs.map(({ subject, attributes }) => [attributes['csi_sidecars.object.uid'], subject?.uid])).toEqual(
    [
      ['uid-of-inline', 'uid-of-inline'],
      ['uid-of-va1', 'uid-of-claim'],
      [undefined, undefined],
    ],
  );
  await l.stop();
});

it('given a run that throws after it has noted its call, then the call does not count as in flight any more', async () => {
  const l = await aLoop(aVolume(), aCsiNode());
  l.memory.publications.set = () => {
    l.memory.publications.get = () => {
      throw new Error('defect');
    };
    return l.memory.publications;
  };
  const attachment = anAttachment();
  l.server.seed(attachment);
  await expect(l.settle()).rejects.toThrow('defect');
  using watched = l.runs.watchCalls();
  expect(watched.has(attachment)).toBe(false);
  await l.stop();
});

it('given an attachment of another driver, or one that is gone and has no publication, then nothing is added to the queue', async () => {
  const l = await aLoop();
  l.server.seed(anAttachment({ ...attached, attacher: 'other' }));
  await l.settle();
  expect(l.adds() ?? 0).toBe(0);
  l.server.seed(anAttachment({ ...attached, name: 'va2' }));
  await l.settle();
  expect(l.adds()).toBe(1);
  l.server.objects.remove(volumeAttachments, { name: 'va2' });
  await l.settle();
  expect(l.adds()).toBe(1);
  await l.stop();
});

it.each([
  { given: 'an attachment that is not attached', attachment: anAttachment(), woken: 1 },
  {
    given: 'an attached one that is being deleted',
    attachment: anAttachment({ ...attached, deleting: 'yes' }),
    woken: 1,
  },
  { given: 'an attached one', attachment: anAttachment(attached), woken: 0 },
  { given: 'one for another node', attachment: anAttachment({ node: 'node2' }), woken: 0 },
])(
  'given $given, when the driver registers on node1, then $woken attachments are woken',
  async ({ attachment, woken }) => {
    // No volume exists, so each attachment fails and waits for its first retry, which is a second away.
    const l = await aLoop(attachment, { ...aCsiNode(), spec: { drivers: [] } } as KubeObject);
    const before = l.adds() ?? 0;
    l.server.objects.change(csiNodes, { name: 'node1' }, (node) => ({ ...node, spec: aCsiNode().spec }));
    await l.settle();
    expect(l.adds()).toBe(before + woken);
    await l.stop();
  },
);

it('given a CSINode that changes without a new node id or is deleted, then no attachment is woken', async () => {
  const l = await aLoop(anAttachment(), aCsiNode());
  const before = l.adds();
  l.server.objects.change(csiNodes, { name: 'node1' }, (node) => ({
    ...node,
    metadata: { ...node.metadata, labels: { some: 'thing' } },
  }));
  await l.settle();
  expect(l.adds()).toBe(before);
  l.server.objects.remove(csiNodes, { name: 'node1' });
  await l.settle();
  expect(l.adds()).toBe(before);
  const errors = l.logger.lines.filter(({ kind, message }) => kind === 'error' && !message.startsWith('Reconcile'));
  expect(errors).toEqual([]);
  await l.stop();
});

it('given an attachment and its CSINode at the start, then the attachment is added to the queue once', async () => {
  const l = await aLoop(anAttachment({ ...attached, deleting: 'yes', finalizers: ['x/y'] }), aCsiNode());
  expect(l.adds()).toBe(1);
  await l.stop();
});
