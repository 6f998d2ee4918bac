// SPDX-License-Identifier: Apache-2.0
/** Which stages are done, which one is now, and which are next. */
import type { Track } from '../rows/judged.ts';
import type { StageId, Verdict } from '../verdict.ts';

export interface Stage {
  readonly id: StageId;
  readonly state: 'done' | 'now' | 'next' | 'skip' | 'unknown';
  readonly detail: string | undefined;
}

/** Stages of other tracks that stand for one of this one: the driver has to be registered before a volume is attached. */
const within: Partial<Record<StageId, readonly StageId[]>> = {
  register: ['attach', 'stage'],
  'node id': ['attach'],
  use: ['stage'],
};

export function stagesOf({ stages }: Track, { stage, exit }: Verdict): readonly Stage[] {
  const isIn = (id: StageId): boolean => stages.some((each) => each.id === id && each.isSkipped !== true);
  const now = stage === undefined || isIn(stage) ? stage : ((within[stage] ?? []).find(isIn) ?? stage);
  const at = stages.findIndex(({ id }) => id === now);
  return stages.map(({ id, isSkipped, detail }, index) => ({
    id,
    detail,
    state: isSkipped === true ? 'skip' : stateAt(index, at, exit),
  }));
}

function stateAt(index: number, at: number, exit: Verdict['exit']): Stage['state'] {
  if (at === -1) return exit === 0 ? 'done' : 'unknown';
  if (index === at) return exit === 5 ? 'unknown' : 'now';
  if (index > at) return 'next';
  return 'done';
}
