// SPDX-License-Identifier: Apache-2.0
/** What a new leader does with existing attachments, how many calls it has in flight, and how it stops. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { anAttacher, handle } from '../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, attached, aVolume } from '../testing/builders.ts';

const volumes = ['1', '2', '3'];
const name = (n: string): { readonly name: string; readonly source: { readonly persistentVolumeName: string } } => ({
  name: `va${n}`,
  source: { persistentVolumeName: `pv${n}` },
});
const allVolumes: readonly KubeObject[] = [...volumes.map((n) => aVolume({ name: `pv${n}` })), aCsiNode()];

it('[attacher#149] given a restart, then attached volumes are not touched, unattached ones are published, and deleted ones are unpublished', async () => {
  const seed = [
    ...allVolumes,
    anAttachment({ ...name('1'), ...attached }),
    anAttachment({ ...name('2'), status: { attached: false, attachError: { message: 'no' } } }),
    anAttachment({ ...name('3'), ...attached, deleting: 'yes' }),
  ];
  const a = await anAttacher({ seed });
  expect(a.calls().toSorted()).toEqual([
    'ControllerPublishVolume volume-2 id-of-node1 OK',
    'ControllerUnpublishVolume volume-3 id-of-node1 OK',
  ]);
});

it.each([
  { workerThreads: 1, during: 1 },
  { workerThreads: 2, during: 2 },
])(
  '[attacher#150] given $workerThreads worker threads and three attachments, then $during calls are in flight at once',
  async ({ workerThreads, during }) => {
    const a = await anAttacher({ seed: allVolumes, settings: { workerThreads } });
    a.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'delay', ms: 5_000 } });
    for (const n of volumes) a.server.seed(anAttachment(name(n)));
    await a.clock.advance(4_000);
    expect(a.calls().length).toBe(during);
    await a.clock.advance(20_000);
    expect(a.calls().length).toBe(3);
  },
);

it('given an orderly stop during a publish, then the publish finishes and is saved, and no other work begins', async () => {
  const a = await anAttacher({ seed: allVolumes });
  a.driver.faults.add({ method: 'ControllerPublishVolume', at: 'after', action: { kind: 'delay', ms: 5_000 } });
  a.server.seed(anAttachment());
  await a.clock.advance(1_000);
  const stopped = a.stop();
  a.server.seed(anAttachment(name('2')));
  await a.clock.advance(5_000);
  await stopped;
  expect([a.attachment()?.status?.attached, a.publishedOn(handle)]).toEqual([true, ['id-of-node1']]);
  expect(a.calls()).toEqual(['ControllerPublishVolume volume-1 id-of-node1 OK']);
});

it('given a crash after the publish, when another process takes over, then the volume is published again, and the status is saved', async () => {
  const first = await anAttacher({
    interrupt: (operation, moment) =>
      operation.endsWith('/ControllerPublishVolume') && moment === 'after' ? 'crash' : undefined,
  });
  expect(first.attachment()?.status).toEqual({ attached: false });
  const second = await anAttacher({ cluster: first.crash() });
  expect([second.attachment()?.status?.attached, second.publishedOn()]).toEqual([true, ['id-of-node1']]);
});

it('given a crash at any point of a detach, when another process takes over, then the volume is unpublished and the attachment is gone', async () => {
  for (let point = 0; point < 6; point++) {
    let left = point;
    const first = await anAttacher({
      seed: [anAttachment({ ...attached, deleting: 'yes' }), aVolume(), aCsiNode()],
      interrupt: () => (left-- === 0 ? 'crash' : undefined),
    });
    const second = await anAttacher({ cluster: first.crash() });
    expect([point, second.attachment(), second.publishedOn()]).toEqual([point, undefined, []]);
  }
});
