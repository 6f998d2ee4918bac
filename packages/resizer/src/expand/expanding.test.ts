// SPDX-License-Identifier: Apache-2.0
/** The expansion loop as it runs: claims in, writes, calls and events out. */
import { describe, expect, it } from 'vitest';
import { aResizer } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';

const marked = 'patch persistentvolumeclaims/status team/data 200';
const volumeSaved = 'patch persistentvolumes pv1 200';

describe('an expansion', () => {
  it('[resizer#20] given a claim that grows and a node that has to expand, then three writes, one call, two events', async () => {
    const r = await aResizer();
    expect(r.writes()).toEqual([marked, volumeSaved, marked]);
    expect(r.calls()).toEqual(['ControllerExpandVolume volume-1 OK']);
    expect(r.events).toEqual([
      'Normal Resizing team/data: External resizer is resizing volume pv1',
      'Normal FileSystemResizeRequired team/data: Require file system resize of volume on node',
    ]);
    expect(r.claim()?.status).toMatchObject({
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
      conditions: [{ type: 'Resizing' }, { type: 'FileSystemResizePending' }],
    });
    expect(r.volume()?.spec?.capacity).toEqual({ storage: '2Gi' });
    expect(r.volume()?.metadata?.annotations).toEqual({ [annotations.preResizeCapacity]: '1Gi' });
    await r.clock.advance(3_600_000);
    expect(r.writes().length).toBe(3);
    await r.stop();
  });

  it('[resizer#29] given a claim that grows and a node with nothing to do, then the claim has its size', async () => {
    const r = await aResizer({ node: [] });
    expect(r.writes()).toEqual([marked, volumeSaved, marked]);
    expect(r.events.at(-1)).toBe('Normal VolumeResizeSuccessful team/data: Resize volume succeeded');
    expect(r.claim()?.status).toEqual({
      phase: 'Bound',
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
    });
    expect(r.claim()?.metadata?.annotations).toEqual({ [annotations.nodeExpansionNotRequired]: 'true' });
    await r.stop();
  });
});
