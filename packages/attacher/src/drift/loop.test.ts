// SPDX-License-Identifier: Apache-2.0
import { type CsiChannel, CsiError, type ListVolumesResponseInput } from '@csi-sidecars/csi';
import {
  type ControllerPorts,
  done,
  type InformerFactory,
  type KubeObject,
  type Lister,
  type Outcome,
  type PersistentVolume,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { StartGate } from '@csi-sidecars/runtime/internal';
import { FakeClock, recordingLogger, type RecordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, attached, aVolume, driverName } from '../../testing/builders.ts';
import { listerOf } from '../../testing/lister-of.ts';
import { attachmentKey } from '../attachment.ts';
import { type AttachmentRuns, createAttachmentRuns } from '../attachment-runs.ts';
import { watchedBy } from '../watched.ts';
import { driftLoop } from './loop.ts';

const passFailed = 'Failed to compare VolumeAttachments with the volumes of the driver; the next pass will try again';
const skipped = 'A VolumeAttachment cannot be compared with the driver';
const disagrees =
  'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing';

/** A comparison loop over these attachments. The driver takes a second to answer. */
interface Comparing {
  readonly clock: FakeClock;
  readonly runs: AttachmentRuns;
  readonly logger: RecordingLogger;
  /** The content of the cache, which tests change. */
  readonly attachments: VolumeAttachment[];
  readonly enqueued: string[];
  /** The times of the requests for a list. */
  readonly listedAtMs: number[];
  /** Simulates one run of the attach loop that calls the driver. */
  run(attachment: VolumeAttachment, work: Promise<Outcome>): Promise<void>;
  stop(): Promise<void>;
}

interface ComparingOptions {
  readonly gate?: StartGate;
  /** Default: `pv1` with the handle `volume-1`. */
  readonly volume?: PersistentVolume;
  /** Default: `id-of-node1`. */
  readonly nodeId?: string;
  /** Default: everything is logged. */
  readonly verbosity?: number;
}

const onNode1: ListVolumesResponseInput = {
  entries: [{ volume: { volume_id: 'volume-1' }, status: { published_node_ids: ['id-of-node1'] } }],
};
const emptyList: ListVolumesResponseInput = { entries: [] };

function comparing(
  seed: readonly VolumeAttachment[],
  pages: ReadonlyArray<ListVolumesResponseInput | Error>,
  { gate, volume = aVolume(), nodeId, verbosity = Infinity }: ComparingOptions = {},
): Comparing {
  const clock = new FakeClock();
  const startMs = clock.monotonicMs();
  const runs = createAttachmentRuns();
  const logger = recordingLogger({ verbosity });
  const attachments = [...seed];
  const enqueued: string[] = [];
  const listedAtMs: number[] = [];
  const stop = new AbortController();
  let asked = 0;
  const call = async (_method: string, _request: object, { signal }: { signal?: AbortSignal }) => {
    const page = pages[Math.min(asked++, pages.length - 1)]!;
    listedAtMs.push(clock.monotonicMs() - startMs);
    await clock.sleep(1_000, signal);
    if (page instanceof Error) throw page;
    return { entries: [], next_token: '', ...page };
  };
  runs.onForced((key) => enqueued.push(key));
  const settings = { maxEntries: 0, timeoutMs: 15_000, reconcileSyncMs: 60_000 };
  const channel = { call } as unknown as CsiChannel;
  const loop = driftLoop(
    { driverName, channel, runs, count: () => undefined, settings },
    watchedBy({ driverName, resyncMs: 0 }),
  );
  const listers: Record<string, Lister<KubeObject>> = {
    volumeattachments: listerOf(attachments),
    persistentvolumes: listerOf([volume]),
    csinodes: listerOf([aCsiNode('node1', nodeId)]),
  };
  const informers = {
    informer: ({ resource }: { resource: { plural: string } }) => ({ lister: listers[resource.plural] }),
  } as unknown as InformerFactory;
  const running = loop.assemble({ clock, logger, informers, gate } as unknown as ControllerPorts).run(stop.signal);
  return {
    clock,
    runs,
    logger,
    attachments,
    enqueued,
    listedAtMs,
    run: async (attachment, work) => {
      const key = attachmentKey(attachment);
      runs.noteCall(key);
      runs.end(key, await work);
    },
    stop: async () => {
      stop.abort(new Error('stopped'));
      await running;
    },
  };
}

const isAttached = anAttachment(attached);

describe('a pass', () => {
  it('given an attached volume that the driver does not list, then its attachment is forced, enqueued and logged', async () => {
    const c = comparing([isAttached], [emptyList]);
    await c.clock.advance(1_000);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([['va1'], true]);
    expect(c.logger.lines).toEqual([
      {
        kind: 'info',
        level: 5,
        message: 'Decided',
        facts: { queue: 'csi-attacher-drift', key: 'va1', row: 'R4', action: 'force' },
      },
      {
        kind: 'error',
        error: undefined,
        message: disagrees,
        facts: { VolumeAttachment: 'va1', volumeHandle: 'volume-1', attachedStatus: true, found: false },
      },
    ]);
    await c.stop();
  });

  it('given an attached volume that the driver lists, then only the decision is logged', async () => {
    const c = comparing([isAttached], [onNode1]);
    await c.clock.advance(1_000);
    expect(c.enqueued).toEqual([]);
    expect(c.logger.lines).toEqual([
      {
        kind: 'info',
        level: 5,
        message: 'Decided',
        facts: { queue: 'csi-attacher-drift', key: 'va1', row: 'R3', action: 'unforce' },
      },
    ]);
    await c.stop();
  });

  it.each([
    { verbosity: 4, decisions: 0 },
    { verbosity: 5, decisions: 1 },
  ])('given -v=$verbosity, then $decisions decisions are logged', async ({ verbosity, decisions }) => {
    const c = comparing([isAttached], [onNode1], { verbosity });
    await c.clock.advance(1_000);
    expect(c.logger.messages()).toEqual(Array(decisions).fill('Decided'));
    await c.stop();
  });

  it('[attacher#119] given a listed volume without an attachment, then nothing is enqueued or logged', async () => {
    const c = comparing([], [onNode1]);
    await c.clock.advance(1_000);
    expect([c.enqueued, c.logger.lines]).toEqual([[], []]);
    await c.stop();
  });

  it('[attacher#123] given a second page that fails, then nothing of the first is used, and the next pass comes after the pause', async () => {
    const broken = new CsiError({ code: 'Internal', method: '/csi.v1.Controller/ListVolumes', detail: 'broken' });
    const c = comparing([isAttached], [{ ...emptyList, next_token: 'p2' }, broken, onNode1]);
    await c.clock.advance(2_000);
    expect([c.enqueued, c.logger.lines]).toEqual([
      [],
      [{ kind: 'error', error: broken, message: passFailed, facts: { loop: 'csi-attacher-drift' } }],
    ]);
    await c.clock.advance(60_000);
    expect(c.listedAtMs).toEqual([0, 1_000, 62_000]);
    await c.stop();
  });

  it('[attacher#124] given an attachment of another driver, then it is skipped without a log line', async () => {
    const c = comparing([anAttachment({ ...attached, attacher: 'other' })], [emptyList]);
    await c.clock.advance(1_000);
    expect([c.enqueued, c.logger.lines]).toEqual([[], []]);
    await c.stop();
  });

  it('[attacher#125,126] given an attachment whose volume is unknown, then it is skipped, the reason is logged, and the others are compared', async () => {
    const lost = anAttachment({ ...attached, name: 'lost', source: { persistentVolumeName: 'gone' } });
    const c = comparing([lost, isAttached], [emptyList]);
    await c.clock.advance(1_000);
    expect(c.enqueued).toEqual(['va1']);
    expect(c.logger.lines.find(({ kind }) => kind === 'error')?.facts).toEqual({
      VolumeAttachment: 'lost',
      reason: 'persistentvolume "gone" not found',
    });
    await c.stop();
  });

  it('[attacher#127] given a volume that is attached while the driver lists, then its attachment is not forced in this pass', async () => {
    const c = comparing([anAttachment()], [onNode1, emptyList]);
    await c.clock.advance(500);
    await c.run(isAttached, Promise.resolve(done));
    c.attachments[0] = isAttached;
    await c.clock.advance(500);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([[], false]);
    expect(c.logger.messages()).toEqual(['Decided']);
    await c.clock.advance(61_000);
    expect(c.enqueued).toEqual(['va1']);
    await c.stop();
  });

  it('[attacher#127] given a call that begins before the list and ends after it, then its attachment is not forced in this pass', async () => {
    const c = comparing([], [onNode1]);
    await c.clock.advance(60_999);
    c.attachments.push(anAttachment());
    const publishing = Promise.withResolvers<Outcome>();
    const run = c.run(anAttachment(), publishing.promise);
    await c.clock.advance(1_001);
    expect(c.listedAtMs).toEqual([0, 61_000]);
    expect(c.enqueued).toEqual([]);
    publishing.resolve(done);
    await run;
    await c.stop();
  });

  it('given a run without a call to the driver while the driver lists, then its attachment is compared', async () => {
    const c = comparing([isAttached], [emptyList]);
    await c.clock.advance(500);
    c.runs.end(attachmentKey(isAttached), done);
    await c.clock.advance(500);
    expect(c.enqueued).toEqual(['va1']);
    await c.stop();
  });

  it('[attacher#128] given an attachment that is gone when the list arrives, then it is neither forced nor enqueued', async () => {
    const c = comparing([isAttached], [emptyList]);
    await c.clock.advance(500);
    c.attachments.pop();
    await c.clock.advance(500);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([[], false]);
    await c.stop();
  });

  it.each([
    { listed: 'projects/p/zones/us-east1-b/disks/disk', enqueued: [] },
    { listed: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk', enqueued: ['va1'] },
  ])(
    '[attacher#132] given an attached GCE disk that the driver lists as $listed, then these attachments are enqueued: $enqueued',
    async ({ listed, enqueued }) => {
      const nodeId = 'projects/p/zones/us-east1-b/instances/i';
      const page = { entries: [{ volume: { volume_id: listed }, status: { published_node_ids: [nodeId] } }] };
      const { csi: _csi, ...spec } = aVolume().spec ?? {};
      const volume = { ...aVolume(), spec: { ...spec, gcePersistentDisk: { pdName: 'disk' } } };
      const c = comparing([isAttached], [page], { volume, nodeId });
      await c.clock.advance(1_000);
      expect(c.enqueued).toEqual(enqueued);
      await c.stop();
    },
  );

  it('given a forced attachment, when the driver lists its volume again, then it is not forced any more', async () => {
    const c = comparing([isAttached], [emptyList, onNode1]);
    await c.clock.advance(1_000);
    expect(c.runs.isForced(isAttached)).toBe(true);
    await c.clock.advance(61_000);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([['va1'], false]);
    expect(c.logger.messages()).toEqual(['Decided', disagrees, 'Decided']);
    await c.stop();
  });

  it('given a forced attachment, when its volume is unknown in the next pass, then it stays forced', async () => {
    const c = comparing([isAttached], [emptyList]);
    await c.clock.advance(1_000);
    c.attachments[0] = anAttachment({ ...attached, source: { persistentVolumeName: 'gone' } });
    await c.clock.advance(61_000);
    expect(c.logger.messages().at(-1)).toBe(skipped);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([['va1'], true]);
    await c.stop();
  });
});

describe('passes', () => {
  it('given a gate that is closed, then the driver is not called before it opens', async () => {
    const opened = Promise.withResolvers<void>();
    const c = comparing([isAttached], [emptyList], { gate: { open: false, whenOpen: () => opened.promise } });
    await c.clock.advance(120_000);
    expect([c.listedAtMs, c.enqueued]).toEqual([[], []]);
    opened.resolve();
    await c.clock.advance(1_000);
    expect([c.listedAtMs, c.enqueued]).toEqual([[120_000], ['va1']]);
    await c.stop();
  });

  it('[attacher#134] given a pass that takes a second, then the next pass begins one whole pause after its end', async () => {
    const c = comparing([], [emptyList]);
    await c.clock.advance(123_000);
    expect(c.listedAtMs).toEqual([0, 61_000, 122_000]);
    await c.stop();
    await c.clock.advance(600_000);
    expect(c.listedAtMs.length).toBe(3);
  });

  it('given a process that stops while the driver lists, then nothing is forced and nothing is logged', async () => {
    const c = comparing([isAttached], [emptyList]);
    await c.clock.advance(500);
    await c.stop();
    expect([c.enqueued, c.logger.lines]).toEqual([[], []]);
  });
});
