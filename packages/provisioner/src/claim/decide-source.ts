// SPDX-License-Identifier: Apache-2.0
/** The claim table from the shape of the request to a source that is protected: rows C42 to C46. Pure. */
import type { VolumeContentSourceInput } from '@csi-sidecars/csi';
import type { StorageClass } from '@csi-sidecars/runtime';
import { decideClone } from '../source/claim-source.ts';
import { decideSnapshot } from '../source/snapshot-source.ts';
import type { SourceAnswer } from '../source/source-answer.ts';
import { fail } from './conclusions.ts';
import * as messages from './messages.ts';
import type { Action, ClaimContext, ClaimState, Row } from './state.ts';

/** Undefined if the claim has no source, or once its source is protected. */
export function decideSource(s: ClaimState, context: ClaimContext, storageClass: StorageClass): Action | undefined {
  if (s.dataSource.kind !== 'source') return undefined;
  const { ref } = s.dataSource;
  const refuse = (row: Row, message: string): Action => fail(s, context, { row, message, answer: 'open' });
  const shape = s.shape(storageClass);
  if (shape.kind === 'error') return refuse('C18', shape.message);
  const answer = answerOf(s, context, storageClass);
  if (answer === undefined) return { row: 'C42', kind: 'readSource', ref };
  switch (answer.kind) {
    case 'readBacking':
      return { row: 'C43', kind: 'readBacking', name: answer.name };
    case 'refused':
      return refuse('C44', messages.unusableSource(ref, answer.message));
    case 'usable':
      if (answer.isProtected || s.protectingSource === 'done') return undefined;
      if (s.protectingSource === 'untried') return { row: 'C45', kind: 'protectSource' };
      return refuse('C46', s.protectingSource.failure);
  }
}

/** The content source of the request; undefined if the claim has no source. */
export function contentOf(
  s: ClaimState,
  context: ClaimContext,
  storageClass: StorageClass,
): VolumeContentSourceInput | undefined {
  const answer = answerOf(s, context, storageClass);
  return answer?.kind === 'usable' ? answer.content : undefined;
}

/** Undefined if the source has not been read. */
function answerOf(
  { claim, dataSource, source }: ClaimState,
  { driver: { name: driverName }, settings: { preventsModeConversion } }: ClaimContext,
  storageClass: StorageClass,
): SourceAnswer | undefined {
  if (dataSource.kind !== 'source') return undefined;
  const { name } = dataSource.ref;
  switch (source.kind) {
    case 'unread':
      return undefined;
    case 'snapshot':
      return decideSnapshot({ claim, storageClass, driverName, name, preventsModeConversion, ...source });
    case 'claim':
      return decideClone({ claim, storageClass, driverName, name, ...source });
  }
}
