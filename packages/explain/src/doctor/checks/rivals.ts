// SPDX-License-Identifier: Apache-2.0
/** Two of a program of which one works in a cluster. */
import type { Program } from '../../verdict.ts';
import { factOf, type Judgement, problem } from '../check.ts';
import type { Workloads } from '../readings/facts.ts';
import { type Running, running } from '../readings/sidecars.ts';
import { calledBy, electionPlace } from './wording.ts';

/** What is found if two of them do not elect one leader. */
export function rivalsOf(workloads: Workloads, program: Program): readonly Judgement[] {
  const [first, ...rest] = running(workloads.all, program).filter(({ workload }) => workload.replicas > 0);
  const second = rest.find(
    (each) =>
      first !== undefined &&
      (electionPlace(each) !== electionPlace(first) || electionPlace(each) === 'nowhere') &&
      each.workload !== first.workload,
  );
  if (first === undefined || second === undefined) return [];
  const place = (each: Running) =>
    factOf(calledBy(each.workload), 'image, elects in', `${each.sidecar.container.image}, ${electionPlace(each)}`);
  return [
    problem(`${calledBy(first.workload)} and ${calledBy(second.workload)} both run ${program}, and both lead`, {
      program,
      objects: [first.workload.object, second.workload.object],
      evidence: [place(first), place(second)],
      look: ['kubectl', 'get', 'deployments', '--all-namespaces', '-o', 'wide'],
    }),
  ];
}
