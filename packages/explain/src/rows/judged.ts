// SPDX-License-Identifier: Apache-2.0
/** What is known of a subject once a row is found. */
import type { Decision } from './decision.ts';
import type { KubeObject } from '@csi-sidecars/runtime';
import { withLiveness } from '../actors/liveness.ts';
import type { AnsweredController } from '../leader-answer/answer.ts';
import type { Program, StageId, Verdict } from '../verdict.ts';
import type { Context } from './context.ts';

/** The stages of a subject, in order. `skip`: does not apply to it. */
export interface Track {
  readonly stages: readonly {
    readonly id: StageId;
    readonly isSkipped?: boolean;
    readonly detail?: string | undefined;
  }[];
}

export interface Judged {
  readonly verdict: Verdict;
  readonly driver: string | undefined;
  readonly attachRequired?: boolean | undefined;
  readonly track: Track;
  /** Of the program in charge. */
  readonly decision?: Decision | undefined;
  /** The leader that was asked itself: it is ours. */
  readonly leader?:
    | ({ readonly program: Program } & Pick<AnsweredController, 'version' | 'pod' | 'driver' | 'settings' | 'rights'>)
    | undefined;
  /** Of a pod: each of its volumes. */
  readonly volumes?: readonly (Judged & { readonly object: KubeObject; readonly kind: string })[];
}

/** Whether the actor of the verdict lives, and what follows if it does not. */
export async function withActor<J extends Judged>({ reader, options }: Context, judged: J): Promise<J> {
  const verdict = await withLiveness(reader, judged.verdict, { driver: judged.driver, ...options });
  return { ...judged, verdict };
}
