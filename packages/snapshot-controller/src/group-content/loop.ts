// SPDX-License-Identifier: Apache-2.0
/** The VolumeGroupSnapshotContent loop assembled: what it watches, and what wakes it. */
import { defineLoop, type InformerOptions, type Loop, toObjectKey } from '@csi-sidecars/runtime';
import type { VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { recordEvents } from '../conclusions.ts';
import { decide } from './decide.ts';
import { performers } from './perform.ts';
import type { GroupContentContext, GroupContentLoop } from './state.ts';

const keyOf = ({ metadata }: VolumeGroupSnapshotContent): GroupContentLoop['key'] =>
  toObjectKey(undefined, metadata?.name ?? '');

export function groupContentLoop(
  { settings, events }: GroupContentContext,
  contents: InformerOptions<VolumeGroupSnapshotContent>,
): Loop {
  return defineLoop<GroupContentLoop>({
    name: 'snapshot-controller-group-content',
    settings,
    watches: { contents },
    subject: { watch: 'contents', keyOf },
    wakes: { contents: ({ current }) => current && keyOf(current) },
    observe: ({ contents: cache }, key) => ({ content: cache.get(key), protected: 'untried' }),
    decide,
    perform: performers(),
    onConclude: ({ state: { content }, conclusion }) => recordEvents(events, content, conclusion),
  });
}
