// SPDX-License-Identifier: Apache-2.0
/** The runs of loops as lines of a story: each step, and each conclusion with what the queue does next. */
import type { Outcome } from '../../src/controller/reconcile.ts';
import { createInspection, type Inspection, type LoopRecord } from '../../src/inspection/inspection.ts';
import type { Loop } from '../../src/loop/loop.ts';
import type { StoryController } from './story.ts';

type Loops = StoryController['loops'];

/** The same loops, inspected by the story. */
export function heardLoops(loops: Loops, onDecided: (line: () => string) => void): Loops {
  const heard = (loop: Loop): Loop => ({
    assemble(ports) {
      const inspection: Inspection = { ...createInspection(ports, 'a story'), loop: () => recordOf(onDecided) };
      return loop.assemble({ ...ports, inspection });
    },
  });
  return typeof loops === 'function' ? (ports) => loops(ports).map(heard) : loops.map(heard);
}

function recordOf<Key extends string>(onDecided: (line: () => string) => void): LoopRecord<Key> {
  return {
    began: ({ key }) => ({
      row: '',
      traceparent: undefined,
      child: () => undefined,
      decided: (row, action) => onDecided(() => `${row} ${action} ${key}`),
      ended(end) {
        if (!('conclusion' in end)) return;
        const { row, kind, outcome } = end.conclusion;
        onDecided(() => `${row} ${kind} ${key}${outcomeText(outcome)}`);
      },
    }),
    forget: () => undefined,
  };
}

export function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'done':
      return '';
    case 'dropped':
      return ': dropped';
    case 'requeueAfter':
      return `: requeue after ${outcome.afterMs / 1_000} s`;
    case 'retry': {
      const within = outcome.withinMs === undefined ? '' : ` within ${outcome.withinMs / 1_000} s`;
      return `: retry${within}: ${outcome.cause.message}`;
    }
    case 'postpone':
      return `: postpone: ${outcome.reason}`;
  }
}
