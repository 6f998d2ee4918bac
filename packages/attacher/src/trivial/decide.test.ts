// SPDX-License-Identifier: Apache-2.0
import { done, retry } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { anAttachment, attached } from '../../testing/builders.ts';
import { decide } from './decide.ts';
import { notSaved } from './messages.ts';
import type { Action, TrivialState } from './state.ts';

const attachment = anAttachment();
const failure = new Error('no');

it.each<{ id: string; because: string; given: Partial<TrivialState>; then: Action }>([
  {
    id: '[attacher#T1]',
    because: 'an attachment that is gone or belongs to another driver',
    given: { attachment: undefined },
    then: { row: 'T1', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#T2]',
    because: 'an attachment that is attached',
    given: { attachment: anAttachment(attached) },
    then: { row: 'T2', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#T3]',
    because: 'an attachment that is not attached',
    given: {},
    then: { row: 'T3', kind: 'saveAttached', attachment },
  },
  {
    id: '[attacher#T3]',
    because: 'a status that was saved',
    given: { saved: 'done' },
    then: { row: 'T3', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#T3]',
    because: 'a status that could not be saved',
    given: { saved: { failure } },
    then: { row: 'T3', kind: 'conclude', outcome: retry(notSaved(failure)) },
  },
])('$id given $because, then the action is $then.kind', ({ given, then }) => {
  expect(decide({ attachment, saved: 'untried', ...given })).toEqual(then);
});
