// SPDX-License-Identifier: Apache-2.0
/** Which rows apply to a VolumeSnapshotContent. Pure; first match wins. */
import { done, postpone } from '@csi-sidecars/runtime';
import { ok, type VolumeSnapshotContent } from '@csi-sidecars/volume';
import { conclude, type Run } from '../conclude.ts';
import { isReady, isToBeDeleted } from '../content-object.ts';
import type { DecideContext } from '../content-types.ts';
import { decideCreation } from '../decide-creation.ts';
import { decideDeletion, decideReady, decideRelease } from '../decide-deletion.ts';
import { decideQuery } from '../decide-query.ts';
import { annotatedSecretOf } from '../secrets.ts';
import { deletedHandleOf, isGrouped, isMember, statusHandleOf, volumeOf } from './content.ts';
import { snapshotKind as kind } from './kind.ts';
import { messages } from './messages.ts';
import { planCreation, planQuery } from './request.ts';
import type { SnapshotAction, SnapshotState, SnapshotTypes } from './state.ts';

type SnapshotRun = Run<SnapshotTypes>;

export function decide(state: SnapshotState, context: DecideContext): SnapshotAction {
  const { content, class: found } = state;
  if (content === undefined) return conclude('C1', done);
  if (!isOurs(content, context)) return conclude('C2', done);
  const run: SnapshotRun = { state, content, kind };
  const isOfOtherClass = found !== undefined && found.driver !== context.driver.name;
  // The class may be a later one of that name. What was taken with the earlier one is deleted all the same, as without any class.
  if (isOfOtherClass && !isToBeDeleted(content, kind)) return conclude('C3', done);
  // What the driver answered is recorded first, whatever became of the content meanwhile.
  if (state.created !== 'unasked') return create(run, context);
  if (state.queried !== 'unasked') return query(run, context);
  if (isToBeDeleted(content, kind)) return remove(run);
  if (isReady(content)) return decideReady(run);
  if (kind.isPreProvisioned(content) || (isGrouped(content) && statusHandleOf(content) !== undefined)) {
    return query(run, context);
  }
  // snapshot-controller fills in what the group's content says.
  if (isMember(content)) return conclude('C9', postpone('the status of a group member is not filled in'));
  return create(run, context);
}

function isOurs({ spec }: VolumeSnapshotContent, { driver }: DecideContext): boolean {
  const { volumeHandle, snapshotHandle } = spec?.source ?? {};
  return spec?.driver === driver.name && (volumeHandle !== undefined || snapshotHandle !== undefined);
}

function create(run: SnapshotRun, context: DecideContext): SnapshotAction {
  const { state, content } = run;
  return decideCreation({
    ...run,
    plan: planCreation(content, state.class, context),
    volumes: volumeOf(content),
  });
}

function query(run: SnapshotRun, context: DecideContext): SnapshotAction {
  const { state, content } = run;
  return decideQuery({ ...run, plan: planQuery(content, state.class, context) });
}

function remove(run: SnapshotRun): SnapshotAction {
  const { content } = run;
  const handle = deletedHandleOf(content);
  if (handle === undefined) return decideRelease(run);
  return decideDeletion({
    ...run,
    secret: annotatedSecretOf(content, kind.annotations, messages.subject),
    request: ok({ snapshot_id: handle }),
  });
}
