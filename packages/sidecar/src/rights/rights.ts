// SPDX-License-Identifier: Apache-2.0
/** The rights of one controller: what of its surroundings is wrapped so that missing ones are found and reported. */
import type { ApiClient, Logger } from '@csi-sidecars/runtime';
import type { RateLimit } from '@csi-sidecars/runtime/internal';
import type { ProgramHost } from '../process/host.ts';
import { reviewLimit } from './ask.ts';
import { createRightsCheck, type RightsPorts } from './check.ts';
import { markingMissing, noticingRefusals } from './noticing.ts';
import { type ProgramRights, rightsOfProgram, type WantedRight } from './wanted.ts';

export interface Rights extends Disposable {
  /** For the clients of the controller: a refusal causes another look. */
  readonly over: (client: ApiClient) => ApiClient;
  /** For the log of its loops: a refusal that comes from a missing right says so. */
  readonly marked: (log: Logger) => Logger;
  /** Looks in the background. Called for each run of the controller, with what makes a client that has its own rate limit. */
  readonly begin: (withLimit: (limit: RateLimit) => ApiClient, program: ProgramRights) => void;
  /** A request was refused that went through none of its clients. */
  readonly refused: () => void;
  /** Those that its account lacks. Undefined: not known. */
  readonly missing: () => readonly WantedRight[] | undefined;
}

export interface RightsOptions {
  /** Its label in metrics. */
  readonly controller: string;
  /** `--check-rights`. `off`: nothing is wrapped and nothing is asked. */
  readonly check: 'on' | 'off';
}

export function openRights(
  ports: RightsPorts & { readonly host: Pick<ProgramHost, 'env' | 'files'> },
  { controller, check }: RightsOptions,
): Rights {
  if (check === 'off') return unchecked;
  const found = createRightsCheck(ports, controller);
  return {
    over: (client) => noticingRefusals(client, found.refused),
    marked: (log) => markingMissing(log, found, ports.clock),
    begin: (withLimit, program) => found.begin(withLimit(reviewLimit), () => rightsOfProgram(ports.host, program)),
    refused: found.refused,
    missing: found.missing,
    [Symbol.dispose]: () => found[Symbol.dispose](),
  };
}

const unchecked: Rights = {
  over: (client) => client,
  marked: (log) => log,
  begin: () => undefined,
  refused: () => undefined,
  missing: () => undefined,
  [Symbol.dispose]: () => undefined,
};
