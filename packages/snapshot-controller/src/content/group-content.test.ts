// SPDX-License-Identifier: Apache-2.0
/** The group content loop. */
import type { VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aGroup, aGroupContent } from '../../testing/builders.ts';
import { aController } from '../../testing/controller-fixture.ts';

const bare = aGroupContent({ metadata: { finalizers: ['a.io/b'] } });
const invalid =
  'Warning GroupContentValidationError groupsnapcontent-uid-of-group: Exactly one of GroupSnapshotHandles and VolumeHandles should be specified';

it.each([
  { given: 'no spec', spec: undefined as never, events: [invalid] },
  { given: 'no source', spec: { ...bare.spec, source: undefined as never }, events: [invalid] },
  { given: 'no reference', spec: { source: { volumeHandles: ['x'] } }, events: [] },
])(
  '[snapshot-controller#G8] [P22] given a content with $given, then nothing crashes, and nothing is written',
  async ({ spec, events }) => {
    const content: VolumeGroupSnapshotContent = { ...bare, spec };
    const it = await aController({ with: [content, aGroup()] });
    expect(it.events.filter((line) => line.includes('GroupContentValidationError'))).toEqual(events);
    expect(it.groupContent()?.metadata?.finalizers).toEqual(['a.io/b']);
    await it.stop();
  },
);
