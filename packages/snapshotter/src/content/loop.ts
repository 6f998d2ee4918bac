// SPDX-License-Identifier: Apache-2.0
/** The content loop assembled. */
import type { Change, Loop } from '@csi-sidecars/runtime';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { contentLoop, type ContentWatches } from '../content-loop.ts';
import type { ContentContext } from '../content-types.ts';
import { isMember, statusHandleOf } from './content.ts';
import { decide } from './decide.ts';
import { snapshotKind } from './kind.ts';
import type { SnapshotTypes } from './state.ts';

export function snapshotLoop(context: ContentContext, watches: ContentWatches<SnapshotTypes>): Loop {
  return contentLoop<SnapshotTypes>({
    context,
    kind: snapshotKind,
    watches,
    decide: (state) => decide(state, context),
    alsoMatters: memberGotHandle,
  });
}

/** snapshot-controller filled in the status of a member, which this program never does. */
export function memberGotHandle({ previous, current }: Change<VolumeSnapshotContent>): boolean {
  if (previous === undefined || current === undefined || !isMember(current)) return false;
  return statusHandleOf(previous) === undefined && statusHandleOf(current) !== undefined;
}
