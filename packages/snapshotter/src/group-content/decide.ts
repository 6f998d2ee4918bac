// SPDX-License-Identifier: Apache-2.0
/** Which rows apply to a VolumeGroupSnapshotContent. Pure; first match wins. */
import { done } from '@csi-sidecars/runtime';
import type { VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { conclude, type Run } from '../conclude.ts';
import { isReady, isToBeDeleted } from '../content-object.ts';
import type { DecideContext } from '../content-types.ts';
import { decideCreation } from '../decide-creation.ts';
import { decideDeletion, decideReady, decideRelease } from '../decide-deletion.ts';
import { decideQuery } from '../decide-query.ts';
import { annotatedSecretOf } from '../secrets.ts';
import { isDeletable, volumesOf } from './group-content.ts';
import { groupSnapshotKind as kind } from './kind.ts';
import { messages } from './messages.ts';
import { planCreation, planDeletion, planQuery, volumeNamesOf } from './request.ts';
import type { GroupSnapshotAction, GroupSnapshotState, GroupSnapshotTypes } from './state.ts';

type GroupRun = Run<GroupSnapshotTypes>;

export function decide(state: GroupSnapshotState, context: DecideContext): GroupSnapshotAction {
  const { content, class: found } = state;
  if (content === undefined) return conclude('G1', done);
  if (!isOurs(content, context)) return conclude('G2', done);
  const run: GroupRun = { state, content, kind };
  const isOfOtherClass = found !== undefined && found.driver !== context.driver.name;
  // The class may be a later one of that name. What was taken with the earlier one is deleted all the same, as without any class.
  if (isOfOtherClass && !isToBeDeleted(content, kind)) return conclude('G3', done);
  // What the driver answered is recorded first, whatever became of the content meanwhile.
  if (state.created !== 'unasked') return create(run, context);
  if (state.queried !== 'unasked') return query(run);
  if (isToBeDeleted(content, kind)) return isDeletable(content) ? remove(run) : decideRelease(run);
  if (isReady(content)) return decideReady(run);
  return kind.isPreProvisioned(content) ? query(run) : create(run, context);
}

function isOurs(content: VolumeGroupSnapshotContent, { driver }: DecideContext): boolean {
  const hasSource = kind.isPreProvisioned(content) || volumesOf(content).length > 0;
  return content.spec?.driver === driver.name && hasSource;
}

function create(run: GroupRun, context: DecideContext): GroupSnapshotAction {
  const { state, content } = run;
  return decideCreation({
    ...run,
    plan: planCreation(content, state.class, context),
    volumes: volumeNamesOf(content),
  });
}

function query(run: GroupRun): GroupSnapshotAction {
  const { state, content } = run;
  return decideQuery({ ...run, plan: planQuery(content, state.class) });
}

function remove(run: GroupRun): GroupSnapshotAction {
  const { content } = run;
  return decideDeletion({
    ...run,
    secret: annotatedSecretOf(content, kind.annotations, messages.subject),
    request: planDeletion(content),
  });
}
