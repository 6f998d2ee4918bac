// SPDX-License-Identifier: Apache-2.0
/** What leaders say of themselves, and what they measure. */
import type { AnsweredQueue } from '../../leader-answer/answer.ts';
import type { RequestFacts } from '../../metrics/requests.ts';
import type { Program } from '../../verdict.ts';

export interface Leaders {
  /** False: without `--via-pod`. */
  readonly isAsked: boolean;
  /** What each leader that has answered reports. */
  readonly said: readonly LeaderFacts[];
  /** What each port with metrics reports, ours and upstream's. */
  readonly metered: readonly MeteredFacts[];
}

export interface MeteredFacts extends RequestFacts {
  /** Undefined: of the cluster, snapshot-controller. */
  readonly driver: string | undefined;
  /** The first one that serves its metrics there. */
  readonly program: Program;
  /** `--via-pod: storage/controller-0:8080`. */
  readonly endpoint: string;
}

export interface LeaderFacts {
  /** Undefined: of the cluster, snapshot-controller. */
  readonly driver: string | undefined;
  readonly program: Program;
  readonly pod: string;
  /** What plugin and controller of the driver can do; undefined: the leader has no driver, or does not report it. */
  readonly capabilities: ReadonlySet<string> | undefined;
  readonly queues: readonly AnsweredQueue[];
}
