// SPDX-License-Identifier: Apache-2.0
import { done, type EventRecorder, type KubeObject, type RecordedEvent } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aSnapshot } from '../testing/builders.ts';
import { failed } from '../testing/snapshot-states.ts';
import { conclude, fail, recordEvents } from './conclusions.ts';
import type { Problem } from './save-error.ts';

const problem: Problem = { reason: 'SnapshotBindFailed', message: 'no binding', readiness: 'notReady' };
const events: readonly RecordedEvent[] = [
  { type: 'Warning', reason: 'A', message: 'first' },
  { type: 'Normal', reason: 'B', message: 'second' },
];
const object = aSnapshot();
const row = 'S15';

describe('a problem', () => {
  it('given it is not in the status, then it is saved before the run ends', () => {
    const action = fail({ errorSaved: 'untried' }, { row, object, events, outcome: done }, problem);
    expect(action).toEqual({ row, kind: 'saveError', object, problem });
  });

  const reported = aSnapshot({ status: { error: { message: problem.message } } });
  it.each([
    { given: 'the status has it', errorSaved: 'untried', of: reported },
    { given: 'it was saved', errorSaved: 'done', of: object },
  ] as const)('given $given, then the run ends with its events, by default with a retry', ({ errorSaved, of }) => {
    const kind = 'conclude';
    const retried = { row, kind, outcome: { kind: 'retry', cause: new Error(problem.message) }, events };
    expect(fail({ errorSaved }, { row, object: of, events }, problem)).toEqual(retried);
    expect(fail({ errorSaved }, { row, object: of, outcome: done }, problem)).toEqual({
      row,
      kind,
      outcome: done,
      events: [],
    });
  });

  it('given it could not be saved, then the run is repeated whatever its outcome was to be, and the failure is the cause', () => {
    const action = fail({ errorSaved: failed }, { row, object, events, outcome: done }, problem);
    const cause = new Error(problem.message, { cause: failed.failure });
    expect(action).toEqual({ row, kind: 'conclude', outcome: { kind: 'retry', cause }, events });
    expect(action.kind === 'conclude' && action.outcome.kind === 'retry' && action.outcome.cause.cause).toBe(
      failed.failure,
    );
  });
});

describe('the events of a run', () => {
  const record = (of: KubeObject | undefined): readonly unknown[] => {
    const recorded: unknown[] = [];
    const recorder: EventRecorder = {
      record: (about, event) => void recorded.push([about, event]),
      flush: () => Promise.resolve(),
    };
    recordEvents(recorder, of, conclude(row, done, ...events));
    return recorded;
  };

  it('given events of a run that was about an object, then they are recorded about it, in their order', () => {
    expect(record(object)).toEqual(events.map((event) => [object, event]));
  });

  it('given events of a run whose object is gone, then none is recorded', () => {
    expect(record(undefined)).toEqual([]);
  });
});
