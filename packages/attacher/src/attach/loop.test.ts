// SPDX-License-Identifier: Apache-2.0
/** The attach loop alone, with memory that the test can look into: what wakes the loop, and what is forgotten. */
import { createController, csiNodes, type KubeObject, retry, volumeAttachments } from '@csi-sidecars/runtime';
import { factsOf } from '@csi-sidecars/test-driver';
import { createProcess, createWorld } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aCsiNode, anAttachment, attached, driverName, finalizer, someSettings } from '../../testing/builders.ts';
import { attachmentKey } from '../attachment.ts';
import { createAttachmentRuns } from '../attachment-runs.ts';
import { clusterRules } from '../rbac.ts';
import { watchedBy } from '../watched.ts';
import { attachLoop } from './loop.ts';
import { createAttachMemory } from './memory.ts';

async function aLoop(...seed: readonly KubeObject[]) {
  const world = createWorld({ serviceAccount: 'csi:attacher', rules: clusterRules, driver: { name: driverName } });
  for (const object of seed) world.server.seed(object);
  const { ports, run } = createProcess(world, { name: 'csi-attacher', interrupt: undefined });
  const [memory, runs] = [createAttachMemory(), createAttachmentRuns()];
  const driver = factsOf(world.driver.settings);
  const settings = someSettings();
  const context = { driver, channel: ports.channel, settings, finalizer, memory, runs };
  const loop = attachLoop(context, watchedBy({ driverName, resyncMs: 0 }));
  const running = await run(createController(ports, [loop]));
  const adds = (): number | undefined => running.metrics.value('workqueue_adds_total', { name: 'csi-attacher-va' });
  return { ...running, memory, runs, adds };
}

it('given a forced attachment, when the object is gone, then it is not forced any more', async () => {
  const l = await aLoop();
  const attachment = anAttachment(attached);
  l.server.seed(attachment);
  await l.settle();
  l.runs.force(attachment);
  l.runs.end(attachmentKey(attachment), retry(new Error('no')));
  expect(l.runs.isForced(attachment)).toBe(true);
  l.server.objects.remove(volumeAttachments, { name: 'va1' });
  await l.settle();
  expect(l.runs.isForced(attachment)).toBe(false);
  await l.stop();
});

it('given attachments of other drivers, and an attachment of which nothing is remembered that is gone, then the queue gets nothing', async () => {
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
  { attachment: anAttachment(), woken: 'woken' },
  { attachment: anAttachment({ ...attached, deleting: 'yes' }), woken: 'woken' },
  { attachment: anAttachment({ ...attached }), woken: 'not woken' },
  { attachment: anAttachment({ node: 'node2' }), woken: 'not woken' },
])(
  'given $attachment.status and $attachment.metadata.deletionTimestamp on $attachment.spec.nodeName, when the driver registers on node1, then it is $woken',
  async ({ attachment, woken }) => {
    // Without its volume no attachment gets anywhere; the first retry comes after a second.
    const l = await aLoop(attachment, { ...aCsiNode(), spec: { drivers: [] } } as KubeObject);
    const before = l.adds() ?? 0;
    l.server.objects.change(csiNodes, { name: 'node1' }, (node) => ({ ...node, spec: aCsiNode().spec }));
    await l.settle();
    expect(l.adds()).toBe(before + (woken === 'woken' ? 1 : 0));
    await l.stop();
  },
);

it('given a CSINode whose node id stays, and then its end, then no attachment is woken', async () => {
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
  await l.stop();
});

it('given an attachment and its CSINode at the start, then the queue gets the attachment once', async () => {
  const l = await aLoop(anAttachment({ ...attached, deleting: 'yes', finalizers: ['x/y'] }), aCsiNode());
  expect(l.adds()).toBe(1);
  await l.stop();
});
