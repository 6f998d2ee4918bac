// SPDX-License-Identifier: Apache-2.0
/** The VolumeSnapshotContent loop assembled: what it watches, and what wakes it. */
import { defineLoop, type InformerOptions, type Loop, toObjectKey } from '@csi-sidecars/runtime';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { recordEvents } from '../conclusions.ts';
import { decide } from './decide.ts';
import { performers } from './perform.ts';
import type { ContentContext, ContentLoop } from './state.ts';

const keyOf = ({ metadata }: VolumeSnapshotContent): ContentLoop['key'] => toObjectKey(undefined, metadata?.name ?? '');

export function contentLoop(
  { settings, events }: ContentContext,
  contents: InformerOptions<VolumeSnapshotContent>,
): Loop {
  return defineLoop<ContentLoop>({
    name: 'snapshot-controller-content',
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
