// SPDX-License-Identifier: Apache-2.0
/** A controller of a program as the work of a leader; see `withCaches` of the runtime. */
import type { ControllerPorts, LeadingWork } from '@csi-sidecars/runtime';
import { type LeadingController, withCaches } from '@csi-sidecars/runtime/internal';
import type { ControllerContext } from './run-controller-program.ts';

type Context = Pick<ControllerContext<never, never>, 'client' | 'clock' | 'random' | 'log' | 'metrics' | 'host'>;

export function leadingWork(
  { client, clock, random, log: logger, metrics, host: { env } }: Context,
  assemble: (ports: ControllerPorts) => LeadingController,
): LeadingWork {
  return withCaches({ client, clock, random, logger, metrics, env }, assemble);
}
