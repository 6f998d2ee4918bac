// SPDX-License-Identifier: Apache-2.0
/** The group loop assembled. */
import type { Loop } from '@csi-sidecars/runtime';
import { contentLoop, type ContentWatches } from '../content-loop.ts';
import type { ContentContext } from '../content-types.ts';
import { decide } from './decide.ts';
import { groupSnapshotKind } from './kind.ts';
import type { GroupSnapshotTypes } from './state.ts';

export function groupSnapshotLoop(context: ContentContext, watches: ContentWatches<GroupSnapshotTypes>): Loop {
  return contentLoop<GroupSnapshotTypes>({
    context,
    kind: groupSnapshotKind,
    watches,
    decide: (state) => decide(state, context),
  });
}
