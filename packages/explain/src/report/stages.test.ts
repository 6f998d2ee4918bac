// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { StageId, VerdictExit } from '../verdict.ts';
import { verdictOf } from '../rows/context.ts';
import { stagesOf } from './stages.ts';

const skipped: readonly StageId[] = ['source'];

function shown(ids: readonly StageId[], stage: StageId | undefined, exit: VerdictExit = 3): string {
  const track = {
    stages: ids.map((id) => ({ id, isSkipped: skipped.includes(id), ...(id === 'class' && { detail: 'gp' }) })),
  };
  return stagesOf(track, verdictOf(['X1', exit, 'user', stage], ''))
    .map(({ id, state, detail }) => `${id}${detail === undefined ? '' : ` (${detail})`} ${state}`)
    .join(', ');
}

const claim: readonly StageId[] = ['class', 'source', 'provision', 'bind'];
const mount: readonly StageId[] = ['attach', 'stage'];

it.each<readonly [given: string, ids: readonly StageId[], stage: StageId | undefined, exit: VerdictExit, text: string]>(
  [
    ['the first stage is waited for', claim, 'class', 3, 'class (gp) now, source skip, provision next, bind next'],
    ['a stage in the middle', claim, 'provision', 4, 'class (gp) done, source skip, provision now, bind next'],
    [
      'the same, and it is not known',
      claim,
      'provision',
      5,
      'class (gp) done, source skip, provision unknown, bind next',
    ],
    ['nothing is waited for', claim, undefined, 0, 'class (gp) done, source skip, provision done, bind done'],
    ['it is not known what', claim, undefined, 5, 'class (gp) unknown, source skip, provision unknown, bind unknown'],
    [
      'a stage of another track',
      claim,
      'detach',
      3,
      'class (gp) unknown, source skip, provision unknown, bind unknown',
    ],
    ['the registration of a driver that attaches', mount, 'register', 4, 'attach now, stage next'],
    ['the registration of one that does not', ['stage', 'use'], 'register', 4, 'stage now, use next'],
    ['the node id', mount, 'node id', 4, 'attach now, stage next'],
    ['the use, of a track that ends before', mount, 'use', 3, 'attach done, stage now'],
  ],
)('given that %s, when shown, then each stage has its state', (...[, ids, stage, exit, text]) => {
  expect(shown(ids, stage, exit)).toBe(text);
});
