// SPDX-License-Identifier: Apache-2.0
import { type CsiChannel, CsiError, type ListVolumesResponseInput } from '@csi-sidecars/csi';
import { done, type Outcome, type VolumeAttachment } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, type RecordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, attached, aVolume, driverName } from '../../testing/builders.ts';
import { listerOf } from '../../testing/lister-of.ts';
import { type AttachmentRuns, createAttachmentRuns } from '../attachment-runs.ts';
import { runComparisons } from './controller.ts';

/** Passes over these attachments; the driver takes a second to answer. */
interface Comparing {
  readonly clock: FakeClock;
  readonly runs: AttachmentRuns;
  readonly logger: RecordingLogger;
  /** What the cache has; tests change it. */
  readonly attachments: VolumeAttachment[];
  readonly enqueued: string[];
  /** When lists were asked for. */
  readonly listedAtMs: number[];
  /** One run of the attach loop, with a call to the driver. */
  run(name: string, work: Promise<Outcome>): Promise<Outcome>;
  stop(): Promise<void>;
}

const onNode1: ListVolumesResponseInput = {
  entries: [{ volume: { volume_id: 'volume-1' }, status: { published_node_ids: ['id-of-node1'] } }],
};
const nowhere: ListVolumesResponseInput = { entries: [] };

function comparing(
  seed: readonly VolumeAttachment[],
  pages: ReadonlyArray<ListVolumesResponseInput | Error>,
): Comparing {
  const clock = new FakeClock();
  const startMs = clock.monotonicMs();
  const runs = createAttachmentRuns();
  const logger = recordingLogger();
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
  const running = runComparisons(
    {
      channel: { call } as unknown as CsiChannel,
      clock,
      logger,
      runs,
      caches: {
        driverName,
        volumes: listerOf([aVolume({ csi: { volumeHandle: 'volume-1' } })]),
        csiNodes: listerOf([aCsiNode()]),
      },
      attachments: listerOf(attachments),
      enqueue: (name) => enqueued.push(name),
    },
    { maxEntries: 0, timeoutMs: 15_000, pauseMs: 60_000 },
    stop.signal,
  );
  return {
    clock,
    runs,
    logger,
    attachments,
    enqueued,
    listedAtMs,
    run: (name, work) => {
      const reconcile = runs.record(() => {
        runs.noteCall(name);
        return work;
      });
      return reconcile(name, stop.signal);
    },
    stop: async () => {
      stop.abort(new Error('stopped'));
      await running;
    },
  };
}

const isAttached = anAttachment(attached);

describe('a pass', () => {
  it('given an attachment that the driver lost, then it is forced and enqueued, and said so', async () => {
    const c = comparing([isAttached], [nowhere]);
    await c.clock.advance(1_000);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([['va1'], true]);
    expect(c.logger.lines.map(({ kind, facts }) => [kind, facts])).toEqual([
      ['error', { VolumeAttachment: 'va1', volumeHandle: 'volume-1', attachedStatus: true, found: false }],
    ]);
    await c.stop();
  });

  it('[attacher#119] given a volume that no attachment is about, then nothing', async () => {
    const c = comparing([], [onNode1]);
    await c.clock.advance(1_000);
    expect([c.enqueued, c.logger.lines]).toEqual([[], []]);
    await c.stop();
  });

  it('[attacher#123] given the second page fails, then nothing of the first is used, and the next pass comes in its time', async () => {
    const broken = new CsiError({ code: 'Internal', method: '/csi.v1.Controller/ListVolumes', detail: 'broken' });
    const c = comparing([isAttached], [{ ...nowhere, next_token: 'p2' }, broken, onNode1]);
    await c.clock.advance(2_000);
    expect([c.enqueued, c.logger.lines.map(({ kind }) => kind)]).toEqual([[], ['error']]);
    await c.clock.advance(60_000);
    expect(c.listedAtMs).toEqual([0, 1_000, 62_000]);
    await c.stop();
  });

  it('[attacher#124] given attachments of other drivers, then they are left alone, without a line', async () => {
    const c = comparing([anAttachment({ ...attached, attacher: 'other' })], [nowhere]);
    await c.clock.advance(1_000);
    expect([c.enqueued, c.logger.lines]).toEqual([[], []]);
    await c.stop();
  });

  it('[attacher#125,126] given an attachment whose place nobody knows, then it is skipped, and said so', async () => {
    const lost = anAttachment({ ...attached, name: 'lost', source: { persistentVolumeName: 'gone' } });
    const c = comparing([lost, isAttached], [nowhere]);
    await c.clock.advance(1_000);
    expect(c.enqueued).toEqual(['va1']);
    expect(c.logger.lines[0]?.facts).toEqual({
      VolumeAttachment: 'lost',
      reason: 'persistentvolume "gone" not found',
    });
    await c.stop();
  });

  it('[attacher#127] given an attachment becomes attached while the driver lists, then it is not touched', async () => {
    const c = comparing([anAttachment()], [onNode1, nowhere]);
    await c.clock.advance(500);
    await c.run('va1', Promise.resolve(done));
    c.attachments[0] = isAttached;
    await c.clock.advance(500);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([[], false]);
    await c.clock.advance(61_000);
    expect(c.enqueued).toEqual(['va1']);
    await c.stop();
  });

  it('[attacher#127] given a call that began before the list and is saved after it, then its attachment is not touched', async () => {
    const c = comparing([], [onNode1]);
    await c.clock.advance(60_999);
    c.attachments.push(anAttachment());
    const publishing = Promise.withResolvers<Outcome>();
    const run = c.run('va1', publishing.promise);
    await c.clock.advance(1_001);
    expect(c.listedAtMs).toEqual([0, 61_000]);
    expect(c.enqueued).toEqual([]);
    publishing.resolve(done);
    await run;
    await c.stop();
  });

  it('given a run that calls nobody while the driver lists, then its attachment is compared', async () => {
    const c = comparing([isAttached], [nowhere]);
    await c.clock.advance(500);
    await c.runs.record(() => Promise.resolve(done))('va1', new AbortController().signal);
    await c.clock.advance(500);
    expect(c.enqueued).toEqual(['va1']);
    await c.stop();
  });

  it('[attacher#128] given an attachment is gone when the list is there, then nothing is left of it in memory', async () => {
    const c = comparing([isAttached], [nowhere]);
    await c.clock.advance(500);
    c.attachments.pop();
    await c.clock.advance(500);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([[], false]);
    await c.stop();
  });

  it('given a forced attachment that the driver has again, then it is not forced any more', async () => {
    const c = comparing([isAttached], [nowhere, onNode1]);
    await c.clock.advance(1_000);
    expect(c.runs.isForced(isAttached)).toBe(true);
    await c.clock.advance(61_000);
    expect([c.enqueued, c.runs.isForced(isAttached)]).toEqual([['va1'], false]);
    await c.stop();
  });
});

describe('passes', () => {
  it('[attacher#134] given a pass that takes its time, then the next begins a whole pause after its end', async () => {
    const c = comparing([], [nowhere]);
    await c.clock.advance(123_000);
    expect(c.listedAtMs).toEqual([0, 61_000, 122_000]);
    await c.stop();
    await c.clock.advance(600_000);
    expect(c.listedAtMs.length).toBe(3);
  });

  it('given the end of the process in the middle of a list, then nothing is forced and nothing is logged', async () => {
    const c = comparing([isAttached], [nowhere]);
    await c.clock.advance(500);
    await c.stop();
    expect([c.enqueued, c.logger.lines]).toEqual([[], []]);
  });
});
